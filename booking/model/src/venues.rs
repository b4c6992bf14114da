//! Where a venue is, as its promoter describes it.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::shows::document::FieldFault;

/// The most characters of a name, a city or an address.
const TEXT_MAX: usize = 200;

/// Where shows take place, as text. A field is `None` where nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VenueLocation {
    /// The name for people: "Picture House, Screen 1".
    pub name: Option<String>,
    /// The city, as people of the venue's country write it.
    pub city: Option<String>,
    /// The street and the number.
    pub address: Option<String>,
    /// The local time zone, as IANA names it: "Europe/Berlin".
    pub time_zone: Option<String>,
}

impl VenueLocation {
    /// Returns everything that is wrong, in the order of the fields.
    #[must_use]
    pub fn faults(&self) -> Vec<FieldFault> {
        let fault = |field: &str, detail: String| FieldFault {
            field: field.to_owned(),
            code: "invalid_field",
            detail,
        };
        let texts = [
            ("name", &self.name),
            ("city", &self.city),
            ("address", &self.address),
        ];
        let mut faults: Vec<FieldFault> = texts
            .into_iter()
            .filter(|(_, text)| text.as_deref().is_some_and(|text| !is_one_line(text)))
            .map(|(field, _)| fault(field, format!("1 to {TEXT_MAX} characters in one line")))
            .collect();
        if let Some(zone) = &self.time_zone
            && TimeZone::get(zone).is_err()
        {
            let detail = "the name of a time zone, such as \"Europe/Berlin\"".to_owned();
            faults.push(fault("time_zone", detail));
        }
        faults
    }

    /// Returns name, address and city as one line, or `None` if all of them are unknown.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        let parts = [&self.name, &self.address, &self.city];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn is_one_line(text: &str) -> bool {
    let length = text.chars().count();
    (1..=TEXT_MAX).contains(&length)
        && !text.trim().is_empty()
        && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hall() -> VenueLocation {
        VenueLocation {
            name: Some("Große Halle".to_owned()),
            city: Some("Berlin".to_owned()),
            address: None,
            time_zone: Some("Europe/Berlin".to_owned()),
        }
    }

    #[test]
    fn a_location_may_be_unknown_in_part_and_is_written_as_one_line() {
        assert!(VenueLocation::default().faults().is_empty());
        assert!(hall().faults().is_empty());
        assert_eq!(hall().line().as_deref(), Some("Große Halle, Berlin"));
        assert_eq!(VenueLocation::default().line(), None);
    }

    #[test]
    fn each_field_with_a_fault_is_named() {
        let bad = VenueLocation {
            name: Some("  ".to_owned()),
            city: Some("a\u{7}b".to_owned()),
            address: Some("x".repeat(TEXT_MAX + 1)),
            time_zone: Some("Mars/Base".to_owned()),
        };
        let named: Vec<String> = bad.faults().into_iter().map(|fault| fault.field).collect();
        assert_eq!(named, ["name", "city", "address", "time_zone"]);
    }
}

//! Where a venue is, as its promoter describes it.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::shows::document::FieldFault;

/// How many characters a name, a city or an address has, at most.
const TEXT_MAX: usize = 200;

/// The place where shows happen, as text. A field is `None` if it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
    /// Checks a location that a promoter wrote, and writes the time zone as IANA does.
    ///
    /// # Errors
    /// Returns all faults, in the order of the fields.
    pub fn checked(mut self) -> Result<Self, Vec<FieldFault>> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        if let Some(written) = &mut self.time_zone
            && let Some(name) = zone_name(written)
        {
            *written = name;
        }
        Ok(self)
    }

    fn faults(&self) -> Vec<FieldFault> {
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
            && zone_name(zone).is_none()
        {
            let detail =
                "the name of a place's time zone, such as \"Europe/Berlin\", or \"UTC\"".to_owned();
            faults.push(fault("time_zone", detail));
        }
        faults
    }

    /// Returns this location. Fields that are unknown are taken from `other`.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let either = |own: Option<String>, other: &Option<String>| own.or_else(|| other.clone());
        Self {
            name: either(self.name, &other.name),
            city: either(self.city, &other.city),
            address: either(self.address, &other.address),
            time_zone: either(self.time_zone, &other.time_zone),
        }
    }

    /// Returns name, address and city as one line, or `None` if all of them are unknown.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        let parts = [&self.name, &self.address, &self.city];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Returns the name of a time zone as IANA writes it. Returns `None` for a zone without a place,
/// such as `Etc/GMT-2`, because people do not know such names.
fn zone_name(written: &str) -> Option<String> {
    let zone = TimeZone::get(written).ok()?;
    let name = zone.iana_name()?;
    let is_place = name.contains('/') && !name.starts_with("Etc/");
    (is_place || name == "UTC").then(|| name.to_owned())
}

fn is_one_line(text: &str) -> bool {
    // Characters that change the direction of a text can make people read another text.
    let turns = |one: char| matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let length = text.chars().count();
    (1..=TEXT_MAX).contains(&length)
        && text.chars().any(char::is_alphanumeric)
        && !text.chars().any(|one| one.is_control() || turns(one))
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
        let nowhere = VenueLocation::default();
        assert_eq!(nowhere.clone().checked(), Ok(nowhere));
        assert_eq!(hall().checked(), Ok(hall()));
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
        for text in ["\u{200b}", "Hall\u{202e}", ""] {
            assert!(!is_one_line(text), "{text:?}");
        }
    }

    #[test]
    fn a_time_zone_is_named_as_iana_does_and_has_a_place() {
        let zone = |written: &str| {
            let location = VenueLocation {
                time_zone: Some(written.to_owned()),
                ..VenueLocation::default()
            };
            location
                .checked()
                .ok()
                .and_then(|checked| checked.time_zone)
        };
        assert_eq!(zone("europe/berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(zone("UTC").as_deref(), Some("UTC"));
        for written in ["Etc/GMT-2", "Etc/Unknown", "CET", "", "../zone"] {
            assert_eq!(zone(written), None, "{written}");
        }
    }

    #[test]
    fn what_is_unknown_is_taken_from_another_location() {
        let named = VenueLocation {
            name: Some("Hall 1".to_owned()),
            ..VenueLocation::default()
        };
        let both = named.or(&hall());
        assert_eq!(both.name.as_deref(), Some("Hall 1"));
        assert_eq!(both.time_zone, hall().time_zone);
    }
}

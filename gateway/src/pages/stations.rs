//! Finds the station that a visitor's words mean, or the stations that they may mean.

use serde_json::Value;

use super::asking::DocumentRefusal;
use super::{PageRoutes, address};

/// What the words in a station field mean.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TypedStation {
    /// Nothing was typed.
    Nothing,
    /// The words mean this station. The list has the other stations that were found for them.
    One(Value, Vec<Value>),
    /// The words do not mean one station. The list has the stations that match the words. If none
    /// matches, the list has the stations with similar names, if there are any.
    Several(Vec<Value>),
}

impl TypedStation {
    /// Returns the station's code, if the words mean one station.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::One(station, _) => station["station"].as_str(),
            _ => None,
        }
    }

    /// Returns the other stations that were found for the words.
    pub(super) fn others(&self) -> &[Value] {
        match self {
            Self::One(_, others) => others,
            _ => &[],
        }
    }

    /// Returns the text that the field shows: the station's label, or the words as typed.
    pub(super) fn field_text(&self, typed: &str) -> String {
        match self {
            Self::One(station, _) => station_label(station),
            _ => typed.to_owned(),
        }
    }
}

/// Returns the label of a station: "Beijing South (VNP)".
pub(super) fn station_label(station: &Value) -> String {
    let text = |name: &str| station[name].as_str().unwrap_or_default();
    format!("{} ({})", text("name"), text("station"))
}

/// Returns the code from a text in the form of a label, such as "Beijing South (VNP)". The name of
/// a station may have this form, too: "Frankfurt (Oder)".
fn code_in_label(typed: &str) -> Option<&str> {
    let (_, code) = typed.strip_suffix(')')?.rsplit_once(" (")?;
    Some(code)
}

/// Returns the station with this label, if it is among those that were found for the label's code.
fn labelled_station(mut found: Vec<Value>, label: &str) -> Option<TypedStation> {
    let label = label.to_lowercase();
    let has_label = |station: &Value| station_label(station).to_lowercase() == label;
    let at = found.iter().position(has_label)?;
    let station = found.remove(at);
    Some(TypedStation::One(station, found))
}

fn match_station(mut found: Vec<Value>, typed: &str) -> TypedStation {
    let is = |station: &Value, name: &str| station[name].as_str() == Some(typed);
    let coded = |station: &&Value| {
        let code = station["station"].as_str().unwrap_or_default();
        code.eq_ignore_ascii_case(typed)
    };
    let by_code = found.iter().position(|station| coded(&station));
    let mut by_name = (0..found.len()).filter(|at| is(&found[*at], "name"));
    let only_name = by_name.next().filter(|_| by_name.next().is_none());
    let only = (found.len() == 1).then_some(0);
    match by_code.or(only_name).or(only) {
        Some(at) => {
            let station = found.remove(at);
            TypedStation::One(station, found)
        }
        None => TypedStation::Several(found),
    }
}

impl PageRoutes {
    /// Finds the station or stations that the words in a field mean.
    pub(super) async fn station(&self, typed: &str) -> Result<TypedStation, DocumentRefusal> {
        if typed.is_empty() {
            return Ok(TypedStation::Nothing);
        }
        let mut with_code = Vec::new();
        let code = code_in_label(typed);
        if let Some(code) = code {
            with_code = self.found_stations(code).await?;
            if let Some(meant) = labelled_station(with_code.clone(), typed) {
                return Ok(meant);
            }
        }
        match match_station(self.found_stations(typed).await?, typed) {
            TypedStation::Several(none) if none.is_empty() => {}
            meant => return Ok(meant),
        }
        // A label in a saved address may have a name that the station no longer has.
        with_code.retain(|station| station["station"].as_str() == code);
        match with_code.pop() {
            Some(station) => Ok(TypedStation::One(station, Vec::new())),
            None => Ok(TypedStation::Several(self.similar_stations(typed).await)),
        }
    }

    async fn found_stations(&self, typed: &str) -> Result<Vec<Value>, DocumentRefusal> {
        let mut found = self
            .fetch_with_query("/v1/rail/stations", &[("q", typed)])
            .await?;
        let found = found.as_array_mut().map(std::mem::take);
        Ok(found.unwrap_or_default())
    }

    /// Returns the stations with names similar to `typed`, which matched no station. Only a refused
    /// search for trains lists them, so this sends a search that booking will refuse.
    async fn similar_stations(&self, typed: &str) -> Vec<Value> {
        let query = [("from", typed), ("to", typed), ("date", "2000-01-01")];
        let refused = self.fetch_with_query("/v1/rail/trips", &query).await.err();
        let near = refused
            .and_then(|mut refused| refused.document["near"].as_array_mut().map(std::mem::take));
        near.unwrap_or_default()
    }
}

/// Returns a copy of the station with a link (`href`) that searches with this station.
pub(super) fn choice(station: &Value, href: String) -> Value {
    let mut choice = station.clone();
    choice["href"] = href.into();
    choice
}

/// Builds the address of a search for trains.
pub(super) fn train_search_address(from: &str, to: &str, date: &str, party: &str) -> String {
    address::with_query(
        "/rail",
        &[("from", from), ("to", to), ("date", date), ("seats", party)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn station(code: &str, name: &str) -> Value {
        json!({"station": code, "name": name})
    }

    #[test]
    fn words_mean_one_station_if_they_are_its_code_or_unique_name_or_match_only_it() {
        let north = station("BN", "Riverton North");
        let south = station("BS", "Riverton South");
        let plain_one = station("RV", "Riverton");
        let both = || vec![north.clone(), south.clone()];
        assert_eq!(match_station(both(), "bs").code(), Some("BS"));
        assert_eq!(
            match_station(both(), "river"),
            TypedStation::Several(both())
        );
        let all = vec![plain_one.clone(), north.clone(), south.clone()];
        assert_eq!(
            match_station(all, "Riverton"),
            TypedStation::One(plain_one, both())
        );
        assert_eq!(
            match_station(vec![north.clone()], "north").code(),
            Some("BN")
        );
        let twins = vec![station("1", "Bay"), station("2", "Bay")];
        assert_eq!(
            match_station(twins.clone(), "Bay"),
            TypedStation::Several(twins)
        );
        assert_eq!(
            match_station(Vec::new(), "x"),
            TypedStation::Several(Vec::new())
        );
    }

    #[test]
    fn the_label_in_a_field_is_read_back_as_its_station() {
        let bay = station("BN", "Bay (old)");
        let bar = station("BNX", "Bar");
        let label = station_label(&bay);
        assert_eq!(code_in_label(&label), Some("BN"));
        let found = || vec![bar.clone(), bay.clone()];
        let meant = TypedStation::One(bay.clone(), vec![bar.clone()]);
        assert_eq!(labelled_station(found(), &label), Some(meant.clone()));
        assert_eq!(labelled_station(found(), "bay (OLD) (bn)"), Some(meant));
        assert_eq!(code_in_label("Bay"), None);
        assert_eq!(code_in_label("Bay)"), None);
    }

    #[test]
    fn a_name_that_ends_in_brackets_is_not_read_as_a_label() {
        let old = station("OLD", "Oldtown");
        assert_eq!(labelled_station(vec![old], "Bay (old)"), None);
    }
}

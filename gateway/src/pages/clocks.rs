//! Converts moments to local time. A showing uses the time zone of its cinema. A train uses the
//! time zones of its stations.

use jiff::{Timestamp, Zoned};
use serde_json::Value;

/// Writes a moment in the local time of a zone, as RFC 3339. Returns the moment unchanged if the
/// moment or the zone is not valid.
pub(super) fn local_time(moment: &Value, zone: &str) -> Value {
    zoned(moment, zone).map_or_else(
        || moment.clone(),
        |local| local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string().into(),
    )
}

/// Returns the day of a moment in a zone.
pub(super) fn day_in_zone(moment: &Value, zone: &str) -> Option<jiff::civil::Date> {
    zoned(moment, zone).map(|local| local.date())
}

fn zoned(moment: &Value, zone: &str) -> Option<Zoned> {
    let moment: Timestamp = moment.as_str()?.parse().ok()?;
    moment.in_tz(zone).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_local_time_and_stays_unchanged_if_it_or_the_zone_is_not_valid() {
        let late = Value::from("2027-01-11T23:30:00Z");
        assert_eq!(
            local_time(&late, "Europe/Berlin"),
            "2027-01-12T00:30:00+01:00"
        );
        assert_eq!(local_time(&late, "Mars/Base"), late);
        assert_eq!(local_time(&Value::from("soon"), "UTC"), "soon");
        let next = jiff::civil::date(2027, 1, 12);
        assert_eq!(day_in_zone(&late, "Asia/Shanghai"), Some(next));
        assert_eq!(day_in_zone(&Value::Null, "UTC"), None);
    }
}

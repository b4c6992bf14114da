//! Reads days of calendars.

use jiff::civil::Date;

/// Reads a day such as `2027-06-01`, or returns `None`. jiff's own reader also takes a day with a
/// time, and drops the time.
#[must_use]
pub fn parse_day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_only_if_it_stands_alone() {
        assert_eq!(parse_day("2027-06-01"), Some(jiff::civil::date(2027, 6, 1)));
        for text in ["2027-06-01T20:00", "2027-06-31", "2027-6-1", "", "tomorrow"] {
            assert_eq!(parse_day(text), None, "{text}");
        }
    }
}

//! The dates on which a service runs.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// The days of the week on which a service runs, between two dates, and the dates that are
/// exceptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCalendar {
    /// One bit for each day of the week. Monday's is the lowest.
    #[serde(default)]
    pub weekdays: u8,
    /// The service does not run before this date, except on dates in `added`. None if it has no
    /// first date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Date>,
    /// The service does not run after this date, except on dates in `added`. None if it has no last
    /// date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Date>,
    /// Dates on which the service runs in addition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Date>,
    /// Dates on which the service does not run, unless they are also in `added`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Date>,
}

/// All days of the week.
pub const EVERY_DAY: u8 = 0b111_1111;

impl ServiceCalendar {
    /// Returns whether the service runs on a date.
    #[must_use]
    pub fn runs_on(&self, date: Date) -> bool {
        if self.added.contains(&date) {
            return true;
        }
        let weekday = date.weekday().to_monday_zero_offset();
        self.weekdays >> weekday & 1 == 1
            && self.first.is_none_or(|first| first <= date)
            && self.last.is_none_or(|last| date <= last)
            && !self.removed.contains(&date)
    }

    /// Returns whether there is no date at all on which the service could run. It does not look at
    /// `removed`.
    #[must_use]
    pub fn never_runs(&self) -> bool {
        let backwards =
            matches!((self.first, self.last), (Some(first), Some(last)) if last < first);
        self.added.is_empty() && (backwards || self.weekdays == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_service_runs_on_its_weekdays_between_its_dates_except_for_exceptions() {
        // 2026-11-21 is a Saturday.
        let service = ServiceCalendar {
            weekdays: 0b110_0000,
            first: Some(date(2026, 11, 1)),
            last: Some(date(2026, 11, 29)),
            added: vec![date(2026, 11, 26), date(2027, 1, 1)],
            removed: vec![date(2026, 11, 22)],
        };
        for (day, runs) in [
            (date(2026, 11, 21), true),
            (date(2026, 11, 22), false),
            (date(2026, 11, 23), false),
            (date(2026, 11, 26), true),
            (date(2026, 11, 29), true),
            (date(2026, 12, 5), false),
            (date(2026, 10, 31), false),
            (date(2027, 1, 1), true),
        ] {
            assert_eq!(service.runs_on(day), runs, "{day}");
        }
    }

    #[test]
    fn a_service_without_dates_always_runs_and_one_with_reversed_dates_never() {
        let service = ServiceCalendar {
            weekdays: EVERY_DAY,
            ..ServiceCalendar::default()
        };
        assert!(service.runs_on(date(1999, 1, 1)) && service.runs_on(date(2099, 12, 31)));
        assert!(!service.never_runs());
        let backwards = ServiceCalendar {
            first: Some(date(2016, 2, 10)),
            last: Some(date(2016, 2, 6)),
            ..service
        };
        assert!(backwards.never_runs());
        assert!(!backwards.runs_on(date(2016, 2, 8)));
    }
}

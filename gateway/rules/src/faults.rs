//! Checking values that a promoter sends: every fault is noted, and all are told at once.

use jiff::Timestamp;

/// Collects faults so that all of them are told at once.
#[derive(Default)]
pub struct Faults {
    bad: Vec<(String, String)>,
    unbuilt: Vec<(String, String)>,
}

impl Faults {
    /// Notes a value that is wrong.
    pub fn bad(&mut self, field: &str, detail: impl Into<String>) {
        self.bad.push((field.to_owned(), detail.into()));
    }

    /// Notes a value whose machinery is not built.
    pub fn unbuilt(&mut self, field: &str, detail: impl Into<String>) {
        self.unbuilt.push((field.to_owned(), detail.into()));
    }

    /// The refusal, where there is anything to refuse.
    ///
    /// # Errors
    /// [`Refused`], with everything that was noted.
    pub fn settle(self) -> Result<(), Refused> {
        let Self { bad, unbuilt } = self;
        if bad.is_empty() && unbuilt.is_empty() {
            return Ok(());
        }
        Err(Refused { bad, unbuilt })
    }
}

/// What is wrong with what a promoter sent: fields, and why. One of the lists at least has
/// something in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Values that are wrong.
    pub bad: Vec<(String, String)>,
    /// Values whose machinery is not built.
    pub unbuilt: Vec<(String, String)>,
}

const YEAR_S: i64 = 366 * 86_400;

/// Millionths of a visitor a second, from which the pace counts without rounding.
#[must_use]
pub fn micros_per_s(per_s: f64) -> u64 {
    // Checked to lie in 0.001..=1_000_000 when the document was read, so this neither truncates nor
    // wraps.
    (per_s * 1e6).round() as u64
}

/// A `per_s` that the pace can work with.
pub fn check_per_s(per_s: f64, faults: &mut Faults) -> f64 {
    if (0.001..=1_000_000.0).contains(&per_s) {
        return per_s;
    }
    faults.bad("per_s", "must lie between 0.001 and 1,000,000");
    1.0
}

/// A text without control characters, of at most `max` characters.
pub fn text(
    field: &str,
    value: Option<String>,
    required: bool,
    max: usize,
    faults: &mut Faults,
) -> String {
    let value = value.unwrap_or_default().trim().to_owned();
    if required && value.is_empty() {
        faults.bad(field, "is required");
    }
    if value.chars().count() > max {
        faults.bad(field, format!("is longer than {max} characters"));
    }
    if value.chars().any(|c| c.is_control() && c != '\n') {
        faults.bad(field, "holds control characters");
    }
    value
}

/// A whole number between `min` and `max`.
pub fn whole(
    field: &str,
    value: Option<i64>,
    default: u64,
    min: u64,
    max: u64,
    faults: &mut Faults,
) -> u64 {
    match value.map(u64::try_from) {
        None => default,
        Some(Ok(value)) if (min..=max).contains(&value) => value,
        Some(_) => {
            faults.bad(field, format!("must lie between {min} and {max}"));
            default
        }
    }
}

/// A time that must be there; 0 where it is not, after noting it.
pub(super) fn required_time(field: &str, value: Option<&str>, faults: &mut Faults) -> i64 {
    if value.is_none() {
        faults.bad(field, "is required, as RFC 3339 with an offset");
    }
    time(field, value, faults).unwrap_or_default()
}

/// A time as RFC 3339, in milliseconds since the epoch.
pub(super) fn time(field: &str, value: Option<&str>, faults: &mut Faults) -> Option<i64> {
    let parsed = value?.parse::<Timestamp>();
    match parsed {
        // Beyond a century the calendar is a slip of the hand, and arithmetic stays far from its
        // limits.
        Ok(at) if (0..200 * YEAR_S).contains(&at.as_second()) => Some(at.as_millisecond()),
        _ => {
            faults.bad(
                field,
                "is not a time as RFC 3339 with an offset, such as 2027-01-10T10:00:00+01:00",
            );
            None
        }
    }
}

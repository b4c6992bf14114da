//! Checks the values that a promoter sends. Notes every fault, and reports all faults at once.

use jiff::Timestamp;

/// Collects the faults of a promoter's input.
#[derive(Default)]
pub struct RoomInputFaults {
    bad: Vec<(String, String)>,
    unbuilt: Vec<(String, String)>,
}

impl RoomInputFaults {
    /// Notes a value that is wrong.
    pub fn note_bad_value(&mut self, field: &str, detail: impl Into<String>) {
        self.bad.push((field.to_owned(), detail.into()));
    }

    /// Notes a value that is valid but not supported yet.
    pub fn note_unbuilt_value(&mut self, field: &str, detail: impl Into<String>) {
        self.unbuilt.push((field.to_owned(), detail.into()));
    }

    /// Fails if any fault was noted.
    ///
    /// # Errors
    /// [`RoomInputRefusal`], with all faults that were noted.
    pub fn into_result(self) -> Result<(), RoomInputRefusal> {
        let Self { bad, unbuilt } = self;
        if bad.is_empty() && unbuilt.is_empty() {
            return Ok(());
        }
        Err(RoomInputRefusal { bad, unbuilt })
    }
}

/// The faults of a promoter's input: the fields, and what is wrong with each. At least one of the
/// two lists is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomInputRefusal {
    /// Values that are wrong.
    pub bad: Vec<(String, String)>,
    /// Values that are valid but not supported yet.
    pub unbuilt: Vec<(String, String)>,
}

const YEAR_S: i64 = 366 * 86_400;

/// Returns a pace in whole millionths of a visitor a second.
#[must_use]
pub fn micros_per_s(per_s: f64) -> u64 {
    // The document's check keeps `per_s` within 0.001..=1_000_000, so the result fits.
    (per_s * 1e6).round() as u64
}

/// Checks `per_s`. Notes a fault and returns 1 if the value is bad.
pub fn check_per_s(per_s: f64, faults: &mut RoomInputFaults) -> f64 {
    if (0.001..=1_000_000.0).contains(&per_s) {
        return per_s;
    }
    faults.note_bad_value("per_s", "must be between 0.001 and 1,000,000");
    1.0
}

/// Checks a text and returns it without surrounding spaces. It may have at most `max` characters,
/// and no control characters except line breaks.
pub fn checked_text(
    field: &str,
    value: Option<String>,
    required: bool,
    max: usize,
    faults: &mut RoomInputFaults,
) -> String {
    let value = value.unwrap_or_default().trim().to_owned();
    if required && value.is_empty() {
        faults.note_bad_value(field, "is required");
    }
    if value.chars().count() > max {
        faults.note_bad_value(field, format!("is longer than {max} characters"));
    }
    if value.chars().any(|c| c.is_control() && c != '\n') {
        faults.note_bad_value(field, "contains control characters");
    }
    value
}

/// Checks that a whole number is between `min` and `max`. Returns the default if the number is
/// missing or bad. A bad number is noted as a fault.
pub fn checked_number(
    field: &str,
    value: Option<i64>,
    default: u64,
    min: u64,
    max: u64,
    faults: &mut RoomInputFaults,
) -> u64 {
    match value.map(u64::try_from) {
        None => default,
        Some(Ok(value)) if (min..=max).contains(&value) => value,
        Some(_) => {
            faults.note_bad_value(field, format!("must be between {min} and {max}"));
            default
        }
    }
}

/// Looks a word up in `values`, and returns its value. Returns the first value if there is no word
/// or the word is unknown. An unknown word is noted as a fault.
pub(super) fn checked_word<T: Copy, const N: usize>(
    field: &str,
    word: Option<&str>,
    values: [(&str, T); N],
    faults: &mut RoomInputFaults,
) -> T {
    let (_, default) = values[0];
    let Some(word) = word else {
        return default;
    };
    let entry = values.iter().find(|(known, _)| *known == word);
    entry.map_or_else(
        || {
            let names = values.map(|(name, _)| name).join(", ");
            faults.note_bad_value(field, format!("\"{word}\" is not one of {names}"));
            default
        },
        |(_, value)| *value,
    )
}

/// Reads a required time. Notes a fault and returns 0 if the time is missing or bad.
pub(super) fn required_time(field: &str, value: Option<&str>, faults: &mut RoomInputFaults) -> i64 {
    if value.is_none() {
        faults.note_bad_value(field, "is required: an RFC 3339 time with an offset");
    }
    checked_time(field, value, faults).unwrap_or_default()
}

/// Reads an RFC 3339 time, and returns it in milliseconds since the epoch. Notes a fault and
/// returns `None` if the time is bad.
pub(super) fn checked_time(
    field: &str,
    value: Option<&str>,
    faults: &mut RoomInputFaults,
) -> Option<i64> {
    let parsed = value?.parse::<Timestamp>();
    match parsed {
        // A year before 1970 or after 2170 is a typing error. The bounds also keep sums of times
        // from overflowing.
        Ok(at) if (0..200 * YEAR_S).contains(&at.as_second()) => Some(at.as_millisecond()),
        _ => {
            faults.note_bad_value(
                field,
                "is not an RFC 3339 time with an offset, such as 2027-01-10T10:00:00+01:00",
            );
            None
        }
    }
}

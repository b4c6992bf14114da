//! Reads the kinds of members that only our own format has: pairs, outlines, numbers within bounds,
//! and seat numbers.

use serde_json::Value;

use super::arc::ExactPoint;
use crate::plans::foreign_json::{PlanFaults, PlanObject, drawn_corner, quote_value};
use crate::plans::seatmap::{OUTLINE_POINTS_MAX, OutlinePoint};
use crate::plans::{COORDINATE_MAX, LABEL_CHARS_MAX};

/// The largest number of a seat in a row that is numbered by `first` and `step`.
pub const SEAT_NUMBER_MAX: i64 = 1_000_000;

impl<'a> PlanObject<'a> {
    /// Adds a fault for each member that is not in `known`. Without the fault a misspelt member
    /// would be ignored, and the plan would not be what its author wanted.
    pub fn refuse_unknown(&self, known: &[&str], faults: &mut PlanFaults) {
        for key in self.keys().filter(|key| !known.contains(&key.as_str())) {
            let key: String = key.chars().take(LABEL_CHARS_MAX).collect();
            let message = format!(
                "`{key}` is not one of its fields, which are {}.",
                known.join(", ")
            );
            faults.add_fault(self.path_to(&key), "unknown_field", message);
        }
    }

    /// Returns the text in the member `key`. A missing text is no fault.
    pub fn text(&self, key: &str, faults: &mut PlanFaults) -> Option<&'a str> {
        let value = self.get(key)?;
        let text = value.as_str().filter(|text| is_label(text));
        if text.is_none() {
            let message = format!(
                "`{key}` is {}; expected a text of 1 to {LABEL_CHARS_MAX} characters.",
                quote_value(value)
            );
            faults.add_fault(self.path_to(key), "bad_label", message);
        }
        text
    }

    /// Returns the point `[x, y]` in the member `key`. A missing point is no fault.
    pub fn pair(&self, key: &str, faults: &mut PlanFaults) -> Option<ExactPoint> {
        let value = self.get(key)?;
        let point = coordinates(value);
        if point.is_none() {
            self.refuse_pair(key, value, faults);
        }
        point
    }

    /// Returns the point `[x, y]` in the member `key`, which must be there.
    pub fn required_pair(&self, key: &str, faults: &mut PlanFaults) -> Option<ExactPoint> {
        if self.get(key).is_none() {
            self.refuse_pair(key, &Value::Null, faults);
        }
        self.pair(key, faults)
    }

    fn refuse_pair(&self, at: &str, found: &Value, faults: &mut PlanFaults) {
        let found = match found {
            Value::Null => "missing".to_owned(),
            found => quote_value(found),
        };
        let message = format!(
            "This is {found}; expected a point [x, y] of two numbers between ±{COORDINATE_MAX}."
        );
        faults.add_fault(self.path_to(at), "bad_coordinate", message);
    }

    /// Returns the corners in the member `key`. Missing corners are no fault.
    pub fn corners(&self, key: &str, faults: &mut PlanFaults) -> Option<Vec<OutlinePoint>> {
        let value = self.get(key)?;
        let list = value
            .as_array()
            .filter(|list| (3..=OUTLINE_POINTS_MAX).contains(&list.len()));
        let Some(list) = list else {
            let found = match value {
                Value::Array(list) => format!("a list of {}", list.len()),
                other => quote_value(other),
            };
            let message = format!(
                "`{key}` is {found}; expected a list of 3 to {OUTLINE_POINTS_MAX} corners, each [x, y]."
            );
            faults.add_fault(self.path_to(key), "bad_outline", message);
            return None;
        };
        let corners = list.iter().enumerate().map(|(index, value)| {
            let corner = coordinates(value).and_then(|(x, y)| drawn_corner(x, y));
            if corner.is_none() {
                self.refuse_pair(&format!("{key}[{index}]"), value, faults);
            }
            corner
        });
        // All corners are read first, so that every fault is listed. Only then does a bad corner
        // make the result `None`.
        corners.collect::<Vec<_>>().into_iter().collect()
    }

    /// Returns the number in the member `key`, or `default` if it is missing.
    pub fn number(&self, key: &str, default: f64, faults: &mut PlanFaults) -> Option<f64> {
        let Some(value) = self.get(key) else {
            return Some(default);
        };
        let number = bounded(value);
        if number.is_none() {
            let message = format!(
                "`{key}` is {}; expected a number between ±{COORDINATE_MAX}.",
                quote_value(value)
            );
            faults.add_fault(self.path_to(key), "bad_number", message);
        }
        number
    }

    /// Returns the whole number in the member `key`, or `default` if it is missing.
    pub fn whole(
        &self,
        key: &str,
        default: i64,
        bounds: std::ops::RangeInclusive<i64>,
        faults: &mut PlanFaults,
    ) -> Option<i64> {
        let Some(value) = self.get(key) else {
            return Some(default);
        };
        let number = value.as_i64().filter(|number| bounds.contains(number));
        if number.is_none() {
            let message = format!(
                "`{key}` is {}; expected a whole number from {} to {}.",
                quote_value(value),
                bounds.start(),
                bounds.end()
            );
            faults.add_fault(self.path_to(key), "bad_number", message);
        }
        number
    }
}

/// Returns a seat's number, which is a whole number or a short text.
pub fn seat_number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if is_label(text) => Some(text.clone()),
        Value::Number(number) => number.as_u64().map(|number| number.to_string()),
        _ => None,
    }
}

/// Returns the two coordinates of a point.
fn coordinates(value: &Value) -> Option<ExactPoint> {
    match value.as_array()?.as_slice() {
        [x, y] => Some((bounded(x)?, bounded(y)?)),
        _ => None,
    }
}

/// Returns a number if it is within the bounds of a coordinate.
pub fn bounded(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|number| number.abs() <= COORDINATE_MAX)
}

fn is_label(text: &str) -> bool {
    !text.trim().is_empty()
        && text.chars().count() <= LABEL_CHARS_MAX
        && !text.chars().any(char::is_control)
}

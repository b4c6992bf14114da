//! Reads single values of JSON from outside: the whole text, points, keys and colours.

use serde_json::{Map, Value};

use super::PlanFaults;
use crate::plans::seatmap::{OutlinePoint, PlanPoint};
use crate::plans::{COORDINATE_MAX, PLAN_BYTES_MAX, PlanFault};

/// Reads a text that is one JSON object. Returns `None` if it is JSON of another kind.
///
/// # Errors
/// A single fault if the text is too long or is not JSON.
pub fn document(text: &str) -> Result<Option<Map<String, Value>>, Vec<PlanFault>> {
    let refuse = |at: String, code, message: String| Err(vec![PlanFault { at, code, message }]);
    if text.len() > PLAN_BYTES_MAX {
        let message = format!(
            "The plan is {} bytes long; at most {PLAN_BYTES_MAX} are read.",
            text.len()
        );
        return refuse(String::new(), "too_large", message);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Ok(None),
        Err(error) => {
            let fault = JsonFault::new(text, &error);
            let at = format!("line {} column {}", fault.line, fault.column);
            let message = format!("This is not JSON: {}.", fault.message);
            refuse(at, "malformed_json", message)
        }
    }
}

/// Where and why a text is not JSON.
#[derive(Debug)]
pub struct JsonFault {
    /// The number of the line, from 1.
    pub line: usize,
    /// The column in bytes, from 1. It is 0 if the text ends with a line break and something is
    /// missing after it.
    pub column: usize,
    /// What is wrong, as part of a sentence.
    pub message: String,
}

impl JsonFault {
    /// Builds the fault from the parser's error. The parser places a line break that it does not
    /// expect at the beginning of the next line. Here it is at the end of its own line.
    #[must_use]
    pub fn new(text: &str, error: &serde_json::Error) -> Self {
        let told = error.to_string();
        let message = told.split(" at line ").next().unwrap_or(&told).to_owned();
        let (mut line, mut column) = (error.line(), error.column());
        if column == 0 && line > 1 && !error.is_eof() {
            line -= 1;
            column = text.split('\n').nth(line - 1).map_or(0, str::len) + 1;
        }
        Self {
            line,
            column,
            message,
        }
    }
}

/// Returns a point in the map's units. If the point is beyond [`COORDINATE_MAX`], adds a fault and
/// returns `None`.
pub fn placed(
    at: impl FnOnce() -> String,
    (x, y): (f64, f64),
    faults: &mut PlanFaults,
) -> Option<PlanPoint> {
    let Some([x, y]) = drawn_corner(x, y) else {
        faults.add_fault(
            at(),
            "bad_coordinate",
            format!("The position is beyond ±{COORDINATE_MAX}."),
        );
        return None;
    };
    Some(PlanPoint { x, y })
}

/// Returns a corner in the map's units, or `None` if it is beyond [`COORDINATE_MAX`].
pub fn drawn_corner(x: f64, y: f64) -> Option<OutlinePoint> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "values are returned up to COORDINATE_MAX; a position needs no more than f32 holds"
    )]
    (x.abs() <= COORDINATE_MAX && y.abs() <= COORDINATE_MAX).then_some([x as f32, y as f32])
}

/// Returns a key as text. In plans, keys are numbers or texts.
pub fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns whether a text may be used as a colour in a style sheet. It must have no character that
/// could end the declaration.
pub fn is_color(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "#(),.% ".contains(c);
    !text.is_empty() && text.len() <= 40 && text.chars().all(plain)
}

/// Returns a short form of a value for the message of a fault.
pub fn quote_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
        other => other.to_string(),
    }
}

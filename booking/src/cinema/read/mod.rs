//! Reads a programme's document. Returns the whole programme, or every fault with its path and
//! line.

mod lines;
mod mend;
mod parts;
mod spot;

use std::fmt;

use fairgate_model::plans::{JsonFault, quote_value};
use serde::Serialize;
use serde_json::Value;

use super::Programme;
pub use spot::ProgrammeFaults;
use spot::ProgrammeObject;

/// How many bytes a document may have.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One thing that is wrong with a programme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Fault)]
pub struct ProgrammeFault {
    /// The path in the document, such as `cities[0].cinemas[1].halls[0].plan`.
    pub at: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// A stable code for programs, such as `unknown_film` or `bad_number`.
    pub code: &'static str,
    /// A message for people: what is wrong and what to do.
    pub message: String,
}

/// A correction that was made while the document was read. It is not a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Note)]
pub struct ProgrammeNote {
    /// The path in the document.
    pub at: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// A message for people: what was corrected.
    pub message: String,
}

impl fmt::Display for ProgrammeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            line,
            code,
            message,
        } = self;
        let at = if at.is_empty() { "(the whole)" } else { at };
        write!(f, "line {line}, {at}: {message} ({code})")
    }
}

/// Parses a document as JSON. JSON forbids control characters within strings, but they are accepted
/// here as if they were escaped. They are removed later, when the single fields are read.
fn read_json(text: &str) -> Result<Value, ProgrammeFault> {
    if let Ok(document) = serde_json::from_str(text) {
        return Ok(document);
    }
    let escaped = mend::escape_controls_in_strings(text);
    serde_json::from_str(&escaped.text).map_err(|error| {
        let fault = JsonFault::new(&escaped.text, &error);
        let position = json_position(&escaped.text, &fault);
        ProgrammeFault {
            at: String::new(),
            line: escaped.original_line(fault.line, fault.column),
            code: "invalid_json",
            message: format!("This is not JSON: {}{position}.", fault.message),
        }
    })
}

/// Quotes the text around the spot where it stops being valid JSON.
fn json_position(text: &str, fault: &JsonFault) -> String {
    let line = fault.line.checked_sub(1);
    let line = line.and_then(|at| text.lines().nth(at)).unwrap_or_default();
    if line.trim().is_empty() {
        return String::new();
    }
    // The column counts bytes, and may be within a character.
    let before = line.char_indices();
    let before = before.take_while(|(at, _)| at + 1 < fault.column);
    format!(", near {}", mend::quote_around(line, before.count()))
}

/// Reads a document as far as possible, and adds its faults to `faults`. The programme is complete
/// only if there are no faults.
///
/// # Errors
/// Returns a single fault if the text is not JSON, or not a JSON object.
pub fn read_programme(
    text: &str,
    faults: &mut ProgrammeFaults,
) -> Result<Programme, ProgrammeFault> {
    let document = read_json(text)?;
    match &document {
        Value::Object(members) => {
            let spot = ProgrammeObject::new(String::new(), members);
            Ok(parts::parse_programme(&spot, faults))
        }
        other => Err(ProgrammeFault {
            at: String::new(),
            line: 1,
            code: "bad_object",
            message: format!(
                "The document is {} where an object with cities, films and showings is expected.",
                quote_value(other)
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::read_json;

    #[test]
    fn text_that_is_not_json_is_a_fault_with_the_line_of_the_original_text() {
        for (text, line) in [
            ("{\n\"a\": \"b\" 1}", 2),
            ("{\"a\": \"b\nc\nd\",\n\"e\" 1}", 4),
            (
                "{\"a\": \"b\\nc\",\n\"e\": \"f\ng\" 1,\n\"h\": \"i\nj\"}",
                3,
            ),
            ("{\"a\": \"b\nc\",\n\"e\":\n", 4),
            ("{\n\"a\": \"b\\\nc\"}", 2),
            ("{\n\"a\": \"b\\\u{7}\",\n\"c\": \"d\ne\"}", 2),
        ] {
            let fault = read_json(text).expect_err(text);
            assert_eq!((fault.line, fault.code), (line, "invalid_json"), "{text:?}");
            assert!(!fault.message.contains(" at line "), "{}", fault.message);
        }
    }
}

//! Reads a programme's document. It returns the whole programme, or every fault with its path and
//! line.

mod lines;
mod parts;
mod spot;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::Programme;
pub use spot::ProgrammeFaults;
use spot::ProgrammeObject;

/// The longest document that is read, in bytes.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One thing that is wrong with a programme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Fault)]
pub struct ProgrammeFault {
    /// The path in the document: `cities[0].cinemas[1].halls[0].plan`.
    pub at: String,
    /// The line, from 1.
    pub line: usize,
    /// Stable, for programs: `unknown_film`, `bad_number`, …
    pub code: &'static str,
    /// For people: what is wrong and what to do.
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

/// Reads a document as far as possible, and adds its faults to `faults`. The programme is complete
/// only if no fault was added.
///
/// # Errors
/// Returns a single fault if the text is not JSON, or is no JSON object.
pub fn read_programme(
    text: &str,
    faults: &mut ProgrammeFaults,
) -> Result<Programme, ProgrammeFault> {
    let document: Value = serde_json::from_str(text).map_err(|error| ProgrammeFault {
        at: String::new(),
        line: error.line(),
        code: "invalid_json",
        message: format!("This is not JSON: {error}."),
    })?;
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
                spot::short_value(other)
            ),
        }),
    }
}

//! Prints what a command is for.

use std::io::{ErrorKind, Write, stdout};

/// Prints lines. A reader that has closed the pipe, as `head` does, has read enough.
///
/// # Errors
/// Says why the lines could not be printed. What the command did is done all the same.
pub fn print(lines: &[String]) -> Result<(), String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let printed = stdout().write_all(text.as_bytes());
    let printed = printed.and_then(|()| stdout().flush());
    match printed.map_err(|error| (error.kind(), error)) {
        Ok(()) | Err((ErrorKind::BrokenPipe, _)) => Ok(()),
        Err((_, error)) => Err(format!(
            "the command was carried out, but what it did could not be printed: {error}"
        )),
    }
}

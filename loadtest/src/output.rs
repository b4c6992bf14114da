//! Writes the results of a command to standard output. If the reader closes the pipe early, as in
//! `loadtest plan FILE | head`, that is no error.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stdout};

/// Writes a text and ends its line.
///
/// # Errors
/// Why the text cannot be written, for instance because a disk is full.
pub fn print_line(text: impl Display) -> std::io::Result<()> {
    let mut out = stdout().lock();
    unless_closed(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Treats a closed pipe as success.
///
/// # Errors
/// Any other error.
pub fn unless_closed(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

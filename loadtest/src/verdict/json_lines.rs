//! Reads files with one JSON record on each line. A line that cannot be read is reported with its
//! file and number, and nothing is guessed.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, anyhow};
use serde::Deserialize;

/// Hands each line and its number (from 1) to `see`. Blank lines are skipped.
///
/// # Errors
/// If the text cannot be read, or if `see` returns an error. The message begins with `name` and the
/// number of the line.
pub fn each_line(
    name: &str,
    mut text: impl BufRead,
    mut see: impl FnMut(u32, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut line = String::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let read = text.read_line(&mut line);
        if read.with_context(|| format!("{name}: line {number} cannot be read"))? == 0 {
            return Ok(());
        }
        if !line.trim().is_empty() {
            see(number, line.trim_end())
                .map_err(|error| anyhow!("{name}: line {number}: {error:#}"))?;
        }
    }
}

/// Opens a file for [`each_line`].
///
/// # Errors
/// If the file cannot be opened. The message names the file.
pub fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

/// Returns the `kind` of a line.
///
/// # Errors
/// If the line is no record.
pub fn kind_of(line: &str) -> anyhow::Result<JsonRecordKind> {
    serde_json::from_str(line).context("this is no record with a \"kind\"")
}

/// The field that every record has.
#[derive(Deserialize)]
pub struct JsonRecordKind {
    /// The kind of the record.
    pub kind: String,
}

/// Decodes a hex text into bytes. Errors name the field `what`.
///
/// # Errors
/// If the text is no hex.
pub fn hex_bytes(what: &str, text: &str) -> anyhow::Result<Vec<u8>> {
    hex::decode(text).with_context(|| format!("{what} is not hex"))
}

//! Writes a dump to a file: whole, or not at all, so that a judge never reads half of one.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Record;
use crate::ledger::LedgerError;
use crate::ledger::sqlite::dump::read;

/// The ledger's file in a data folder.
const LEDGER_FILE: &str = "ledger.db";

/// Why there is no dump; the file that was named is as it was.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The data folder is not there.
    #[error("there is no folder {}; nothing was written. Name the gateway's data folder with --data", .0.display())]
    NoFolder(PathBuf),
    /// The folder holds no ledger.
    #[error("{} holds no {LEDGER_FILE}, so no gateway ever kept its ledger there; nothing was written. Name the gateway's data folder with --data", .0.display())]
    NoLedger(PathBuf),
    /// The ledger cannot be read.
    #[error("{}: {}; nothing was written", .0.display(), .1)]
    Ledger(PathBuf, #[source] LedgerError),
    /// The file cannot be written.
    #[error("{} cannot be written: {}; what was there is as it was", .0.display(), .1)]
    File(PathBuf, #[source] std::io::Error),
}

/// Dumps the ledger in the folder `data` into the file `out` and returns how many records it has. `now_ms` is noted
/// as the moment of reading. A gateway may go on writing meanwhile.
///
/// # Errors
/// [`DumpError`]; `out` is then as it was.
pub fn write(data: &Path, out: &Path, now_ms: i64) -> Result<u64, DumpError> {
    if !data.is_dir() {
        return Err(DumpError::NoFolder(data.to_owned()));
    }
    let ledger = data.join(LEDGER_FILE);
    if !ledger.is_file() {
        return Err(DumpError::NoLedger(data.to_owned()));
    }
    let cannot = |error| DumpError::File(out.to_owned(), error);
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let temporary =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(cannot)?;
    let mut lines = BufWriter::new(temporary);
    let mut records = 0;
    let mut failed = None;
    let kept = read(&ledger, now_ms, &mut |record: &Record| {
        let written = serde_json::to_writer(&mut lines, record)
            .map_err(std::io::Error::from)
            .and_then(|()| lines.write_all(b"\n"));
        records += 1;
        written.map_err(|error| {
            let told = LedgerError::Unavailable(error.to_string());
            failed = Some(error);
            told
        })
    });
    if let Some(error) = failed {
        return Err(cannot(error));
    }
    kept.map_err(|error| DumpError::Ledger(ledger, error))?;
    let temporary = lines
        .into_inner()
        .map_err(|error| cannot(error.into_error()))?;
    temporary.as_file().sync_all().map_err(cannot)?;
    temporary
        .persist(out)
        .map_err(|error| cannot(error.error))?;
    Ok(records)
}

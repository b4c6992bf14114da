//! Writes a dump to a file. The file is written as a whole or not at all, so that no program reads
//! an incomplete dump.

use std::path::{Path, PathBuf};

use fairgate_databases::{Installation, PostgresDatabase, SqlTransaction, snapshot_of_file};
use tempfile::NamedTempFile;

use crate::dump::DumpRecord;
use crate::dump::lines::{DumpFailed, DumpLines};
use crate::ledger::LedgerError;
use crate::ledger::sql::dump;

/// The name of the ledger's file in a data folder.
const LEDGER_FILE: &str = "ledger.db";

/// Why no dump was written. The file that the dump should replace is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The data folder does not exist.
    #[error("there is no folder {}; nothing was written. Name the gateway's data folder with --data", .0.display())]
    NoFolder(PathBuf),
    /// The folder holds no ledger.
    #[error("{} holds no {LEDGER_FILE}, so no gateway ever kept its ledger there; nothing was written. Name the gateway's data folder with --data", .0.display())]
    NoLedger(PathBuf),
    /// The ledger cannot be read.
    #[error("{}: {}; nothing was written", .0.display(), .1)]
    Ledger(PathBuf, #[source] LedgerError),
    /// The database cannot be read.
    #[error("the database: {0}; nothing was written")]
    Database(#[source] LedgerError),
    /// The file cannot be written.
    #[error("{} cannot be written: {}; what was there before is unchanged", .0.display(), .1)]
    File(PathBuf, #[source] std::io::Error),
}

/// Dumps the ledger in the folder `data` into the file `out`, and returns how many records the dump
/// has. The dump names `now_ms` as the time at which it was read. A gateway may go on writing to
/// the ledger meanwhile.
///
/// # Errors
/// Returns a [`DumpError`]. `out` is then unchanged.
pub fn write(data: &Path, out: &Path, now_ms: i64) -> Result<u64, DumpError> {
    if !data.is_dir() {
        return Err(DumpError::NoFolder(data.to_owned()));
    }
    let ledger = data.join(LEDGER_FILE);
    if !ledger.is_file() {
        return Err(DumpError::NoLedger(data.to_owned()));
    }
    let lines = DumpFileWriter::beside(out)?;
    let read = snapshot_of_file(&ledger, (), move |tx, ()| {
        Box::pin(lines.add_ledger(tx, now_ms))
    });
    let (lines, read_result) = read.map_err(|error| DumpError::Ledger(ledger.clone(), error))?;
    lines.finish_file(read_result, |error| DumpError::Ledger(ledger, error))
}

/// Dumps the ledger in the database at `url` into the file `out`, and returns how many records the
/// dump has. Nodes may go on writing to the ledger meanwhile.
///
/// # Errors
/// Returns a [`DumpError`]. `out` is then unchanged.
pub async fn write_database(url: &str, out: &Path, now_ms: i64) -> Result<u64, DumpError> {
    let database = PostgresDatabase::reading(url).map_err(DumpError::Database)?;
    let installation = Installation::Server(database);
    let lines = DumpFileWriter::beside(out)?;
    let read = installation.read_snapshot((), move |tx, ()| Box::pin(lines.add_ledger(tx, now_ms)));
    let (lines, read_result) = read.await.map_err(DumpError::Database)?;
    lines.finish_file(read_result, DumpError::Database)
}

/// Writes the records into a temporary file, which replaces `out` once it is complete.
struct DumpFileWriter {
    out: PathBuf,
    lines: DumpLines<NamedTempFile>,
}

impl DumpFileWriter {
    fn beside(out: &Path) -> Result<Self, DumpError> {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let temporary = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| DumpError::File(out.to_owned(), error))?;
        Ok(Self {
            out: out.to_owned(),
            lines: DumpLines::new(temporary),
        })
    }

    /// Adds the whole ledger. Returns the writer even after a failure. If a line could not be
    /// written, the writer has the error.
    async fn add_ledger(
        mut self,
        tx: &SqlTransaction,
        now_ms: i64,
    ) -> Result<(Self, Result<(), LedgerError>), LedgerError> {
        let mut add = |record: &DumpRecord| self.lines.add(record);
        let read_result = dump::read_records(tx, now_ms, &mut add).await;
        Ok((self, read_result))
    }

    /// Replaces `out` with the temporary file if everything was read and written.
    fn finish_file(
        self,
        read_result: Result<(), LedgerError>,
        to_read_error: impl FnOnce(LedgerError) -> DumpError,
    ) -> Result<u64, DumpError> {
        let Self { out, lines } = self;
        let records = lines.records();
        let temporary = lines.finish(read_result).map_err(|failed| match failed {
            DumpFailed::Written(error) => DumpError::File(out.clone(), error),
            DumpFailed::Read(error) => to_read_error(error),
        })?;
        let cannot = |error| DumpError::File(out.clone(), error);
        temporary.as_file().sync_all().map_err(cannot)?;
        temporary
            .persist(&out)
            .map_err(|error| cannot(error.error))?;
        Ok(records)
    }
}

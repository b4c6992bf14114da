//! Writes the records of a dump as JSON lines, and remembers whether reading or writing failed.

use std::io::{BufWriter, Write};

use fairgate_databases::LedgerError;

use super::DumpRecord;

/// Writes records into a file or another sink.
pub struct DumpLines<W: Write> {
    out: BufWriter<W>,
    records: u64,
    failed: Option<std::io::Error>,
}

/// Why a dump is not complete.
#[derive(Debug, thiserror::Error)]
pub enum DumpFailed {
    /// A line could not be written.
    #[error("the dump could not be written: {0}")]
    Written(std::io::Error),
    /// The ledger could not be read.
    #[error(transparent)]
    Read(LedgerError),
}

impl<W: Write> DumpLines<W> {
    /// Makes a writer that has no records yet.
    pub fn new(out: W) -> Self {
        Self {
            out: BufWriter::new(out),
            records: 0,
            failed: None,
        }
    }

    /// Adds one record.
    ///
    /// # Errors
    /// Returns an error if the record could not be written. The caller must then stop reading.
    /// [`Self::finish`] returns the cause.
    pub fn add(&mut self, record: &DumpRecord) -> Result<(), LedgerError> {
        let written = serde_json::to_writer(&mut self.out, record)
            .map_err(std::io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"));
        self.records += 1;
        written.map_err(|error| {
            let reported = LedgerError::Unavailable(error.to_string());
            self.failed = Some(error);
            reported
        })
    }

    /// Returns how many records were added.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes the buffered bytes. Returns the sink if everything was read and written.
    /// `read_result` is the result of reading the ledger.
    ///
    /// # Errors
    /// Returns a [`DumpFailed`].
    pub fn finish(self, read_result: Result<(), LedgerError>) -> Result<W, DumpFailed> {
        if let Some(error) = self.failed {
            return Err(DumpFailed::Written(error));
        }
        read_result.map_err(DumpFailed::Read)?;
        let whole = self.out.into_inner();
        whole.map_err(|error| DumpFailed::Written(error.into_error()))
    }
}

//! Compares the ledger with the counter outside it when a process starts, before it sells anything.

use std::path::{Path, PathBuf};

use fairgate_base::clock::rfc3339;
use fairgate_databases::{
    CounterFile, CounterFileError, CounterRecord, Installation, LedgerError, LedgerSetBack,
};

/// The name of the counter's file in the data folder.
const FILE: &str = "counter";

/// Why the counter outside the ledger keeps a process from starting.
#[derive(Debug, thiserror::Error)]
pub enum CounterStartError {
    /// The file cannot be read or written.
    #[error("FAIRGATE_COUNTER_FILE: the counter {} cannot be used: {error}. Nothing was changed. Name a file that this user may write, or put the file back", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why it cannot be used.
        error: CounterFileError,
    },
    /// The counter was written beside a ledger that is not there any more.
    #[error("the ledger {} is missing, but {} says that it had {counter} commits. Nothing was changed. Put the ledger back: `gateway restore FILE --data DIR` restores a backup into an empty folder. To begin anew with nothing sold, move {} away too", .ledger.display(), .file.display(), .file.display())]
    LedgerMissing {
        /// Where the ledger should be.
        ledger: PathBuf,
        /// The counter's file.
        file: PathBuf,
        /// The counter.
        counter: u64,
    },
    /// The counter belongs to another ledger.
    #[error("{} is the counter of another ledger ({known}, and this one is {own}). Nothing was changed. Put that ledger back, or, to go on with this one, move the file away or name another one in FAIRGATE_COUNTER_FILE", .file.display())]
    OtherLedger {
        /// The counter's file.
        file: PathBuf,
        /// The id of the ledger that was counted, in hex.
        known: String,
        /// The id of the ledger that was opened, in hex.
        own: String,
    },
    /// The ledger did not answer.
    #[error("the ledger cannot be used: {0}")]
    Ledger(#[from] LedgerError),
}

/// The counter's file as it is before the ledger is opened.
pub struct CounterAtStart {
    file: PathBuf,
    record: Option<CounterRecord>,
}

impl CounterAtStart {
    /// Reads the counter's file: the one that the settings name, or else the one in the data
    /// folder.
    ///
    /// # Errors
    /// [`CounterStartError::File`] if there is a file that cannot be read.
    pub fn read(set: Option<&Path>, data: &Path) -> Result<Self, CounterStartError> {
        let file = set.map_or_else(|| data.join(FILE), Path::to_owned);
        match CounterRecord::read(&file) {
            Ok(record) => Ok(Self { file, record }),
            Err(error) => Err(CounterStartError::File { file, error }),
        }
    }

    /// Refuses to make a new ledger beside the counter of an older one.
    ///
    /// # Errors
    /// [`CounterStartError::LedgerMissing`].
    pub fn require_ledger(&self, ledger: &Path) -> Result<(), CounterStartError> {
        match self.record {
            Some(record) if !ledger.exists() => Err(CounterStartError::LedgerMissing {
                ledger: ledger.to_owned(),
                file: self.file.clone(),
                counter: record.counted.counter,
            }),
            _ => Ok(()),
        }
    }

    /// Compares the opened ledger with the file, and from then on writes the ledger's counter to
    /// the file. If the ledger is behind, its shows are closed; also if the file is missing that
    /// remembered a ledger file before, because nobody can tell then.
    ///
    /// # Errors
    /// [`CounterStartError`].
    pub async fn compare(self, installation: &Installation) -> Result<(), CounterStartError> {
        let Self { file, record } = self;
        let own = installation.ledger_id().await?;
        // Nodes that share a database have a file each, and a new node has none yet.
        let is_file = matches!(installation, Installation::File(_));
        if let Some(CounterRecord { ledger, .. }) = record
            && ledger != own
        {
            return Err(CounterStartError::OtherLedger {
                file,
                known: hex::encode(ledger),
                own: hex::encode(own),
            });
        }
        if record.is_none() && is_file && installation.had_witness().await? {
            log_set_back(&installation.mark_without_witness().await?);
        }
        let at_start = CounterRecord {
            ledger: own,
            counted: match record {
                Some(record) => record.counted,
                None => installation.counter().await?.to_outside(),
            },
        };
        // A file that cannot be written leaves the ledger as it is.
        let counting = match CounterFile::start(&file, at_start) {
            Ok(counting) => counting,
            Err(error) => return Err(CounterStartError::File { file, error }),
        };
        if let Some(set_back) = installation.note_outside_counter(at_start.counted).await? {
            log_set_back(&set_back);
        }
        counting.note(installation.counter().await?.to_outside());
        installation.count_into(counting);
        if is_file {
            installation.note_witness().await?;
        }
        Ok(())
    }
}

/// Logs that the ledger was found to be behind.
pub(super) fn log_set_back(set_back: &LedgerSetBack) {
    tracing::error!(
        lacking = set_back.lacking,
        last_commit = rfc3339(set_back.last_commit_at_ms),
        orders_lost = set_back.orders_lost,
        "the ledger went back to an older state; every show is closed until somebody reopens it"
    );
}

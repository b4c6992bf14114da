//! `booking import cinema FILE`: imports a programme into a ledger from the command line.

use std::path::{Path, PathBuf};

use fairgate_databases::LedgerError;
use fairgate_model::payments::kind::ProviderKind;

use crate::catalogue::Catalogue;
use crate::choices::ImportDecisions;
use crate::cinema::read::ProgrammeFault;
use crate::cinema::{ChartSource, CinemaCatalogue, ProgrammePutRefusal, ProgrammeSummary};
use crate::ledger::Ledger;
use crate::open::{self, BookingOpenError};
use fairgate_base::config::StoreSettings;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammeImportError {
    /// The file cannot be read.
    #[error("{} cannot be read: {}; nothing was changed", .0.display(), .1)]
    File(PathBuf, #[source] std::io::Error),
    /// The file is longer than the longest allowed document.
    #[error("{} is longer than {} MiB; nothing was changed", .0.display(), crate::cinema::read::DOCUMENT_BYTES_MAX >> 20)]
    TooLong(PathBuf),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Opened(#[from] BookingOpenError),
    /// The programme was refused.
    #[error(transparent)]
    Refused(#[from] ProgrammePutRefusal),
}

impl From<LedgerError> for ProgrammeImportError {
    fn from(error: LedgerError) -> Self {
        Self::Opened(error.into())
    }
}

/// Imports the programme in a file into the ledger that the settings name. If the ledger is a
/// database, nodes may serve meanwhile, and they use the new programme within a second. If the
/// ledger is a file, no other process may use it at the same time, so nothing can be imported while
/// a gateway runs. A price that the provider `payments` never takes is refused. What the programme
/// does not surely have of an earlier one is treated as `decisions` say.
///
/// # Errors
/// Returns a [`ProgrammeImportError`]. Nothing was changed, except perhaps if the ledger failed.
pub async fn import_programme(
    file: &Path,
    stores: &StoreSettings,
    data: &Path,
    payments: ProviderKind,
    decisions: &ImportDecisions,
) -> Result<ProgrammeSummary, ProgrammeImportError> {
    let unreadable = |error| ProgrammeImportError::File(file.to_owned(), error);
    let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
    if usize::try_from(bytes).is_ok_and(|bytes| bytes > crate::cinema::read::DOCUMENT_BYTES_MAX) {
        return Err(ProgrammeImportError::TooLong(file.to_owned()));
    }
    let text = text_of(std::fs::read(file).map_err(unreadable)?)?;
    let (installation, _lock) = open::open_installation(stores, data).await?;
    let ledger: Ledger = open::open_ledger(&installation).await?;
    let now_ms = open::installation_clock(&installation).await?.now_ms();
    let catalogue = Catalogue::open(ledger.clone(), payments).await?;
    let cinemas = CinemaCatalogue::open(ledger, catalogue).await?;
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let charts = ChartSource::In(folder);
    let changed = cinemas
        .put_programme(&text, (&charts, None), decisions, now_ms)
        .await?;
    open::close_installation(&installation).await;
    Ok(changed)
}

/// Returns the text of a file. If the file is not UTF-8, the fault names the line of the first bad
/// byte and quotes the text before it.
fn text_of(bytes: Vec<u8>) -> Result<String, ProgrammePutRefusal> {
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let sound = String::from_utf8_lossy(sound);
        let line = sound.rsplit('\n').next().unwrap_or_default();
        let before: Vec<char> = line.chars().rev().take(20).collect();
        let before: String = before.into_iter().rev().collect();
        ProgrammePutRefusal::Faulty(vec![ProgrammeFault {
            at: String::new(),
            line: sound.matches('\n').count() + 1,
            code: "not_utf8",
            message: format!("This is no text in UTF-8 after {before:?}."),
        }])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_a_fault_with_line_and_spot() {
        let refused = text_of(b"{\n \"title\": \"Am\xe9lie\"}".to_vec());
        let Err(ProgrammePutRefusal::Faulty(faults)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((faults[0].line, faults[0].code), (2, "not_utf8"));
        let message = &faults[0].message;
        assert!(
            message.contains("title") && message.ends_with("Am\"."),
            "{message}"
        );
        assert_eq!(text_of(b"{}".to_vec()).expect("text"), "{}");
    }
}

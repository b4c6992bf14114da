//! What can go wrong between a domain transaction and the database, in terms that fit both
//! databases.

use tokio_postgres::error::{Severity, SqlState};

/// Why a domain transaction failed. In every case but [`LedgerError::Unknown`], nothing of the
/// transaction was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// A statement failed, and the whole transaction was rolled back.
    #[error("ledger statement failed: {0}")]
    Sql(String),
    /// The database did not take the transaction, or cannot be reached. Nothing of the transaction
    /// was written.
    #[error("the ledger is not available: {0}")]
    Unavailable(String),
    /// Somebody has just changed what the transaction rests on, and this process has not read the
    /// change yet. Nothing of the transaction was written. The text says what was changed.
    #[error("{0}")]
    Overtaken(String),
    /// The ledger is an older copy of itself, and the show that the transaction is about is closed
    /// until somebody reopens it. Nothing of the transaction was written. The text says since when.
    #[error("{0}")]
    SetBack(String),
    /// It is not known whether the transaction was written. It was written whole or not at all. The
    /// connection was lost at the commit and the database could not tell afterwards, or no answer
    /// came in time, or the transaction's task panicked. A caller finds out by sending the same
    /// request again with the same ids.
    #[error("whether the ledger took the write is not known: {0}")]
    Unknown(String),
    /// The database holds something that this version cannot read.
    #[error("the ledger holds something unreadable: {0}")]
    Corrupt(String),
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error.to_string())
    }
}

impl From<tokio_postgres::Error> for LedgerError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db_error) if is_temporary(db_error.code()) => {
                Self::Unavailable(db_error.to_string())
            }
            Some(db_error) => Self::Sql(db_error.to_string()),
            None => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                let message =
                    cause.map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
                // A value that does not fit its column is a fault of this program. Every other
                // error comes from the connection.
                if error.to_string().contains("serializing") || error.to_string().contains("column")
                {
                    Self::Sql(message)
                } else {
                    Self::Unavailable(message)
                }
            }
        }
    }
}

/// Returns whether the same statement will probably succeed a little later. This is so in these
/// cases:
///
/// - The transaction was rolled back in favour of another one.
/// - It waited or ran for too long.
/// - The server has too many connections, or too little memory or free space.
/// - The server stops or starts, or cannot use its files.
/// - The connection failed.
fn is_temporary(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    matches!(class, "08" | "40" | "53" | "55" | "57" | "58")
}

/// Returns whether the transaction was rolled back in favour of another one and may be run again
/// unchanged.
pub(crate) fn was_rolled_back_for_another(error: &tokio_postgres::Error) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
    )
}

/// Returns whether the connection is lost. Then it can no longer tell how a transaction ended.
/// Every error that does not come from the server counts as a lost connection.
pub(crate) fn is_connection_lost(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_none_or(|db_error| {
        matches!(
            db_error.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        )
    })
}

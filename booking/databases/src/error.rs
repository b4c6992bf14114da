//! What can go wrong between a domain transaction and the database, in words that fit both
//! databases.

use tokio_postgres::error::{Severity, SqlState};

/// Why a domain transaction has no answer. But for [`LedgerError::Unknown`], nothing of it was
/// written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The statement itself failed; the transaction was rolled back whole.
    #[error("ledger statement failed: {0}")]
    Sql(String),
    /// The database did not take the transaction, or cannot be reached: nothing of it was written.
    #[error("the ledger did not take the write: {0}")]
    Unavailable(String),
    /// The connection was lost while the transaction was being committed, and the database could
    /// not be asked afterwards: it was written whole or not at all. A caller that asks again by the
    /// same ids finds out.
    #[error("whether the ledger took the write is not known: {0}")]
    Unknown(String),
    /// A row held something this version cannot read.
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
            Some(said) if is_of_the_moment(said.code()) => Self::Unavailable(said.to_string()),
            Some(said) => Self::Sql(said.to_string()),
            None => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                let told = cause.map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
                // Values that do not fit their columns are our mistake; all else is the
                // connection's.
                if error.to_string().contains("serializing") || error.to_string().contains("column")
                {
                    Self::Sql(told)
                } else {
                    Self::Unavailable(told)
                }
            }
        }
    }
}

/// Whether the same statement may well succeed a moment later: rolled back in favour of another,
/// lock or time ran out, too many connections, no room, the server stops or starts.
fn is_of_the_moment(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    matches!(class, "08" | "40" | "53" | "55" | "57" | "58")
}

/// Whether the transaction was rolled back in favour of another one and may be run again as it is.
pub(crate) fn gave_way(error: &tokio_postgres::Error) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
    )
}

/// Whether the connection is gone, so that nobody can say over it what became of anything.
pub(crate) fn cut_off(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_none_or(|said| {
        matches!(
            said.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        )
    })
}

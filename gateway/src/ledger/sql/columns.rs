//! Reads and writes the JSON documents that text columns hold.

use crate::ledger::LedgerError;

/// What a transaction of this folder returns.
pub(super) type Result<T, E = LedgerError> = std::result::Result<T, E>;

pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| LedgerError::Corrupt(error.to_string()))
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| LedgerError::Corrupt(error.to_string()))
}

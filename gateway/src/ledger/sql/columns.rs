//! Reads and writes the JSON documents that text columns hold.

use crate::ledger::RoomLedgerFailure;

pub(super) fn from_json<T: serde::de::DeserializeOwned>(
    text: &str,
) -> Result<T, RoomLedgerFailure> {
    serde_json::from_str(text).map_err(|error| RoomLedgerFailure::Corrupt(error.to_string()))
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, RoomLedgerFailure> {
    serde_json::to_string(value).map_err(|error| RoomLedgerFailure::Corrupt(error.to_string()))
}

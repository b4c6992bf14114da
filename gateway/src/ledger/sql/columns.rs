//! JSON documents in columns of text.

use crate::ledger::Failure;

pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Corrupt(error.to_string()))
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Corrupt(error.to_string()))
}

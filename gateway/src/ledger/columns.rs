//! Between our types and what columns of any database hold.

use super::Failure;

/// Databases' integers are signed; every count and time of ours lies far below their limit.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64) -> Result<u64, Failure> {
    u64::try_from(value).map_err(|_| Failure::Corrupt(format!("{value} where a count belongs")))
}

pub(super) fn bytes32(value: &[u8]) -> Result<[u8; 32], Failure> {
    value
        .try_into()
        .map_err(|_| Failure::Corrupt(format!("{} bytes where 32 belong", value.len())))
}

pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Corrupt(error.to_string()))
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Corrupt(error.to_string()))
}

//! The row of a pass that was stopped before it expires.

/// A pass that was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedPassRow {
    /// The slug of the pass's room.
    pub room: String,
    /// The join number of the pass's visitor. A number never gets another visitor.
    pub number: u64,
    /// When the pass expires, unix seconds. Until then it must be refused.
    pub expires_s: i64,
}

//! The row of a pass that was stopped before it expired.

/// A pass that was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedPassRow {
    /// The slug of the pass's room.
    pub room: String,
    /// The join number of the pass's visitor. No other visitor ever gets this number.
    pub number: u64,
    /// When the pass expires, unix seconds. Until then the pass must be refused.
    pub expires_s: i64,
}

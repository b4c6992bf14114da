//! The ledger's trait for passes that were stopped before they expire. Gateways report them, and
//! every booking process reads them.

use async_trait::async_trait;
use fairgate_databases::LedgerError;

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

/// The passes that were stopped.
#[async_trait]
pub trait StoppedPassLedger: Send + Sync {
    /// Records that these passes of a room were stopped, each as its join number and its expiry
    /// (unix seconds). Recording a pass again is harmless. Rows of passes that expired at
    /// `accepted_after_s` or earlier are deleted.
    async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<(u64, i64)>,
        accepted_after_s: i64,
    ) -> Result<(), LedgerError>;
    /// Returns the passes that were stopped after the cursor `after`, and the new cursor. A later
    /// commit always has a larger cursor. The cursor 0 comes before all.
    async fn passes_stopped_after(
        &self,
        after: u64,
    ) -> Result<(u64, Vec<StoppedPassRow>), LedgerError>;
}

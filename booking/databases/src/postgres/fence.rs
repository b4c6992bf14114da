//! Keeps a process from writing once it has lost its place on the database. A process may stand
//! still for so long that its lease runs out and another process takes it. When it goes on, it does
//! not know that yet. So each transaction that writes first checks, in the database, that its
//! process still has its leases. No lease changes hands between the check and the commit: a process
//! that takes a lease from another one waits for all transactions that have checked it.

use parking_lot::RwLock;
use tokio::sync::watch;

use crate::own_tables::WRITERS_LOCK;

/// The column with the number of leases that a check finds.
pub(super) const LEASES_HELD: &str = "leases_held";

/// The leases without which a process may not write.
pub(super) struct WriteFence {
    check: RwLock<Option<LeaseCheck>>,
    /// Whether a check has found that a lease is gone.
    lost: watch::Sender<bool>,
}

/// How a transaction checks its process's leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeaseCheck {
    /// The statements. The last one has the column [`LEASES_HELD`].
    pub(super) sql: String,
    /// How many leases they must find.
    pub(super) required: String,
}

impl Default for WriteFence {
    fn default() -> Self {
        Self {
            check: RwLock::default(),
            lost: watch::Sender::new(false),
        }
    }
}

impl WriteFence {
    /// Requires these leases from now on. Each is given as its name and its owner. Both are words
    /// that this program makes, and have no quotes.
    pub(super) fn require(&self, leases: &[(&str, &str)]) {
        let pairs: Vec<String> = leases
            .iter()
            .map(|(name, owner)| format!("('{name}', '{owner}')"))
            .collect();
        let sql = format!(
            "SELECT pg_advisory_xact_lock_shared({WRITERS_LOCK}, 0); \
             SELECT COUNT(*) AS {LEASES_HELD} FROM leases WHERE (name, owner) IN ({});",
            pairs.join(", ")
        );
        *self.check.write() = Some(LeaseCheck {
            sql,
            required: leases.len().to_string(),
        });
    }

    /// Returns how to check the leases. `None` if the process needs no lease.
    pub(super) fn check(&self) -> Option<LeaseCheck> {
        self.check.read().clone()
    }

    pub(super) fn note_lost(&self) {
        self.lost.send_replace(true);
    }

    /// Returns once a check has found that a lease is gone.
    pub(super) async fn wait_until_lost(&self) {
        let mut lost = self.lost.subscribe();
        // The sender lives as long as this fence, so the wait does not fail.
        let _ = lost.wait_for(|lost| *lost).await;
    }
}

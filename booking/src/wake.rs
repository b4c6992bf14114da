//! Wakes background workers. A worker runs when it is woken. It also runs at intervals, so that no
//! work waits for long if nothing wakes the worker.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

/// A cheap handle that wakes one worker.
#[derive(Clone, Default)]
pub struct WorkerNotifier {
    notify: Arc<Notify>,
}

impl WorkerNotifier {
    /// Wakes the worker. If this is called several times while the worker works, the worker runs
    /// once more.
    pub fn notify_worker(&self) {
        self.notify.notify_one();
    }

    /// Waits until the worker is woken, or until the time `at_most` has passed.
    pub async fn wait(&self, at_most: Duration) {
        // A timeout is the other reason to wake, so its error is ignored.
        let _ = tokio::time::timeout(at_most, self.notify.notified()).await;
    }
}

/// Wakes the three workers that carry out what was decided in the ledger.
#[derive(Clone, Default)]
pub struct LedgerNotifiers {
    /// Wakes the seat outbox.
    pub seats: WorkerNotifier,
    /// Wakes the worker that calls the payment provider for captures, voids and refunds.
    pub effects: WorkerNotifier,
    /// Wakes the worker for the refunds of tickets.
    pub refunds: WorkerNotifier,
}

impl LedgerNotifiers {
    /// Wakes all three workers.
    pub fn notify_all(&self) {
        self.seats.notify_worker();
        self.effects.notify_worker();
        self.refunds.notify_worker();
    }
}

//! Background work runs when it is called and, in case a call was lost, every now and then.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

/// A bell beside a worker.
#[derive(Clone, Default)]
pub struct WorkerNotifier {
    bell: Arc<Notify>,
}

impl WorkerNotifier {
    /// Calls the worker; calls that come while it works are one call.
    pub fn notify_worker(&self) {
        self.bell.notify_one();
    }

    /// Waits for a call, at most `at_most` long.
    pub async fn wait(&self, at_most: Duration) {
        // Running out of time is the other reason to wake.
        let _ = tokio::time::timeout(at_most, self.bell.notified()).await;
    }
}

/// The bells of the workers that carry out what the ledger decided.
#[derive(Clone, Default)]
pub struct LedgerNotifiers {
    /// The seat outbox.
    pub seats: WorkerNotifier,
    /// What is owed to the provider.
    pub effects: WorkerNotifier,
    /// What goes back for tickets.
    pub refunds: WorkerNotifier,
}

impl LedgerNotifiers {
    /// Calls all of them.
    pub fn notify_all(&self) {
        self.seats.notify_worker();
        self.effects.notify_worker();
        self.refunds.notify_worker();
    }
}

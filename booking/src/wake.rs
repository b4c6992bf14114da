//! Background work runs when it is called and, in case a call was lost, every now and then.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

/// A bell beside a worker.
#[derive(Clone, Default)]
pub struct Wake {
    bell: Arc<Notify>,
}

impl Wake {
    /// Calls the worker; calls that come while it works are one call.
    pub fn call(&self) {
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
pub struct Bells {
    /// The seat outbox.
    pub seats: Wake,
    /// What is owed to the provider.
    pub effects: Wake,
    /// What goes back for tickets.
    pub refunds: Wake,
}

impl Bells {
    /// Calls all of them.
    pub fn ring(&self) {
        self.seats.call();
        self.effects.call();
        self.refunds.call();
    }
}

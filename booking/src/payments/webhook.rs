//! The inbox of provider events: verified, stored under their id, answered; and only then settled, by a worker.

use std::sync::Arc;
use std::time::Duration;

use super::{Provider, ProviderEvent};
use crate::clock::Clock;
use crate::ledger::{Ledger, LedgerError};
use crate::wake::Wake;

/// Events settled in one run.
const BATCH_MAX: u32 = 200;

/// How long the worker sleeps when nobody calls it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Takes events in and settles them.
#[derive(Clone)]
pub struct Inbox {
    /// Where they are stored.
    pub ledger: Arc<dyn Ledger>,
    /// Whose events they are.
    pub provider: Arc<dyn Provider>,
    /// The time.
    pub clock: Clock,
    /// Calls this worker.
    pub bell: Wake,
    /// Calls the seat outbox.
    pub seats: Wake,
    /// Calls the effects worker.
    pub effects: Wake,
}

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// Its signature does not hold, or it is too old.
    #[error("the signature does not hold")]
    Signature,
    /// It could not be stored; the provider sends it again.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Inbox {
    /// Verifies and stores an event; a repeated one is stored once.
    ///
    /// # Errors
    /// [`NotTaken`]; nothing was stored.
    pub async fn take(&self, signature: Option<&str>, body: &[u8]) -> Result<(), NotTaken> {
        let now_ms = self.clock.now_ms();
        let event = self
            .provider
            .verify(signature, body, now_ms / 1_000)
            .ok_or(NotTaken::Signature)?;
        self.ledger
            .keep_event(self.provider.name(), event.event, body.to_vec(), now_ms)
            .await?;
        self.bell.call();
        Ok(())
    }

    /// Settles what is stored; returns how many events.
    ///
    /// # Errors
    /// Where the ledger does not answer; the next run goes on.
    pub async fn settle_all(&self) -> Result<usize, LedgerError> {
        let mut settled = 0;
        loop {
            let batch = self.ledger.unsettled(BATCH_MAX).await?;
            if batch.is_empty() {
                return Ok(settled);
            }
            // Side by side, so that they share one commit; each is a compare-and-set of its own.
            let mut running = tokio::task::JoinSet::new();
            for (provider, event, body) in batch {
                let (ledger, now_ms) = (Arc::clone(&self.ledger), self.clock.now_ms());
                running.spawn(async move {
                    let says: Option<ProviderEvent> = serde_json::from_slice(&body).ok();
                    ledger.settle(provider, event, says, now_ms).await
                });
            }
            while let Some(done) = running.join_next().await {
                let outcome =
                    done.map_err(|error| LedgerError::Unavailable(error.to_string()))??;
                metrics::counter!("fairgate_provider_events_total", "outcome" => outcome)
                    .increment(1);
                settled += 1;
            }
            self.seats.call();
            self.effects.call();
        }
    }

    /// Settles events for as long as the process runs.
    pub async fn settle_forever(self) {
        loop {
            if let Err(error) = self.settle_all().await {
                tracing::warn!(%error, "stored payment events could not be settled; trying again");
            }
            self.bell.wait(LOOK_EVERY).await;
        }
    }
}

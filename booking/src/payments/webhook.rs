//! The inbox of provider events: verified, stored under their id, answered; and only then settled,
//! by a worker.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_model::payments::{
    ParsedProviderEvent, ProviderError, ProviderEvent, ProviderEventKind, ProviderPayment,
};

use super::PaymentProvider;
use super::crew::work_off;
use super::effects::pause_ms;
use crate::catalogue::Catalogue;
use crate::ledger::{Ledger, LedgerError, StoredProviderEvent};
use crate::wake::WorkerNotifier;

/// Events settled side by side, so that they share a commit where there is one writer and leave
/// connections to others.
const AT_ONCE: usize = 8;

/// An event of a payment that cannot be read back in this time is settled later, and lets others go
/// on.
const READ_WITHIN: Duration = Duration::from_secs(3);

/// How long the worker sleeps when nobody calls it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The form in which something that was read back is stored.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReadBack<T> {
    read_back: T,
}

/// Takes events in and settles them.
#[derive(Clone)]
pub struct PaymentEventInbox {
    /// Where they are stored.
    pub ledger: Arc<dyn Ledger>,
    /// Whose events they are.
    pub provider: Arc<dyn PaymentProvider>,
    /// The time.
    pub clock: Clock,
    /// Calls this worker.
    pub bell: WorkerNotifier,
    /// Calls the seat outbox.
    pub seats: WorkerNotifier,
    /// Calls the effects worker.
    pub effects: WorkerNotifier,
    /// Calls the worker of late money.
    pub late: WorkerNotifier,
    /// Which shows limit what one card may buy.
    pub catalogue: Catalogue,
}

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub enum PaymentEventRefusal {
    /// Its signature does not hold, or it is too old.
    #[error("the signature does not hold")]
    Signature,
    /// It could not be stored; the provider sends it again.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl PaymentEventInbox {
    /// Verifies and stores an event; a repeated one is stored once.
    ///
    /// # Errors
    /// [`PaymentEventRefusal`]; nothing was stored.
    pub async fn take_event(
        &self,
        signature: Option<&str>,
        body: &[u8],
    ) -> Result<(), PaymentEventRefusal> {
        let now_ms = self.clock.now_ms();
        let event = self
            .provider
            .verify(signature, body, now_ms / 1_000)
            .ok_or(PaymentEventRefusal::Signature)?;
        self.store_event(event, body.to_vec()).await?;
        Ok(())
    }

    async fn store_event(&self, event: String, body: Vec<u8>) -> Result<bool, LedgerError> {
        let now_ms = self.clock.now_ms();
        let about = match self.read_event(&body) {
            ParsedProviderEvent::Event(says) => Some(says.payment),
            ParsedProviderEvent::Ignored | ParsedProviderEvent::Unreadable => None,
        };
        let fresh = self
            .ledger
            .keep_event(self.provider.name(), event, about, body, now_ms)
            .await?;
        self.bell.notify_worker();
        Ok(fresh)
    }

    /// Stores what was read back from the provider as the event that nobody delivered, to be
    /// settled as such. Returns whether it is new.
    ///
    /// # Errors
    /// Where the ledger did not take it.
    pub async fn take_read_back(
        &self,
        payment: &super::Payment,
        found: &ProviderPayment,
    ) -> Result<bool, LedgerError> {
        let mut fresh = false;
        for event in found.events(payment) {
            let body = serde_json::to_vec(&StoredReadBack { read_back: &event })
                .map_err(|error| LedgerError::Corrupt(error.to_string()))?;
            fresh |= self.store_event(event.event, body).await?;
        }
        Ok(fresh)
    }

    /// Settles what is stored; returns how many events. One that cannot be settled is put off, and
    /// the others go on.
    ///
    /// # Errors
    /// Where the ledger does not answer; the next run goes on.
    pub async fn settle_all(&self) -> Result<usize, LedgerError> {
        let lend = |room| {
            let (ledger, now_ms) = (Arc::clone(&self.ledger), self.clock.now_ms());
            async move { ledger.due_events(now_ms, room).await }
        };
        let settle = |event| {
            let inbox = self.clone();
            async move { inbox.settle_event(event).await }
        };
        work_off(AT_ONCE, lend, settle).await
    }

    async fn settle_event(&self, stored: StoredProviderEvent) {
        let StoredProviderEvent {
            provider,
            event,
            body,
            attempts,
        } = stored;
        let (id, now_ms) = (event.clone(), self.clock.now_ms());
        let told = self.read_event(&body);
        let settled = match self.confirmed(told).await {
            Ok(said) => {
                let settled = self
                    .ledger
                    .settle(provider.clone(), event.clone(), said, now_ms);
                settled.await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        let outcome = match settled {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(event = id, error, "an event is settled later");
                let due_at_ms = now_ms + pause_ms(attempts);
                if let Err(error) = self.ledger.put_off_event(provider, event, due_at_ms).await {
                    tracing::debug!(event = id, %error, "an event could not be put off; it comes back by itself");
                }
                "put_off"
            }
        };
        metrics::counter!("fairgate_provider_events_total", "outcome" => outcome).increment(1);
        self.seats.notify_worker();
        self.effects.notify_worker();
        self.late.notify_worker();
    }

    fn read_event(&self, body: &[u8]) -> ParsedProviderEvent {
        match serde_json::from_slice::<StoredReadBack<ProviderEvent>>(body) {
            Ok(found) => ParsedProviderEvent::Event(found.read_back),
            Err(_) => self.provider.read(body),
        }
    }

    /// What an event leaves open is read back: the card, and how much of a refund has arrived.
    async fn confirmed(
        &self,
        said: ParsedProviderEvent,
    ) -> Result<ParsedProviderEvent, ProviderError> {
        let ParsedProviderEvent::Event(event) = &said else {
            return Ok(said);
        };
        // Also where it was read before: meanwhile more of it may have arrived, or come back.
        if event.kind != ProviderEventKind::Refunded {
            return self.with_card(said).await;
        }
        let Some(read) = self.read_back(event).await? else {
            return Ok(said);
        };
        Ok(ParsedProviderEvent::Event(ProviderEvent {
            amount: event.amount.currency.with_amount(read.refunded),
            ..event.clone()
        }))
    }

    /// The event's payment as the provider has it; `None` for one that is not known here.
    async fn read_back(
        &self,
        event: &ProviderEvent,
    ) -> Result<Option<ProviderPayment>, ProviderError> {
        let later = |error: LedgerError| ProviderError::Later(error.to_string());
        let Some(mut payment) = self.ledger.payment(&event.payment).await.map_err(later)? else {
            return Ok(None);
        };
        payment.reference = payment.reference.or_else(|| event.reference.clone());
        let read = tokio::time::timeout(READ_WITHIN, self.provider.read_back(&payment)).await;
        let slow = |_| ProviderError::Later("the payment could not be read in time".to_owned());
        read.map_err(slow)?.map(Some)
    }

    /// Limits of what one card may buy need the card, which events do not always carry. Seats of a
    /// show without such a limit may be exchanged for those of one that has it, so one such show is
    /// reason to ask always.
    async fn with_card(
        &self,
        said: ParsedProviderEvent,
    ) -> Result<ParsedProviderEvent, ProviderError> {
        let ParsedProviderEvent::Event(event) = &said else {
            return Ok(said);
        };
        let wanted = event.kind.brings_money()
            && event.card.is_none()
            && self.provider.kind().names_cards()
            && self.catalogue.limits_cards();
        if !wanted {
            return Ok(said);
        }
        let Some(read) = self.read_back(event).await? else {
            return Ok(said);
        };
        Ok(ParsedProviderEvent::Event(ProviderEvent {
            card: read.card,
            ..event.clone()
        }))
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

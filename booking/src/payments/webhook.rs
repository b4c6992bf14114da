//! The inbox of provider events. An event is verified, stored under its id, and answered. A worker
//! settles it later.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::payments::{
    ParsedProviderEvent, ProviderError, ProviderEvent, ProviderEventKind, ProviderPayment,
};

use super::PaymentProvider;
use super::effects::pause_ms;
use super::lent_work::do_lent_work;
use crate::catalogue::Catalogue;
use crate::ledger::{Ledger, LedgerError, StoredProviderEvent};
use crate::wake::WorkerNotifier;

/// How many events are settled at the same time. With SQLite they share a commit. With PostgreSQL
/// the limit leaves connections for other work.
const AT_ONCE: usize = 8;

/// How long reading a payment back may take. If it takes longer, the event is settled later, so
/// that it does not delay other events.
const READ_WITHIN: Duration = Duration::from_secs(3);

/// How long the worker sleeps when nothing wakes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The stored form of an event that the provider did not send. It was made from the payment's state
/// at the provider.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReadBack<T> {
    read_back: T,
}

/// The inbox, which stores events and settles them.
#[derive(Clone)]
pub struct PaymentEventInbox {
    /// The ledger that stores the events.
    pub ledger: Ledger,
    /// The provider that sends them.
    pub provider: Arc<dyn PaymentProvider>,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes this worker.
    pub notifier: WorkerNotifier,
    /// Wakes the seat outbox.
    pub seats: WorkerNotifier,
    /// Wakes the effects worker.
    pub effects: WorkerNotifier,
    /// Wakes the worker for late money.
    pub late: WorkerNotifier,
    /// The catalogue, which knows the shows that limit what one card may buy.
    pub catalogue: Catalogue,
}

/// Why an event was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PaymentEventRefusal {
    /// The signature is wrong or too old.
    #[error("the signature is not valid")]
    Signature,
    /// The event could not be stored. The provider sends it again.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl PaymentEventInbox {
    /// Verifies and stores an event. A repeated event is stored only once.
    ///
    /// # Errors
    /// [`PaymentEventRefusal`] if the signature is not valid or the event could not be stored.
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
        let payment = match self.read_event(&body) {
            ParsedProviderEvent::Event(parsed) => Some(parsed.payment),
            ParsedProviderEvent::Ignored | ParsedProviderEvent::Unreadable => None,
        };
        let is_new = self
            .ledger
            .keep_event(self.provider.name(), event, payment, body, now_ms)
            .await?;
        self.notifier.notify_worker();
        Ok(is_new)
    }

    /// Stores the events that the provider would have sent for a state that was read back.
    /// `changed_ms` is when the payment last changed in the ledger. Returns whether any of these
    /// events is new.
    ///
    /// # Errors
    /// Returns an error if the ledger did not store the event.
    pub async fn take_read_back(
        &self,
        payment: &super::Payment,
        changed_ms: i64,
        found: &ProviderPayment,
    ) -> Result<bool, LedgerError> {
        let mut any_is_new = false;
        for event in found.events(payment, changed_ms) {
            let body = serde_json::to_vec(&StoredReadBack { read_back: &event })
                .map_err(|error| LedgerError::Corrupt(error.to_string()))?;
            any_is_new |= self.store_event(event.event, body).await?;
        }
        Ok(any_is_new)
    }

    /// Settles stored events, and returns how many it tried. An event that cannot be settled is
    /// tried again later. It does not delay other events.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run tries again.
    pub async fn settle_all(&self) -> Result<usize, LedgerError> {
        let lend = |free_slots| {
            let (ledger, now_ms) = (self.ledger.clone(), self.clock.now_ms());
            async move { ledger.due_events(now_ms, free_slots).await }
        };
        let settle = |event, _| {
            let inbox = self.clone();
            async move { inbox.settle_event(event).await }
        };
        do_lent_work(AT_ONCE, lend, settle).await
    }

    async fn settle_event(&self, stored: StoredProviderEvent) {
        let StoredProviderEvent {
            provider,
            event,
            body,
            attempts,
        } = stored;
        let (id, now_ms) = (event.clone(), self.clock.now_ms());
        let parsed = self.read_event(&body);
        let settled = match self.complete_event_from_provider(parsed).await {
            Ok(completed) => {
                let settled =
                    self.ledger
                        .settle(provider.clone(), event.clone(), completed, now_ms);
                settled.await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        let outcome = match settled {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(event = id, error, "an event is settled later");
                let due_at_ms = now_ms + pause_ms(attempts);
                let put_off = self
                    .ledger
                    .put_off_event(provider, event, due_at_ms, now_ms);
                if let Err(error) = put_off.await {
                    tracing::debug!(event = id, %error, "an event could not be put off; it is tried again when its loan ends");
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

    /// Reads from the provider what an event does not say: the card, and how much of a refund has
    /// arrived.
    async fn complete_event_from_provider(
        &self,
        parsed: ParsedProviderEvent,
    ) -> Result<ParsedProviderEvent, ProviderError> {
        let ParsedProviderEvent::Event(event) = &parsed else {
            return Ok(parsed);
        };
        // The refunded sum is read for each refund event, because more may have been refunded since
        // an earlier event, or a refund may have failed.
        if event.kind != ProviderEventKind::Refunded {
            return self.with_card(parsed).await;
        }
        let Some(read) = self.read_back(event).await? else {
            return Ok(parsed);
        };
        Ok(ParsedProviderEvent::Event(ProviderEvent {
            amount: event.amount.currency.with_amount(read.refunded),
            ..event.clone()
        }))
    }

    /// Reads the event's payment from the provider. Returns `None` for an unknown payment.
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

    /// Adds the card to an event of an authorisation or a capture, if the event lacks it. Shows can
    /// limit how many seats one card buys. Once any show has such a limit, the card is read for all
    /// shows, because their seats may be exchanged for seats of the show with the limit.
    async fn with_card(
        &self,
        parsed: ParsedProviderEvent,
    ) -> Result<ParsedProviderEvent, ProviderError> {
        let ParsedProviderEvent::Event(event) = &parsed else {
            return Ok(parsed);
        };
        let wanted = event.kind.brings_money()
            && event.card.is_none()
            && self.provider.kind().names_cards()
            && self.catalogue.limits_cards();
        if !wanted {
            return Ok(parsed);
        }
        let Some(read) = self.read_back(event).await? else {
            return Ok(parsed);
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
                log_failed_try!(
                    error,
                    "stored payment events could not be settled; trying again"
                );
            }
            self.notifier.wait(LOOK_EVERY).await;
        }
    }
}

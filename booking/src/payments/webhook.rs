//! The inbox of provider events. An event is verified, stored under its id, and answered. A worker
//! settles it later.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::payments::{ParsedProviderEvent, ProviderEvent, ProviderPayment};

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
pub(super) const READ_WITHIN: Duration = Duration::from_secs(3);

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
    /// Wakes the worker that asks for refunds.
    pub refunds: WorkerNotifier,
    /// Wakes the worker for late money.
    pub late: WorkerNotifier,
    /// The catalogue, which knows the shows that limit what one card may buy.
    pub catalogue: Catalogue,
}

/// Returns the id and the stored form of an event that was made from a payment's state at the
/// provider.
fn stored_read_back(event: ProviderEvent) -> Result<(String, Vec<u8>), LedgerError> {
    let body = serde_json::to_vec(&StoredReadBack { read_back: &event });
    let body = body.map_err(|error| LedgerError::Corrupt(error.to_string()))?;
    Ok((event.event, body))
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
    /// [`PaymentEventRefusal`] if the signature is not valid, the event could not be stored, or the
    /// provider's list of events is read first ([`LedgerError::SetBack`]).
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
        if self.waits_for_list() {
            let why = "The payment provider's list of events is read first";
            return Err(LedgerError::SetBack(why.to_owned()).into());
        }
        self.store_event(event, body.to_vec()).await?;
        Ok(())
    }

    /// Returns whether the ledger went back, and the provider's list of events was not read and
    /// settled since then. Until that is done, only the list counts, because its events are in the
    /// order in which they happened. It has all events that the provider delivers, too.
    pub(crate) fn waits_for_list(&self) -> bool {
        let closure = self.catalogue.closure();
        self.provider.kind().keeps_orders()
            && closure.is_some_and(|closure| !closure.is_provider_asked)
    }

    async fn store_event(&self, event: String, body: Vec<u8>) -> Result<bool, LedgerError> {
        let now_ms = self.clock.now_ms();
        let payment = match self.read_event(&body) {
            ParsedProviderEvent::Event(parsed) => Some(parsed.payment),
            ParsedProviderEvent::ReturnOf { .. }
            | ParsedProviderEvent::Ignored
            | ParsedProviderEvent::Unreadable => None,
        };
        let is_new = self
            .ledger
            .keep_event(self.provider.name(), event, payment, body, now_ms)
            .await?;
        self.notifier.notify_worker();
        Ok(is_new)
    }

    /// Stores an event from the provider's own list, if it matters here and its delivery did not
    /// arrive. Returns whether it is new.
    ///
    /// # Errors
    /// Returns an error if the ledger did not store the event.
    pub async fn take_listed(&self, event: String, body: Vec<u8>) -> Result<bool, LedgerError> {
        match self.provider.read(&body) {
            ParsedProviderEvent::Ignored | ParsedProviderEvent::Unreadable => Ok(false),
            _ => self.store_event(event, body).await,
        }
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
            let (event, body) = stored_read_back(event)?;
            any_is_new |= self.store_event(event, body).await?;
        }
        Ok(any_is_new)
    }

    /// Stores events that were made from a payment's state at the provider, and settles them at
    /// once.
    ///
    /// # Errors
    /// Returns an error if the ledger did not store an event.
    pub(super) async fn settle_now(&self, events: Vec<ProviderEvent>) -> Result<(), LedgerError> {
        for event in events {
            let (event, body) = stored_read_back(event)?;
            self.store_event(event.clone(), body.clone()).await?;
            let stored = StoredProviderEvent {
                provider: self.provider.name().to_owned(),
                event,
                body,
                attempts: 0,
            };
            self.settle_event(stored).await;
        }
        Ok(())
    }

    /// Reads a payment from the provider now, and stores what is new. If the provider does not
    /// answer, or its list of events is read first, the reconciler reads the payment later.
    ///
    /// # Errors
    /// Returns an error if the ledger did not store the event.
    pub async fn read_payment_now(&self, payment: &super::Payment) -> Result<(), LedgerError> {
        if self.waits_for_list() {
            return Ok(());
        }
        match self.provider.read_back(payment).await {
            Ok(found) => {
                let now_ms = self.clock.now_ms();
                self.take_read_back(payment, now_ms, &found).await?;
            }
            Err(error) => {
                tracing::debug!(payment = %payment.id, %error, "a payment could not be read back");
            }
        }
        Ok(())
    }

    /// Settles stored events, and returns how many it tried. An event that cannot be settled is
    /// tried again later. It does not delay other events. If the ledger went back, they are settled
    /// one after the other: an order may have been made for seats that another one gave back.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run tries again.
    pub async fn settle_all(&self) -> Result<usize, LedgerError> {
        let waits_for_list = self.waits_for_list();
        let lend = |free_slots| {
            let (ledger, now_ms) = (self.ledger.clone(), self.clock.now_ms());
            async move {
                match waits_for_list {
                    true => ledger.oldest_event(now_ms).await,
                    false => ledger.due_events(now_ms, free_slots).await,
                }
            }
        };
        let settle = |event, _| {
            let inbox = self.clone();
            async move { inbox.settle_event(event).await }
        };
        let at_once = if waits_for_list { 1 } else { AT_ONCE };
        do_lent_work(at_once, lend, settle).await
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
        let mut may_owe_refunds = false;
        let settled = match self.complete_event_from_provider(parsed).await {
            Ok(completed) => {
                may_owe_refunds = completed.tells_returns();
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
        // The worker would look in vain after nearly all events.
        if may_owe_refunds {
            self.refunds.notify_worker();
        }
        self.late.notify_worker();
    }

    fn read_event(&self, body: &[u8]) -> ParsedProviderEvent {
        match serde_json::from_slice::<StoredReadBack<ProviderEvent>>(body) {
            Ok(found) => ParsedProviderEvent::Event(found.read_back),
            Err(_) => self.provider.read(body),
        }
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

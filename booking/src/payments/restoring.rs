//! Writes orders again that a ledger which went back no longer has, from the copies that the
//! provider keeps of them. Events about their money then settle as usual.

use std::sync::Arc;

use fairgate_model::ids::{OrderId, PaymentId};
use fairgate_model::orders::order_copy::OrderCopy;
use fairgate_model::payments::returns::{ReturnOrigin, ReturnState, ReturnedSum};
use fairgate_model::payments::{Payment, PaymentState, ProviderError, ProviderEvent};
use fairgate_model::shows::Show;

use super::completing::{later, too_slow};
use super::webhook::{PaymentEventInbox, READ_WITHIN};
use crate::ledger::{LedgerError, RestoreOutcome, RestoredOrder, SeatClaimRefused};

/// How long a restored order is pending at most. Its money is there already, so the event that
/// follows confirms it.
const PENDING_MS: i64 = 600_000;

/// The provider's copy of the order of a payment that the ledger does not know.
pub(super) enum CopiedOrder {
    /// There is no whole copy, or its show is not closed because the ledger went back.
    None,
    /// Another ledger made the payment, the one with this id.
    OfAnotherLedger(String),
    /// This ledger made the payment. The order's show comes with it.
    Own(Box<OrderCopy>, Arc<Show>),
}

impl PaymentEventInbox {
    /// Writes the order of an unknown payment again. Its show is closed because the ledger went
    /// back. Returns false if the order cannot be restored: its plan is another one, others have
    /// the seats, or tickets of it were given back, because their seats may have been sold again.
    ///
    /// # Errors
    /// Returns an error if the provider or the ledger does not answer, or if an order that was
    /// exchanged for this one is not settled yet. The event is tried again later.
    pub(super) async fn restore_order(
        &self,
        event: &ProviderEvent,
        reference: &str,
        (copy, show): (&OrderCopy, &Show),
    ) -> Result<bool, ProviderError> {
        let now_ms = self.clock.now_ms();
        let Some((order, items)) = copy.to_order(show, event.amount, now_ms + PENDING_MS) else {
            return Ok(false);
        };
        let payment = Payment {
            id: order.payment.clone(),
            order: order.id.clone(),
            provider: self.provider.name().to_owned(),
            amount: event.amount,
            state: PaymentState::Created,
            reference: Some(reference.to_owned()),
            client: None,
            refunded: 0,
            attempt: 0,
            dispute: None,
        };
        if self.was_refunded_here(&payment).await? {
            return Ok(false);
        }
        let id = order.id.clone();
        let restored = RestoredOrder {
            payment,
            order,
            items,
            exchange: copy.exchange.clone(),
            grid: show.grid(),
        };
        match self.ledger.restore_order(restored, now_ms).await {
            Ok(RestoreOutcome::Restored) => {
                tracing::warn!(order = %id, reference, "an order that the ledger had lost was restored from the provider's copy");
                Ok(true)
            }
            Ok(RestoreOutcome::NotYet) => Err(ProviderError::Later(
                "the order that was exchanged for this one is not settled yet".to_owned(),
            )),
            Err(SeatClaimRefused::Ledger(error)) if !matches!(error, LedgerError::Corrupt(_)) => {
                Err(later(&error))
            }
            Ok(RestoreOutcome::Impossible) | Err(_) => Ok(false),
        }
    }

    /// Reads the provider's copy of the order of an unknown payment.
    pub(super) async fn copied_order(
        &self,
        event: &ProviderEvent,
        reference: &str,
    ) -> Result<CopiedOrder, ProviderError> {
        let read = tokio::time::timeout(READ_WITHIN, self.provider.copy_of(reference)).await;
        let Some(copy) = read.map_err(|_| too_slow())?? else {
            return Ok(CopiedOrder::None);
        };
        let ledger = self.ledger.id().await.map_err(|error| later(&error))?;
        if copy.ledger != hex::encode(ledger) {
            return Ok(CopiedOrder::OfAnotherLedger(copy.ledger));
        }
        let is_of_payment = PaymentId::of_order(&OrderId::of_hold(&copy.hold)) == event.payment;
        let show = copy.hold.show();
        let closure = self.catalogue.closure();
        if !is_of_payment || !closure.is_some_and(|closure| closure.is_closed(&show)) {
            return Ok(CopiedOrder::None);
        }
        let show = self.catalogue.newest_show(show.as_str()).await;
        let Some(show) = show.map_err(|error| later(&error))? else {
            return Ok(CopiedOrder::None);
        };
        // A departure that nobody had held before the copy has no row in the ledger yet.
        let show = self.catalogue.touched(&show, self.clock.now_ms()).await;
        let show = show.map_err(|error| later(&error))?;
        Ok(CopiedOrder::Own(Box::new(copy), show))
    }

    /// Returns whether the provider made a refund of this payment that an order here asked for.
    async fn was_refunded_here(&self, payment: &Payment) -> Result<bool, ProviderError> {
        let read = tokio::time::timeout(READ_WITHIN, self.provider.read_back(payment)).await;
        let returns = read.map_err(|_| too_slow())??.returns;
        let is_own = |sum: &ReturnedSum| {
            sum.state != ReturnState::Failed && matches!(sum.origin, ReturnOrigin::Asked(_))
        };
        Ok(returns.sums.iter().any(is_own))
    }
}

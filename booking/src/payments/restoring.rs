//! Writes orders again that a ledger which went back no longer has, from the copies that the
//! provider keeps of them. Events about their money then settle as usual.

use std::sync::Arc;

use fairgate_model::ids::{OrderId, PaymentId};
use fairgate_model::orders::order_copy::OrderCopy;
use fairgate_model::payments::returns::{ProviderReturns, ReturnOrigin, ReturnState, ReturnedSum};
use fairgate_model::payments::{
    Payment, PaymentState, ProviderError, ProviderEvent, ProviderPayment,
};
use fairgate_model::shows::Show;

use super::completing::{later, too_slow};
use super::webhook::{PaymentEventInbox, READ_WITHIN};
use crate::ledger::{LedgerError, MoneyFinding, RestoreOutcome, RestoredOrder, SeatClaimRefused};

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
    /// back. Returns what went back of its money meanwhile, or `None` if the order cannot be
    /// restored: its plan is another one, others have the seats, or its money went back with
    /// refunds that do not name their seats, because these seats may have been sold again.
    ///
    /// # Errors
    /// Returns an error if the provider or the ledger does not answer, or if an order that was
    /// exchanged for this one is not settled yet. The event is tried again later.
    pub(super) async fn restore_order(
        &self,
        event: &ProviderEvent,
        reference: &str,
        (copy, show): (&OrderCopy, &Show),
    ) -> Result<Option<ProviderReturns>, ProviderError> {
        let until_ms = self.clock.now_ms() + PENDING_MS;
        let Some((order, items)) = copy.to_order(show, event.amount, until_ms) else {
            return Ok(None);
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
        let returns = self.read_at_provider(&payment).await?.returns;
        let hides_seats = |sum: &ReturnedSum| {
            sum.state != ReturnState::Failed
                && sum.copy.is_none()
                && matches!(sum.origin, ReturnOrigin::Asked(_))
        };
        if returns.sums.iter().any(hides_seats) {
            return Ok(None);
        }
        let restored = RestoredOrder {
            payment,
            order,
            items,
            exchange: copy.exchange.clone(),
            grid: show.grid(),
        };
        let mut written = self.write_again(restored.clone()).await?;
        if matches!(written, Err(SeatClaimRefused::Taken(_))) {
            self.settle_orders_on_seats_of(&restored).await?;
            written = self.write_again(restored).await?;
        }
        Ok(matches!(written, Ok(RestoreOutcome::Restored)).then_some(returns))
    }

    /// Writes an order again, or returns why that is not possible.
    async fn write_again(
        &self,
        restored: RestoredOrder,
    ) -> Result<Result<RestoreOutcome, SeatClaimRefused>, ProviderError> {
        let (id, reference) = (
            restored.order.id.clone(),
            restored.payment.reference.clone(),
        );
        let written = self.ledger.restore_order(restored, self.clock.now_ms());
        let written = written.await;
        match &written {
            Ok(RestoreOutcome::Restored) => {
                tracing::warn!(order = %id, reference, "an order that the ledger had lost was restored from the provider's copy");
            }
            Ok(RestoreOutcome::NotYet) => {
                return Err(ProviderError::Later(
                    "the order that was exchanged for this one is not settled yet".to_owned(),
                ));
            }
            Err(SeatClaimRefused::Ledger(error)) if !matches!(error, LedgerError::Corrupt(_)) => {
                return Err(later(error));
            }
            Ok(RestoreOutcome::Impossible) | Err(_) => {}
        }
        Ok(written)
    }

    /// Settles what the provider knows of the paid orders that have seats of an order which is to
    /// be restored. Their tickets may have been given back before it was made.
    async fn settle_orders_on_seats_of(
        &self,
        restored: &RestoredOrder,
    ) -> Result<(), ProviderError> {
        let seats = restored.items.iter().map(|item| item.held.clone());
        let show = &restored.order.show;
        let others = self.ledger.payments_on_seats(show, seats.collect()).await;
        let name = self.provider.name();
        for payment in others.map_err(|error| later(&error))? {
            if payment.provider != name || !payment.state.is_taken() {
                continue;
            }
            let found = self.read_at_provider(&payment).await?;
            let events = found.events(&payment, self.clock.now_ms());
            // The settling of these events restores no order, because their payments are known.
            let settled = Box::pin(self.settle_now(events)).await;
            settled.map_err(|error| later(&error))?;
        }
        Ok(())
    }

    /// Tries once more to restore the order of money that is listed as unknown. What kept it from
    /// coming back may have changed: terms or shows may have been written again.
    ///
    /// # Errors
    /// Returns an error if the provider or the ledger does not answer.
    pub(crate) async fn restore_again(&self, unknown: &MoneyFinding) -> Result<(), ProviderError> {
        let Ok(id) = unknown.payment.parse::<PaymentId>() else {
            return Ok(());
        };
        let known = self.ledger.payment(&id).await;
        if known.map_err(|error| later(&error))?.is_some() {
            return Ok(());
        }
        let copy = tokio::time::timeout(READ_WITHIN, self.provider.copy_of(&unknown.id)).await;
        let Some(copy) = copy.map_err(|_| too_slow())?? else {
            return Ok(());
        };
        let mut payment = Payment {
            order: OrderId::of_hold(&copy.hold),
            id,
            provider: self.provider.name().to_owned(),
            amount: unknown.sum,
            state: PaymentState::Created,
            reference: Some(unknown.id.clone()),
            client: None,
            refunded: 0,
            attempt: 0,
            dispute: None,
        };
        let found = self.read_at_provider(&payment).await?;
        payment.amount = found.amount;
        let now_ms = self.clock.now_ms();
        let mut events = found.events(&payment, now_ms);
        // Each try has events of its own.
        for event in &mut events {
            event.event = format!("{}_again_{now_ms}", event.event);
        }
        self.settle_now(events).await.map_err(|error| later(&error))
    }

    async fn read_at_provider(&self, payment: &Payment) -> Result<ProviderPayment, ProviderError> {
        let read = tokio::time::timeout(READ_WITHIN, self.provider.read_back(payment)).await;
        read.map_err(|_| too_slow())?
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
}

//! Turns a hold into an order. The sequence of the writes to the store and the ledger ensures that
//! no money and no seat is lost.

use std::sync::Arc;

use fairgate_model::holds::{Hold, HoldPurpose, lock_until_ms};
use fairgate_model::ids::{HoldId, OrderId, PaymentId};
use fairgate_model::money::Currency;
use fairgate_model::orders::exchange::{ExchangeRole, total_price};
use fairgate_model::orders::late::sells_until_ms;
use fairgate_model::orders::order_copy::{CopiedExchange, OrderCopy};
use fairgate_model::orders::people::{cleaned_name, is_email};
use fairgate_model::orders::transition::{OrderEvent, PAYMENT_REFUSED};
use fairgate_model::orders::{Buyer, Order, OrderItem, OrderRecord, OrderState, Traveller};
use fairgate_model::payments::{Payment, ProviderError};
use fairgate_model::shows::Show;
use fairgate_model::shows::terms::UNNUMBERED;
use fairgate_pass::Holder;

use super::refusal::{NamesFault, OrderRefusal};
use super::sums::payment_refused;
use super::travellers::ticket_names;
use crate::holds::refusal::HoldRefusal;
use crate::holds::take::HoldDesk;
use crate::ledger::{ClaimBasis, Ledger, LedgerError, SeatClaimRefused};
use crate::payments::PaymentProvider;
use crate::store::{ClaimableHold, InventoryRefusal};

/// The reason code of an order that was just made from a hold.
const ORDERED: &str = "ordered";

/// The reason code of an order that an exchange makes, until something happens to it.
pub(super) const ORDERED_IN_EXCHANGE: &str = "ordered_in_exchange";

/// How many times one call tries to make a payment at the provider.
const MAKES_MAX: u32 = 3;

/// Turns holds into orders, and makes exchanges.
#[derive(Clone)]
pub struct OrderDesk {
    /// The desk for shows, seats and holds.
    pub holds: HoldDesk,
    /// The ledger, which finally decides who gets a seat.
    pub ledger: Ledger,
    /// The payment provider. `None` if payments are not configured.
    pub provider: Option<Arc<dyn PaymentProvider>>,
    /// The ledger's id in hex, which the provider keeps with each order.
    pub ledger_id: Arc<str>,
}

impl OrderDesk {
    /// Makes an order from a hold. Repeating the call with the same hold returns the same order. An
    /// order that costs nothing has its tickets at once.
    ///
    /// # Errors
    /// [`OrderRefusal`], which says why there is no order, or why it cannot be paid.
    pub async fn checkout(
        &self,
        show: &Arc<Show>,
        hold: &HoldId,
        visitor: Holder,
        (buyer, travellers): (Buyer, Option<Vec<Traveller>>),
        now_ms: i64,
    ) -> Result<Order, OrderRefusal> {
        let buyer = checked_buyer(buyer)?;
        self.holds.catalogue.require_not_closed(&show.id)?;
        // After a restart the store may not have opened the show yet, although the ledger has
        // pending orders of the show.
        self.holds.seats.ensure_open(show).await?;
        let store = &self.holds.seats.store;
        let (shown_until_ms, names) = match store.hold(hold, visitor).await {
            Ok(present) => {
                let names = ticket_names(show, travellers, present.items.len())?;
                let (terms, items) = self.holds.price(show, &present).await?;
                self.check_sum(terms.currency.with_amount(total_price(&items)))?;
                (present.expires_at_ms, names)
            }
            // The hold may be gone because it became an order. A retry returns that order.
            Err(InventoryRefusal::Gone) => {
                return self.order_of_earlier_try(hold, visitor, now_ms).await;
            }
            Err(refused) => return Err(self.holds.explain(show, refused, &[]).await.into()),
        };
        let pay_until_ms = shown_until_ms.max(now_ms + i64::from(show.document.pay_s) * 1_000);
        // The lock is extended beyond the claim's deadline before the claim is written, so that no
        // sweep can free the seats in between.
        let lock_until_ms = lock_until_ms(claim_until_ms(show, pay_until_ms));
        let buyable = &[HoldPurpose::Basket, HoldPurpose::Offer];
        let secured = match store.secure(hold, visitor, buyable, lock_until_ms).await {
            Ok(secured) => secured,
            Err(InventoryRefusal::Gone) => {
                return self.order_of_earlier_try(hold, visitor, now_ms).await;
            }
            Err(refused) => return Err(self.holds.explain(show, refused, &[]).await.into()),
        };
        self.order_locked_hold(show, &secured, (buyer, names), now_ms, pay_until_ms)
            .await
    }

    /// Writes the order of a locked hold, and makes the order's payment.
    async fn order_locked_hold(
        &self,
        show: &Arc<Show>,
        secured: &ClaimableHold,
        (buyer, names): (Buyer, Vec<String>),
        now_ms: i64,
        pay_until_ms: i64,
    ) -> Result<Order, OrderRefusal> {
        let (terms, mut items) = self.holds.price(show, &secured.hold).await?;
        let mut names = names.into_iter();
        for item in &mut items {
            item.traveller = names.next();
        }
        let buyer = (buyer, terms.currency, items);
        let order = draft(show, &secured.hold, buyer, now_ms, pay_until_ms);
        let payment = match self.payment_of(&order) {
            Ok(payment) => payment,
            // The hold was changed after its sum was checked.
            Err(refused) => {
                self.restore_basket(show, &secured.hold, now_ms).await;
                return Err(refused);
            }
        };
        let claimed = self
            .ledger
            .claim(order, payment, ClaimBasis::for_locked_hold(show, secured))
            .await;
        match claimed {
            Ok(order) => {
                self.ensure_payment_made(&order, now_ms).await?;
                Ok(order)
            }
            Err(refused) => Err(self
                .undo_refused_claim(show, &secured.hold, refused, now_ms)
                .await),
        }
    }

    /// Makes the payment at the provider if that was not done yet, so that the buyer can pay. If
    /// the provider refuses the payment for good, the order ends.
    pub(super) async fn ensure_payment_made(
        &self,
        order: &Order,
        now_ms: i64,
    ) -> Result<(), OrderRefusal> {
        if order.reason == PAYMENT_REFUSED {
            return Err(payment_refused(order, None));
        }
        let Some(provider) = &self.provider else {
            return Ok(());
        };
        let payment = self.ledger.payment(&order.payment).await?;
        let is_unmade = |payment: &Payment| {
            payment.reference.is_none()
                && payment.provider == provider.name()
                && order.state == OrderState::Pending
                && (payment.attempt == 0 || now_ms <= order.pay_until_ms)
        };
        let Some(payment) = payment.filter(is_unmade) else {
            return Ok(());
        };
        let copy = self.copy_of(order).await?;
        let mut last_error = String::new();
        // A provider may repeat an error that it stored for an idempotency key. The key depends on
        // the attempt's number, and the numbers grow with the order's age. So a call that comes a
        // second later also uses new keys.
        let order_age_s = u32::try_from((now_ms - order.created_at_ms).max(0) / 1_000).unwrap_or(0);
        let first = order_age_s.saturating_mul(MAKES_MAX);
        for attempt in first..first.saturating_add(MAKES_MAX) {
            match provider.make(&payment, &copy, attempt).await {
                Ok(Some(made)) => {
                    self.ledger
                        .record_created_payment((&payment.id, payment.attempt), made)
                        .await?;
                    return Ok(());
                }
                Ok(None) => return Ok(()),
                Err(refused @ (ProviderError::Refused(_) | ProviderError::Sum(_))) => {
                    return Err(self.end_unpayable(order, &refused, now_ms).await);
                }
                Err(error) => last_error = error.to_string(),
            }
        }
        tracing::warn!(order = %order.id, told = last_error, "a payment could not be made at the provider");
        Err(provider_unreachable(order))
    }

    /// Returns the copy of a pending order that the provider keeps.
    async fn copy_of(&self, order: &Order) -> Result<OrderCopy, LedgerError> {
        let ledger = &self.ledger_id;
        let plain = || OrderCopy::of_order(order, &order.items, None, ledger);
        if order.reason == ORDERED {
            return Ok(plain());
        }
        let record = self.ledger.order(&order.id).await?;
        let roles = record.into_iter().flat_map(|record| record.exchanges);
        let mut successors = roles.filter_map(|role| match role {
            ExchangeRole::Successor { of, items, fee, .. } => {
                Some((items, CopiedExchange { of, fee }))
            }
            ExchangeRole::Exchanged { .. } => None,
        });
        match successors.next() {
            Some((items, exchange)) => {
                Ok(OrderCopy::of_order(order, &items, Some(exchange), ledger))
            }
            None if order.reason == ORDERED_IN_EXCHANGE => Err(LedgerError::Corrupt(
                "an order of an exchange that is not stored".to_owned(),
            )),
            None => Ok(plain()),
        }
    }

    /// Returns whether the sale of an order's seats has ended. Nobody can then accept other seats
    /// any more.
    ///
    /// # Errors
    /// Returns an error if the show cannot be looked up.
    pub async fn has_sale_ended(&self, order: &Order, now_ms: i64) -> Result<bool, LedgerError> {
        let show = self.holds.catalogue.begun_show(&order.show).await?;
        Ok(show.is_none_or(|show| sells_until_ms(order, &show) <= now_ms))
    }

    /// Makes the payment of a pending order anew if it was cancelled at the provider, so that the
    /// buyer can pay after all. If that fails, the next look at the order tries again.
    pub async fn renew_cancelled_payment(&self, order: &Order, now_ms: i64) {
        if order.state != OrderState::Pending {
            return;
        }
        if let Err(error) = self.ensure_payment_made(order, now_ms).await {
            tracing::warn!(order = %order.id, %error, "a cancelled payment could not be made anew");
        }
    }

    /// Ends an order whose payment the provider refuses, so that its seats become free at once.
    async fn end_unpayable(
        &self,
        order: &Order,
        refused: &ProviderError,
        now_ms: i64,
    ) -> OrderRefusal {
        tracing::error!(order = %order.id, %refused, "the provider will never take a payment; its order is ended");
        let ended = self
            .ledger
            .apply_event(&order.id, OrderEvent::PaymentRefused, now_ms)
            .await;
        match ended {
            Ok(_) => payment_refused(order, Some(refused)),
            Err(error) => error.into(),
        }
    }

    /// Returns the visitor's order that an earlier try made from the hold. Makes the order's
    /// payment at the provider if the payment is missing there.
    async fn order_of_earlier_try(
        &self,
        hold: &HoldId,
        visitor: Holder,
        now_ms: i64,
    ) -> Result<Order, OrderRefusal> {
        let record = self.ledger.order(&OrderId::of_hold(hold)).await?;
        // This call must not return an order that an exchange made.
        let own_record = record.filter(|record| {
            let is_successor = |part: &ExchangeRole| matches!(part, ExchangeRole::Successor { .. });
            !record.exchanges.iter().any(is_successor)
        });
        let order = own_record
            .map(|record| record.order)
            .filter(|order| order.visitor == visitor)
            .ok_or(HoldRefusal::Expired)?;
        self.ensure_payment_made(&order, now_ms).await?;
        Ok(order)
    }

    /// Shortens the lock of a hold that is not ordered. The lock then ends `grace_s` after the
    /// hold's own deadline, or `grace_s` after now if that deadline has passed.
    pub(super) async fn restore_basket(&self, show: &Show, hold: &Hold, now_ms: i64) {
        let grace_ms = i64::from(show.document.grace_s) * 1_000;
        let basket_until_ms = hold.expires_at_ms.max(now_ms) + grace_ms;
        let store = &self.holds.seats.store;
        store
            .unsecure(&hold.id, hold.lock_until_ms, basket_until_ms)
            .await;
    }

    /// Shortens the lock again after the ledger refused the claim, and returns the refusal for the
    /// visitor. If others have the seats, also releases the hold. If the ledger did not answer, the
    /// long lock stays.
    pub(super) async fn undo_refused_claim(
        &self,
        show: &Arc<Show>,
        hold: &Hold,
        refused: SeatClaimRefused,
        now_ms: i64,
    ) -> OrderRefusal {
        let store = &self.holds.seats.store;
        // After an error of the ledger, the order may have been written, or a parallel try may
        // still write it. So the lock stays, and a retry finds the order. If no order was written,
        // the reconciler restores the basket's deadline.
        if !matches!(refused, SeatClaimRefused::Ledger(_)) {
            self.restore_basket(show, hold, now_ms).await;
        }
        match refused {
            SeatClaimRefused::Taken(cells) => {
                if let Err(error) = store.release(&hold.id, hold.visitor, &[hold.purpose]).await {
                    tracing::warn!(%error, hold = %hold.id, "the hold of a refused claim was not released; it lapses by itself");
                }
                let requested_seats: Vec<u32> = hold.items.iter().map(|item| item.seat).collect();
                let legs = hold.items.first().map(|item| item.legs.clone());
                let legs = legs.unwrap_or_else(|| show.legs());
                let taken = InventoryRefusal::Taken(cells);
                let why = self
                    .holds
                    .explain_over(show, taken, &requested_seats, &legs)
                    .await;
                why.into()
            }
            SeatClaimRefused::Limit { have, limit } => HoldRefusal::TooManySeats {
                have,
                asked: hold.items.len() as u64,
                limit,
            }
            .into(),
            SeatClaimRefused::Cancelled => HoldRefusal::ShowCancelled.into(),
            SeatClaimRefused::CardLimit => OrderRefusal::CardLimit {
                limit: show.document.seats_per_card,
            },
            SeatClaimRefused::OtherPurpose(purpose) => HoldRefusal::OtherPurpose(purpose).into(),
            SeatClaimRefused::PlanChanged => HoldRefusal::PlanChanged.into(),
            SeatClaimRefused::TimeChanged => HoldRefusal::TimeChanged.into(),
            SeatClaimRefused::Superseded => HoldRefusal::NotReady.into(),
            SeatClaimRefused::Ledger(error) => error.into(),
        }
    }

    /// Returns an order with its history, tickets, refunds and exchanges.
    ///
    /// # Errors
    /// [`OrderRefusal::NoSuchOrder`], or an error if the ledger does not answer.
    pub async fn order_record(&self, order: &OrderId) -> Result<OrderRecord, OrderRefusal> {
        self.ledger
            .order(order)
            .await?
            .ok_or_else(|| OrderRefusal::NoSuchOrder(order.clone()))
    }
}

/// Returns the deadline of an order's claim to its seats: `claim_grace_s` after `pay_until_ms`.
fn claim_until_ms(show: &Show, pay_until_ms: i64) -> i64 {
    pay_until_ms + i64::from(show.document.claim_grace_s) * 1_000
}

/// Builds the order of a hold, without writing it.
pub(super) fn draft(
    show: &Show,
    hold: &Hold,
    (buyer, currency, items): (Buyer, Currency, Vec<OrderItem>),
    now_ms: i64,
    pay_until_ms: i64,
) -> Order {
    let id = OrderId::of_hold(&hold.id);
    Order {
        payment: PaymentId::of_order(&id),
        show: show.id.clone(),
        hold: hold.id.clone(),
        visitor: hold.visitor,
        room: hold.room.clone(),
        buyer,
        currency,
        total: total_price(&items),
        items,
        plan_version: hold.plan_version,
        terms: match hold.terms {
            UNNUMBERED => show.terms,
            numbered => numbered,
        },
        waived: 0,
        state: OrderState::Pending,
        reason: ORDERED.to_owned(),
        created_at_ms: now_ms,
        pay_until_ms,
        full_pay_until_ms: pay_until_ms,
        claim_until_ms: claim_until_ms(show, pay_until_ms),
        full_claim_until_ms: claim_until_ms(show, pay_until_ms),
        id,
    }
}

/// Returns the buyer as the order has it.
fn checked_buyer(buyer: Buyer) -> Result<Buyer, NamesFault> {
    let name = cleaned_name(&buyer.name).ok_or(NamesFault::BuyerName)?;
    if is_email(&buyer.email) {
        Ok(Buyer { name, ..buyer })
    } else {
        Err(NamesFault::BuyerEmail)
    }
}

fn provider_unreachable(order: &Order) -> OrderRefusal {
    OrderRefusal::ProviderUnreachable {
        order: order.id.clone(),
        pay_until_ms: order.pay_until_ms,
    }
}

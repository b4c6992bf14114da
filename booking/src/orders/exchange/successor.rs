//! Makes the successor: the order that replaces the old order in an exchange. The steps are those
//! of a checkout, but only the cells that the old order does not have are taken and claimed.

use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_model::holds::{Hold, HoldPurpose, lock_until_ms};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::orders::exchange::carried::with_carried_money;
use fairgate_model::orders::exchange::deal::{ExchangeCost, exchange_cost, rules};
use fairgate_model::orders::exchange::{Exchange, ExchangeRole, check_exchangeable, total_price};
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::orders::{Order, OrderItem, OrderRecord, OrderState, Traveller};
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::Show;

use super::wanted::WantedExchange;
use crate::holds::ask::ResolvedSeatRequest;
use crate::holds::instead::{ExchangeSeats, NewSeatOwner};
use crate::holds::refusal::HoldRefusal;
use crate::ledger::{ClaimBasis, ExchangeRefused, SeatClaimRefused};
use crate::orders::checkout::OrderDesk;
use crate::orders::refusal::{NamesFault, OrderRefusal};
use crate::orders::travellers::ticket_names;
use crate::store::{ClaimableHold, InventoryRefusal};

impl OrderDesk {
    /// Begins an exchange and returns the successor. The successor is pending if there is a
    /// difference to pay, and otherwise has its tickets at once. `id` is the id of the new seats'
    /// hold. Repeating the call with the same `id` returns the same successor.
    ///
    /// # Errors
    /// [`OrderRefusal`], which says why nothing was exchanged, or why the difference cannot be
    /// paid.
    pub async fn exchange(
        &self,
        record: &OrderRecord,
        show: &Arc<Show>,
        (asked, travellers): (&ResolvedSeatRequest, Option<Vec<Traveller>>),
        (id, owner): (&HoldId, &NewSeatOwner),
        clock: &Clock,
    ) -> Result<Order, OrderRefusal> {
        let now_ms = clock.now_ms();
        let order = &record.order;
        let successor_id = OrderId::of_hold(id);
        if let Some(made) = self.successor(&order.id, &successor_id, now_ms).await? {
            return Ok(made);
        }
        let terms = self.check_exchangeable(record, show, now_ms).await?;
        let names = traveller_names(order, show, travellers)?;
        let show = &self.holds.catalogue.touched(show, now_ms).await?;
        self.holds.seats.ensure_open(show).await?;
        let wanted = WantedExchange { order, show, owner };
        let gain = |items: &[OrderItem]| wanted.gained(items);
        let mut found = self
            .holds
            .take_instead(show, (order, owner), asked, id, &gain, now_ms)
            .await?;
        for (item, name) in found.items.iter_mut().zip(names) {
            item.traveller = Some(name);
        }
        // The seats may have become free while this call waited for the store. The time is read
        // again, because the successor must not be dated before the end of the order that had the
        // seats.
        self.exchange_for(&wanted, &terms, found, clock.now_ms())
            .await
    }

    /// Locks the new seats, writes the successor that claims the seats, and makes its payment. If a
    /// step is refused, the seats are released. If the ledger does not answer, they stay locked,
    /// because the exchange may have been written.
    async fn exchange_for(
        &self,
        wanted: &WantedExchange<'_>,
        terms: &OrderTerms,
        ExchangeSeats { hold, items }: ExchangeSeats,
        now_ms: i64,
    ) -> Result<Order, OrderRefusal> {
        let WantedExchange { order, show, .. } = *wanted;
        let (limit, least, deal) = match self.price_exchange(wanted, terms, (&hold, &items), now_ms)
        {
            Ok(priced) => priced,
            Err(refused) => return Err(self.release_failed_exchange(&hold, refused).await),
        };
        let successor = wanted.successor(&hold, &items, &deal, now_ms);
        let secured = match self.lock_new_seats(wanted, &successor).await {
            Ok(secured) => secured,
            Err(refused) => return Err(self.release_failed_exchange(&hold, refused).await),
        };
        let payment = match self.payment_of(&successor) {
            Ok(payment) => payment,
            Err(refused) => return Err(self.release_failed_exchange(&secured.hold, refused).await),
        };
        let basis = ClaimBasis {
            limit,
            ..ClaimBasis::for_locked_hold(show, &secured)
        };
        let given = order.items.clone();
        let exchange = Exchange {
            items: with_carried_money(&items, deal.carried, order.currency),
            successor,
            payment,
            given,
            deal,
            least,
        };
        match self
            .ledger
            .exchange(&order.id, exchange, basis, now_ms)
            .await
        {
            Ok(Some(made)) => {
                self.ensure_payment_made(&made, now_ms).await?;
                Ok(made)
            }
            Ok(None) => {
                let gone = OrderRefusal::NoSuchOrder(order.id.clone());
                Err(self.release_failed_exchange(&secured.hold, gone).await)
            }
            Err(refused) => Err(self
                .undo_refused_exchange(show, &secured.hold, refused, now_ms)
                .await),
        }
    }

    /// Returns the seat limit of the exchange, the smallest sum that the provider takes, and the
    /// cost of the exchange.
    fn price_exchange(
        &self,
        wanted: &WantedExchange<'_>,
        terms: &OrderTerms,
        (hold, items): (&Hold, &[OrderItem]),
        now_ms: i64,
    ) -> Result<(u32, i64, ExchangeCost), OrderRefusal> {
        let order = wanted.order;
        // The hold may come from an earlier try of the same call, so it has to pass the same checks
        // as a new choice.
        let (own, limit) = wanted.gained(items)?;
        if own != hold.items {
            // The order changed after the hold was taken.
            return Err(OrderRefusal::Exchange(ExchangeRefused::Changed));
        }
        let kind = self.provider.as_ref().map(|provider| provider.kind());
        let kind = kind.unwrap_or(ProviderKind::None);
        let least = kind.limits(order.currency).smallest;
        let deal = exchange_cost(order, terms, total_price(items), least, now_ms)
            .map_err(|refused| OrderRefusal::Exchange(refused.into()))?;
        self.check_sum(order.currency.with_amount(deal.due))?;
        Ok((limit, least, deal))
    }

    /// Locks the hold of the new seats until after the deadline of the successor's claim.
    async fn lock_new_seats(
        &self,
        wanted: &WantedExchange<'_>,
        successor: &Order,
    ) -> Result<ClaimableHold, OrderRefusal> {
        let until_ms = lock_until_ms(successor.claim_until_ms);
        let (hold, visitor) = (&successor.hold, wanted.owner.visitor);
        let store = &self.holds.seats.store;
        match store
            .secure(hold, visitor, &[HoldPurpose::Exchange], until_ms)
            .await
        {
            Ok(secured) => Ok(secured),
            Err(refused) => Err(self.holds.explain(wanted.show, refused, &[]).await.into()),
        }
    }

    /// Releases the new seats of an exchange that the ledger refused, and returns the refusal for
    /// the visitor. If the ledger did not answer, the seats stay locked.
    async fn undo_refused_exchange(
        &self,
        show: &Arc<Show>,
        hold: &Hold,
        refused: ExchangeRefused,
        now_ms: i64,
    ) -> OrderRefusal {
        let refusal = match refused {
            // The exchange may have been written. The lock stays, and a retry finds the successor
            // if there is one.
            ExchangeRefused::Ledger(error)
            | ExchangeRefused::Claim(SeatClaimRefused::Ledger(error)) => return error.into(),
            ExchangeRefused::Claim(refused) => {
                self.undo_refused_claim(show, hold, refused, now_ms).await
            }
            refused => OrderRefusal::Exchange(refused),
        };
        self.release_failed_exchange(hold, refusal).await
    }

    /// Returns the successor that an earlier try made under this id, or `None` if there is none.
    /// Makes its payment at the provider if the payment is missing there.
    ///
    /// # Errors
    /// [`ExchangeRefused::Changed`] if the order of this id is not a successor of `of`. Also an
    /// error if the ledger or the provider does not answer, or if the provider refuses the payment.
    pub async fn successor(
        &self,
        of: &OrderId,
        id: &OrderId,
        now_ms: i64,
    ) -> Result<Option<Order>, OrderRefusal> {
        let Some(made) = self.ledger.order(id).await? else {
            return Ok(None);
        };
        let is_successor = |part: &ExchangeRole| matches!(part, ExchangeRole::Successor { of: old, .. } if old == of);
        if !made.exchanges.iter().any(is_successor) {
            return Err(OrderRefusal::Exchange(ExchangeRefused::Changed));
        }
        self.ensure_payment_made(&made.order, now_ms).await?;
        Ok(Some(made.order))
    }

    /// Frees the seats of an exchange that failed, and returns the refusal.
    async fn release_failed_exchange(&self, hold: &Hold, refusal: OrderRefusal) -> OrderRefusal {
        let store = &self.holds.seats.store;
        let basket_until_ms = hold.expires_at_ms;
        store
            .unsecure(&hold.id, hold.lock_until_ms, basket_until_ms)
            .await;
        match store
            .release(&hold.id, hold.visitor, &[HoldPurpose::Exchange])
            .await
        {
            // Another try of the same call ordered or released the hold.
            Ok(()) | Err(InventoryRefusal::Gone | InventoryRefusal::Ordered) => {}
            Err(error) => {
                tracing::warn!(%error, hold = %hold.id, "the hold of a failed exchange was not released; it lapses by itself");
            }
        }
        refusal
    }

    /// Returns the order's terms if the order's seats may be exchanged for seats of `new` now.
    /// Makes the checks that need no hold.
    async fn check_exchangeable(
        &self,
        record: &OrderRecord,
        new: &Show,
        now_ms: i64,
    ) -> Result<OrderTerms, OrderRefusal> {
        let order = &record.order;
        let open = record.exchanges.iter().find_map(|part| match part {
            ExchangeRole::Exchanged {
                into,
                state: OrderState::Pending | OrderState::Confirmed,
            } => Some(into),
            _ => None,
        });
        if let Some(open) = open.filter(|_| order.state != OrderState::Exchanged) {
            return Err(OrderRefusal::Exchange(ExchangeRefused::Open(open.clone())));
        }
        check_exchangeable(order, &record.tickets, &order.items)
            .map_err(|why| OrderRefusal::Exchange(why.into()))?;
        let catalogue = &self.holds.catalogue;
        let show = catalogue.begun_show(&order.show).await?;
        let show = show.ok_or_else(|| OrderRefusal::NoSuchShow(order.show.clone()))?;
        let terms = catalogue.order_terms(&show, order.terms).await?;
        rules(&terms, &order.items, now_ms)
            .map_err(|refused| OrderRefusal::Exchange(refused.into()))?;
        if new.is_cancelled() {
            return Err(HoldRefusal::ShowCancelled.into());
        }
        if new.document.currency != order.currency {
            return Err(OrderRefusal::OtherCurrency {
                show: new.document.currency,
                order: order.currency,
            });
        }
        Ok(terms)
    }
}

/// Returns the names of the travellers on a train, one for each seat. Without new names, the
/// order's names stay. For a show that is not a train, the list is empty.
fn traveller_names(
    order: &Order,
    show: &Show,
    travellers: Option<Vec<Traveller>>,
) -> Result<Vec<String>, NamesFault> {
    let kept = || {
        let names = order.items.iter().map(|item| item.traveller.clone());
        let names = names.map(|name| name.map(|name| Traveller { name }));
        names.collect::<Option<Vec<Traveller>>>()
    };
    let travellers = match travellers {
        None if show.run.is_some() => kept(),
        travellers => travellers,
    };
    ticket_names(show, travellers, order.items.len())
}

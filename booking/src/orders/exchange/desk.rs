//! Makes the order that succeeds another one in an exchange. The writes come in the same order as
//! in a checkout, but only for the cells that the old order does not have.

use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, lock_until_ms};
use fairgate_model::ids::{HoldId, OrderId, PaymentId};
use fairgate_model::orders::exchange::deal::{exchange_cost, rules};
use fairgate_model::orders::exchange::{Exchange, ExchangeRole, may_give, parts, total_price};
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::orders::{Order, OrderItem, OrderRecord, OrderState, Traveller};
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::Show;
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::shows::terms::UNNUMBERED;

use crate::holds::ask::ResolvedSeatRequest;
use crate::holds::instead::{ExchangeSeats, NewSeatOwner};
use crate::holds::refusal::HoldRefusal;
use crate::ledger::{ClaimBasis, ExchangeRefused, SeatClaimRefused};
use crate::orders::checkout::OrderDesk;
use crate::orders::refusal::{NamesFault, OrderRefusal};
use crate::orders::travellers::ticket_names;
use crate::store::InventoryRefusal;

impl OrderDesk {
    /// Begins an exchange and returns the successor. The successor is pending if there is a
    /// difference to pay, and otherwise has its tickets at once. `id` is the hold of the new seats.
    /// Repeating the call returns the same successor.
    ///
    /// # Errors
    /// [`OrderRefusal`], which says why nothing was exchanged, or why the difference cannot be
    /// paid.
    pub async fn exchange(
        &self,
        record: &OrderRecord,
        show: &Arc<Show>,
        (asked, travellers): (&ResolvedSeatRequest, Option<Vec<Traveller>>),
        (id, whose): (&HoldId, &NewSeatOwner),
        clock: &Clock,
    ) -> Result<Order, OrderRefusal> {
        let now_ms = clock.now_ms();
        let order = &record.order;
        let successor_id = OrderId::of_hold(id);
        if let Some(made) = self.successor(&order.id, &successor_id, now_ms).await? {
            return Ok(made);
        }
        let terms = self.givable(record, now_ms).await?;
        if show.fate == Some(ShowFate::Cancelled) {
            return Err(HoldRefusal::ShowCancelled.into());
        }
        if show.document.currency != order.currency {
            return Err(OrderRefusal::OtherCurrency {
                show: show.document.currency,
                order: order.currency,
            });
        }
        let names = names(order, show, travellers)?;
        let show = &self.holds.catalogue.touched(show, now_ms).await?;
        self.holds.seats.ensure_open(show).await?;
        let gain = |items: &[OrderItem]| gained(order, (show, whose), items);
        let ExchangeSeats { hold, mut items } = self
            .holds
            .take_instead(show, (order, whose), asked, id, &gain, now_ms)
            .await?;
        // The seats may have become free while the store was waited for. The new order must not
        // begin before the end of the order that had them.
        let now_ms = clock.now_ms();
        for (item, name) in items.iter_mut().zip(names) {
            item.traveller = Some(name);
        }
        // The hold may come from an earlier try of the same call, so it has to pass the same checks
        // as a new choice.
        let limit = match gained(order, (show, whose), &items) {
            Ok((own, limit)) if own == hold.items => limit,
            // The order changed after the hold was taken.
            Ok(_) => {
                return Err(self
                    .release_failed_exchange(
                        &hold,
                        OrderRefusal::Exchange(ExchangeRefused::Changed),
                    )
                    .await);
            }
            Err(refused) => return Err(self.release_failed_exchange(&hold, refused).await),
        };
        let kind = self.provider.as_ref().map(|provider| provider.kind());
        let least = kind
            .unwrap_or(ProviderKind::None)
            .limits(order.currency)
            .smallest;
        let deal = match exchange_cost(order, &terms, total_price(&items), least, now_ms) {
            Ok(deal) => deal,
            Err(refused) => {
                return Err(self
                    .release_failed_exchange(&hold, OrderRefusal::Exchange(refused.into()))
                    .await);
            }
        };
        if let Err(refused) = self.check_sum(order.currency.with_amount(deal.due)) {
            return Err(self.release_failed_exchange(&hold, refused).await);
        }
        let total = deal.due;
        let pay_until_ms = now_ms + i64::from(show.document.pay_s) * 1_000;
        let claim_until_ms = pay_until_ms + i64::from(show.document.claim_grace_s) * 1_000;
        let store = &self.holds.seats.store;
        let until_ms = lock_until_ms(claim_until_ms);
        let secured = store
            .secure(id, whose.visitor, &[HoldPurpose::Exchange], until_ms)
            .await;
        let secured = match secured {
            Ok(secured) => secured,
            Err(refused) => {
                let told = self.holds.explain(show, refused, &[]).await.into();
                return Err(self.release_failed_exchange(&hold, told).await);
            }
        };
        let successor = Order {
            payment: PaymentId::of_order(&successor_id),
            show: show.id.clone(),
            hold: id.clone(),
            visitor: whose.visitor,
            room: hold.room.clone(),
            items: as_gained(order, show, &items, total),
            plan_version: hold.plan_version,
            terms: match hold.terms {
                UNNUMBERED => show.terms,
                numbered => numbered,
            },
            let_go: deal.let_go,
            state: OrderState::Pending,
            reason: "ordered_in_exchange".to_owned(),
            created_at_ms: now_ms,
            pay_until_ms,
            claim_until_ms,
            total,
            id: successor_id,
            ..order.clone()
        };
        let payment = match self.payment_of(&successor) {
            Ok(payment) => payment,
            Err(refused) => return Err(self.release_failed_exchange(&secured.hold, refused).await),
        };
        let basis = ClaimBasis {
            limit,
            ..ClaimBasis::for_locked_hold(show, &secured)
        };
        let exchange = Exchange {
            successor,
            payment,
            items,
            given: order.items.clone(),
            deal,
            least,
        };
        match self
            .ledger
            .exchange(&order.id, exchange, basis, now_ms)
            .await
        {
            Ok(Some(made)) => {
                self.payable(&made, now_ms).await?;
                Ok(made)
            }
            // The exchange may have been written. The lock stays, and a retry finds out.
            Err(
                ExchangeRefused::Ledger(error)
                | ExchangeRefused::Claim(SeatClaimRefused::Ledger(error)),
            ) => Err(error.into()),
            Ok(None) => {
                let gone = OrderRefusal::NoSuchOrder(order.id.clone());
                Err(self.release_failed_exchange(&secured.hold, gone).await)
            }
            Err(ExchangeRefused::Claim(refused)) => {
                let told = self
                    .undo_refused_claim(show, &secured.hold, refused, now_ms)
                    .await;
                Err(self.release_failed_exchange(&secured.hold, told).await)
            }
            Err(refused) => Err(self
                .release_failed_exchange(&secured.hold, OrderRefusal::Exchange(refused))
                .await),
        }
    }

    /// Returns the successor that an earlier try made under this id, ready to be paid.
    ///
    /// # Errors
    /// [`ExchangeRefused::Changed`] where the order of this id is not a successor of `of`. Also
    /// where ledger or provider do not answer.
    pub async fn successor(
        &self,
        of: &OrderId,
        id: &OrderId,
        now_ms: i64,
    ) -> Result<Option<Order>, OrderRefusal> {
        let Some(made) = self.ledger.order(id).await? else {
            return Ok(None);
        };
        let is_its_own = |part: &ExchangeRole| matches!(part, ExchangeRole::Successor { of: old, .. } if old == of);
        if !made.exchanges.iter().any(is_its_own) {
            return Err(OrderRefusal::Exchange(ExchangeRefused::Changed));
        }
        self.payable(&made.order, now_ms).await?;
        Ok(Some(made.order))
    }

    /// Frees the seats of an exchange that failed, and returns the refusal.
    async fn release_failed_exchange(&self, hold: &Hold, told: OrderRefusal) -> OrderRefusal {
        let store = &self.holds.seats.store;
        let basket_until_ms = hold.expires_at_ms;
        store
            .unsecure(&hold.id, hold.lock_until_ms, basket_until_ms)
            .await;
        match store
            .release(&hold.id, hold.visitor, &[HoldPurpose::Exchange])
            .await
        {
            // Another try of the same call ordered the hold, or gave it back.
            Ok(()) | Err(InventoryRefusal::Gone | InventoryRefusal::Ordered) => {}
            Err(error) => {
                tracing::warn!(%error, hold = %hold.id, "the seats of a lost exchange were not given back; they run out by themselves");
            }
        }
        told
    }

    /// Checks whether the order's seats may be given up now, as far as that is known before
    /// anything is held.
    async fn givable(&self, record: &OrderRecord, now_ms: i64) -> Result<OrderTerms, OrderRefusal> {
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
        may_give(order, &record.tickets, &order.items)
            .map_err(|why| OrderRefusal::Exchange(why.into()))?;
        let catalogue = &self.holds.catalogue;
        let show = catalogue.show(&order.show);
        let show = show.ok_or_else(|| OrderRefusal::NoSuchShow(order.show.clone()))?;
        let terms = catalogue.order_terms(&show, order.terms).await?;
        rules(&terms, &order.items, now_ms)
            .map_err(|refused| OrderRefusal::Exchange(refused.into()))?;
        Ok(terms)
    }
}

/// Returns the cells that the order does not have already, and the visitor's limit for taking them.
fn gained(
    order: &Order,
    (show, whose): (&Show, &NewSeatOwner),
    items: &[OrderItem],
) -> Result<(Vec<HeldSeat>, u32), OrderRefusal> {
    if items.len() != order.items.len() {
        return Err(OrderRefusal::OtherQuantity {
            seats: order.items.len(),
            asked: items.len(),
        });
    }
    let parts = parts_of(order, show, items);
    let cells = |items: &[OrderItem]| items.iter().any(|item| !item.held.legs.is_empty());
    let dearer = total_price(items) > total_price(&order.items);
    if !cells(&parts.gained) && (!cells(&parts.lost) || dearer) {
        return Err(OrderRefusal::NothingToExchange);
    }
    let seats = parts.gained.len();
    let held = parts.gained.into_iter().map(|item| item.held);
    Ok((
        held.collect(),
        limit(order, (show, whose), items.len(), seats),
    ))
}

fn parts_of(
    order: &Order,
    show: &Show,
    items: &[OrderItem],
) -> fairgate_model::orders::exchange::ExchangedSeats {
    let own = if order.show == show.id {
        &order.items[..]
    } else {
        &[]
    };
    parts(own, items)
}

/// Returns the limit of seats while both orders exist, so that the new owner has no more than the
/// show's limit afterwards.
fn limit(order: &Order, (show, whose): (&Show, &NewSeatOwner), seats: usize, gained: usize) -> u32 {
    let own = if order.show == show.id && order.visitor == whose.visitor {
        order.items.len()
    } else {
        0
    };
    let count = |seats: usize| i64::try_from(seats).unwrap_or(i64::MAX);
    let may = i64::from(show.document.seats_per_visitor) + count(own + gained) - count(seats);
    u32::try_from(may.max(0)).unwrap_or(u32::MAX)
}

/// Returns the gained cells as items of the successor, which together cost the difference.
fn as_gained(order: &Order, show: &Show, items: &[OrderItem], total: i64) -> Vec<OrderItem> {
    let mut gained = parts_of(order, show, items).gained;
    let mut left = total;
    for item in &mut gained {
        item.amount = std::mem::take(&mut left);
    }
    gained
}

/// Returns the names of the travellers, one for each seat. They stay the same unless new names are
/// given.
fn names(
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

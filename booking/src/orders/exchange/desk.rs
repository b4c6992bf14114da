//! From an order to its successor: the order of writes is that of a checkout, over the cells that are gained.

use std::sync::Arc;

use super::deal::{NoExchange, deal, rules};
use super::{Exchange, Part, may_give, parts, price};
use crate::catalogue::fate::Fate;
use crate::catalogue::show::Show;
use crate::catalogue::terms::UNNUMBERED;
use crate::clock::{Clock, rfc3339};
use crate::holds::ask::Asked;
use crate::holds::instead::{Instead, NewOwner};
use crate::holds::take::cancelled;
use crate::holds::{Held, Hold, Purpose, lock_until_ms};
use crate::ids::{HoldId, OrderId, PaymentId};
use crate::ledger::{ClaimBasis, ClaimRefused, ExchangeRefused};
use crate::orders::checkout::OrderDesk;
use crate::orders::terms::OrderTerms;
use crate::orders::travellers::named;
use crate::orders::{Order, OrderItem, OrderRecord, OrderState, Traveller};
use crate::payments::kind::ProviderKind;
use crate::store::Refused;
use fairgate_base::http::Problem;

impl OrderDesk {
    /// Begins an exchange: the successor, pending where there is a difference to pay, else with its tickets. `id` is the hold
    /// of the new seats; the same again answers with the same successor.
    ///
    /// # Errors
    /// 409 `not_exchangeable`, `ticket_scanned`, `exchange_open`, `seats_taken`, `best_available_not_found`; 422
    /// `limit_exceeded` and the fields that are wrong; 503 `payments_not_configured`.
    pub async fn exchange(
        &self,
        record: &OrderRecord,
        show: &Arc<Show>,
        (asked, travellers): (&Asked, Option<Vec<Traveller>>),
        (id, whose): (&HoldId, &NewOwner),
        clock: &Clock,
    ) -> Result<Order, Problem> {
        let now_ms = clock.now_ms();
        let order = &record.order;
        let successor_id = OrderId::of_hold(id);
        if let Some(made) = self.successor(&order.id, &successor_id, now_ms).await? {
            return Ok(made);
        }
        let terms = self.givable(record, now_ms).await?;
        if show.fate == Some(Fate::Cancelled) {
            return Err(cancelled());
        }
        if show.document.currency != order.currency {
            let detail = format!(
                "show: it is sold in {}, and the order was paid in {}. Nothing was changed; choose a show in the same currency.",
                show.document.currency.as_str(),
                order.currency.as_str()
            );
            return Err(Problem::field("show", detail));
        }
        let names = names(order, show, travellers)?;
        let show = &self.holds.catalogue.touched(show, now_ms).await?;
        self.holds.seats.ensure_open(show).await?;
        let gain = |items: &[OrderItem]| gained(order, (show, whose), items);
        let Instead { hold, mut items } = self
            .holds
            .take_instead(show, (order, whose), asked, id, &gain, now_ms)
            .await?;
        // The seats may have come free while the store was waited for: the order begins behind whoever had them before.
        let now_ms = clock.now_ms();
        for (item, name) in items.iter_mut().zip(names) {
            item.traveller = Some(name);
        }
        // The hold may be an earlier try's of the same call: what holds for a choice has to hold for it as well.
        let limit = match gained(order, (show, whose), &items) {
            Ok((own, limit)) if own == hold.items => limit,
            // The order changed since.
            Ok(_) => return Err(self.lost(&hold, explain(ExchangeRefused::Changed)).await),
            Err(refused) => return Err(self.lost(&hold, refused).await),
        };
        let kind = self.provider.as_ref().map(|provider| provider.kind());
        let least = kind
            .unwrap_or(ProviderKind::None)
            .limits(order.currency)
            .smallest;
        let deal = match deal(order, &terms, price(&items), least, now_ms) {
            Ok(deal) => deal,
            Err(refused) => return Err(self.lost(&hold, explain(refused.into())).await),
        };
        if let Err(refused) = self.check_sum(order.currency.of(deal.due)) {
            return Err(self.lost(&hold, refused).await);
        }
        let total = deal.due;
        let pay_until_ms = now_ms + i64::from(show.document.pay_s) * 1_000;
        let claim_until_ms = pay_until_ms + i64::from(show.document.claim_grace_s) * 1_000;
        let store = &self.holds.seats.store;
        let until_ms = lock_until_ms(claim_until_ms);
        let secured = store
            .secure(id, whose.visitor, &[Purpose::Exchange], until_ms)
            .await;
        let secured = match secured {
            Ok(secured) => secured,
            Err(refused) => {
                let told = self.holds.explain(show, refused, &[]).await;
                return Err(self.lost(&hold, told).await);
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
            Err(refused) => return Err(self.lost(&secured.hold, refused).await),
        };
        let basis = ClaimBasis {
            limit,
            ..ClaimBasis::of(show, &secured)
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
            // It may have been written: the lock stays, and a retry finds out.
            Err(
                ExchangeRefused::Ledger(error)
                | ExchangeRefused::Claim(ClaimRefused::Ledger(error)),
            ) => Err(error.into()),
            Ok(None) => {
                let gone = Problem::not_found("order", order.id.as_str());
                Err(self.lost(&secured.hold, gone).await)
            }
            Err(ExchangeRefused::Claim(refused)) => {
                let told = self.refused(show, &secured.hold, refused, now_ms).await;
                Err(self.lost(&secured.hold, told).await)
            }
            Err(refused) => Err(self.lost(&secured.hold, explain(refused)).await),
        }
    }

    /// The successor of this id that an earlier try made for an order, ready to be paid.
    ///
    /// # Errors
    /// 409 `not_exchangeable` where the order of this id is none of the exchange; 503 where ledger or provider do not answer.
    pub async fn successor(
        &self,
        of: &OrderId,
        id: &OrderId,
        now_ms: i64,
    ) -> Result<Option<Order>, Problem> {
        let Some(made) = self.ledger.order(id).await? else {
            return Ok(None);
        };
        let is_its_own = |part: &Part| matches!(part, Part::Successor { of: old, .. } if old == of);
        if !made.exchanges.iter().any(is_its_own) {
            return Err(explain(ExchangeRefused::Changed));
        }
        self.payable(&made.order, now_ms).await?;
        Ok(Some(made.order))
    }

    /// An exchange that came to nothing keeps no seats: they are free at once.
    async fn lost(&self, hold: &Hold, told: Problem) -> Problem {
        let store = &self.holds.seats.store;
        let basket_until_ms = hold.expires_at_ms;
        store
            .unsecure(&hold.id, hold.lock_until_ms, basket_until_ms)
            .await;
        match store
            .release(&hold.id, hold.visitor, &[Purpose::Exchange])
            .await
        {
            // Another try of the same call has it, or gave it back.
            Ok(()) | Err(Refused::Gone | Refused::Ordered) => {}
            Err(error) => {
                tracing::warn!(%error, hold = %hold.id, "the seats of a lost exchange were not given back; they run out by themselves");
            }
        }
        told
    }

    /// Whether the order's seats may be given now, as far as can be told before anything is held.
    async fn givable(&self, record: &OrderRecord, now_ms: i64) -> Result<OrderTerms, Problem> {
        let order = &record.order;
        let open = record.exchanges.iter().find_map(|part| match part {
            Part::Exchanged {
                into,
                state: OrderState::Pending | OrderState::Confirmed,
            } => Some(into),
            _ => None,
        });
        if let Some(open) = open.filter(|_| order.state != OrderState::Exchanged) {
            return Err(explain(ExchangeRefused::Open(open.clone())));
        }
        may_give(order, &record.tickets, &order.items).map_err(|why| explain(why.into()))?;
        let catalogue = &self.holds.catalogue;
        let show = catalogue.show(&order.show);
        let show = show.ok_or_else(|| Problem::not_found("show", order.show.as_str()))?;
        let terms = catalogue.order_terms(&show, order.terms).await?;
        rules(&terms, &order.items, now_ms).map_err(|refused| explain(refused.into()))?;
        Ok(terms)
    }
}

/// The cells that are gained, at the difference, and the limit that holds for them.
fn gained(
    order: &Order,
    (show, whose): (&Show, &NewOwner),
    items: &[OrderItem],
) -> Result<(Vec<Held>, u32), Problem> {
    if items.len() != order.items.len() {
        let detail = format!(
            "The order has {} seats, and {} were asked for. Nothing was changed; ask for as many as it has. What nobody needs any more is given back by a refund.",
            order.items.len(),
            items.len()
        );
        return Err(
            Problem::new(422, "exchange_quantity", "Another number of seats", detail)
                .with("seats", order.items.len()),
        );
    }
    let parts = parts_of(order, show, items);
    let cells = |items: &[OrderItem]| items.iter().any(|item| !item.held.legs.is_empty());
    let dearer = price(items) > price(&order.items);
    if !cells(&parts.gained) && (!cells(&parts.lost) || dearer) {
        return Err(Problem::new(
            422,
            "nothing_to_exchange",
            "These are the order's own seats",
            "The order has these seats already. Nothing was changed; choose others.",
        ));
    }
    let seats = parts.gained.len();
    let held = parts.gained.into_iter().map(|item| item.held);
    Ok((
        held.collect(),
        limit(order, (show, whose), items.len(), seats),
    ))
}

fn parts_of(order: &Order, show: &Show, items: &[OrderItem]) -> super::Parts {
    let own = if order.show == show.id {
        &order.items[..]
    } else {
        &[]
    };
    parts(own, items)
}

/// Seats that the new owner may have while both orders stand, so that afterwards it has what one may.
fn limit(order: &Order, (show, whose): (&Show, &NewOwner), seats: usize, gained: usize) -> u32 {
    let own = if order.show == show.id && order.visitor == whose.visitor {
        order.items.len()
    } else {
        0
    };
    let count = |seats: usize| i64::try_from(seats).unwrap_or(i64::MAX);
    let may = i64::from(show.document.seats_per_visitor) + count(own + gained) - count(seats);
    u32::try_from(may.max(0)).unwrap_or(u32::MAX)
}

/// The gained cells as items of the successor: together they cost the difference.
fn as_gained(order: &Order, show: &Show, items: &[OrderItem], total: i64) -> Vec<OrderItem> {
    let mut gained = parts_of(order, show, items).gained;
    let mut left = total;
    for item in &mut gained {
        item.amount = std::mem::take(&mut left);
    }
    gained
}

/// Who travels stays, unless others are named; one a seat.
fn names(
    order: &Order,
    show: &Show,
    travellers: Option<Vec<Traveller>>,
) -> Result<Vec<String>, Problem> {
    let kept = || {
        let names = order.items.iter().map(|item| item.traveller.clone());
        let names = names.map(|name| name.map(|name| Traveller { name }));
        names.collect::<Option<Vec<Traveller>>>()
    };
    let travellers = match travellers {
        None if show.run.is_some() => kept(),
        travellers => travellers,
    };
    named(show, travellers, order.items.len())
}

/// 409 `exchange_open`: nothing else is done with the order until its exchange is paid or given up.
pub fn exchange_open(successor: &OrderId) -> Problem {
    let detail = format!(
        "An exchange of this order waits for its payment, as {successor}. Nothing was changed: pay that one, or cancel it, before anything else."
    );
    Problem::new(409, "exchange_open", "An exchange is being paid", detail).with("order", successor)
}

/// The problem that a refusal is.
fn explain(refused: ExchangeRefused) -> Problem {
    match refused {
        ExchangeRefused::State(state) => Problem::new(
            409,
            "not_exchangeable",
            "The order cannot be exchanged",
            format!(
                "The order is {}; only a paid order's seats can be given for others. Nothing was changed.",
                state.word()
            ),
        )
        .with("state", state),
        ExchangeRefused::Rule(NoExchange::NotOffered) => Problem::new(
            409,
            "not_exchangeable",
            "The order cannot be exchanged",
            "This show offers no exchange. Nothing was changed; the tickets are good.",
        )
        .with("reason", "no_exchange"),
        ExchangeRefused::Rule(NoExchange::Over { until_ms }) => {
            let until = rfc3339(until_ms);
            let detail = format!(
                "These seats could be exchanged until {until}. Nothing was changed; the tickets are as they were."
            );
            Problem::new(409, "not_exchangeable", "The order cannot be exchanged", detail)
                .with("reason", "too_late")
                .with("until", until)
        }
        ExchangeRefused::Scanned(seats) => Problem::new(
            409,
            "ticket_scanned",
            "A ticket was used",
            format!(
                "Somebody went in on the tickets for {}; such an order is not exchanged. Nothing was changed.",
                seats.join(", ")
            ),
        )
        .with("seats", seats),
        ExchangeRefused::Open(successor) => exchange_open(&successor),
        ExchangeRefused::Changed => Problem::new(
            409,
            "not_exchangeable",
            "The order has changed",
            "The order changed while you were choosing. Nothing was exchanged. Read the order and choose anew.",
        ),
        // Both are told where more is known of them.
        ExchangeRefused::Claim(refused) => Problem::new(
            409,
            "not_exchangeable",
            "The order cannot be exchanged",
            refused.to_string(),
        ),
        ExchangeRefused::Ledger(error) => error.into(),
    }
}

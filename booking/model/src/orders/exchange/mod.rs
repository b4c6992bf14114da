//! An exchange: the seats of a paid order for others. The new seats are an order of their own, the
//! *successor*, which costs the difference; the old order stays whole until that is paid, and then
//! one transaction swaps them. What is decided stands here and is pure; the ledger carries it out.

pub mod deal;
mod parts;

pub use parts::{ExchangedSeats, parts};

use std::ops::Range;

use deal::{ExchangeCost, ExchangeRuleError};

use super::terms::OrderTerms;
use super::transition::{OrderEvent, decide};
use super::{Order, OrderItem, OrderState, Ticket};
use crate::ids::OrderId;
use crate::payments::Payment;

/// An exchange as it is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The order for the new seats. Until the swap its items are the cells that are gained, and
    /// together they cost the difference.
    pub successor: Order,
    /// The payment of the difference; voided from the beginning where there is nothing to pay.
    pub payment: Payment,
    /// The new seats, whole and at their own prices: the successor's items from the swap on.
    pub items: Vec<OrderItem>,
    /// The seats that are given for them, as they were when the difference was reckoned.
    pub given: Vec<OrderItem>,
    /// What it was reckoned to cost.
    pub deal: ExchangeCost,
    /// The smallest sum that the payment provider takes.
    pub least: i64,
}

impl Exchange {
    /// Whether it costs what it was reckoned to cost, by the terms and the money that count for the
    /// old order now.
    ///
    /// # Errors
    /// [`OrderExchangeError::Rule`] where no rule lets it be exchanged any more,
    /// [`OrderExchangeError::Changed`] where it would cost something else.
    pub fn is_as_reckoned(
        &self,
        of: &Order,
        terms: &OrderTerms,
        now_ms: i64,
    ) -> Result<(), OrderExchangeError> {
        let deal = deal::exchange_cost(of, terms, total_price(&self.items), self.least, now_ms)?;
        let Order { total, let_go, .. } = self.successor;
        let same = deal == self.deal && total == deal.due && let_go == deal.let_go;
        if same && self.payment.amount.amount == total {
            Ok(())
        } else {
            Err(OrderExchangeError::Changed)
        }
    }

    /// Whether what the successor claims is what its seats gain, and nothing else.
    #[must_use]
    pub fn is_whole(&self, of: &Order) -> bool {
        let own = if of.show == self.successor.show {
            &self.given[..]
        } else {
            &[]
        };
        let places = |items: &[OrderItem]| -> Vec<(u32, Range<u16>)> {
            let place = |item: &OrderItem| (item.held.seat, item.held.legs.clone());
            items.iter().map(place).collect()
        };
        places(&parts(own, &self.items).gained) == places(&self.successor.items)
    }
}

/// An exchange that an order is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeRole {
    /// The order was made for seats that another one's are exchanged for.
    Successor {
        /// The other one.
        of: OrderId,
        /// The new seats, as the exchange was begun.
        items: Vec<OrderItem>,
        /// Whether they are the order's by now.
        done: bool,
    },
    /// The order's seats are, or were to be, exchanged for this one's.
    Exchanged {
        /// The newest successor.
        into: OrderId,
        /// Where it stands.
        state: OrderState,
    },
}

/// Why an order, as it stands, is not exchanged.
#[derive(Debug, thiserror::Error)]
pub enum OrderExchangeError {
    /// The order is in a state that has nothing to exchange.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of its terms lets its seats be exchanged now.
    #[error(transparent)]
    Rule(#[from] ExchangeRuleError),
    /// Somebody went in on these: their labels.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// The order has other seats by now.
    #[error("the order has changed")]
    Changed,
}

/// Whether an order's seats may be given for others now. `given` are those that the difference was
/// reckoned with.
///
/// # Errors
/// [`OrderExchangeError`], for a reason that stands in the order or its tickets.
pub fn may_give(
    order: &Order,
    tickets: &[Ticket],
    given: &[OrderItem],
) -> Result<(), OrderExchangeError> {
    if decide(order.state, OrderEvent::Exchanged).is_none() {
        return Err(OrderExchangeError::State(order.state));
    }
    let inside = |ticket: &&Ticket| ticket.scanned_at_ms.is_some() && ticket.voided_at_ms.is_none();
    let scanned: Vec<String> = tickets
        .iter()
        .filter(inside)
        .map(|ticket| ticket.label.clone())
        .collect();
    if !scanned.is_empty() {
        return Err(OrderExchangeError::Scanned(scanned));
    }
    if order.items != given {
        return Err(OrderExchangeError::Changed);
    }
    Ok(())
}

/// What some seats cost together, in minor units.
#[must_use]
pub fn total_price(items: &[OrderItem]) -> i64 {
    items.iter().map(|item| item.amount).sum()
}

/// The cells of an old order that the new one does not have.
#[must_use]
pub fn lost_items(old: &Order, new: &Order) -> Vec<OrderItem> {
    if old.show == new.show {
        parts(&old.items, &new.items).lost
    } else {
        old.items.clone()
    }
}

/// From which payments a refund comes: of each order in the chain of exchanges, newest first, what
/// it can give. What is left of each is told; together they have what all living seats cost.
#[must_use]
pub fn split_over_payments(amount: i64, left: &[i64]) -> Vec<i64> {
    let mut wanted = amount;
    let take = |has: &i64| {
        let taken = wanted.min((*has).max(0));
        wanted -= taken;
        taken
    };
    left.iter().map(take).collect()
}

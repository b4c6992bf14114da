//! Exchanges the seats of a paid order for other seats. The new seats belong to an order of their
//! own, the *successor*, which costs the difference. The old order keeps its seats until the
//! difference is paid, and then one transaction swaps the seats. This module is pure and only
//! decides. The ledger writes the result.

pub mod carried;
pub mod deal;
mod parts;

pub use parts::{ExchangedSeats, parts};

use std::ops::Range;

use carried::with_carried_money;
use deal::{ExchangeCost, ExchangeRuleError};

use super::terms::OrderTerms;
use super::transition::{OrderEvent, decide};
use super::{Order, OrderItem, OrderState, Ticket};
use crate::ids::OrderId;
use crate::payments::Payment;

/// An exchange, as it is written when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The order for the new seats. Until the swap, its items are only the cells that the old order
    /// does not have. The prices of these items add up to what is due.
    pub successor: Order,
    /// The payment of the difference. It is voided from the beginning if there is nothing to pay.
    pub payment: Payment,
    /// All new seats at their own prices, with the money that is carried over. They become the
    /// successor's items with the swap.
    pub items: Vec<OrderItem>,
    /// The old seats, as they were when the difference was computed.
    pub given: Vec<OrderItem>,
    /// What the exchange costs, as computed at its beginning.
    pub deal: ExchangeCost,
    /// The smallest sum that the payment provider takes.
    pub least: i64,
}

impl Exchange {
    /// Checks that the exchange still costs what was computed. It computes the cost again from the
    /// old order and its terms as they are now.
    ///
    /// # Errors
    /// [`OrderExchangeError::Rule`] if no rule allows the exchange any more,
    /// [`OrderExchangeError::Changed`] if the exchange would cost something else.
    pub fn check_cost_unchanged(
        &self,
        old_order: &Order,
        terms: &OrderTerms,
        now_ms: i64,
    ) -> Result<(), OrderExchangeError> {
        let deal = deal::exchange_cost(
            old_order,
            terms,
            total_price(&self.items),
            self.least,
            now_ms,
        )?;
        let Order {
            total,
            waived,
            currency,
            ..
        } = self.successor;
        let is_carried_over = with_carried_money(&self.items, deal.carried, currency) == self.items;
        let same =
            deal == self.deal && total == deal.due && waived == deal.waived && is_carried_over;
        if same && self.payment.amount.amount == total {
            Ok(())
        } else {
            Err(OrderExchangeError::Changed)
        }
    }

    /// Returns whether the successor claims exactly the cells that the exchange gains.
    #[must_use]
    pub fn claims_gained_cells(&self, old_order: &Order) -> bool {
        let own = if old_order.show == self.successor.show {
            &self.given[..]
        } else {
            &[]
        };
        let seats_and_legs = |items: &[OrderItem]| -> Vec<(u32, Range<u16>)> {
            let place = |item: &OrderItem| (item.held.seat, item.held.legs.clone());
            items.iter().map(place).collect()
        };
        seats_and_legs(&parts(own, &self.items).gained) == seats_and_legs(&self.successor.items)
    }
}

/// The part that an order has in an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeRole {
    /// The order is for the new seats of an exchange.
    Successor {
        /// The order whose seats are exchanged.
        of: OrderId,
        /// The new seats, as they were when the exchange began.
        items: Vec<OrderItem>,
        /// The fee of the exchange, in minor units.
        fee: i64,
        /// Whether the swap is done. The new seats then belong to the order.
        done: bool,
    },
    /// The order's seats were exchanged for others, or such an exchange has begun.
    Exchanged {
        /// The id of the newest successor.
        into: OrderId,
        /// The successor's state.
        state: OrderState,
    },
}

/// Why an order cannot be exchanged in its present state.
#[derive(Debug, thiserror::Error)]
pub enum OrderExchangeError {
    /// The order is in a state that has nothing to exchange.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of its terms lets its seats be exchanged now.
    #[error(transparent)]
    Rule(#[from] ExchangeRuleError),
    /// Tickets for seats with these labels were scanned at a door.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// The order's seats, or the cost of the exchange, have changed since the cost was computed.
    #[error("the order has changed")]
    Changed,
}

/// Checks that an order's state and tickets allow an exchange of its seats. It does not look at the
/// rules. `given` are the seats for which the difference was computed.
///
/// # Errors
/// [`OrderExchangeError`] if the order or its tickets do not allow an exchange.
pub fn check_exchangeable(
    order: &Order,
    tickets: &[Ticket],
    given: &[OrderItem],
) -> Result<(), OrderExchangeError> {
    if decide(order.state, OrderEvent::Exchanged).is_none() {
        return Err(OrderExchangeError::State(order.state));
    }
    let is_scanned =
        |ticket: &&Ticket| ticket.scanned_at_ms.is_some() && ticket.voided_at_ms.is_none();
    let scanned: Vec<String> = tickets
        .iter()
        .filter(is_scanned)
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

/// Returns what some seats cost together, in minor units.
#[must_use]
pub fn total_price(items: &[OrderItem]) -> i64 {
    items.iter().map(|item| item.amount).sum()
}

/// Returns the cells of an old order that the new one does not have.
#[must_use]
pub fn lost_items(old: &Order, new: &Order) -> Vec<OrderItem> {
    if old.show == new.show {
        parts(&old.items, &new.items).lost
    } else {
        old.items.clone()
    }
}

/// Splits a refund over the payments of the orders in a chain of exchanges, newest first.
/// `refundable` is the sum that can still be refunded from each payment. The returned parts add up
/// to `amount` only if the sums in `refundable` are together large enough.
#[must_use]
pub fn split_over_payments(amount: i64, refundable: &[i64]) -> Vec<i64> {
    let mut wanted = amount;
    let take = |has: &i64| {
        let taken = wanted.min((*has).max(0));
        wanted -= taken;
        taken
    };
    refundable.iter().map(take).collect()
}

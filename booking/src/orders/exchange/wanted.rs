//! Plans an exchange: the cells to take, the seat limit that applies, and the order that replaces
//! the old order.

use std::sync::Arc;

use fairgate_model::holds::{HeldSeat, Hold};
use fairgate_model::orders::exchange::deal::ExchangeCost;
use fairgate_model::orders::exchange::{ExchangedSeats, parts, total_price};
use fairgate_model::orders::{Order, OrderItem};
use fairgate_model::shows::Show;

use crate::holds::instead::NewSeatOwner;
use crate::orders::checkout::{ORDERED_IN_EXCHANGE, draft};
use crate::orders::refusal::OrderRefusal;

/// An order whose buyer wants other seats, and the show of those seats.
pub(super) struct WantedExchange<'a> {
    pub(super) order: &'a Order,
    pub(super) show: &'a Arc<Show>,
    pub(super) owner: &'a NewSeatOwner,
}

impl WantedExchange<'_> {
    /// Returns the cells that the order does not have, and the seat limit for taking these cells.
    ///
    /// # Errors
    /// [`OrderRefusal::OtherQuantity`] if the number of seats differs from the order's.
    /// [`OrderRefusal::NothingToExchange`] if no cell changes, or if cells are only lost and the
    /// new seats cost more.
    pub(super) fn gained(&self, items: &[OrderItem]) -> Result<(Vec<HeldSeat>, u32), OrderRefusal> {
        let order = self.order;
        if items.len() != order.items.len() {
            return Err(OrderRefusal::OtherQuantity {
                seats: order.items.len(),
                asked: items.len(),
            });
        }
        let parts = self.parts(items);
        let has_cells = |items: &[OrderItem]| items.iter().any(|item| !item.held.legs.is_empty());
        let dearer = total_price(items) > total_price(&order.items);
        if !has_cells(&parts.gained) && (!has_cells(&parts.lost) || dearer) {
            return Err(OrderRefusal::NothingToExchange);
        }
        let seats = parts.gained.len();
        let held = parts.gained.into_iter().map(|item| item.held);
        Ok((held.collect(), self.limit(items.len(), seats)))
    }

    fn parts(&self, items: &[OrderItem]) -> ExchangedSeats {
        let own = if self.order.show == self.show.id {
            &self.order.items[..]
        } else {
            &[]
        };
        parts(own, items)
    }

    /// Returns how many seats of the show the new owner may have while both orders exist. With this
    /// limit, the owner has no more than `seats_per_visitor` after the exchange.
    fn limit(&self, seats: usize, gained: usize) -> u32 {
        let order = self.order;
        let own = if order.show == self.show.id && order.visitor == self.owner.visitor {
            order.items.len()
        } else {
            0
        };
        let count = |seats: usize| i64::try_from(seats).unwrap_or(i64::MAX);
        let may = i64::from(self.show.document.seats_per_visitor) + count(own + gained);
        u32::try_from((may - count(seats)).max(0)).unwrap_or(u32::MAX)
    }

    /// Builds the successor, whose items are the gained cells. The first item costs the whole
    /// difference, and the other items cost 0.
    pub(super) fn successor(
        &self,
        hold: &Hold,
        items: &[OrderItem],
        deal: &ExchangeCost,
        now_ms: i64,
    ) -> Order {
        let order = self.order;
        let mut gained = self.parts(items).gained;
        let mut difference = deal.due;
        for item in &mut gained {
            item.amount = std::mem::take(&mut difference);
        }
        let pay_until_ms = now_ms + i64::from(self.show.document.pay_s) * 1_000;
        let buyer = (order.buyer.clone(), order.currency, gained);
        Order {
            visitor: self.owner.visitor,
            waived: deal.waived,
            reason: ORDERED_IN_EXCHANGE.to_owned(),
            total: deal.due,
            ..draft(self.show, hold, buyer, now_ms, pay_until_ms)
        }
    }
}

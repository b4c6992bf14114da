//! What an exchange would be: which cells it gains, for how many seats at most, and the order that
//! takes the first one's place.

use fairgate_model::holds::{HeldSeat, Hold};
use fairgate_model::orders::exchange::deal::ExchangeCost;
use fairgate_model::orders::exchange::{ExchangedSeats, parts, total_price};
use fairgate_model::orders::{Order, OrderItem};
use fairgate_model::shows::Show;

use crate::holds::instead::NewSeatOwner;
use crate::orders::checkout::draft;
use crate::orders::refusal::OrderRefusal;

/// An order whose seats somebody wants to exchange for others of a show.
pub(super) struct WantedExchange<'a> {
    pub(super) order: &'a Order,
    pub(super) show: &'a Show,
    pub(super) whose: &'a NewSeatOwner,
}

impl WantedExchange<'_> {
    /// Returns the cells that the order does not have already, and the visitor's limit for taking
    /// them.
    ///
    /// # Errors
    /// Where there are more or fewer seats than the order has, or nothing is exchanged.
    pub(super) fn gained(&self, items: &[OrderItem]) -> Result<(Vec<HeldSeat>, u32), OrderRefusal> {
        let order = self.order;
        if items.len() != order.items.len() {
            return Err(OrderRefusal::OtherQuantity {
                seats: order.items.len(),
                asked: items.len(),
            });
        }
        let parts = self.parts(items);
        let cells = |items: &[OrderItem]| items.iter().any(|item| !item.held.legs.is_empty());
        let dearer = total_price(items) > total_price(&order.items);
        if !cells(&parts.gained) && (!cells(&parts.lost) || dearer) {
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

    /// Seats that the new owner may have while both orders stand, so that afterwards it has what
    /// one may.
    fn limit(&self, seats: usize, gained: usize) -> u32 {
        let order = self.order;
        let own = if order.show == self.show.id && order.visitor == self.whose.visitor {
            order.items.len()
        } else {
            0
        };
        let count = |seats: usize| i64::try_from(seats).unwrap_or(i64::MAX);
        let may = i64::from(self.show.document.seats_per_visitor) + count(own + gained);
        u32::try_from((may - count(seats)).max(0)).unwrap_or(u32::MAX)
    }

    /// The order of the new seats, with the gained cells as its items: together they cost the
    /// difference.
    pub(super) fn successor(
        &self,
        hold: &Hold,
        items: &[OrderItem],
        deal: &ExchangeCost,
        now_ms: i64,
    ) -> Order {
        let order = self.order;
        let mut gained = self.parts(items).gained;
        let mut left = deal.due;
        for item in &mut gained {
            item.amount = std::mem::take(&mut left);
        }
        let pay_until_ms = now_ms + i64::from(self.show.document.pay_s) * 1_000;
        let buyer = (order.buyer.clone(), order.currency, gained);
        Order {
            visitor: self.whose.visitor,
            let_go: deal.let_go,
            reason: "ordered_in_exchange".to_owned(),
            total: deal.due,
            ..draft(self.show, hold, buyer, now_ms, pay_until_ms)
        }
    }
}

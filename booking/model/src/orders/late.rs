//! Decides what late money may still buy. The module is pure. Chance decides between equal seats,
//! and the random numbers are an argument.

use crate::choosing;
use crate::choosing::rail::TrainSeatStates;
use crate::grid::picture::VersionedCells;
use crate::holds::HeldSeat;
use crate::orders::item::order_item_for_seat;
use crate::orders::transition::LateRefundReason;
use crate::orders::{Order, OrderItem};
use crate::payments::PaymentState;
use crate::shows::Show;

/// Returns why the money can buy nothing even if seats are free; `None` if there is no such reason.
#[must_use]
pub fn late_refund_reason(
    order: &Order,
    payment: PaymentState,
    show: Option<&Show>,
    now_ms: i64,
) -> Option<LateRefundReason> {
    if !payment.has_money() {
        return Some(LateRefundReason::Withdrawn);
    }
    let Some(show) = show.filter(|show| show.plan.version == order.plan_version) else {
        return Some(LateRefundReason::PlanChanged);
    };
    let legs = order.items.first().map(|item| item.held.legs.clone());
    let legs = legs.unwrap_or_else(|| show.legs());
    if !show.sale_has_ended(&legs, now_ms) {
        return None;
    }
    // The sale of a train's seats ends when the train leaves the station where the journey begins.
    let begun = show.run.is_some() || show.document.starts_at.as_millisecond() <= now_ms;
    Some(if begun {
        LateRefundReason::ShowBegun
    } else {
        LateRefundReason::SalesEnded
    })
}

/// Chooses free seats that are like the order's own: as many of each category, over the same legs,
/// near the old ones, and only if today's price is the same. Returns `None` if a price has changed
/// or there are not enough such seats.
#[must_use]
pub fn seats_like(
    show: &Show,
    order: &Order,
    view: &VersionedCells,
    rng: &mut impl rand::Rng,
) -> Option<Vec<OrderItem>> {
    let map = &show.plan.map;
    let category = |item: &OrderItem| {
        map.seats
            .get(item.held.seat as usize)
            .map(|seat| seat.category)
    };
    let train = TrainSeatStates {
        map,
        grid: show.grid(),
        states: &view.states,
    };
    // All seats of an order have the same legs.
    let legs = order.items.first().map(|item| item.held.legs.clone())?;
    let mut groups: Vec<(u16, Vec<&OrderItem>)> = Vec::new();
    for item in &order.items {
        let category = category(item)?;
        if show.fare(item.held.seat, &item.held.legs) != Some(item.amount) {
            return None;
        }
        match groups.iter_mut().find(|(known, _)| *known == category) {
            Some((_, items)) => items.push(item),
            None => groups.push((category, vec![item])),
        }
    }
    let mut chosen = Vec::with_capacity(order.items.len());
    for (_, items) in groups {
        let asked: Vec<u32> = items.iter().map(|item| item.held.seat).collect();
        let free = |seat: u32| train.is_free(seat, &legs);
        let choice = choosing::suggest(map, &free, &asked, false, rng)?;
        for (seat, item) in choice.cells.iter().zip(&items) {
            chosen.push(item_of(show, *seat, item));
        }
    }
    (chosen.len() == order.items.len()).then_some(chosen)
}

/// Makes the item for a seat that replaces another: same legs, same price, same traveller.
fn item_of(show: &Show, seat: u32, like: &OrderItem) -> OrderItem {
    let held = HeldSeat {
        seat,
        ..like.held.clone()
    };
    OrderItem {
        traveller: like.traveller.clone(),
        ..order_item_for_seat(show, held, like.amount)
    }
}

/// Returns the items of a hold that locks seats for an order. Each item gets the price and the
/// traveller of one of the order's seats in the same category. Returns `None` if the hold has more
/// seats of a category than the order.
#[must_use]
pub fn items_of(show: &Show, order: &Order, held_seats: &[HeldSeat]) -> Option<Vec<OrderItem>> {
    let mut unmatched: Vec<&OrderItem> = order.items.iter().collect();
    let item = |held: &HeldSeat| {
        let category = show.category(held.seat);
        let position = unmatched
            .iter()
            .position(|item| item.category == category)?;
        let like = unmatched.remove(position);
        Some(OrderItem {
            traveller: like.traveller.clone(),
            ..order_item_for_seat(show, held.clone(), like.amount)
        })
    };
    held_seats.iter().map(item).collect()
}

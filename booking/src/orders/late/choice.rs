//! What late money may still buy: pure, but for the dice between equals.

use crate::catalogue::show::Show;
use crate::holds::Held;
use crate::inventory::CellState;
use crate::inventory::choose;
use crate::orders::transition::LateReason;
use crate::orders::{Order, OrderItem};
use crate::payments::PaymentState;
use crate::store::View;

/// What forbids the sale whatever seats are free; `None` where nothing does.
#[must_use]
pub fn out_of_bounds(
    order: &Order,
    payment: PaymentState,
    show: Option<&Show>,
    now_ms: i64,
) -> Option<LateReason> {
    if !payment.has_money() {
        return Some(LateReason::Withdrawn);
    }
    let Some(show) = show.filter(|show| show.plan.version == order.plan_version) else {
        return Some(LateReason::PlanChanged);
    };
    (show.document.starts_at.as_millisecond() <= now_ms).then_some(LateReason::ShowBegun)
}

/// Seats like the order's own among those that are free: as many of each category, at today's same price, near the old
/// ones. Pure but for the dice between equals.
#[must_use]
pub fn seats_like(
    show: &Show,
    order: &Order,
    view: &View,
    rng: &mut impl rand::Rng,
) -> Option<Vec<OrderItem>> {
    let map = &show.plan.map;
    let category = |item: &OrderItem| {
        map.seats
            .get(item.held.seat as usize)
            .map(|seat| seat.category)
    };
    let mut groups: Vec<(u16, Vec<&OrderItem>)> = Vec::new();
    for item in &order.items {
        let category = category(item)?;
        if show.price(item.held.seat) != Some(item.held.amount) {
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
        let free = |seat: u32| view.states.get(seat as usize) == Some(&CellState::Free);
        let choice = choose::suggest(map, &free, &asked, false, rng)?;
        for (seat, item) in choice.cells.iter().zip(&items) {
            chosen.push(item_of(show, *seat, &item.held));
        }
    }
    (chosen.len() == order.items.len()).then_some(chosen)
}

/// A seat in the place of another: same legs, same price.
pub(super) fn item_of(show: &Show, seat: u32, like: &Held) -> OrderItem {
    OrderItem {
        held: Held {
            seat,
            ..like.clone()
        },
        label: show.label(seat).to_owned(),
        category: show.category(seat).to_owned(),
    }
}

//! Decides what late money can still buy. Late money comes after its order has expired. The module
//! is pure. Chance decides between equal seats, and the random numbers are an argument.

use crate::choosing;
use crate::choosing::rail::TrainSeatStates;
use crate::grid::picture::VersionedCells;
use crate::holds::HeldSeat;
use crate::orders::item::order_item_for_seat;
use crate::orders::transition::LateRefundReason;
use crate::orders::{Order, OrderItem};
use crate::payments::PaymentState;
use crate::shows::Show;

/// Returns why the money cannot buy anything, even if seats are free. Returns `None` if there is no
/// such reason.
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
    if now_ms < sells_until_ms(order, show) {
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

/// Returns when the sale of an order's seats ends, in milliseconds since the epoch. Late money buys
/// nothing from then on, and nobody can accept other seats any more.
#[must_use]
pub fn sells_until_ms(order: &Order, show: &Show) -> i64 {
    let legs = order.items.first().map(|item| item.held.legs.clone());
    let legs = legs.unwrap_or_else(|| show.legs());
    show.sells_until(&legs).as_millisecond()
}

/// Chooses free seats that are like the order's own: the same number in each category, over the
/// same legs, and near the old ones. Returns `None` if a price has changed since the order was
/// made, or if there are not enough such seats.
#[must_use]
pub fn seats_like(
    show: &Show,
    order: &Order,
    view: &VersionedCells,
    rng: &mut impl rand::Rng,
) -> Option<Vec<OrderItem>> {
    let map = &show.plan.map;
    let train = TrainSeatStates {
        map,
        grid: show.grid(),
        states: &view.states,
    };
    // All seats of an order have the same legs.
    let legs = order.items.first().map(|item| item.held.legs.clone())?;
    let mut groups: Vec<(u16, Vec<&OrderItem>)> = Vec::new();
    for item in &order.items {
        let category = map.seats.get(item.held.seat as usize)?.category;
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
        let old_seats: Vec<u32> = items.iter().map(|item| item.held.seat).collect();
        let is_free = |seat: u32| train.is_free(seat, &legs);
        let choice = choosing::suggest(map, &is_free, &old_seats, false, rng)?;
        for (seat, item) in choice.cells.iter().zip(&items) {
            chosen.push(item_of(show, *seat, item));
        }
    }
    (chosen.len() == order.items.len()).then_some(chosen)
}

/// Makes the item for a seat that replaces another: same legs, same price, same traveller.
fn item_of(show: &Show, seat: u32, old_item: &OrderItem) -> OrderItem {
    let held = HeldSeat {
        seat,
        ..old_item.held.clone()
    };
    OrderItem {
        traveller: old_item.traveller.clone(),
        ..order_item_for_seat(show, held, old_item.amount)
    }
}

/// Returns the items of a hold that locks seats for an order. Each item gets the price and the
/// traveller of one of the order's seats in the same category. Returns `None` if the hold has more
/// seats of a category than the order, or seats that the plan does not have.
#[must_use]
pub fn items_of(show: &Show, order: &Order, held_seats: &[HeldSeat]) -> Option<Vec<OrderItem>> {
    // Two categories of a plan may have the same label, so only the plan tells them apart.
    let category_of = |seat: u32| Some(show.plan.map.seats.get(seat as usize)?.category);
    let mut unmatched: Vec<&OrderItem> = order.items.iter().collect();
    let item = |held: &HeldSeat| {
        let category = Some(category_of(held.seat)?);
        let position = unmatched
            .iter()
            .position(|item| category_of(item.held.seat) == category)?;
        let old_item = unmatched.remove(position);
        Some(OrderItem {
            traveller: old_item.traveller.clone(),
            ..order_item_for_seat(show, held.clone(), old_item.amount)
        })
    };
    held_seats.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ids::{HoldId, OrderId, PaymentId};
    use crate::money::Currency;
    use crate::orders::{Buyer, OrderState};
    use crate::plans::parse_grid;
    use crate::plans::pinned::{EncodedGeometry, SeatingPlan};
    use crate::plans::seatmap::SeatMap;
    use crate::shows::terms::UNNUMBERED;

    /// A hall of two rows: seats 0 and 1 cost 90.00, and seats 2 and 3 cost 50.00. Both categories
    /// have the same label.
    fn show() -> Show {
        let grid = parse_grid("2x2").expect("a grid");
        let mut parts = (*grid).clone();
        for category in &mut parts.categories {
            category.label = "Seat".to_owned();
        }
        let document = serde_json::json!({
            "venue": "hall", "title": "A night", "starts_at": "2027-06-01T20:00:00Z", "prices": {},
        });
        Show {
            id: "night-1".parse().expect("a slug"),
            document: serde_json::from_value(document).expect("a document"),
            plan: Arc::new(SeatingPlan {
                version: 1,
                map: SeatMap::try_from(parts).expect("a plan"),
                geometry: EncodedGeometry {
                    json: Default::default(),
                    packed: Default::default(),
                    digest: String::new(),
                },
            }),
            prices: vec![Some(9_000), Some(5_000)],
            run: None,
            untouched: false,
            fate: None,
            terms: UNNUMBERED,
        }
    }

    fn held(seat: u32) -> HeldSeat {
        HeldSeat { seat, legs: 0..1 }
    }

    fn order(show: &Show, seats: &[u32]) -> Order {
        let visitor = fairgate_pass::Holder([1; 32]);
        let hold = HoldId::of_key(&show.id, visitor, "k");
        let id = OrderId::of_hold(&hold);
        let price = |seat: u32| show.price(seat).expect("a price");
        let item = |seat: &u32| order_item_for_seat(show, held(*seat), price(*seat));
        Order {
            payment: PaymentId::of_order(&id),
            id,
            show: show.id.clone(),
            hold,
            visitor,
            room: "room".to_owned(),
            buyer: Buyer {
                name: "Ana".to_owned(),
                email: "ana@example.org".to_owned(),
            },
            currency: Currency::EUR,
            total: seats.iter().map(|seat| price(*seat)).sum(),
            items: seats.iter().map(item).collect(),
            plan_version: 1,
            terms: 1,
            waived: 0,
            state: OrderState::Expired,
            reason: "late_money".to_owned(),
            created_at_ms: 0,
            pay_until_ms: 0,
            full_pay_until_ms: 0,
            claim_until_ms: 0,
            full_claim_until_ms: 0,
        }
    }

    #[test]
    fn replacement_seats_keep_their_own_price_if_two_categories_have_one_label() {
        let show = show();
        let order = order(&show, &[0, 2]);
        let items = items_of(&show, &order, &[held(3), held(1)]).expect("as many of each category");
        let prices: Vec<_> = items
            .iter()
            .map(|item| (item.held.seat, item.amount))
            .collect();
        assert_eq!(prices, [(3, 5_000), (1, 9_000)]);
        assert_eq!(items_of(&show, &order, &[held(0), held(1)]), None);
        assert_eq!(items_of(&show, &order, &[held(3), held(4)]), None);
    }
}

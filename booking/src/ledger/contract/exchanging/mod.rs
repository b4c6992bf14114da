//! Cases of exchanges. One transaction swaps the seats. Until then the old order keeps its seats
//! and tickets.

pub(super) mod beside;
pub(super) mod swapping;
pub(super) mod unpaid;

use std::collections::BTreeSet;
use std::ops::Range;

use OrderState::{Cancelled, Confirmed, Exchanged, Expired, Pending, Refunded, Ticketed};
use SeatOutboxAction::{Free, Sell};
use fairgate_model::ids::TicketId;
use fairgate_model::orders::exchange::carried::with_carried_money;
use fairgate_model::orders::exchange::deal::ExchangeCost;
use fairgate_model::orders::exchange::{Exchange, ExchangeRole, parts, total_price};
use fairgate_model::orders::refund::{RefundState, TicketSelection};
use fairgate_model::orders::transition::{EffectKind, OrderEvent};
use fairgate_model::payments::kind::ProviderKind;

use super::refunding::{capture_of, confirmed, named, owed, ticketed, with_free_refunds};
use super::*;
use crate::ledger::{ExchangeRefused, RefundRefused, TicketScanOutcome};

/// The seats that the buyer wants, each with its number, its legs and its price in minor units.
type Wish<'a> = &'a [(u32, Range<u16>, i64)];

fn items(wish: Wish<'_>) -> Vec<OrderItem> {
    let item = |(seat, legs, amount): &(u32, Range<u16>, i64)| OrderItem {
        held: HeldSeat {
            seat: *seat,
            legs: legs.clone(),
        },
        amount: *amount,
        label: format!("A-{seat}"),
        category: "Stalls".to_owned(),
        category_key: format!("p{amount}"),
        traveller: None,
        carried: CarriedMoney::default(),
    };
    wish.iter().map(item).collect()
}

/// Returns the items of a successor to which `amount` was carried over, all of it refundable.
fn carrying(wish: Wish<'_>, amount: i64) -> Vec<OrderItem> {
    let carried = CarriedMoney {
        amount,
        refundable: amount,
    };
    with_carried_money(&items(wish), carried, Currency::EUR)
}

/// Builds an exchange of all seats of an order for the seats in `wish`.
pub(super) fn wanted(old: &Order, key: &str, wish: Wish<'_>) -> Exchange {
    let items = items(wish);
    let hold = HoldId::of_exchange(&show(), &old.id, key);
    let id = OrderId::of_hold(&hold);
    // The show takes everything back without a fee.
    let amount = total_price(&old.items).min(total_price(&items));
    let carried = CarriedMoney {
        amount,
        refundable: amount,
    };
    let total = (total_price(&items) - total_price(&old.items)).max(0);
    let mut difference = total;
    let mut gained = parts(&old.items, &items).gained;
    for item in &mut gained {
        item.amount = std::mem::take(&mut difference);
    }
    let successor = Order {
        payment: PaymentId::of_order(&id),
        hold,
        total,
        items: gained,
        state: Pending,
        reason: "ordered_in_exchange".to_owned(),
        id,
        ..old.clone()
    };
    Exchange {
        payment: Payment {
            state: match total {
                0 => PaymentState::Voided,
                _ => PaymentState::Created,
            },
            ..payment(&successor)
        },
        successor,
        deal: ExchangeCost {
            due: total,
            back: (total_price(&old.items) - total_price(&items)).max(0),
            fee: 0,
            waived: 0,
            carried,
        },
        least: 0,
        items: with_carried_money(&items, carried, old.currency),
        given: old.items.clone(),
    }
}

pub(super) async fn try_exchange(
    ledger: &Books,
    old: &Order,
    key: &str,
    wish: Wish<'_>,
) -> Result<Order, ExchangeRefused> {
    let wanted = wanted(old, key, wish);
    let made = ledger
        .exchange(&old.id, wanted, EXCHANGE_BASIS, NOW_MS + 3)
        .await?;
    Ok(made.expect("the order is there"))
}

pub(super) async fn exchanged(ledger: &Books, old: &Order, key: &str, wish: Wish<'_>) -> Order {
    let made = try_exchange(ledger, old, key, wish).await;
    made.expect("allowed")
}

/// Pays a pending order and captures the payment, so that its tickets are issued.
async fn paid(ledger: &Books, order: &Order) -> Order {
    authorised(ledger, order).await;
    let capture = capture_of(ledger, order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    record(ledger, order).await.order
}

/// Returns the claimed cells, each as seat and leg.
async fn cells(ledger: &Books) -> BTreeSet<(u32, u16)> {
    let claimed = ledger.claimed(&show()).await.expect("readable");
    claimed
        .into_iter()
        .map(|(seat, leg, _)| (seat, leg))
        .collect()
}

fn both_legs(seats: &[u32]) -> BTreeSet<(u32, u16)> {
    seats
        .iter()
        .flat_map(|seat| [(*seat, 0), (*seat, 1)])
        .collect()
}

/// Asserts that the old order still has its state, seats, claims and valid tickets.
async fn assert_unchanged(ledger: &Books, old: &Order) {
    let record = record(ledger, old).await;
    assert_eq!(
        (record.order.state, &record.order.items),
        (Ticketed, &old.items)
    );
    assert!(
        record
            .tickets
            .iter()
            .all(|ticket| ticket.voided_at_ms.is_none())
    );
    let has: BTreeSet<u32> = old.items.iter().map(|item| item.held.seat).collect();
    let claimed = cells(ledger).await;
    assert!(has.iter().all(|seat| claimed.contains(&(*seat, 0))));
}

async fn bought(ledger: &Books, seats: &[u32]) -> Order {
    with_free_refunds(ledger).await;
    let order = ticketed(ledger, "a", ANA, seats).await;
    record(ledger, &order).await.order
}

async fn scan(ledger: &Books, order: &Order, seat: u32) {
    let ticket = TicketId::of_seat(&order.id, seat);
    let met = ledger
        .scan(&ticket, None, NOW_MS + 2)
        .await
        .expect("readable");
    assert_eq!(met, Some(TicketScanOutcome::First(NOW_MS + 2)));
}

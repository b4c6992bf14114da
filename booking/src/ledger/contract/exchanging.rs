//! Seats given for others: one transaction swaps them, and until then the old order is whole.

use std::collections::BTreeSet;
use std::ops::Range;

use SeatRowKind::{Free, Sell};

use super::refunding::{capture_of, confirmed, kind, named, owed, ticketed};
use super::*;
use crate::catalogue::fate::Fate;
use crate::ids::TicketId;
use crate::ledger::Scan;
use crate::orders::exchange::{Exchange, ExchangeRefused, Part, parts, price};
use crate::orders::refund::{RefundRefused, RefundState, Which};
use crate::orders::transition::{EffectKind, Happening};
use OrderState::{Cancelled, Confirmed, Exchanged, Expired, Pending, Refunded, Ticketed};

pub(super) const CASES: &[Case] = cases![
    without_a_difference_the_seats_are_swapped_at_once,
    what_is_dearer_is_swapped_with_the_capture_and_not_before,
    what_is_cheaper_gives_the_difference_back,
    only_the_cells_that_are_gained_are_claimed_and_only_those_lost_are_freed,
    a_successor_that_claims_other_cells_than_its_seats_is_refused,
    cells_that_somebody_has_leave_everything_as_it_was,
    the_same_successor_again_is_the_same_success,
    while_an_exchange_is_paid_nothing_else_is_done_with_the_order,
    a_difference_that_is_not_paid_leaves_the_old_order_whole,
    a_difference_that_comes_late_goes_back,
    of_a_scanned_order_nothing_is_exchanged,
    a_scan_before_the_payment_lets_the_difference_go,
    a_scan_before_the_capture_gives_the_difference_back,
    a_capture_that_is_refused_leaves_the_old_order_whole,
    an_order_that_changed_meanwhile_is_not_exchanged,
    of_an_exchange_and_a_refund_at_once_exactly_one_wins,
    of_many_exchanges_at_once_one_is_begun,
    a_refund_of_exchanged_seats_comes_from_all_their_payments,
    the_limit_counts_what_the_visitor_has_afterwards,
    a_show_opens_with_exactly_what_each_order_has,
    a_cancelled_show_waits_for_the_exchange_and_then_gives_back,
    an_exchange_of_an_exchange_is_one_more,
];

/// Seats over some legs, each at a price.
type Wish<'a> = &'a [(u32, Range<u16>, i64)];

fn items(wish: Wish<'_>) -> Vec<OrderItem> {
    let item = |(seat, legs, amount): &(u32, Range<u16>, i64)| OrderItem {
        held: Held {
            seat: *seat,
            legs: legs.clone(),
            amount: *amount,
        },
        label: format!("A-{seat}"),
        category: "Stalls".to_owned(),
        traveller: None,
    };
    wish.iter().map(item).collect()
}

/// An exchange of an order's seats for these.
fn wanted(old: &Order, key: &str, wish: Wish<'_>) -> Exchange {
    let items = items(wish);
    let hold = HoldId::of_exchange(&show(), &old.id, key);
    let id = OrderId::of_hold(&hold);
    let total = (price(&items) - price(&old.items)).max(0);
    let mut left = total;
    let mut gained = parts(&old.items, &items).gained;
    for item in &mut gained {
        item.held.amount = std::mem::take(&mut left);
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
        items,
        given: old.items.clone(),
    }
}

async fn try_exchange(
    ledger: &Books,
    old: &Order,
    key: &str,
    wish: Wish<'_>,
) -> Result<Order, ExchangeRefused> {
    let wanted = wanted(old, key, wish);
    let made = ledger.exchange(&old.id, wanted, TERMS, NOW_MS + 3).await?;
    Ok(made.expect("the order is there"))
}

async fn exchanged(ledger: &Books, old: &Order, key: &str, wish: Wish<'_>) -> Order {
    let made = try_exchange(ledger, old, key, wish).await;
    made.expect("allowed")
}

/// Pays what is pending, to the tickets.
async fn paid(ledger: &Books, order: &Order) -> Order {
    authorised(ledger, order).await;
    let capture = capture_of(ledger, order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    record(ledger, order).await.order
}

/// Each claimed cell, seat and leg.
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

/// The old order as it was, with its seats and good tickets.
async fn is_whole(ledger: &Books, old: &Order) {
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
    kind(ledger).await;
    let order = ticketed(ledger, "a", ANA, seats).await;
    record(ledger, &order).await.order
}

async fn scan(ledger: &Books, order: &Order, seat: u32) {
    let ticket = TicketId::of_seat(&order.id, seat);
    let met = ledger.scan(&ticket, NOW_MS + 2).await.expect("readable");
    assert_eq!(met, Some(Scan::First(NOW_MS + 2)));
}

async fn without_a_difference_the_seats_are_swapped_at_once(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert_eq!((new.state, new.total), (Ticketed, 0));
    assert_eq!(cells(&ledger).await, both_legs(&[4, 5]));
    let after = record(&ledger, &old).await;
    assert_eq!(
        (after.order.state, after.order.reason.as_str()),
        (Exchanged, "exchanged")
    );
    assert!(
        after
            .tickets
            .iter()
            .all(|t| t.voided_at_ms == Some(NOW_MS + 3))
    );
    assert_eq!(
        after.exchanges,
        [Part::Exchanged {
            into: new.id.clone(),
            state: Ticketed
        }]
    );
    let now = record(&ledger, &new).await;
    let labels: Vec<&str> = now.tickets.iter().map(|t| t.label.as_str()).collect();
    assert_eq!(labels, ["A-4", "A-5"]);
    let told = rows(&ledger).await;
    let [.., sold, freed] = &told[..] else {
        panic!("two rows: {told:?}");
    };
    assert_eq!((sold.kind, &sold.hold), (Sell, &new.hold));
    assert_eq!((freed.kind, &freed.hold), (Free, &old.hold));
    assert_eq!(freed.items, old.held());
    assert!(owed(&ledger, NOW_MS + 9).await.is_empty());
    let due = ledger.due_effects(NOW_MS + 9, 100).await.expect("readable");
    assert!(due.is_empty(), "there is nothing to take: {due:?}");
}

async fn what_is_dearer_is_swapped_with_the_capture_and_not_before(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    assert_eq!((new.state, new.total), (Pending, 700));
    is_whole(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0, 4]));
    authorised(&ledger, &new).await;
    is_whole(&ledger, &old).await;
    let capture = capture_of(&ledger, &new).await;
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    let now = record(&ledger, &new).await;
    assert_eq!((now.order.state, now.tickets.len()), (Ticketed, 1));
    assert_eq!(now.order.items, items(&[(4, 0..2, 1_700)]));
    assert_eq!(record(&ledger, &old).await.order.state, Exchanged);
    assert_eq!(cells(&ledger).await, both_legs(&[4]));
    assert!(owed(&ledger, NOW_MS + 9).await.is_empty());
}

async fn what_is_cheaper_gives_the_difference_back(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 600), (5, 0..2, 1_000)]).await;
    assert_eq!(new.state, Ticketed);
    let due = owed(&ledger, NOW_MS + 9).await;
    let [due] = &due[..] else {
        panic!("one refund: {due:?}");
    };
    assert_eq!((due.amount, &due.payment.id), (400, &old.payment));
    ledger
        .refund_done(&due.id, NOW_MS + 9)
        .await
        .expect("written");
    let after = record(&ledger, &old).await;
    let [refund] = &after.refunds[..] else {
        panic!("one refund: {:?}", after.refunds);
    };
    assert_eq!(
        (
            refund.amount,
            refund.fee,
            refund.reason.word(),
            refund.state
        ),
        (400, 0, "exchange_difference", RefundState::Done)
    );
}

async fn only_the_cells_that_are_gained_are_claimed_and_only_those_lost_are_freed(ledger: Books) {
    let old = bought(&ledger, &[3]).await;
    // The journey ends earlier, for less.
    let new = exchanged(&ledger, &old, "x", &[(3, 0..1, 500)]).await;
    assert_eq!(cells(&ledger).await, BTreeSet::from([(3, 0)]));
    let told = rows(&ledger).await;
    let freed = told.last().expect("a row");
    let freed: Vec<_> = freed
        .items
        .iter()
        .map(|item| (item.seat, item.legs.clone()))
        .collect();
    assert_eq!(freed, [(3, 1..2)]);
    // And goes all the way again, for the rest.
    let longer = exchanged(&ledger, &new, "y", &[(3, 0..2, 1_000)]).await;
    assert_eq!(longer.total, 500);
    let longer = paid(&ledger, &longer).await;
    assert_eq!(longer.items, items(&[(3, 0..2, 1_000)]));
    assert_eq!(cells(&ledger).await, both_legs(&[3]));
    let legs: Vec<_> = record(&ledger, &longer)
        .await
        .tickets
        .into_iter()
        .map(|t| t.legs)
        .collect();
    assert_eq!(legs, [[0, 1]]);
}

async fn a_successor_that_claims_other_cells_than_its_seats_is_refused(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let mut bad = wanted(&old, "x", &[(4, 0..2, 1_000)]);
    bad.successor.items = items(&[(5, 0..2, 0)]);
    let refused = ledger.exchange(&old.id, bad, TERMS, NOW_MS + 3).await;
    assert!(matches!(refused, Err(ExchangeRefused::Ledger(_))));
    is_whole(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
}

async fn cells_that_somebody_has_leave_everything_as_it_was(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    claimed(&ledger, "b", BEN, &[4]).await;
    let before = rows(&ledger).await;
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000)]).await;
    assert!(matches!(
        refused,
        Err(ExchangeRefused::Claim(ClaimRefused::Taken(taken))) if taken == [4, 12]
    ));
    is_whole(&ledger, &old).await;
    assert_eq!(rows(&ledger).await, before);
    assert_eq!(record(&ledger, &old).await.exchanges, []);
}

async fn the_same_successor_again_is_the_same_success(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let wish: Wish<'_> = &[(4, 0..2, 1_000)];
    let first = exchanged(&ledger, &old, "x", wish).await;
    let told = rows(&ledger).await;
    let again = exchanged(&ledger, &old, "x", wish).await;
    assert_eq!(again, first);
    assert_eq!(rows(&ledger).await, told);
}

async fn while_an_exchange_is_paid_nothing_else_is_done_with_the_order(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700), (5, 0..2, 1_000)]).await;
    let nothing_else = async || {
        let other = try_exchange(&ledger, &old, "y", &[(6, 0..2, 1_000), (7, 0..2, 1_000)]).await;
        assert!(matches!(other, Err(ExchangeRefused::Open(open)) if open == new.id));
        for which in [Which::All, named(&old, &[0])] {
            let refund = ledger.refund(&old.id, which, NOW_MS + 4).await;
            assert!(matches!(refund, Err(RefundRefused::Exchanging(open)) if open == new.id));
        }
    };
    nothing_else().await;
    authorised(&ledger, &new).await;
    nothing_else().await;
    is_whole(&ledger, &old).await;
}

async fn a_difference_that_is_not_paid_leaves_the_old_order_whole(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    let expired = ledger
        .expire_due(CLAIM_UNTIL_MS + 1, 10)
        .await
        .expect("written");
    assert_eq!(expired.len(), 1);
    is_whole(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
    // Another one may follow, and so may a refund.
    let given_up = exchanged(&ledger, &old, "y", &[(5, 0..2, 1_700)]).await;
    let gone = ledger
        .happen(&given_up.id, Happening::GivenUp, NOW_MS + 5)
        .await;
    assert_eq!(
        gone.expect("written").expect("known").order.state,
        Cancelled
    );
    let refund = ledger.refund(&old.id, Which::All, NOW_MS + 6).await;
    let refund = refund.expect("allowed").expect("known");
    assert_eq!(refund.order.state, Refunded);
}

async fn a_difference_that_comes_late_goes_back(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    ledger
        .expire_due(CLAIM_UNTIL_MS + 1, 10)
        .await
        .expect("written");
    let late = says(&new, ProviderEventKind::Authorised);
    settled(&ledger, late, CLAIM_UNTIL_MS + 2).await;
    let last = history(&ledger, &new).await.pop();
    assert_eq!(last, Some((Expired, "late_exchange_over".to_owned())));
    let due = ledger
        .due_effects(CLAIM_UNTIL_MS + 3, 100)
        .await
        .expect("readable");
    let voids: Vec<_> = due
        .iter()
        .map(|due| (due.kind, &due.payment.order))
        .collect();
    assert_eq!(voids, [(EffectKind::Void, &new.id)]);
    let searched = ledger.late_due(CLAIM_UNTIL_MS + 3, i64::MAX, 10).await;
    assert!(searched.expect("readable").is_empty());
    is_whole(&ledger, &old).await;
}

async fn of_a_scanned_order_nothing_is_exchanged(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    scan(&ledger, &old, 1).await;
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::Scanned(seats)) if seats == ["A-1"]));
    is_whole(&ledger, &old).await;
}

async fn a_scan_before_the_payment_lets_the_difference_go(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    scan(&ledger, &old, 0).await;
    authorised(&ledger, &new).await;
    let last = history(&ledger, &new).await.pop();
    assert_eq!(last, Some((Cancelled, "exchange_over".to_owned())));
    let due = ledger.due_effects(NOW_MS + 9, 100).await.expect("readable");
    assert_eq!((due.len(), due[0].kind), (1, EffectKind::Void));
    is_whole(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
}

async fn a_scan_before_the_capture_gives_the_difference_back(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    authorised(&ledger, &new).await;
    scan(&ledger, &old, 0).await;
    let capture = capture_of(&ledger, &new).await;
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    assert_eq!(record(&ledger, &new).await.order.state, Cancelled);
    let due = ledger.due_effects(NOW_MS + 9, 100).await.expect("readable");
    assert_eq!((due.len(), due[0].kind), (1, EffectKind::Refund));
    is_whole(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
    let freed = outbox(&ledger).await.pop();
    assert_eq!(freed, Some((Free, new.hold)));
}

async fn a_capture_that_is_refused_leaves_the_old_order_whole(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    authorised(&ledger, &new).await;
    let capture = capture_of(&ledger, &new).await;
    let refused = ledger
        .capture_refused(capture, "no".to_owned(), NOW_MS + 4)
        .await;
    refused.expect("written");
    assert_eq!(
        record(&ledger, &new).await.order.state,
        OrderState::CaptureFailed
    );
    is_whole(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
}

async fn an_order_that_changed_meanwhile_is_not_exchanged(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let refund = ledger.refund(&old.id, named(&old, &[0]), NOW_MS + 3).await;
    refund.expect("allowed").expect("known");
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::Changed)));
    // What is left of it may be.
    let left = record(&ledger, &old).await.order;
    let new = exchanged(&ledger, &left, "y", &[(4, 0..2, 1_000)]).await;
    assert_eq!(new.state, Ticketed);
    assert_eq!(cells(&ledger).await, both_legs(&[4]));
    let pending = confirmed(&ledger, "b", BEN, &[6]).await;
    let refused = try_exchange(&ledger, &pending, "z", &[(7, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::State(Confirmed))));
}

async fn of_an_exchange_and_a_refund_at_once_exactly_one_wins(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let (swap, refund) = tokio::join!(
        try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000)]),
        ledger.refund(&old.id, Which::All, NOW_MS + 3)
    );
    let refund = refund.is_ok_and(|applied| applied.is_some_and(|applied| applied.changed));
    assert!(swap.is_ok() != refund, "one of the two: {swap:?}");
    let left = cells(&ledger).await;
    assert_eq!(
        left,
        if refund {
            BTreeSet::new()
        } else {
            both_legs(&[4])
        }
    );
}

async fn of_many_exchanges_at_once_one_is_begun(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let keys = ["p", "q", "r", "s"];
    let tries = keys.into_iter().zip(4..).map(|(key, seat)| {
        let (ledger, old) = (Arc::clone(&ledger), old.clone());
        tokio::spawn(async move {
            try_exchange(&ledger, &old, key, &[(seat, 0..2, 1_700)])
                .await
                .is_ok()
        })
    });
    let mut begun = 0;
    for attempt in tries.collect::<Vec<_>>() {
        begun += u32::from(attempt.await.expect("no panic"));
    }
    assert_eq!(begun, 1);
    assert_eq!(
        cells(&ledger).await.len(),
        4,
        "the old seat and one new one"
    );
}

async fn a_refund_of_exchanged_seats_comes_from_all_their_payments(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_300), (5, 0..2, 1_000)]).await;
    let new = paid(&ledger, &new).await;
    let applied = ledger.refund(&new.id, Which::All, NOW_MS + 5).await;
    assert_eq!(
        applied.expect("allowed").expect("known").order.state,
        Refunded
    );
    let told = record(&ledger, &new).await.refunds;
    let [refund] = &told[..] else {
        panic!("one refund: {told:?}");
    };
    assert_eq!(
        (refund.amount, refund.elsewhere, refund.state),
        (300, 2_000, RefundState::OnItsWay)
    );
    let due = owed(&ledger, NOW_MS + 9).await;
    let mut amounts: Vec<_> = due
        .iter()
        .map(|due| (due.amount, due.payment.order.clone()))
        .collect();
    amounts.sort_unstable_by_key(|(amount, _)| *amount);
    assert_eq!(amounts, [(300, new.id.clone()), (2_000, old.id.clone())]);
    for due in &due {
        ledger
            .refund_done(&due.id, NOW_MS + 9)
            .await
            .expect("written");
    }
    let told = record(&ledger, &new).await.refunds;
    assert_eq!(told[0].state, RefundState::Done);
    for order in [&old, &new] {
        let payment = ledger.payment(&order.payment).await.expect("readable");
        assert_eq!(payment.expect("known").state, PaymentState::Refunded);
    }
    let parts = record(&ledger, &old).await.refunds;
    assert_eq!(parts[0].part_of.as_ref(), Some(&told[0].id));
}

async fn the_limit_counts_what_the_visitor_has_afterwards(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let terms = |limit| Terms { limit, ..TERMS };
    let wish: Wish<'_> = &[(4, 0..2, 1_000), (5, 0..2, 1_000)];
    // Two seats are given for two: with both, four stand in the books for a moment.
    let refused = ledger
        .exchange(&old.id, wanted(&old, "x", wish), terms(3), NOW_MS + 3)
        .await;
    assert!(matches!(
        refused,
        Err(ExchangeRefused::Claim(ClaimRefused::Limit {
            have: 2,
            limit: 3
        }))
    ));
    let made = ledger
        .exchange(&old.id, wanted(&old, "x", wish), terms(4), NOW_MS + 3)
        .await;
    assert_eq!(made.expect("allowed").expect("known").state, Ticketed);
}

async fn a_show_opens_with_exactly_what_each_order_has(ledger: Books) {
    let old = bought(&ledger, &[2, 3]).await;
    let wish: Wish<'_> = &[(3, 0..1, 1_700), (6, 0..2, 1_000)];
    let new = exchanged(&ledger, &old, "x", wish).await;
    let picture = ledger.open_show(&show(), None).await.expect("readable");
    let sold = |picture: &crate::ledger::ShowPicture| -> BTreeSet<(u32, u16)> {
        let held = picture.sold.iter().flat_map(|(_, held)| held);
        held.flat_map(|held| held.legs.clone().map(|leg| (held.seat, leg)))
            .collect()
    };
    assert_eq!(sold(&picture), both_legs(&[2, 3]));
    let [pending] = &picture.ordered[..] else {
        panic!("one pending: {:?}", picture.ordered);
    };
    let locked: Vec<u32> = pending.cells(GRID);
    assert_eq!(
        locked,
        [6, 14],
        "what the old order has is not locked besides"
    );
    paid(&ledger, &new).await;
    let picture = ledger.open_show(&show(), None).await.expect("readable");
    assert!(picture.ordered.is_empty());
    assert_eq!(sold(&picture), BTreeSet::from([(3, 0), (6, 0), (6, 1)]));
    assert_eq!(sold(&picture), cells(&ledger).await);
}

async fn a_cancelled_show_waits_for_the_exchange_and_then_gives_back(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    let fate = ledger
        .put_fate(&show(), Fate::Cancelled, None, NOW_MS + 4)
        .await;
    assert!(fate.expect("written"));
    let left = async || ledger.orders_of_cancelled(10).await.expect("readable");
    assert_eq!(left().await, []);
    ledger
        .expire_due(CLAIM_UNTIL_MS + 1, 10)
        .await
        .expect("written");
    assert_eq!(left().await, std::slice::from_ref(&old.id));
    let late = try_exchange(&ledger, &old, "y", &[(5, 0..2, 1_000)]).await;
    assert!(matches!(
        late,
        Err(ExchangeRefused::Claim(ClaimRefused::Cancelled))
    ));
    assert_eq!(record(&ledger, &new).await.order.state, Expired);
}

async fn an_exchange_of_an_exchange_is_one_more(ledger: Books) {
    let first = bought(&ledger, &[0]).await;
    let second = exchanged(&ledger, &first, "x", &[(4, 0..2, 1_500)]).await;
    let second = paid(&ledger, &second).await;
    // Cheaper than both paid: what is too much comes from the newest payment first.
    let third = exchanged(&ledger, &second, "y", &[(5, 0..2, 800)]).await;
    assert_eq!(third.state, Ticketed);
    let mut due = owed(&ledger, NOW_MS + 9).await;
    due.sort_unstable_by_key(|due| due.amount);
    let told: Vec<_> = due
        .iter()
        .map(|due| (due.amount, &due.payment.order))
        .collect();
    assert_eq!(told, [(200, &first.id), (500, &second.id)]);
    let applied = ledger.refund(&third.id, Which::All, NOW_MS + 9).await;
    assert!(applied.expect("allowed").expect("known").changed);
    let back = |record: OrderRecord| record.refunds.iter().map(|r| r.amount).sum::<i64>();
    assert_eq!(back(record(&ledger, &first).await), 1_000);
    assert_eq!(back(record(&ledger, &second).await), 500);
    assert_eq!(cells(&ledger).await, BTreeSet::new());
}

//! Cases of refunds that the ledger asked for and no longer has, because it is an older copy of
//! itself. The provider keeps which seats they were for.

use fairgate_model::ids::RefundId;
use fairgate_model::orders::refund::{RefundReason, RefundState, TicketSelection};
use fairgate_model::payments::refund_copy::RefundCopy;
use fairgate_model::payments::returns::{ReturnOrigin, ReturnState, ReturnedSum};

use super::refunding::{named, seats_claimed, ticketed, with_free_refunds};
use super::returns::{counts, report, scanned};
use super::*;
use crate::ledger::TicketScanOutcome;

pub(super) const CASES: &[Case] = cases![
    a_lost_refund_is_written_again_with_its_seats_and_its_fee,
    a_lost_refund_of_other_seats_is_listed,
    seats_of_a_lost_refund_are_given_back_once_at_two_nodes,
];

/// Returns the nth refund of an order as the provider has it.
fn lost(order: &Order, nth: u32, seats: &[u32], (amount, fee): (i64, i64)) -> ReturnedSum {
    let held = |seat: &u32| {
        let items = order.items.iter();
        let found = items.map(|item| &item.held).find(|held| held.seat == *seat);
        found.cloned().unwrap_or(HeldSeat {
            seat: *seat,
            legs: 0..2,
        })
    };
    ReturnedSum {
        id: format!("re_{nth}"),
        amount,
        origin: ReturnOrigin::Asked(RefundId::of_order(&order.id, nth).to_string()),
        state: ReturnState::Done,
        copy: Some(RefundCopy {
            seats: seats.iter().map(held).collect(),
            fee,
            reason: RefundReason::ByBuyer.as_str().to_owned(),
        }),
    }
}

async fn a_lost_refund_is_written_again_with_its_seats_and_its_fee(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1, 2]).await;
    rows(&ledger).await;
    // The second refund failed. The third one is known before the first.
    let failed = ReturnedSum {
        state: ReturnState::Failed,
        ..lost(&order, 2, &[1], (900, 100))
    };
    let sums = vec![failed, lost(&order, 3, &[2], (900, 100))];
    let told = report(&ledger, &order, (sums, None), 5).await;
    assert_eq!(told, "applied");
    let now = record(&ledger, &order).await;
    assert_eq!(now.order.state, OrderState::PartlyRefunded);
    assert_eq!(now.order.reason, "refund_by_buyer");
    assert_eq!(seats_claimed(&ledger).await, [0, 1]);
    let [refund] = &now.refunds[..] else {
        panic!("one refund: {:?}", now.refunds);
    };
    assert_eq!(refund.id, RefundId::of_order(&order.id, 3));
    assert_eq!((refund.amount, refund.fee), (900, 100));
    assert_eq!(
        (refund.state, refund.at_provider),
        (RefundState::Done, false)
    );
    assert_eq!(refund.items[0].held.seat, 2);
    let freed = outbox(&ledger).await;
    assert_eq!(freed.last().map(|row| row.0), Some(SeatOutboxAction::Free));
    let void = scanned(&ledger, &order, 2).await;
    assert!(matches!(void, TicketScanOutcome::Void(_)), "{void:?}");
    assert_eq!(counts(&ledger).await, (0, 0), "nothing is to be settled");

    let sums = vec![
        lost(&order, 1, &[0], (1_000, 0)),
        lost(&order, 3, &[2], (900, 100)),
    ];
    report(&ledger, &order, (sums.clone(), None), 6).await;
    report(&ledger, &order, (sums, None), 7).await;
    let now = record(&ledger, &order).await;
    assert_eq!(seats_claimed(&ledger).await, [1]);
    let numbers: Vec<RefundId> = now.refunds.into_iter().map(|refund| refund.id).collect();
    let number = |nth| RefundId::of_order(&order.id, nth);
    assert_eq!(numbers, [number(1), number(3)]);

    // The next refund has an id that no other one had.
    let last = ledger.refund(&order.id, TicketSelection::All, NOW_MS + 8);
    last.await.expect("no fault").expect("an order");
    let now = record(&ledger, &order).await;
    assert_eq!(now.order.state, OrderState::Refunded);
    assert_eq!(now.refunds[2].id, number(4));
    assert_eq!(now.refunds[2].amount, 1_000);
}

async fn a_lost_refund_of_other_seats_is_listed(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let strange = vec![lost(&order, 1, &[4], (900, 100))];
    report(&ledger, &order, (strange, None), 5).await;
    assert_eq!(seats_claimed(&ledger).await, [0, 1]);
    assert_eq!(counts(&ledger).await, (1, 0), "somebody has to look");
    let other = ticketed(&ledger, "b", BEN, &[2]).await;
    let mut of_other = lost(&order, 1, &[2], (900, 100));
    of_other.id = "re_of_other".to_owned();
    of_other.copy = of_other.copy.map(|copy| RefundCopy {
        seats: other.held_seats(),
        ..copy
    });
    report(&ledger, &other, (vec![of_other], None), 6).await;
    assert_eq!(seats_claimed(&ledger).await, [0, 1, 2]);
    assert_eq!(counts(&ledger).await, (2, 0), "the id is of another order");
}

async fn seats_of_a_lost_refund_are_given_back_once_at_two_nodes(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let sums = vec![lost(&order, 1, &[0], (900, 100))];
    let asked = named(&order, &[0]);
    let (_, _, by_buyer) = tokio::join!(
        report(&ledger, &order, (sums.clone(), None), 5),
        report(&ledger, &order, (sums, None), 6),
        ledger.refund(&order.id, asked, NOW_MS + 6),
    );
    by_buyer.expect("no fault");
    let now = record(&ledger, &order).await;
    assert_eq!(seats_claimed(&ledger).await, [1]);
    let [refund] = &now.refunds[..] else {
        panic!("one refund: {:?}", now.refunds);
    };
    assert_eq!(refund.id, RefundId::of_order(&order.id, 1));
}

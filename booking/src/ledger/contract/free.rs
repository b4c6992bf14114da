//! Cases of orders that cost nothing. The provider is never called for them.

use OrderState::{Cancelled, Confirmed, Exchanged, Pending, Refunded, Ticketed};
use SeatOutboxAction::{Free, Sell};
use fairgate_model::orders::refund::{RefundState, TicketSelection};
use fairgate_model::orders::transition::OrderEvent;

use super::exchanging::exchanged;
use super::refunding::{owed, ticketed, with_free_refunds};
use super::*;

pub(super) const CASES: &[Case] = cases![
    the_claim_of_a_free_order_also_issues_its_tickets,
    a_second_claim_of_a_free_order_returns_the_order_as_it_is,
    two_claims_of_one_free_order_at_once_make_one_order,
    a_refused_free_order_writes_nothing,
    an_order_that_costs_money_waits_for_its_payment,
    a_free_order_is_refunded_at_once,
    seats_are_exchanged_from_free_to_paid_and_back,
    an_order_whose_payment_is_refused_frees_its_seats_once,
];

/// Builds an order as [`order`] does, at a price of 0.
pub(super) fn free(key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let mut order = order(key, visitor, seats);
    for item in &mut order.items {
        (item.amount, item.category_key) = (0, "p0".to_owned());
    }
    Order { total: 0, ..order }
}

fn free_payment(order: &Order) -> Payment {
    Payment {
        provider: "none".to_owned(),
        state: PaymentState::Voided,
        ..payment(order)
    }
}

pub(super) async fn claim_free(ledger: &Books, order: &Order) -> Result<Order, SeatClaimRefused> {
    ledger
        .claim(order.clone(), free_payment(order), BASKET_BASIS)
        .await
}

/// Asserts that no call to the provider is due.
async fn assert_no_calls_due(ledger: &Books) {
    let due = ledger.due_effects(i64::MAX, 100).await.expect("readable");
    assert!(due.is_empty(), "{due:?}");
    assert!(owed(ledger, NOW_MS + 9).await.is_empty());
}

async fn the_claim_of_a_free_order_also_issues_its_tickets(ledger: Books) {
    stocked(&ledger).await;
    let order = free("a", ANA, &[0, 1]);
    let made = claim_free(&ledger, &order)
        .await
        .expect("the cells are free");
    assert_eq!(
        (made.state, made.reason.as_str()),
        (Ticketed, "nothing_to_pay")
    );
    let record = record(&ledger, &order).await;
    assert_eq!(record.order, made);
    assert_eq!(
        (record.tickets.len(), record.payment),
        (2, PaymentState::Voided)
    );
    let steps = history(&ledger, &order).await;
    let states: Vec<OrderState> = steps.into_iter().map(|(state, _)| state).collect();
    assert_eq!(states, [Pending, Confirmed, Ticketed]);
    assert_eq!(outbox(&ledger).await, [(Sell, order.hold)]);
    assert_no_calls_due(&ledger).await;
    let finished = ledger.finished(0, vec![show()]).await.expect("readable");
    let who: Vec<Holder> = finished.into_iter().map(|(_, visitor)| visitor).collect();
    assert_eq!(who, [ANA]);
    let expired = ledger.expire_due(i64::MAX, 10).await.expect("written");
    assert!(expired.is_empty());
}

async fn a_second_claim_of_a_free_order_returns_the_order_as_it_is(ledger: Books) {
    stocked(&ledger).await;
    let order = free("a", ANA, &[0]);
    let first = claim_free(&ledger, &order)
        .await
        .expect("the cells are free");
    assert_eq!(claim_free(&ledger, &order).await.expect("a retry"), first);
    assert_eq!(history(&ledger, &order).await.len(), 3);
    assert_eq!(record(&ledger, &order).await.tickets.len(), 1);
    assert_eq!(outbox(&ledger).await.len(), 1);
}

async fn two_claims_of_one_free_order_at_once_make_one_order(ledger: Books) {
    stocked(&ledger).await;
    let order = free("a", ANA, &[0]);
    let (one, two) = tokio::join!(claim_free(&ledger, &order), claim_free(&ledger, &order));
    for made in [one, two] {
        assert_eq!(made.expect("made or found").state, Ticketed);
    }
    assert_eq!(history(&ledger, &order).await.len(), 3);
    let finished = ledger.finished(0, vec![show()]).await.expect("readable");
    assert_eq!(finished.len(), 1);
    let newest = ledger.newest_finished().await.expect("readable");
    assert_eq!(newest, finished[0].0, "rooms without news read only this");
}

async fn a_refused_free_order_writes_nothing(ledger: Books) {
    stocked(&ledger).await;
    claimed(&ledger, "a", BEN, &[1]).await;
    let order = free("b", ANA, &[0, 1]);
    let refused = claim_free(&ledger, &order).await;
    assert!(matches!(refused, Err(SeatClaimRefused::Taken(cells)) if cells == [1, 9]));
    assert!(ledger.order(&order.id).await.expect("readable").is_none());
    assert!(outbox(&ledger).await.is_empty());
    let finished = ledger.finished(0, vec![show()]).await.expect("readable");
    assert!(finished.is_empty());
    assert_eq!(ledger.newest_finished().await.expect("readable"), 0);
}

async fn an_order_that_costs_money_waits_for_its_payment(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let again = claim_free(&ledger, &free("a", ANA, &[0])).await;
    assert_eq!(again.expect("a retry"), order, "the order as it was made");
    let record = record(&ledger, &order).await;
    assert_eq!(
        (record.order.state, record.payment),
        (Pending, PaymentState::Created)
    );
}

async fn a_free_order_is_refunded_at_once(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = free("a", ANA, &[0, 1]);
    claim_free(&ledger, &order)
        .await
        .expect("the cells are free");
    let applied = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 3)
        .await;
    assert!(applied.expect("allowed").expect("known").changed);
    let record = record(&ledger, &order).await;
    assert_eq!(record.order.state, Refunded);
    let [refund] = &record.refunds[..] else {
        panic!("one refund: {:?}", record.refunds);
    };
    assert_eq!(
        (refund.amount, refund.fee, refund.state),
        (0, 0, RefundState::Done)
    );
    assert_eq!(
        outbox(&ledger).await,
        [(Sell, order.hold.clone()), (Free, order.hold.clone())]
    );
    assert_no_calls_due(&ledger).await;
    claim_free(&ledger, &free("b", BEN, &[0]))
        .await
        .expect("the cells are free again");
}

async fn seats_are_exchanged_from_free_to_paid_and_back(ledger: Books) {
    with_free_refunds(&ledger).await;
    let given = claim_free(&ledger, &free("a", ANA, &[0]))
        .await
        .expect("the cells are free");
    let made = exchanged(&ledger, &given, "x", &[(4, 0..2, 0)]).await;
    assert_eq!((made.state, made.items[0].held.seat), (Ticketed, 4));
    assert_eq!(record(&ledger, &given).await.order.state, Exchanged);
    assert_no_calls_due(&ledger).await;
    // Free seats are exchanged for seats that cost money, so the difference is the whole price.
    let given = claim_free(&ledger, &free("b", BEN, &[1]))
        .await
        .expect("the cells are free");
    let made = exchanged(&ledger, &given, "x", &[(5, 0..2, 700)]).await;
    assert_eq!((made.state, made.total), (Pending, 700));
    // Paid seats are exchanged for free seats, so all the money goes back.
    let paid = ticketed(&ledger, "c", BEN, &[2]).await;
    let paid = record(&ledger, &paid).await.order;
    let made = exchanged(&ledger, &paid, "x", &[(6, 0..2, 0)]).await;
    assert_eq!(made.state, Ticketed);
    let back: Vec<i64> = owed(&ledger, NOW_MS + 9)
        .await
        .iter()
        .map(|refund| refund.amount)
        .collect();
    assert_eq!(back, [1_000]);
}

async fn an_order_whose_payment_is_refused_frees_its_seats_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    for changed in [true, false] {
        let applied = ledger
            .apply_event(&order.id, OrderEvent::PaymentRefused, NOW_MS)
            .await;
        let applied = applied.expect("written").expect("known");
        assert_eq!((applied.changed, applied.order.state), (changed, Cancelled));
    }
    let last = history(&ledger, &order).await.pop();
    assert_eq!(last, Some((Cancelled, "payment_refused".to_owned())));
    assert_eq!(outbox(&ledger).await, [(Free, order.hold)]);
    assert_no_calls_due(&ledger).await;
}

//! Cases of orders that cost nothing: the provider is asked for nothing at all.

use OrderState::{Cancelled, Confirmed, Exchanged, Pending, Refunded, Ticketed};
use SeatOutboxAction::{Free, Sell};
use fairgate_model::orders::refund::{RefundState, TicketSelection};
use fairgate_model::orders::transition::OrderEvent;

use super::exchanging::exchanged;
use super::refunding::{kind, owed, ticketed};
use super::*;

pub(super) const CASES: &[Case] = cases![
    a_free_order_has_its_tickets_in_the_transaction_that_claims_its_seats,
    a_free_order_again_is_the_order_as_it_is,
    of_a_free_order_twice_at_once_one_is_made,
    a_free_order_that_is_refused_leaves_nothing,
    an_order_that_costs_something_waits_for_its_payment,
    a_free_order_is_refunded_at_once,
    the_seats_of_a_free_order_are_given_for_others,
    an_order_whose_payment_is_refused_frees_its_seats_once,
];

/// Builds an order as [`order`] does, at no price.
fn free(key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let mut order = order(key, visitor, seats);
    for item in &mut order.items {
        (item.amount, item.category_key) = (0, "p0".to_owned());
    }
    Order { total: 0, ..order }
}

fn nothing(order: &Order) -> Payment {
    Payment {
        provider: "none".to_owned(),
        state: PaymentState::Voided,
        ..payment(order)
    }
}

async fn take(ledger: &Books, order: &Order) -> Result<Order, SeatClaimRefused> {
    ledger.claim(order.clone(), nothing(order), TERMS).await
}

/// Asserts that nothing is to be asked of the provider.
async fn nothing_is_asked(ledger: &Books) {
    let due = ledger.due_effects(i64::MAX, 100).await.expect("readable");
    assert!(due.is_empty(), "{due:?}");
    assert!(owed(ledger, NOW_MS + 9).await.is_empty());
}

async fn a_free_order_has_its_tickets_in_the_transaction_that_claims_its_seats(ledger: Books) {
    stocked(&ledger).await;
    let order = free("a", ANA, &[0, 1]);
    let made = take(&ledger, &order).await.expect("the cells are free");
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
    let told = history(&ledger, &order).await;
    let states: Vec<OrderState> = told.into_iter().map(|(state, _)| state).collect();
    assert_eq!(states, [Pending, Confirmed, Ticketed]);
    assert_eq!(outbox(&ledger).await, [(Sell, order.hold)]);
    nothing_is_asked(&ledger).await;
    let finished = ledger.finished(0, vec![show()]).await.expect("readable");
    let who: Vec<Holder> = finished.into_iter().map(|(_, visitor)| visitor).collect();
    assert_eq!(who, [ANA]);
    let expired = ledger.expire_due(i64::MAX, 10).await.expect("written");
    assert!(expired.is_empty());
}

async fn a_free_order_again_is_the_order_as_it_is(ledger: Books) {
    stocked(&ledger).await;
    let order = free("a", ANA, &[0]);
    let first = take(&ledger, &order).await.expect("the cells are free");
    assert_eq!(take(&ledger, &order).await.expect("a retry"), first);
    assert_eq!(history(&ledger, &order).await.len(), 3);
    assert_eq!(record(&ledger, &order).await.tickets.len(), 1);
    assert_eq!(outbox(&ledger).await.len(), 1);
}

async fn of_a_free_order_twice_at_once_one_is_made(ledger: Books) {
    stocked(&ledger).await;
    let order = free("a", ANA, &[0]);
    let (one, two) = tokio::join!(take(&ledger, &order), take(&ledger, &order));
    for made in [one, two] {
        assert_eq!(made.expect("made or found").state, Ticketed);
    }
    assert_eq!(history(&ledger, &order).await.len(), 3);
    let finished = ledger.finished(0, vec![show()]).await.expect("readable");
    assert_eq!(finished.len(), 1);
}

async fn a_free_order_that_is_refused_leaves_nothing(ledger: Books) {
    stocked(&ledger).await;
    claimed(&ledger, "a", BEN, &[1]).await;
    let order = free("b", ANA, &[0, 1]);
    let refused = take(&ledger, &order).await;
    assert!(matches!(refused, Err(SeatClaimRefused::Taken(cells)) if cells == [1, 9]));
    assert!(ledger.order(&order.id).await.expect("readable").is_none());
    assert!(outbox(&ledger).await.is_empty());
    let finished = ledger.finished(0, vec![show()]).await.expect("readable");
    assert!(finished.is_empty());
}

async fn an_order_that_costs_something_waits_for_its_payment(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let again = take(&ledger, &free("a", ANA, &[0])).await;
    assert_eq!(again.expect("a retry"), order, "as it was ordered");
    let record = record(&ledger, &order).await;
    assert_eq!(
        (record.order.state, record.payment),
        (Pending, PaymentState::Created)
    );
}

async fn a_free_order_is_refunded_at_once(ledger: Books) {
    kind(&ledger).await;
    let order = free("a", ANA, &[0, 1]);
    take(&ledger, &order).await.expect("the cells are free");
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
    nothing_is_asked(&ledger).await;
    take(&ledger, &free("b", BEN, &[0]))
        .await
        .expect("free again");
}

async fn the_seats_of_a_free_order_are_given_for_others(ledger: Books) {
    kind(&ledger).await;
    let given = take(&ledger, &free("a", ANA, &[0])).await.expect("free");
    let made = exchanged(&ledger, &given, "x", &[(4, 0..2, 0)]).await;
    assert_eq!((made.state, made.items[0].held.seat), (Ticketed, 4));
    assert_eq!(record(&ledger, &given).await.order.state, Exchanged);
    nothing_is_asked(&ledger).await;
    // Free seats are exchanged for seats that cost something: the difference is the whole price.
    let given = take(&ledger, &free("b", BEN, &[1])).await.expect("free");
    let made = exchanged(&ledger, &given, "x", &[(5, 0..2, 700)]).await;
    assert_eq!((made.state, made.total), (Pending, 700));
    // Paid seats are exchanged for free ones: all of the money goes back.
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
            .happen(&order.id, OrderEvent::PaymentRefused, NOW_MS)
            .await;
        let applied = applied.expect("written").expect("known");
        assert_eq!((applied.changed, applied.order.state), (changed, Cancelled));
    }
    let last = history(&ledger, &order).await.pop();
    assert_eq!(last, Some((Cancelled, "payment_refused".to_owned())));
    assert_eq!(outbox(&ledger).await, [(Free, order.hold)]);
    nothing_is_asked(&ledger).await;
}

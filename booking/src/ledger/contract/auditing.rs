//! Cases of the ledger's methods for the reconciler: what it reads, and what it repairs.

use OrderState::{Cancelled, Confirmed, Pending};
use fairgate_model::findings::OrderFacts;
use fairgate_model::orders::transition::{EffectKind, OrderEvent};

use super::*;
use crate::ledger::{LateMoneyOutcome, LedgerError, TAKEN_QUIET_MS, TAKEN_READ_FOR_MS};

pub(super) const CASES: &[Case] = cases![
    order_facts_list_orders_that_wait_and_no_finished_order,
    order_facts_list_a_cancelled_order_that_gets_money,
    order_facts_list_the_oldest_orders_if_there_are_too_many,
    a_quiet_payment_is_returned_once_and_then_less_and_less_often,
    a_refunded_payment_is_read_back_because_its_refund_may_fail,
    a_hold_with_an_order_is_not_among_the_holds_without_order,
    a_hold_of_late_money_is_not_among_the_holds_without_order,
    an_order_from_before_its_hold_was_given_up_is_refused_and_a_later_order_is_made,
    of_a_claim_and_giving_up_its_hold_at_once_exactly_one_succeeds,
    a_show_is_busy_while_an_order_a_seat_row_or_an_event_is_open,
    order_facts_list_a_failed_refund_until_it_is_done,
    claimed_cells_say_whether_they_are_sold,
    an_order_that_lacks_nothing_is_not_mended,
    a_void_that_is_owed_or_done_is_not_owed_again,
];

async fn facts(ledger: &Books) -> Vec<OrderFacts> {
    ledger.order_facts(0, 100).await.expect("readable")
}

async fn order_facts_list_orders_that_wait_and_no_finished_order(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0, 1]).await;
    let shown = facts(&ledger).await;
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (shown[0].state, shown[0].seats, shown[0].claim_until_ms),
        (Pending, 2, CLAIM_UNTIL_MS)
    );
    authorised(&ledger, &order).await;
    let shown = facts(&ledger).await;
    assert_eq!(
        (shown[0].state, shown[0].money, shown[0].owed.as_slice()),
        (
            Confirmed,
            PaymentState::Authorised,
            [EffectKind::Capture].as_slice()
        )
    );
    assert_eq!(shown[0].changed_ms, NOW_MS + 1);
    let capture = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    assert!(facts(&ledger).await.is_empty());
}

async fn order_facts_list_a_cancelled_order_that_gets_money(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    ended.expect("written");
    assert!(
        facts(&ledger).await.is_empty(),
        "an ended order without money is not listed"
    );
    authorised(&ledger, &order).await;
    let shown = facts(&ledger).await;
    assert_eq!(
        (shown[0].state, shown[0].owed.as_slice(), shown[0].late),
        (Cancelled, [EffectKind::Void].as_slice(), false)
    );
    let later = ledger.order_facts(NOW_MS + 2, 100).await;
    assert!(
        later.expect("readable").is_empty(),
        "the payment changed before that time"
    );
}

async fn order_facts_list_the_oldest_orders_if_there_are_too_many(ledger: Books) {
    stocked(&ledger).await;
    let young = Order {
        created_at_ms: NOW_MS + 1,
        ..super::order("a", ANA, &[0])
    };
    let old = super::order("b", BEN, &[1]);
    for order in [&young, &old] {
        claim(&ledger, order).await.expect("the cells are free");
        authorised(&ledger, order).await;
    }
    let shown = ledger.order_facts(0, 1).await.expect("readable");
    let shown: Vec<_> = shown.into_iter().map(|facts| facts.order).collect();
    assert_eq!(shown, [old.id]);
}

async fn a_quiet_payment_is_returned_once_and_then_less_and_less_often(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let quiet = async |now_ms| {
        let quiet = ledger.quiet_payments(now_ms, 1_000, 10).await;
        quiet.expect("written")
    };
    assert!(quiet(NOW_MS + 999).await.is_empty());
    let first = quiet(NOW_MS + 1_000).await;
    assert_eq!((&first[0].0.id, first[0].1), (&order.payment, NOW_MS));
    assert!(quiet(NOW_MS + 1_999).await.is_empty());
    assert_eq!(quiet(NOW_MS + 2_000).await.len(), 1);
    assert!(
        quiet(NOW_MS + 3_999).await.is_empty(),
        "a payment that stays unchanged is returned less often"
    );
    authorised(&ledger, &order).await;
    let capture = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let taken_ms = NOW_MS + 2;
    assert!(quiet(taken_ms + TAKEN_QUIET_MS - 1).await.is_empty());
    let again = quiet(taken_ms + TAKEN_QUIET_MS).await;
    assert_eq!(
        (again.len(), again[0].0.state),
        (1, PaymentState::Captured),
        "a captured payment may have been refunded"
    );
    assert!(quiet(taken_ms + 2 * TAKEN_QUIET_MS - 1).await.is_empty());
    assert_eq!(quiet(taken_ms + 2 * TAKEN_QUIET_MS).await.len(), 1);
    assert!(
        quiet(taken_ms + TAKEN_READ_FOR_MS).await.is_empty(),
        "a payment is read for a limited time"
    );
}

async fn a_refunded_payment_is_read_back_because_its_refund_may_fail(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    ended.expect("written");
    let taken = provider_event(&order, ProviderEventKind::Captured);
    assert_eq!(settled(&ledger, taken, NOW_MS + 1).await, "applied");
    let refund = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    let quiet = async |now_ms| {
        let quiet = ledger.quiet_payments(now_ms, 1_000, 10).await;
        quiet.expect("written")
    };
    // Before the refund, the payment was not due for a long time.
    let back_ms = NOW_MS + 9 * TAKEN_QUIET_MS;
    assert_eq!(quiet(back_ms).await.len(), 1);
    ledger.refunded(refund, back_ms).await.expect("written");
    assert!(quiet(back_ms + TAKEN_QUIET_MS - 1).await.is_empty());
    let read = quiet(back_ms + TAKEN_QUIET_MS).await;
    assert_eq!(
        (read.len(), read[0].0.state, read[0].0.refunded),
        (1, PaymentState::Refunded, order.total)
    );
    assert!(quiet(back_ms + 2 * TAKEN_QUIET_MS - 1).await.is_empty());
    assert_eq!(quiet(back_ms + 2 * TAKEN_QUIET_MS).await.len(), 1);
    assert!(quiet(back_ms + TAKEN_READ_FOR_MS).await.is_empty());
}

async fn without_order(ledger: &Books, holds: &[&HoldId]) -> Vec<HoldId> {
    let holds = holds.iter().map(|hold| (*hold).clone()).collect();
    ledger.without_order(holds).await.expect("readable")
}

async fn a_hold_with_an_order_is_not_among_the_holds_without_order(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let never = super::order("never", BEN, &[1]);
    let found = async || without_order(&ledger, &[&order.hold, &never.hold]).await;
    assert_eq!(found().await, std::slice::from_ref(&never.hold));
    authorised(&ledger, &order).await;
    assert_eq!(found().await, std::slice::from_ref(&never.hold));
    assert!(without_order(&ledger, &[]).await.is_empty());
}

async fn a_hold_of_late_money_is_not_among_the_holds_without_order(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let [same, other] = HoldId::both_of_late_money(&order.id);
    let found = async || without_order(&ledger, &[&same, &other]).await.len();
    assert_eq!(found().await, 2, "there is no search for late money");
    let ended = ledger
        .apply_event(&order.id, OrderEvent::DeadlinePassed, CLAIM_UNTIL_MS)
        .await;
    ended.expect("written");
    authorised(&ledger, &order).await;
    assert_eq!(found().await, 0, "the search may use either hold");
    let outcome = LateMoneyOutcome::SameSeats(same.clone());
    let decided = ledger.late_settle(&order.id, outcome, Some(LATE_BASIS), CLAIM_UNTIL_MS);
    assert!(decided.await.expect("written").expect("known").changed);
    assert_eq!(without_order(&ledger, &[&same, &other]).await, [other]);
}

async fn an_order_from_before_its_hold_was_given_up_is_refused_and_a_later_order_is_made(
    ledger: Books,
) {
    stocked(&ledger).await;
    let early = super::order("a", ANA, &[0]);
    let give_up = async |now_ms| ledger.give_up(&early.hold, now_ms).await.expect("written");
    assert!(give_up(NOW_MS).await);
    assert!(give_up(NOW_MS - 1).await, "an earlier time changes nothing");
    let refused = claim(&ledger, &early).await;
    assert!(matches!(
        refused,
        Err(SeatClaimRefused::Ledger(LedgerError::Unavailable(_)))
    ));
    assert!(ledger.order(&early.id).await.expect("readable").is_none());
    let later = Order {
        created_at_ms: NOW_MS + 1,
        ..early.clone()
    };
    claim(&ledger, &later)
        .await
        .expect("a later order may claim");
    assert!(!give_up(NOW_MS + 9).await, "the order exists");
    let again = claim(&ledger, &early).await.expect("the order as it is");
    assert_eq!(again.created_at_ms, NOW_MS + 1);
}

async fn of_a_claim_and_giving_up_its_hold_at_once_exactly_one_succeeds(ledger: Books) {
    stocked(&ledger).await;
    for round in 0..20 {
        let order = super::order(&round.to_string(), ANA, &[0]);
        let (made, given_up) =
            tokio::join!(claim(&ledger, &order), ledger.give_up(&order.hold, NOW_MS));
        let made = made.is_ok();
        assert_ne!(made, given_up.expect("written"));
        let found = ledger.order(&order.id).await.expect("readable");
        assert_eq!(found.is_some(), made);
        if made {
            let ended = ledger
                .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
                .await;
            ended.expect("written");
        }
    }
}

async fn a_show_is_busy_while_an_order_a_seat_row_or_an_event_is_open(ledger: Books) {
    stocked(&ledger).await;
    let busy = async || !ledger.busy_shows().await.expect("readable").is_empty();
    assert!(!busy().await, "a show without orders is not busy");
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    assert_eq!(ledger.busy_shows().await.expect("readable"), [show()]);
    authorised(&ledger, &order).await;
    let capture = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    assert!(busy().await, "its seat row is not delivered");
    let newest = rows(&ledger).await.pop().expect("a row").seq;
    let delivered = ledger.seat_rows_delivered(&show(), newest).await;
    delivered.expect("written");
    assert!(!busy().await);
    let about = Some(order.payment.clone());
    let kept = ledger.keep_event(PROVIDER, "news".to_owned(), about, vec![1], NOW_MS + 3);
    assert!(kept.await.expect("stored"));
    assert!(busy().await, "an event is not settled");
}

async fn order_facts_list_a_failed_refund_until_it_is_done(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    ended.expect("written");
    let taken = provider_event(&order, ProviderEventKind::Captured);
    assert_eq!(settled(&ledger, taken, NOW_MS + 1).await, "applied");
    let due = async |now_ms| ledger.due_effects(now_ms, 10).await.expect("readable");
    let refund = due(NOW_MS + 1).await.remove(0);
    assert_eq!(refund.kind, EffectKind::Refund);
    let shown = async || {
        ledger
            .order_facts(NOW_MS + 99, 100)
            .await
            .expect("readable")
    };
    assert!(shown().await.is_empty());
    let failed = ledger.refund_failed(refund.id, NOW_MS + 9, "closed".into(), NOW_MS + 2);
    failed.await.expect("written");
    let facts = shown().await.remove(0);
    assert!(facts.refund_failed && facts.owed == [EffectKind::Refund]);
    assert!(due(NOW_MS + 8).await.is_empty());
    assert_eq!(due(NOW_MS + 9).await.remove(0).attempts, 1);
    ledger
        .refunded(refund.id, NOW_MS + 9)
        .await
        .expect("written");
    assert!(shown().await.is_empty());
    let known = ledger.payment(&order.payment).await.expect("readable");
    assert_eq!(known.expect("the payment is stored").refunded, order.total);
}

async fn claimed_cells_say_whether_they_are_sold(ledger: Books) {
    stocked(&ledger).await;
    let claimed_shows = async || {
        let other = "without-orders".parse().expect("a slug");
        let asked = vec![other, show()];
        let claimed = ledger.claimed_shows(asked).await.expect("readable");
        Vec::from_iter(claimed)
    };
    assert!(claimed_shows().await.is_empty(), "nothing is claimed yet");
    let sold = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &sold).await;
    claimed(&ledger, "b", BEN, &[3]).await;
    let mut claims = ledger.claimed(&show()).await.expect("readable");
    claims.sort_unstable();
    assert_eq!(
        claims,
        [(0, 0, true), (0, 1, true), (3, 0, false), (3, 1, false)]
    );
    assert_eq!(claimed_shows().await, [show()]);
}

async fn an_order_that_lacks_nothing_is_not_mended(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let mend = async || ledger.mend(&order.id, NOW_MS + 9).await.expect("written");
    assert!(!mend().await, "the order waits for its money");
    authorised(&ledger, &order).await;
    assert!(!mend().await, "the capture is owed already");
    let capture = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    assert!(!mend().await, "the order has its tickets");
    let never = super::order("never", BEN, &[1]);
    assert!(!ledger.mend(&never.id, NOW_MS).await.expect("written"));
}

async fn a_void_that_is_owed_or_done_is_not_owed_again(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let capture = ledger
        .due_effects(NOW_MS + 1, 10)
        .await
        .expect("readable")
        .remove(0);
    let refused = ledger.capture_refused(capture.id, "no".into(), NOW_MS + 2);
    refused.await.expect("written");
    let mend = async || ledger.mend(&order.id, NOW_MS + 9).await.expect("written");
    assert!(!mend().await, "the void is owed already");
    let void = ledger
        .due_effects(NOW_MS + 2, 10)
        .await
        .expect("readable")
        .remove(0);
    assert_eq!(void.kind, EffectKind::Void);
    ledger.voided(void.id, NOW_MS + 3).await.expect("written");
    assert!(!mend().await, "the payment is voided");
}

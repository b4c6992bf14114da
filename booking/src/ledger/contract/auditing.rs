//! Cases of what the reconciler reads, and of its repairs.

use OrderState::{Cancelled, Confirmed, Pending};
use fairgate_model::findings::OrderFacts;
use fairgate_model::orders::transition::{EffectKind, OrderEvent};

use super::*;
use crate::ledger::{LateMoneyOutcome, LedgerError, TAKEN_QUIET_MS, TAKEN_READ_FOR_MS};

pub(super) const CASES: &[Case] = cases![
    what_waits_is_shown_and_what_is_done_is_not,
    money_on_an_ended_order_is_shown,
    quiet_payments_are_given_out_seldom_and_to_one_at_a_time,
    a_hold_with_an_order_is_never_told_as_one_without,
    a_hold_that_late_money_keeps_has_an_order,
    a_try_that_was_given_up_is_refused_and_a_later_one_is_not,
    of_an_order_and_its_giving_up_at_once_exactly_one_stands,
    a_show_is_busy_while_something_is_on_its_way,
    a_refund_that_failed_is_shown_until_it_is_done,
    claimed_cells_are_told_with_whether_they_are_sold,
    what_stands_needs_no_mending,
    what_goes_back_or_went_back_is_not_owed_again,
];

async fn facts(ledger: &Books) -> Vec<OrderFacts> {
    ledger.order_facts(0, 100).await.expect("readable")
}

async fn what_waits_is_shown_and_what_is_done_is_not(ledger: Books) {
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

async fn money_on_an_ended_order_is_shown(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger.happen(&order.id, OrderEvent::GivenUp, NOW_MS).await;
    ended.expect("written");
    assert!(facts(&ledger).await.is_empty(), "no money, no concern");
    authorised(&ledger, &order).await;
    let shown = facts(&ledger).await;
    assert_eq!(
        (shown[0].state, shown[0].owed.as_slice(), shown[0].late),
        (Cancelled, [EffectKind::Void].as_slice(), false)
    );
    let later = ledger.order_facts(NOW_MS + 2, 100).await;
    assert!(later.expect("readable").is_empty(), "it moved before that");
}

async fn quiet_payments_are_given_out_seldom_and_to_one_at_a_time(ledger: Books) {
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
        "the older, the more seldom"
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
        "it may have gone back"
    );
    assert!(quiet(taken_ms + 2 * TAKEN_QUIET_MS - 1).await.is_empty());
    assert_eq!(quiet(taken_ms + 2 * TAKEN_QUIET_MS).await.len(), 1);
    assert!(
        quiet(taken_ms + TAKEN_READ_FOR_MS).await.is_empty(),
        "not for ever"
    );
}

async fn alone(ledger: &Books, holds: &[&HoldId]) -> Vec<HoldId> {
    let holds = holds.iter().map(|hold| (*hold).clone()).collect();
    ledger.without_order(holds).await.expect("readable")
}

async fn a_hold_with_an_order_is_never_told_as_one_without(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let never = super::order("never", BEN, &[1]);
    let told = async || alone(&ledger, &[&order.hold, &never.hold]).await;
    assert_eq!(told().await, std::slice::from_ref(&never.hold));
    authorised(&ledger, &order).await;
    assert_eq!(told().await, std::slice::from_ref(&never.hold));
    assert!(alone(&ledger, &[]).await.is_empty());
}

async fn a_hold_that_late_money_keeps_has_an_order(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let [same, other] = HoldId::both_of_late_money(&order.id);
    let told = async || alone(&ledger, &[&same, &other]).await.len();
    assert_eq!(told().await, 2, "nobody searches");
    let ended = ledger
        .happen(&order.id, OrderEvent::DeadlinePassed, CLAIM_UNTIL_MS)
        .await;
    ended.expect("written");
    authorised(&ledger, &order).await;
    assert_eq!(told().await, 0, "either may be the one");
    let outcome = LateMoneyOutcome::SameSeats(same.clone());
    let decided = ledger.late_settle(&order.id, outcome, Some(LATE), CLAIM_UNTIL_MS);
    assert!(decided.await.expect("written").expect("known").changed);
    assert_eq!(alone(&ledger, &[&same, &other]).await, [other]);
}

async fn a_try_that_was_given_up_is_refused_and_a_later_one_is_not(ledger: Books) {
    stocked(&ledger).await;
    let early = super::order("a", ANA, &[0]);
    let give_up = async |now_ms| ledger.give_up(&early.hold, now_ms).await.expect("written");
    assert!(give_up(NOW_MS).await);
    assert!(give_up(NOW_MS - 1).await, "a moment never goes back");
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
    claim(&ledger, &later).await.expect("the next try");
    assert!(!give_up(NOW_MS + 9).await, "it is there");
    let again = claim(&ledger, &early).await.expect("the order as it is");
    assert_eq!(again.created_at_ms, NOW_MS + 1);
}

async fn of_an_order_and_its_giving_up_at_once_exactly_one_stands(ledger: Books) {
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
            let ended = ledger.happen(&order.id, OrderEvent::GivenUp, NOW_MS).await;
            ended.expect("written");
        }
    }
}

async fn a_show_is_busy_while_something_is_on_its_way(ledger: Books) {
    stocked(&ledger).await;
    let busy = async || !ledger.busy_shows().await.expect("readable").is_empty();
    assert!(!busy().await, "it is only there");
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    assert_eq!(ledger.busy_shows().await.expect("readable"), [show()]);
    authorised(&ledger, &order).await;
    let capture = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    assert!(busy().await, "its row is not delivered");
    let newest = rows(&ledger).await.pop().expect("a row").seq;
    let delivered = ledger.seat_rows_delivered(&show(), newest).await;
    delivered.expect("written");
    assert!(!busy().await);
    let about = Some(order.payment.clone());
    let kept = ledger.keep_event(PROVIDER, "news".to_owned(), about, vec![1], NOW_MS + 3);
    assert!(kept.await.expect("stored"));
    assert!(busy().await, "an event waits");
}

async fn a_refund_that_failed_is_shown_until_it_is_done(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger.happen(&order.id, OrderEvent::GivenUp, NOW_MS).await;
    ended.expect("written");
    let taken = says(&order, ProviderEventKind::Captured);
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
    assert_eq!(known.expect("there").refunded, order.total);
}

async fn claimed_cells_are_told_with_whether_they_are_sold(ledger: Books) {
    stocked(&ledger).await;
    let sold = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &sold).await;
    claimed(&ledger, "b", BEN, &[3]).await;
    let mut claims = ledger.claimed(&show()).await.expect("readable");
    claims.sort_unstable();
    assert_eq!(
        claims,
        [(0, 0, true), (0, 1, true), (3, 0, false), (3, 1, false)]
    );
}

async fn what_stands_needs_no_mending(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let mend = async || ledger.mend(&order.id, NOW_MS + 9).await.expect("written");
    assert!(!mend().await, "it waits for its money");
    authorised(&ledger, &order).await;
    assert!(!mend().await, "its capture is owed");
    let capture = ledger.due_effects(NOW_MS + 1, 10).await.expect("readable")[0].id;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    assert!(!mend().await, "it has its tickets");
    let never = super::order("never", BEN, &[1]);
    assert!(!ledger.mend(&never.id, NOW_MS).await.expect("written"));
}

async fn what_goes_back_or_went_back_is_not_owed_again(ledger: Books) {
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
    assert!(!mend().await, "its void is owed");
    let void = ledger
        .due_effects(NOW_MS + 2, 10)
        .await
        .expect("readable")
        .remove(0);
    assert_eq!(void.kind, EffectKind::Void);
    ledger.voided(void.id, NOW_MS + 3).await.expect("written");
    assert!(!mend().await, "the money went back");
}

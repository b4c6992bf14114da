//! Cases of declined payments: the minute that is left for another try, and the tries themselves.

use OrderState::{Confirmed, Expired, Pending};
use SeatOutboxAction::Free;
use fairgate_model::orders::transition::{NEXT_TRY_ON_ITS_WAY_MS, NEXT_TRY_WITHIN_MS, OrderEvent};

use super::*;

pub(super) const CASES: &[Case] = cases![
    a_decline_leaves_a_minute_for_another_try,
    a_decline_never_moves_a_deadline_later,
    another_try_has_the_whole_time_again_and_each_decline_leaves_a_minute,
    a_decline_that_is_told_after_the_next_try_began_takes_no_time_from_it,
    a_try_that_begins_in_the_last_moment_comes_before_the_expiry,
    no_try_begins_when_the_time_is_over_and_money_then_comes_late,
    no_try_begins_for_an_order_that_is_paid_or_given_up,
    a_decline_and_the_next_try_leave_the_lock_of_the_seats,
];

const FULL_MS: i64 = CLAIM_UNTIL_MS - 30_000;

/// Settles the decline of the `nth` try.
async fn declined(ledger: &Books, order: &Order, nth: u32, now_ms: i64) -> &'static str {
    let mut event = provider_event(order, ProviderEventKind::Declined);
    event.event = format!("declined_{nth}_{}", order.id);
    settled(ledger, event, now_ms).await
}

async fn begins(ledger: &Books, order: &Order, now_ms: i64) -> bool {
    let begun = ledger.begin_next_try(&order.id, now_ms).await;
    begun.expect("written")
}

/// Returns the deadline to pay, after a check that the claim ends a moment later if no try to pay
/// runs, and half a minute later otherwise.
async fn pay_until(ledger: &Books, order: &Order) -> i64 {
    let order = record(ledger, order).await.order;
    let grace_ms = match order.reason.as_str() {
        "payment_declined" => NEXT_TRY_ON_ITS_WAY_MS,
        _ => 30_000,
    };
    assert_eq!(order.claim_until_ms, order.pay_until_ms + grace_ms);
    assert_eq!(order.full_pay_until_ms, FULL_MS);
    assert_eq!(order.full_claim_until_ms, CLAIM_UNTIL_MS);
    order.pay_until_ms
}

async fn reasons(ledger: &Books, order: &Order) -> Vec<String> {
    let steps = history(ledger, order).await;
    steps.into_iter().map(|(_, reason)| reason).collect()
}

async fn a_decline_leaves_a_minute_for_another_try(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    assert_eq!(pay_until(&ledger, &order).await, FULL_MS);
    let at_ms = NOW_MS + 10_000;
    assert_eq!(declined(&ledger, &order, 1, at_ms).await, "applied");
    let minute = at_ms + NEXT_TRY_WITHIN_MS;
    assert_eq!(pay_until(&ledger, &order).await, minute);
    assert_eq!(record(&ledger, &order).await.order.state, Pending);
    assert!(outbox(&ledger).await.is_empty(), "the seats stay claimed");
    // The same event, and a second report of the same decline, change nothing.
    let before = history(&ledger, &order).await;
    assert_eq!(declined(&ledger, &order, 1, at_ms + 1).await, "repeated");
    let again = declined(&ledger, &order, 2, at_ms + 1).await;
    assert_eq!(again, "out_of_order");
    assert_eq!(history(&ledger, &order).await, before);
    assert_eq!(pay_until(&ledger, &order).await, minute);
    let over_ms = minute + NEXT_TRY_ON_ITS_WAY_MS;
    let too_early = ledger.expire_due(over_ms - 1, 10).await;
    assert!(too_early.expect("written").is_empty());
    let expired = ledger.expire_due(over_ms, 10).await;
    assert_eq!(expired.expect("written"), std::slice::from_ref(&order.id));
    assert_eq!(outbox(&ledger).await, [(Free, order.hold.clone())]);
}

async fn a_decline_never_moves_a_deadline_later(ledger: Books) {
    stocked(&ledger).await;
    for (key, seat, before_ms) in [("a", 0, 59_999), ("b", 1, 0), ("c", 2, -1)] {
        let order = claimed(&ledger, key, ANA, &[seat]).await;
        let at_ms = FULL_MS - before_ms;
        assert_eq!(declined(&ledger, &order, 1, at_ms).await, "applied");
        assert_eq!(pay_until(&ledger, &order).await, FULL_MS, "{before_ms}");
    }
}

async fn another_try_has_the_whole_time_again_and_each_decline_leaves_a_minute(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    for (nth, at_ms) in [(1, NOW_MS), (2, NOW_MS + 20_000), (3, NOW_MS + 90_000)] {
        assert_eq!(declined(&ledger, &order, nth, at_ms).await, "applied");
        let shortened = FULL_MS.min(at_ms + NEXT_TRY_WITHIN_MS);
        assert_eq!(pay_until(&ledger, &order).await, shortened);
        assert!(begins(&ledger, &order, at_ms + 1).await);
        assert_eq!(pay_until(&ledger, &order).await, FULL_MS);
        let before = history(&ledger, &order).await;
        assert!(begins(&ledger, &order, at_ms + 2).await, "it runs already");
        assert_eq!(history(&ledger, &order).await, before);
    }
    authorised(&ledger, &order).await;
    let tried = ["payment_declined", "payment_tried_again"];
    let expected = [
        &["ordered"][..],
        &tried,
        &tried,
        &tried,
        &["payment_authorised"],
    ];
    assert_eq!(reasons(&ledger, &order).await, expected.concat());
}

async fn a_decline_that_is_told_after_the_next_try_began_takes_no_time_from_it(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    // The buyer's page heard of the decline from the provider, before the ledger did.
    assert!(begins(&ledger, &order, NOW_MS).await);
    let told = declined(&ledger, &order, 1, NOW_MS + 5_000).await;
    assert_eq!(told, "decline_of_an_earlier_try");
    assert_eq!(pay_until(&ledger, &order).await, FULL_MS);
    let steps = ["ordered", "payment_tried_again"];
    assert_eq!(reasons(&ledger, &order).await, steps);
    let payment = record(&ledger, &order).await.payment;
    assert_eq!(payment, PaymentState::Declined);
    let own = declined(&ledger, &order, 2, NOW_MS + 9_000).await;
    assert_eq!(own, "applied");
    let minute = NOW_MS + 9_000 + NEXT_TRY_WITHIN_MS;
    assert_eq!(pay_until(&ledger, &order).await, minute);
}

async fn a_try_that_begins_in_the_last_moment_comes_before_the_expiry(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    declined(&ledger, &order, 1, NOW_MS).await;
    let until_ms = NOW_MS + NEXT_TRY_WITHIN_MS;
    // The buyer's call came in time, and the look for overdue orders was faster.
    let expired = ledger.expire_due(until_ms + 1_000, 10).await;
    assert!(expired.expect("written").is_empty());
    assert!(begins(&ledger, &order, until_ms).await);
    assert_eq!(pay_until(&ledger, &order).await, FULL_MS);
    let expired = ledger.expire_due(CLAIM_UNTIL_MS - 1, 10).await;
    assert!(expired.expect("written").is_empty());
    authorised(&ledger, &order).await;
    assert_eq!(record(&ledger, &order).await.order.state, Confirmed);
}

async fn no_try_begins_when_the_time_is_over_and_money_then_comes_late(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    declined(&ledger, &order, 1, NOW_MS).await;
    let until_ms = NOW_MS + NEXT_TRY_WITHIN_MS;
    let before = history(&ledger, &order).await;
    assert!(!begins(&ledger, &order, until_ms + 1).await);
    assert_eq!(history(&ledger, &order).await, before);
    assert_eq!(pay_until(&ledger, &order).await, until_ms);
    let over_ms = until_ms + NEXT_TRY_ON_ITS_WAY_MS;
    let expired = ledger.expire_due(over_ms, 10).await;
    assert_eq!(expired.expect("written"), std::slice::from_ref(&order.id));
    assert!(!begins(&ledger, &order, over_ms).await);
    let money = provider_event(&order, ProviderEventKind::Authorised);
    let settled = settled(&ledger, money, until_ms + 40_000).await;
    assert_eq!(settled, "applied");
    let after = record(&ledger, &order).await.order;
    assert_eq!(
        (after.state, after.reason.as_str()),
        (Expired, "late_money")
    );
    let now_ms = until_ms + 40_000;
    let searches = ledger.late_due(now_ms, now_ms + 1_000, 10).await;
    assert_eq!(searches.expect("written"), [order.id]);
}

async fn no_try_begins_for_an_order_that_is_paid_or_given_up(ledger: Books) {
    stocked(&ledger).await;
    let paid = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &paid).await;
    let given_up = claimed(&ledger, "b", BEN, &[1]).await;
    let ended = ledger.apply_event(&given_up.id, OrderEvent::GivenUp, NOW_MS);
    assert!(ended.await.expect("written").expect("known").changed);
    for order in [&paid, &given_up, &super::order("never", ANA, &[2])] {
        assert!(!begins(&ledger, order, NOW_MS + 1).await);
    }
    assert_eq!(record(&ledger, &paid).await.order.state, Confirmed);
    assert_eq!(reasons(&ledger, &given_up).await, ["ordered", "by_visitor"]);
}

async fn a_decline_and_the_next_try_leave_the_lock_of_the_seats(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let lock = async || {
        let picture = ledger.open_show(&show(), 1, None).await.expect("readable");
        picture.ordered[0].lock_until_ms
    };
    let before = lock().await;
    assert!(before > CLAIM_UNTIL_MS);
    declined(&ledger, &order, 1, NOW_MS).await;
    assert_eq!(lock().await, before);
    assert!(begins(&ledger, &order, NOW_MS + 1).await);
    assert_eq!(lock().await, before);
}

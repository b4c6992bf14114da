//! Cases of work that was lent, put off or made by a clock that was an hour ahead: by the right
//! clock it is due at most one loan later.

use fairgate_model::orders::refund::TicketSelection;
use fairgate_model::orders::transition::OrderEvent;

use super::calling::{begin_at, call};
use super::refunding::{owed, ticketed, with_free_refunds};
use super::*;
use crate::ledger::{BeginCallOutcome, DuePaymentEffect};

pub(super) const CASES: &[Case] = cases![
    an_effect_that_a_clock_ahead_lent_or_put_off_is_due_at_once,
    a_refund_that_a_clock_ahead_lent_or_put_off_is_due_at_once,
    an_event_that_a_clock_ahead_lent_or_put_off_is_due_at_once,
    late_money_that_a_clock_ahead_lent_is_due_at_once,
    a_call_that_a_clock_ahead_lent_may_begin_at_another_node,
];

/// The time of the clock that is ahead.
const AHEAD_MS: i64 = NOW_MS + 3_600_000;

async fn effects(ledger: &Books, now_ms: i64) -> Vec<DuePaymentEffect> {
    ledger.due_effects(now_ms, 10).await.expect("written")
}

async fn an_effect_that_a_clock_ahead_lent_or_put_off_is_due_at_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let capture = effects(&ledger, AHEAD_MS).await.remove(0).id;
    assert_eq!(effects(&ledger, NOW_MS + 10).await.len(), 1);
    assert!(effects(&ledger, NOW_MS + 20).await.is_empty(), "it is lent");
    // The renewal of the right clock does not keep the time of the clock that was ahead.
    for now_ms in [AHEAD_MS, NOW_MS + 30] {
        let renewed = ledger.renew_lease(capture, now_ms).await;
        renewed.expect("written");
    }
    assert!(effects(&ledger, NOW_MS + 5_029).await.is_empty());
    assert_eq!(effects(&ledger, NOW_MS + 5_030).await.len(), 1);
    let later_ms = AHEAD_MS + 60_000;
    let put_off = ledger.put_off(capture, later_ms, "away".into(), AHEAD_MS);
    put_off.await.expect("written");
    assert_eq!(effects(&ledger, NOW_MS + 5_050).await.len(), 1);
    let failed = ledger.refund_failed(capture, later_ms, "away".into(), AHEAD_MS);
    failed.await.expect("written");
    assert_eq!(effects(&ledger, NOW_MS + 5_060).await.len(), 1);
    let put_off = ledger.put_off(capture, NOW_MS + 60_000, "away".into(), NOW_MS + 5_070);
    put_off.await.expect("written");
    assert!(effects(&ledger, NOW_MS + 59_999).await.is_empty());
}

async fn a_refund_that_a_clock_ahead_lent_or_put_off_is_due_at_once(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    let refunded = ledger.refund(&order.id, TicketSelection::All, NOW_MS + 3);
    refunded.await.expect("allowed").expect("known");
    let refund = owed(&ledger, AHEAD_MS).await.remove(0).id;
    assert_eq!(owed(&ledger, NOW_MS + 10).await.len(), 1);
    assert!(owed(&ledger, NOW_MS + 20).await.is_empty(), "it is lent");
    let renewed = ledger.renew_refund_loan(&refund, AHEAD_MS).await;
    renewed.expect("written");
    assert_eq!(owed(&ledger, NOW_MS + 30).await.len(), 1);
    let later_ms = AHEAD_MS + 60_000;
    let put_off = ledger.put_off_refund(&refund, later_ms, "away".into(), false, AHEAD_MS);
    put_off.await.expect("written");
    assert_eq!(owed(&ledger, NOW_MS + 40).await.len(), 1);
}

async fn an_event_that_a_clock_ahead_lent_or_put_off_is_due_at_once(ledger: Books) {
    let kept = ledger.keep_event(PROVIDER, "a".to_owned(), None, vec![7], NOW_MS);
    assert!(kept.await.expect("stored"));
    let events = async |now_ms| {
        let due = ledger.due_events(now_ms, 10).await;
        due.expect("written").len()
    };
    assert_eq!(events(AHEAD_MS).await, 1);
    assert_eq!(events(NOW_MS + 10).await, 1);
    assert_eq!(events(NOW_MS + 20).await, 0, "it is lent");
    let (provider, event) = (PROVIDER.to_owned(), "a".to_owned());
    let put_off = ledger.put_off_event(provider, event, AHEAD_MS + 60_000, AHEAD_MS);
    put_off.await.expect("written");
    assert_eq!(events(NOW_MS + 30).await, 1);
}

async fn late_money_that_a_clock_ahead_lent_is_due_at_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let passed = ledger.apply_event(&order.id, OrderEvent::DeadlinePassed, CLAIM_UNTIL_MS);
    passed.await.expect("written").expect("known");
    authorised(&ledger, &order).await;
    let due = async |now_ms| {
        let due = ledger.late_due(now_ms, now_ms + 1_000, 10).await;
        due.expect("written").len()
    };
    assert_eq!(due(AHEAD_MS).await, 1);
    assert_eq!(due(CLAIM_UNTIL_MS + 10).await, 1);
    assert_eq!(due(CLAIM_UNTIL_MS + 20).await, 0, "it is lent");
}

async fn a_call_that_a_clock_ahead_lent_may_begin_at_another_node(ledger: Books) {
    for (node, now_ms, expected) in [
        (1, AHEAD_MS, BeginCallOutcome::Act),
        (2, NOW_MS, BeginCallOutcome::Act),
        (3, NOW_MS + 10, BeginCallOutcome::Running),
    ] {
        let begun = begin_at(&ledger, call("k", node), now_ms).await;
        assert_eq!(begun, expected, "at node {node}");
    }
}

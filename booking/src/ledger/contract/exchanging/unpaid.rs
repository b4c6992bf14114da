//! Cases of exchanges that fail. The old order stays unchanged. If the buyer has paid the
//! difference, the money goes back.

use fairgate_model::orders::transition::{NEXT_TRY_ON_ITS_WAY_MS, NEXT_TRY_WITHIN_MS};

use super::*;

pub(in super::super) const CASES: &[Case] = cases![
    an_unpaid_difference_leaves_the_old_order_unchanged,
    a_declined_difference_leaves_a_minute_for_another_try,
    a_difference_paid_after_the_deadline_is_voided,
    an_order_with_a_scanned_ticket_is_not_exchanged,
    a_scan_before_the_payment_voids_the_difference,
    a_scan_before_the_capture_refunds_the_difference,
    a_refused_capture_leaves_the_old_order_unchanged,
];

async fn an_unpaid_difference_leaves_the_old_order_unchanged(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    let expired = ledger
        .expire_due(CLAIM_UNTIL_MS + 1, 10)
        .await
        .expect("written");
    assert_eq!(expired.len(), 1);
    assert_unchanged(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
    // The old order may be exchanged again, and may be refunded.
    let given_up = exchanged(&ledger, &old, "y", &[(5, 0..2, 1_700)]).await;
    let gone = ledger
        .apply_event(&given_up.id, OrderEvent::GivenUp, NOW_MS + 5)
        .await;
    assert_eq!(
        gone.expect("written").expect("known").order.state,
        Cancelled
    );
    let refund = ledger
        .refund(&old.id, TicketSelection::All, NOW_MS + 6)
        .await;
    let refund = refund.expect("allowed").expect("known");
    assert_eq!(refund.order.state, Refunded);
}

async fn a_declined_difference_leaves_a_minute_for_another_try(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    let declined = provider_event(&new, ProviderEventKind::Declined);
    assert_eq!(settled(&ledger, declined, NOW_MS).await, "applied");
    let claim_until_ms = NOW_MS + NEXT_TRY_WITHIN_MS + NEXT_TRY_ON_ITS_WAY_MS;
    let after = record(&ledger, &new).await.order;
    assert_eq!(after.claim_until_ms, claim_until_ms);
    assert!(claim_until_ms < new.claim_until_ms);
    let begun = ledger.begin_next_try(&new.id, NOW_MS + 1).await;
    assert!(begun.expect("written"));
    let after = record(&ledger, &new).await.order;
    assert_eq!(after.claim_until_ms, new.claim_until_ms);
    assert_unchanged(&ledger, &old).await;
    let new = paid(&ledger, &after).await;
    assert_eq!(new.state, Ticketed);
}

async fn a_difference_paid_after_the_deadline_is_voided(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    ledger
        .expire_due(CLAIM_UNTIL_MS + 1, 10)
        .await
        .expect("written");
    let late = provider_event(&new, ProviderEventKind::Authorised);
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
    assert_unchanged(&ledger, &old).await;
}

async fn an_order_with_a_scanned_ticket_is_not_exchanged(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    scan(&ledger, &old, 1).await;
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::Scanned(seats)) if seats == ["A-1"]));
    assert_unchanged(&ledger, &old).await;
}

async fn a_scan_before_the_payment_voids_the_difference(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    scan(&ledger, &old, 0).await;
    authorised(&ledger, &new).await;
    let last = history(&ledger, &new).await.pop();
    assert_eq!(last, Some((Cancelled, "exchange_over".to_owned())));
    let due = ledger.due_effects(NOW_MS + 9, 100).await.expect("readable");
    assert_eq!((due.len(), due[0].kind), (1, EffectKind::Void));
    assert_unchanged(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
}

async fn a_scan_before_the_capture_refunds_the_difference(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    authorised(&ledger, &new).await;
    scan(&ledger, &old, 0).await;
    let capture = capture_of(&ledger, &new).await;
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    assert_eq!(record(&ledger, &new).await.order.state, Cancelled);
    let due = ledger.due_effects(NOW_MS + 9, 100).await.expect("readable");
    assert_eq!((due.len(), due[0].kind), (1, EffectKind::Refund));
    assert_unchanged(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
    let freed = outbox(&ledger).await.pop();
    assert_eq!(freed, Some((Free, new.hold)));
}

async fn a_refused_capture_leaves_the_old_order_unchanged(ledger: Books) {
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
    assert_unchanged(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
}

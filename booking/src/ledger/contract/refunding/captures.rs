//! Cases of refunds before and during a capture. Whichever of the two comes first, the money goes
//! back to the buyer once.

use super::*;

pub(in super::super) const CASES: &[Case] = cases![
    a_refund_before_the_capture_owes_a_void,
    a_capture_that_succeeded_before_the_void_is_refunded,
    a_capture_whose_answer_was_lost_is_refunded_and_no_longer_owed,
    a_refund_with_a_fee_waits_for_the_capture_which_issues_no_ticket,
    of_a_capture_and_a_refund_at_once_the_money_is_owed_once,
    a_capture_refused_after_the_refund_owes_only_a_void,
    an_order_that_was_not_paid_is_not_refunded,
];

async fn a_refund_before_the_capture_owes_a_void(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = confirmed(&ledger, "a", ANA, &[0, 1]).await;
    let after = refunded(&ledger, &order, TicketSelection::All).await;
    assert_eq!(after.state, Refunded);
    assert!(owed(&ledger, NOW_MS + 3).await.is_empty());
    let due = ledger.due_effects(NOW_MS + 3, 100).await.expect("readable");
    assert_eq!((due.len(), due[0].kind), (1, EffectKind::Void));
    ledger.voided(due[0].id, NOW_MS + 4).await.expect("written");
    let after = record(&ledger, &order).await;
    assert_eq!(after.payment, PaymentState::Voided);
    assert_eq!(after.refunds[0].state, RefundState::Done);
    assert!(after.tickets.is_empty());
    let backlog = ledger.backlog().await.expect("readable");
    assert_eq!(backlog.1, 0, "the capture is no longer owed");
    let hold = order.hold.clone();
    assert_eq!(outbox(&ledger).await, [(Sell, hold.clone()), (Free, hold)]);
}

async fn a_capture_that_succeeded_before_the_void_is_refunded(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let capture = capture_of(&ledger, &order).await;
    refunded(&ledger, &order, TicketSelection::All).await;
    // A worker began the capture before the refund, and the capture succeeds.
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    let between = record(&ledger, &order).await;
    assert_eq!((between.order.state, between.tickets.len()), (Refunded, 0));
    assert!(
        owed(&ledger, NOW_MS + 4).await.is_empty(),
        "only the void is owed"
    );
    let void = ledger
        .due_effects(NOW_MS + 4, 100)
        .await
        .expect("readable")
        .remove(0);
    assert_eq!(void.kind, EffectKind::Void);
    ledger
        .refund_instead(void.id, NOW_MS + 5)
        .await
        .expect("written");
    let refund = ledger
        .due_effects(NOW_MS + 5, 100)
        .await
        .expect("readable")
        .remove(0);
    assert_eq!(refund.kind, EffectKind::Refund);
    ledger
        .refunded(refund.id, NOW_MS + 6)
        .await
        .expect("written");
    let after = record(&ledger, &order).await;
    assert_eq!(after.payment, PaymentState::Refunded);
    assert_eq!(after.refunds[0].state, RefundState::Done);
    assert_eq!(ledger.backlog().await.expect("readable").1, 0);
}

async fn a_capture_whose_answer_was_lost_is_refunded_and_no_longer_owed(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let capture = capture_of(&ledger, &order).await;
    let put_off = ledger.put_off(capture, NOW_MS + 9, "no answer".into(), NOW_MS);
    put_off.await.expect("written");
    refunded(&ledger, &order, TicketSelection::All).await;
    for (kind, now_ms) in [
        (EffectKind::Void, NOW_MS + 4),
        (EffectKind::Refund, NOW_MS + 5),
    ] {
        let due = ledger.due_effects(now_ms, 100).await.expect("readable");
        assert_eq!((due.len(), due[0].kind), (1, kind));
        let done = match kind {
            EffectKind::Void => ledger.refund_instead(due[0].id, now_ms).await,
            _ => ledger.refunded(due[0].id, now_ms).await,
        };
        done.expect("written");
    }
    let after = record(&ledger, &order).await;
    assert_eq!(after.payment, PaymentState::Refunded);
    assert_eq!(ledger.backlog().await.expect("readable").1, 0);
}

async fn a_refund_with_a_fee_waits_for_the_capture_which_issues_no_ticket(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 1, "fee_pct": 10}])).await;
    for by_event in [false, true] {
        let seat = u32::from(by_event);
        let order = confirmed(&ledger, &format!("k{seat}"), ANA, &[seat]).await;
        refunded(&ledger, &order, TicketSelection::All).await;
        assert!(
            owed(&ledger, NOW_MS + 3).await.is_empty(),
            "nothing was captured yet"
        );
        if by_event {
            let event = provider_event(&order, ProviderEventKind::Captured);
            settled(&ledger, event, NOW_MS + 4).await;
        } else {
            let capture = capture_of(&ledger, &order).await;
            ledger.captured(capture, NOW_MS + 4).await.expect("written");
        }
        let due = owed(&ledger, NOW_MS + 4).await.remove(0);
        assert_eq!((&due.payment.order, due.amount), (&order.id, 900));
        ledger
            .refund_done(&due.id, NOW_MS + 5)
            .await
            .expect("written");
        let after = record(&ledger, &order).await;
        assert_eq!((after.order.state, after.tickets.len()), (Refunded, 0));
        assert_eq!(ledger.backlog().await.expect("readable").1, 0);
    }
}

async fn of_a_capture_and_a_refund_at_once_the_money_is_owed_once(ledger: Books) {
    with_free_refunds(&ledger).await;
    for seat in 0..8 {
        let order = confirmed(&ledger, &format!("k{seat}"), ANA, &[seat]).await;
        let capture = capture_of(&ledger, &order).await;
        let (captured, refund) = tokio::join!(
            ledger.captured(capture, NOW_MS + 3),
            ledger.refund(&order.id, TicketSelection::All, NOW_MS + 3),
        );
        captured.expect("written");
        refund.expect("allowed");
        let after = record(&ledger, &order).await;
        assert_eq!(after.order.state, Refunded);
        assert!(
            after
                .tickets
                .iter()
                .all(|ticket| ticket.voided_at_ms.is_some())
        );
        let parts = owed(&ledger, NOW_MS + 3).await;
        let effects = ledger.due_effects(NOW_MS + 3, 100).await.expect("readable");
        assert_eq!(parts.len() + effects.len(), 1, "{parts:?} {effects:?}");
        for part in parts {
            ledger
                .refund_done(&part.id, NOW_MS + 4)
                .await
                .expect("written");
        }
        for effect in effects {
            ledger.voided(effect.id, NOW_MS + 4).await.expect("written");
        }
    }
}

async fn a_capture_refused_after_the_refund_owes_only_a_void(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 1, "fee_pct": 10}])).await;
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let capture = capture_of(&ledger, &order).await;
    refunded(&ledger, &order, TicketSelection::All).await;
    let refused = ledger.capture_refused(capture, "no funds".into(), NOW_MS + 4);
    refused.await.expect("written");
    let void = ledger
        .due_effects(NOW_MS + 4, 100)
        .await
        .expect("readable")
        .remove(0);
    assert_eq!(void.kind, EffectKind::Void);
    ledger.voided(void.id, NOW_MS + 5).await.expect("written");
    let after = record(&ledger, &order).await;
    assert_eq!(
        (after.order.state, after.payment),
        (Refunded, PaymentState::Voided)
    );
    assert!(owed(&ledger, i64::MAX / 2).await.is_empty());
    assert_eq!(ledger.backlog().await.expect("readable").1, 0);
}

async fn an_order_that_was_not_paid_is_not_refunded(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let refused = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 1)
        .await;
    assert!(matches!(
        refused,
        Err(RefundRefused::State(OrderState::Pending))
    ));
    let other = confirmed(&ledger, "b", BEN, &[1]).await;
    let capture = capture_of(&ledger, &other).await;
    let failed = ledger.capture_refused(capture, "no funds".into(), NOW_MS + 2);
    failed.await.expect("written");
    let refused = ledger
        .refund(&other.id, TicketSelection::All, NOW_MS + 3)
        .await;
    assert!(matches!(refused, Err(RefundRefused::State(CaptureFailed))));
    assert_eq!(seats_claimed(&ledger).await, [0]);
}

//! Cases of the refunded money: a refund is owed until it is done, and is owed again if the
//! provider reports that its money came back.

use super::*;

pub(in super::super) const CASES: &[Case] = cases![
    a_refund_is_lent_to_one_worker_at_a_time,
    a_failed_refund_is_a_finding_until_it_is_done,
    a_payment_is_read_back_soon_after_one_of_its_tickets_was_refunded,
    refunds_whose_money_came_back_are_owed_again,
    a_whole_refund_whose_money_came_back_is_owed_again,
    the_sandbox_refunds_no_more_than_it_captured,
];

async fn a_refund_is_lent_to_one_worker_at_a_time(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    refunded(&ledger, &order, TicketSelection::All).await;
    let lent = owed(&ledger, NOW_MS + 3).await.remove(0);
    assert!(owed(&ledger, NOW_MS + 3).await.is_empty());
    ledger
        .renew_refund_loan(&lent.id, NOW_MS + 4_000)
        .await
        .expect("written");
    assert!(owed(&ledger, NOW_MS + 8_000).await.is_empty());
    assert_eq!(
        owed(&ledger, NOW_MS + 10_000).await.len(),
        1,
        "the worker no longer renews its loan"
    );
    let later = ledger.put_off_refund(&lent.id, NOW_MS + 60_000, "away".into(), false, NOW_MS);
    later.await.expect("written");
    assert!(owed(&ledger, NOW_MS + 59_999).await.is_empty());
    assert_eq!(owed(&ledger, NOW_MS + 60_000).await[0].attempts, 1);
}

async fn a_payment_is_read_back_soon_after_one_of_its_tickets_was_refunded(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let refund = owed(&ledger, NOW_MS + 3).await.remove(0);
    let quiet = async |now_ms| {
        let quiet = ledger.quiet_payments(now_ms, 1_000, 10).await;
        quiet.expect("written").len()
    };
    // The payment was just read, and was not due again for a long time.
    let done_ms = NOW_MS + 9 * TAKEN_QUIET_MS;
    assert_eq!(quiet(done_ms).await, 1);
    let done = ledger.refund_done(&refund.id, done_ms).await;
    done.expect("written");
    assert_eq!(quiet(done_ms + TAKEN_QUIET_MS - 1).await, 0);
    assert_eq!(quiet(done_ms + TAKEN_QUIET_MS).await, 1);
}

async fn a_failed_refund_is_a_finding_until_it_is_done(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let refund = owed(&ledger, NOW_MS + 3).await.remove(0);
    let facts = async || ledger.order_facts(0, 100).await.expect("readable");
    assert!(facts().await.is_empty());
    let failed = ledger.put_off_refund(&refund.id, NOW_MS + 9, "closed".into(), true, NOW_MS + 4);
    failed.await.expect("written");
    assert_eq!(
        record(&ledger, &order).await.refunds[0].state,
        RefundState::Failed
    );
    let shown = facts().await;
    assert_eq!((shown.len(), shown[0].refund_failed), (1, true));
    ledger
        .refund_done(&refund.id, NOW_MS + 10)
        .await
        .expect("written");
    assert!(facts().await.is_empty());
}

async fn refunds_whose_money_came_back_are_owed_again(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    refunded(&ledger, &order, TicketSelection::All).await;
    let done = async |now_ms| {
        let due = owed(&ledger, now_ms).await;
        for refund in &due {
            let done = ledger.refund_done(&refund.id, now_ms).await;
            done.expect("written");
        }
        due
    };
    assert_eq!(done(NOW_MS + 4).await.len(), 2);
    let report_refunded = async |back: i64, n: i64| {
        let event = ProviderEvent {
            event: format!("evt_{n}"),
            amount: order.currency.with_amount(back),
            ..provider_event(&order, ProviderEventKind::Refunded)
        };
        settled(&ledger, event, NOW_MS + n).await
    };
    let payment = async || {
        let payment = ledger.payment(&order.payment).await.expect("readable");
        let payment = payment.expect("known");
        (payment.state, payment.refunded)
    };
    assert_eq!(report_refunded(2_000, 5).await, "refund_noted");
    assert_eq!(payment().await, (PaymentState::Refunded, 2_000));
    assert_eq!(report_refunded(1_000, 6).await, "refund_came_back");
    assert_eq!(payment().await, (PaymentState::Captured, 0));
    let shown = ledger.order_facts(0, 100).await.expect("readable");
    assert_eq!((shown.len(), shown[0].refund_failed), (1, true));
    // Each refund was requested before, so its `attempts` is 1. The worker therefore first asks the
    // provider for the result of the earlier request.
    let again = done(NOW_MS + 6).await;
    assert!(again.iter().all(|refund| refund.attempts == 1), "{again:?}");
    assert_eq!(again.len(), 2);
    assert_eq!(payment().await, (PaymentState::Refunded, 2_000));
    let shown = ledger.order_facts(0, 100).await.expect("readable");
    assert!(shown.is_empty(), "{shown:?}");
    let record = record(&ledger, &order).await;
    assert_eq!(record.order.state, Refunded, "the tickets stay refunded");
    assert_eq!(ledger.backlog().await.expect("readable"), (0, 0));
}

async fn a_whole_refund_whose_money_came_back_is_owed_again(ledger: Books) {
    with_free_refunds(&ledger).await;
    // The capture is recorded as refused, but the void finds that the payment was captured. So the
    // whole payment is refunded.
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let effect = async |kind, now_ms| {
        let due = ledger.due_effects(now_ms, 100).await.expect("readable");
        let own = due.into_iter().find(|due| due.kind == kind);
        own.expect("it is owed")
    };
    let capture = effect(EffectKind::Capture, NOW_MS + 1).await;
    let refused = ledger.capture_refused(capture.id, "closed".into(), NOW_MS + 2);
    refused.await.expect("written");
    let void = effect(EffectKind::Void, NOW_MS + 3).await;
    let taken = ledger.refund_instead(void.id, NOW_MS + 3);
    taken.await.expect("written");
    let refund = effect(EffectKind::Refund, NOW_MS + 4).await;
    ledger
        .refunded(refund.id, NOW_MS + 4)
        .await
        .expect("written");
    let report_refunded = async |back, n| {
        let event = ProviderEvent {
            event: format!("evt_back_{n}"),
            amount: order.currency.with_amount(back),
            ..provider_event(&order, ProviderEventKind::Refunded)
        };
        settled(&ledger, event, NOW_MS + n).await
    };
    assert_eq!(report_refunded(1_000, 5).await, "refund_noted");
    assert_eq!(report_refunded(0, 6).await, "refund_came_back");
    assert_eq!(
        report_refunded(0, 7).await,
        "refund_noted",
        "the refund is owed already"
    );
    let shown = ledger.order_facts(0, 100).await.expect("readable");
    assert_eq!((shown.len(), shown[0].refund_failed), (1, true));
    // The refund was requested before, so its `attempts` is 1. The worker therefore first asks the
    // provider for the result of the earlier request.
    let again = effect(EffectKind::Refund, NOW_MS + 7).await;
    assert_eq!((again.id, again.attempts), (refund.id, 1));
    ledger
        .refunded(again.id, NOW_MS + 8)
        .await
        .expect("written");
    let payment = ledger.payment(&order.payment).await.expect("readable");
    let payment = payment.expect("known");
    assert_eq!(
        (payment.state, payment.refunded),
        (PaymentState::Refunded, 1_000)
    );
    let shown = ledger.order_facts(0, 100).await.expect("readable");
    assert!(shown.is_empty(), "{shown:?}");
    assert_eq!(ledger.backlog().await.expect("readable"), (0, 0));
}

async fn the_sandbox_refunds_no_more_than_it_captured(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1, 2]).await;
    let id = |nth| fairgate_model::ids::RefundId::of_order(&order.id, nth);
    let give = async |nth, amount| {
        let id = id(nth);
        let given = ledger.sandbox_refund(&order.payment, &id, amount, 3_000);
        given.await.expect("written")
    };
    assert_eq!(give(1, 1_000).await, None, "nothing was captured");
    for to in ["authorised", "captured"] {
        let moved = ledger
            .sandbox_move(&order.payment, &["open", "authorised"], to)
            .await;
        moved.expect("written");
    }
    for _ in 0..2 {
        assert_eq!(
            give(1, 1_000).await,
            Some(1_000),
            "each refund id counts once"
        );
    }
    assert_eq!(give(2, 2_001).await, None, "too little is left");
    assert_eq!(give(2, 2_000).await, Some(3_000));
    let state = ledger.sandbox_move(&order.payment, &[], "read").await;
    assert_eq!(state.expect("readable"), "refunded");
    assert_eq!(
        ledger
            .sandbox_refunded(&order.payment)
            .await
            .expect("readable"),
        3_000
    );
}

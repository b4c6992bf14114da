//! Tickets given back: what goes, what stays, and who wins where two want the same.

use SeatRowKind::{Free, Sell};

use super::*;
use crate::catalogue::fate::Fate;
use crate::ids::TicketId;
use crate::ledger::Scan;
use crate::orders::refund::{OwedRefund, RefundReason, RefundRefused, RefundState, Which};
use crate::orders::transition::EffectKind;
use OrderState::{CaptureFailed, PartlyRefunded, Refunded, Ticketed};

pub(super) const CASES: &[Case] = cases![
    one_ticket_goes_back_and_exactly_its_cells_with_it,
    the_last_ticket_ends_the_order_and_the_payment,
    what_went_back_changes_nothing_again,
    the_fee_is_rounded_for_the_buyer,
    without_a_rule_nothing_goes_back,
    a_scanned_ticket_never_goes_back,
    of_a_scan_and_a_refund_at_once_exactly_one_wins,
    of_many_refunds_of_one_order_at_once_each_ticket_goes_back_once,
    an_order_that_was_not_captured_is_let_go,
    a_capture_that_went_through_before_it_could_be_let_go_is_refunded,
    a_capture_that_nobody_heard_of_is_refunded_and_owed_no_more,
    with_a_fee_the_capture_comes_first_and_no_ticket_of_it,
    of_a_capture_and_a_refund_at_once_the_money_is_owed_once,
    a_capture_refused_after_the_refund_owes_nothing,
    an_order_that_was_not_paid_is_not_refunded,
    a_refund_is_lent_to_one_and_comes_back,
    a_refund_that_failed_is_shown_until_it_has_gone,
    what_came_back_after_it_had_gone_is_owed_again,
    a_seat_given_back_is_somebody_elses_and_the_next_refund_leaves_it,
    a_show_opens_without_what_was_given_back,
    a_cancelled_show_sells_nothing_and_gives_everything_back,
    a_postponed_show_begins_later_and_takes_tickets_back_until_its_date,
    the_sandbox_gives_no_more_back_than_it_took,
];

pub(super) async fn with_rules(ledger: &Books, rules: serde_json::Value) {
    stocked(ledger).await;
    let mut show = stored(1);
    show.document.refunds = serde_json::from_value(rules).expect("rules");
    ledger.put_show(show, None, NOW_MS).await.expect("stored");
}

/// A show that takes everything back for nothing.
pub(super) async fn kind(ledger: &Books) {
    with_rules(ledger, serde_json::json!([{"until_h": 0, "fee_pct": 0}])).await;
}

pub(super) async fn confirmed(ledger: &Books, key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let order = claimed(ledger, key, visitor, seats).await;
    authorised(ledger, &order).await;
    order
}

pub(super) async fn capture_of(ledger: &Books, order: &Order) -> i64 {
    let due = ledger.due_effects(NOW_MS + 1, 100).await.expect("readable");
    let own = due.iter().find(|due| due.payment.order == order.id);
    own.expect("its capture is owed").id
}

pub(super) async fn ticketed(ledger: &Books, key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let order = confirmed(ledger, key, visitor, seats).await;
    let capture = capture_of(ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    order
}

pub(super) fn named(order: &Order, seats: &[u32]) -> Which {
    let id = |seat: &u32| TicketId::of_seat(&order.id, *seat);
    Which::Named(seats.iter().map(id).collect())
}

async fn refunded(ledger: &Books, order: &Order, which: Which) -> Order {
    let applied = ledger.refund(&order.id, which, NOW_MS + 3).await;
    let applied = applied.expect("allowed").expect("known");
    assert!(applied.changed);
    applied.order
}

pub(super) async fn owed(ledger: &Books, now_ms: i64) -> Vec<OwedRefund> {
    ledger.due_refunds(now_ms, 100).await.expect("readable")
}

pub(super) async fn seats_claimed(ledger: &Books) -> Vec<u32> {
    let mut claimed = ledger.claimed(&show()).await.expect("readable");
    claimed.sort_unstable();
    claimed.dedup_by_key(|(seat, ..)| *seat);
    claimed.into_iter().map(|(seat, ..)| seat).collect()
}

async fn one_ticket_goes_back_and_exactly_its_cells_with_it(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[4, 2, 5]).await;
    let after = refunded(&ledger, &order, named(&order, &[2])).await;
    assert_eq!((after.state, after.items.len()), (PartlyRefunded, 2));
    assert_eq!(seats_claimed(&ledger).await, [4, 5]);
    let told = rows(&ledger).await;
    let freed = told.last().expect("a row");
    assert_eq!(
        (freed.kind, &freed.hold, freed.visitor),
        (Free, &order.hold, ANA)
    );
    assert_eq!(freed.items, [order.items[1].held.clone()], "all its legs");
    let record = record(&ledger, &order).await;
    assert_eq!(record.order, after);
    let void: Vec<Option<i64>> = record.tickets.iter().map(|t| t.voided_at_ms).collect();
    assert_eq!(void, [None, Some(NOW_MS + 3), None]);
    let [refund] = &record.refunds[..] else {
        panic!("one refund: {:?}", record.refunds);
    };
    assert_eq!(
        (refund.amount, refund.fee, refund.state),
        (1_000, 0, RefundState::OnItsWay)
    );
    assert_eq!(refund.items, [order.items[1].clone()]);
    let last = history(&ledger, &order).await.pop();
    assert_eq!(last, Some((PartlyRefunded, "refund_by_buyer".to_owned())));
    let due = owed(&ledger, NOW_MS + 3).await;
    assert_eq!(
        (due.len(), &due[0].id, due[0].amount),
        (1, &refund.id, 1_000)
    );
    ledger
        .refund_done(&refund.id, NOW_MS + 4)
        .await
        .expect("written");
    let payment = ledger.payment(&order.payment).await.expect("readable");
    let payment = payment.expect("known");
    assert_eq!(
        (payment.state, payment.refunded),
        (PaymentState::Captured, 1_000)
    );
}

async fn the_last_ticket_ends_the_order_and_the_payment(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let last = refunded(&ledger, &order, Which::All).await;
    assert_eq!((last.state, last.items.len()), (Refunded, 0));
    assert!(seats_claimed(&ledger).await.is_empty());
    let due = owed(&ledger, NOW_MS + 3).await;
    assert_eq!(due.len(), 2);
    for (n, refund) in due.iter().enumerate() {
        let state = record(&ledger, &order).await.payment;
        assert_eq!(state, PaymentState::Captured, "after {n}");
        for _ in 0..2 {
            ledger
                .refund_done(&refund.id, NOW_MS + 4)
                .await
                .expect("written");
        }
    }
    let payment = ledger
        .payment(&order.payment)
        .await
        .expect("readable")
        .expect("known");
    assert_eq!(
        (payment.state, payment.refunded),
        (PaymentState::Refunded, 2_000)
    );
    assert_eq!(ledger.backlog().await.expect("readable"), (0, 0));
}

async fn what_went_back_changes_nothing_again(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    for which in [named(&order, &[0]), Which::All] {
        refunded(&ledger, &order, which.clone()).await;
        let before = (history(&ledger, &order).await, outbox(&ledger).await);
        let again = ledger.refund(&order.id, which, NOW_MS + 9).await;
        assert!(!again.expect("allowed").expect("known").changed);
        assert_eq!(
            (history(&ledger, &order).await, outbox(&ledger).await),
            before
        );
    }
    assert_eq!(record(&ledger, &order).await.refunds.len(), 2);
    let nobody = super::order("never", BEN, &[1]);
    let none = ledger.refund(&nobody.id, Which::All, NOW_MS).await;
    assert!(none.expect("readable").is_none());
    let stranger = ledger.refund(&order.id, named(&nobody, &[1]), NOW_MS).await;
    assert!(matches!(stranger, Err(RefundRefused::Unknown(_))));
}

async fn the_fee_is_rounded_for_the_buyer(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 1, "fee_pct": 33}])).await;
    let mut order = order("a", ANA, &[0, 1]);
    order.items[0].held.amount = 101;
    order.items[1].held.amount = 1;
    order.total = 102;
    claim(&ledger, &order).await.expect("free");
    authorised(&ledger, &order).await;
    let capture = capture_of(&ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    refunded(&ledger, &order, Which::All).await;
    let refund = record(&ledger, &order).await.refunds.remove(0);
    assert_eq!((refund.amount, refund.fee), (102 - 33, 33));
    ledger
        .refund_done(&refund.id, NOW_MS + 4)
        .await
        .expect("written");
    let payment = ledger
        .payment(&order.payment)
        .await
        .expect("readable")
        .expect("known");
    assert_eq!(
        (payment.state, payment.refunded),
        (PaymentState::Captured, 69)
    );
}

async fn without_a_rule_nothing_goes_back(ledger: Books) {
    stocked(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    let before = (history(&ledger, &order).await, outbox(&ledger).await);
    let refused = ledger.refund(&order.id, Which::All, NOW_MS + 3).await;
    assert!(matches!(refused, Err(RefundRefused::Rule(_))));
    assert_eq!(
        (history(&ledger, &order).await, outbox(&ledger).await),
        before
    );
    let rules = serde_json::json!([{"until_h": 1, "fee_pct": 10}]);
    let mut ruled = stored(1);
    ruled.document.refunds = serde_json::from_value(rules).expect("rules");
    let until_ms = ruled.document.starts_at.as_millisecond() - 3_600_000;
    ledger.put_show(ruled, None, NOW_MS).await.expect("stored");
    let late = ledger.refund(&order.id, Which::All, until_ms + 1).await;
    assert!(matches!(late, Err(RefundRefused::Rule(_))));
    let in_time = ledger.refund(&order.id, Which::All, until_ms).await;
    assert!(in_time.expect("allowed").expect("known").changed);
}

async fn a_scanned_ticket_never_goes_back(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let ticket = TicketId::of_seat(&order.id, 0);
    let scanned = ledger.scan(&ticket, NOW_MS + 2).await.expect("written");
    assert_eq!(scanned, Some(Scan::First(NOW_MS + 2)));
    for which in [Which::All, named(&order, &[0]), named(&order, &[0, 1])] {
        let refused = ledger.refund(&order.id, which, NOW_MS + 3).await;
        assert!(matches!(refused, Err(RefundRefused::Scanned(seats)) if seats == ["A-0"]));
    }
    assert_eq!(record(&ledger, &order).await.order.state, Ticketed);
    let after = refunded(&ledger, &order, Which::Unscanned).await;
    assert_eq!(after.state, PartlyRefunded);
    let void = TicketId::of_seat(&order.id, 1);
    let scanned = ledger.scan(&void, NOW_MS + 9).await.expect("written");
    assert_eq!(scanned, Some(Scan::Void(NOW_MS + 3)));
}

async fn of_a_scan_and_a_refund_at_once_exactly_one_wins(ledger: Books) {
    kind(&ledger).await;
    for seat in 0..8 {
        let order = ticketed(&ledger, &format!("k{seat}"), ANA, &[seat]).await;
        let ticket = TicketId::of_seat(&order.id, seat);
        let (scan, refund) = tokio::join!(
            ledger.scan(&ticket, NOW_MS + 3),
            ledger.refund(&order.id, Which::All, NOW_MS + 3),
        );
        let went_in = matches!(scan.expect("written"), Some(Scan::First(_)));
        let went_back = refund.is_ok_and(|applied| applied.is_some_and(|applied| applied.changed));
        assert_ne!(went_in, went_back, "seat {seat}");
    }
}

async fn of_many_refunds_of_one_order_at_once_each_ticket_goes_back_once(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1, 2, 3]).await;
    let mut running = tokio::task::JoinSet::new();
    let asked: [&[u32]; 6] = [&[0], &[0, 1], &[1, 2], &[3], &[2, 3], &[0, 1, 2, 3]];
    for seats in asked {
        let (ledger, id, which) = (Arc::clone(&ledger), order.id.clone(), named(&order, seats));
        running.spawn(async move { ledger.refund(&id, which, NOW_MS + 3).await });
    }
    for answer in running.join_all().await {
        answer.expect("allowed");
    }
    let after = record(&ledger, &order).await;
    assert_eq!((after.order.state, after.order.items.len()), (Refunded, 0));
    let back: i64 = after.refunds.iter().map(|refund| refund.amount).sum();
    assert_eq!(back, order.total);
    let mut freed: Vec<u32> = rows(&ledger)
        .await
        .iter()
        .filter(|row| row.kind == Free)
        .flat_map(|row| row.items.iter().map(|held| held.seat))
        .collect();
    freed.sort_unstable();
    assert_eq!(freed, [0, 1, 2, 3]);
}

async fn an_order_that_was_not_captured_is_let_go(ledger: Books) {
    kind(&ledger).await;
    let order = confirmed(&ledger, "a", ANA, &[0, 1]).await;
    let after = refunded(&ledger, &order, Which::All).await;
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
    assert_eq!(backlog.1, 0, "its capture is owed no more");
    let hold = order.hold.clone();
    assert_eq!(outbox(&ledger).await, [(Sell, hold.clone()), (Free, hold)]);
}

async fn a_capture_that_went_through_before_it_could_be_let_go_is_refunded(ledger: Books) {
    kind(&ledger).await;
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let capture = capture_of(&ledger, &order).await;
    refunded(&ledger, &order, Which::All).await;
    // It had been lent before, and goes through all the same.
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    let between = record(&ledger, &order).await;
    assert_eq!((between.order.state, between.tickets.len()), (Refunded, 0));
    assert!(
        owed(&ledger, NOW_MS + 4).await.is_empty(),
        "it is owed once"
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

async fn a_capture_that_nobody_heard_of_is_refunded_and_owed_no_more(ledger: Books) {
    kind(&ledger).await;
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let capture = capture_of(&ledger, &order).await;
    let put_off = ledger.put_off(capture, NOW_MS + 9, "no answer".into());
    put_off.await.expect("written");
    refunded(&ledger, &order, Which::All).await;
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

async fn with_a_fee_the_capture_comes_first_and_no_ticket_of_it(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 1, "fee_pct": 10}])).await;
    for told in [false, true] {
        let seat = u32::from(told);
        let order = confirmed(&ledger, &format!("k{seat}"), ANA, &[seat]).await;
        refunded(&ledger, &order, Which::All).await;
        assert!(
            owed(&ledger, NOW_MS + 3).await.is_empty(),
            "nothing was taken yet"
        );
        if told {
            let event = says(&order, ProviderEventKind::Captured);
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
    kind(&ledger).await;
    for seat in 0..8 {
        let order = confirmed(&ledger, &format!("k{seat}"), ANA, &[seat]).await;
        let capture = capture_of(&ledger, &order).await;
        let (captured, refund) = tokio::join!(
            ledger.captured(capture, NOW_MS + 3),
            ledger.refund(&order.id, Which::All, NOW_MS + 3),
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

async fn a_capture_refused_after_the_refund_owes_nothing(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 1, "fee_pct": 10}])).await;
    let order = confirmed(&ledger, "a", ANA, &[0]).await;
    let capture = capture_of(&ledger, &order).await;
    refunded(&ledger, &order, Which::All).await;
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
    kind(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let refused = ledger.refund(&order.id, Which::All, NOW_MS + 1).await;
    assert!(matches!(
        refused,
        Err(RefundRefused::State(OrderState::Pending))
    ));
    let other = confirmed(&ledger, "b", BEN, &[1]).await;
    let capture = capture_of(&ledger, &other).await;
    let failed = ledger.capture_refused(capture, "no funds".into(), NOW_MS + 2);
    failed.await.expect("written");
    let refused = ledger.refund(&other.id, Which::All, NOW_MS + 3).await;
    assert!(matches!(refused, Err(RefundRefused::State(CaptureFailed))));
    assert_eq!(seats_claimed(&ledger).await, [0]);
}

async fn a_refund_is_lent_to_one_and_comes_back(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    refunded(&ledger, &order, Which::All).await;
    let lent = owed(&ledger, NOW_MS + 3).await.remove(0);
    assert!(owed(&ledger, NOW_MS + 3).await.is_empty());
    ledger
        .lend_refund_on(&lent.id, NOW_MS + 4_000)
        .await
        .expect("written");
    assert!(owed(&ledger, NOW_MS + 8_000).await.is_empty());
    assert_eq!(
        owed(&ledger, NOW_MS + 10_000).await.len(),
        1,
        "whoever had it died"
    );
    let later = ledger.put_off_refund(&lent.id, NOW_MS + 60_000, "away".into(), None);
    later.await.expect("written");
    assert!(owed(&ledger, NOW_MS + 59_999).await.is_empty());
    assert_eq!(owed(&ledger, NOW_MS + 60_000).await[0].attempts, 1);
}

async fn a_refund_that_failed_is_shown_until_it_has_gone(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let refund = owed(&ledger, NOW_MS + 3).await.remove(0);
    let facts = async || ledger.order_facts(0, 100).await.expect("readable");
    assert!(facts().await.is_empty());
    let failed = ledger.put_off_refund(&refund.id, NOW_MS + 9, "closed".into(), Some(NOW_MS + 4));
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

async fn what_came_back_after_it_had_gone_is_owed_again(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    refunded(&ledger, &order, Which::All).await;
    let done = async |now_ms| {
        let due = owed(&ledger, now_ms).await;
        for refund in &due {
            let done = ledger.refund_done(&refund.id, now_ms).await;
            done.expect("written");
        }
        due
    };
    assert_eq!(done(NOW_MS + 4).await.len(), 2);
    let told = async |back: i64, n: i64| {
        let event = ProviderEvent {
            event: format!("evt_{n}"),
            amount: order.currency.of(back),
            ..says(&order, ProviderEventKind::Refunded)
        };
        settled(&ledger, event, NOW_MS + n).await
    };
    let payment = async || {
        let payment = ledger.payment(&order.payment).await.expect("readable");
        let payment = payment.expect("known");
        (payment.state, payment.refunded)
    };
    assert_eq!(told(2_000, 5).await, "refund_noted");
    assert_eq!(payment().await, (PaymentState::Refunded, 2_000));
    assert_eq!(told(1_000, 6).await, "refund_came_back");
    assert_eq!(payment().await, (PaymentState::Captured, 0));
    let shown = ledger.order_facts(0, 100).await.expect("readable");
    assert_eq!((shown.len(), shown[0].refund_failed), (1, true));
    // Each was asked for before, and is asked about first.
    let again = done(NOW_MS + 6).await;
    assert!(again.iter().all(|refund| refund.attempts == 1), "{again:?}");
    assert_eq!(again.len(), 2);
    assert_eq!(payment().await, (PaymentState::Refunded, 2_000));
    let shown = ledger.order_facts(0, 100).await.expect("readable");
    assert!(shown.is_empty(), "{shown:?}");
    let record = record(&ledger, &order).await;
    assert_eq!(
        record.order.state, Refunded,
        "the tickets are gone for good"
    );
    assert_eq!(ledger.backlog().await.expect("readable"), (0, 0));
}

async fn a_seat_given_back_is_somebody_elses_and_the_next_refund_leaves_it(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let next = ticketed(&ledger, "b", BEN, &[0]).await;
    refunded(&ledger, &order, Which::All).await;
    assert_eq!(seats_claimed(&ledger).await, [0]);
    assert_eq!(record(&ledger, &next).await.order.state, Ticketed);
    let last = rows(&ledger).await.pop().expect("a row");
    assert_eq!(
        (last.kind, last.items),
        (Free, vec![order.items[1].held.clone()])
    );
}

async fn a_show_opens_without_what_was_given_back(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let whole = ticketed(&ledger, "b", BEN, &[2]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    refunded(&ledger, &whole, Which::All).await;
    let told = rows(&ledger).await.len();
    let picture = ledger.open_show(&show(), None).await.expect("readable");
    assert_eq!(picture.sold, [(ANA, vec![order.items[1].held.clone()])]);
    assert_eq!(picture.cursor, told as u64);
    let limit = Terms { limit: 2, ..TERMS };
    let more = super::order("c", ANA, &[3]);
    let more = ledger.claim(more.clone(), payment(&more), limit).await;
    assert!(more.is_ok(), "what went back counts no more: {more:?}");
}

async fn a_cancelled_show_sells_nothing_and_gives_everything_back(ledger: Books) {
    stocked(&ledger).await;
    let paid = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let taken = confirmed(&ledger, "b", BEN, &[2]).await;
    let version = ledger.catalogue_version().await.expect("readable");
    let cancelled = async || {
        ledger
            .put_fate(&show(), Fate::Cancelled, None, NOW_MS + 3)
            .await
    };
    assert!(cancelled().await.expect("written"));
    assert!(!cancelled().await.expect("written"), "once");
    assert!(ledger.catalogue_version().await.expect("readable") > version);
    let shows = ledger.shows().await.expect("readable");
    assert_eq!(shows[0].fate, Some(Fate::Cancelled));
    let refused = claim(&ledger, &super::order("c", BEN, &[3])).await;
    assert!(
        matches!(refused, Err(ClaimRefused::Cancelled)),
        "{refused:?}"
    );
    // Somebody is inside already.
    let inside = TicketId::of_seat(&paid.id, 0);
    ledger.scan(&inside, NOW_MS + 3).await.expect("written");
    let left = async || ledger.orders_of_cancelled(10).await.expect("readable");
    let mut both = [paid.id.clone(), taken.id.clone()];
    both.sort();
    let mut found = left().await;
    found.sort();
    assert_eq!(found, both);
    let before = ledger.refund_figures(&show()).await.expect("readable");
    assert_eq!(
        (before.orders_left, before.orders_refunded, before.scanned),
        (2, 0, 1)
    );
    for order in left().await {
        let given = ledger.refund(&order, Which::Unscanned, NOW_MS + 4).await;
        assert!(given.expect("allowed").expect("known").changed);
    }
    assert!(left().await.is_empty());
    let reasons: Vec<RefundReason> = record(&ledger, &paid)
        .await
        .refunds
        .iter()
        .map(|refund| refund.reason)
        .collect();
    assert_eq!(reasons, [RefundReason::ShowCancelled]);
    assert_eq!(record(&ledger, &paid).await.order.state, PartlyRefunded);
    let refund = owed(&ledger, NOW_MS + 4).await.remove(0);
    ledger
        .refund_done(&refund.id, NOW_MS + 5)
        .await
        .expect("written");
    let after = ledger.refund_figures(&show()).await.expect("readable");
    assert_eq!(
        (after.orders_left, after.orders_refunded, after.fees),
        (0, 2, 0)
    );
    assert_eq!((after.done.count, after.done.amount), (1, 1_000));
    assert_eq!(
        (after.on_its_way.count, after.on_its_way.amount),
        (1, 1_000)
    );
}

async fn a_postponed_show_begins_later_and_takes_tickets_back_until_its_date(ledger: Books) {
    stocked(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let postponed = Fate::Postponed {
        refunds_until_ms: NOW_MS + 10,
    };
    let starts_at = "2027-09-01T18:00:00Z".to_owned();
    let at = Some(starts_at.clone());
    let written = ledger.put_fate(&show(), postponed, at, NOW_MS + 3).await;
    assert!(written.expect("written"));
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!(shown.fate, Some(postponed));
    assert_eq!(shown.document.starts_at.to_string(), starts_at);
    assert!(
        ledger
            .orders_of_cancelled(10)
            .await
            .expect("readable")
            .is_empty()
    );
    claimed(&ledger, "b", BEN, &[3]).await;
    let one = ledger
        .refund(&order.id, named(&order, &[0]), NOW_MS + 10)
        .await;
    assert!(one.expect("allowed").expect("known").changed);
    let late = ledger.refund(&order.id, Which::All, NOW_MS + 11).await;
    assert!(matches!(late, Err(RefundRefused::Rule(_))));
    let nowhere = "other".parse().expect("a slug");
    let written = ledger.put_fate(&nowhere, Fate::Cancelled, None, NOW_MS);
    assert!(!written.await.expect("written"), "there is no such show");
}

async fn the_sandbox_gives_no_more_back_than_it_took(ledger: Books) {
    kind(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1, 2]).await;
    let id = |nth| crate::ids::RefundId::of_order(&order.id, nth);
    let give = async |nth, amount| {
        let id = id(nth);
        let given = ledger.sandbox_refund(&order.payment, &id, amount, 3_000);
        given.await.expect("written")
    };
    assert_eq!(give(1, 1_000).await, None, "nothing was taken");
    for to in ["authorised", "captured"] {
        let moved = ledger
            .sandbox_move(&order.payment, &["open", "authorised"], to)
            .await;
        moved.expect("written");
    }
    for _ in 0..2 {
        assert_eq!(give(1, 1_000).await, Some(1_000), "once by its id");
    }
    assert_eq!(give(2, 2_001).await, None, "there is not so much left");
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

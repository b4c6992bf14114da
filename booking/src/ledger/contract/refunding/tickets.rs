//! Cases of refunded tickets: which tickets are refunded, which stay, and which transaction wins a
//! race for one ticket.

use super::*;

pub(in super::super) const CASES: &[Case] = cases![
    the_refund_of_one_ticket_frees_exactly_its_cells,
    the_refund_of_the_last_ticket_ends_the_order_and_the_payment,
    a_second_refund_of_a_ticket_changes_nothing,
    the_fee_is_rounded_in_favour_of_the_buyer,
    without_a_rule_nothing_is_refunded,
    a_scanned_ticket_is_never_refunded,
    of_a_scan_and_a_refund_at_once_exactly_one_wins,
    of_many_refunds_of_one_order_at_once_each_ticket_is_refunded_once,
    a_later_refund_leaves_a_refunded_seat_to_its_new_buyer,
    a_picture_has_no_refunded_seats,
];

async fn the_refund_of_one_ticket_frees_exactly_its_cells(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[4, 2, 5]).await;
    let after = refunded(&ledger, &order, named(&order, &[2])).await;
    assert_eq!((after.state, after.items.len()), (PartlyRefunded, 2));
    assert_eq!(seats_claimed(&ledger).await, [4, 5]);
    let all_rows = rows(&ledger).await;
    let freed = all_rows.last().expect("a row");
    assert_eq!(
        (freed.kind, &freed.hold, freed.visitor),
        (Free, &order.hold, ANA)
    );
    assert_eq!(
        freed.items,
        [order.items[1].held.clone()],
        "the ticket's seat on all legs"
    );
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

async fn the_refund_of_the_last_ticket_ends_the_order_and_the_payment(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let last = refunded(&ledger, &order, TicketSelection::All).await;
    assert_eq!((last.state, last.items.len()), (Refunded, 0));
    assert!(seats_claimed(&ledger).await.is_empty());
    let due = owed(&ledger, NOW_MS + 3).await;
    assert_eq!(due.len(), 2);
    for (n, refund) in due.iter().enumerate() {
        let state = record(&ledger, &order).await.payment;
        assert_eq!(state, PaymentState::Captured, "after {n} refunds");
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

async fn a_second_refund_of_a_ticket_changes_nothing(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    for which in [named(&order, &[0]), TicketSelection::All] {
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
    let none = ledger
        .refund(&nobody.id, TicketSelection::All, NOW_MS)
        .await;
    assert!(none.expect("readable").is_none());
    let stranger = ledger.refund(&order.id, named(&nobody, &[1]), NOW_MS).await;
    assert!(matches!(stranger, Err(RefundRefused::Unknown(_))));
}

async fn the_fee_is_rounded_in_favour_of_the_buyer(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 1, "fee_pct": 33}])).await;
    let mut odd = ledger.shows().await.expect("readable").remove(0);
    let prices = [("odd".to_owned(), 101), ("one".to_owned(), 1)];
    odd.document.prices.extend(prices);
    let stored = ledger.put_show(odd, None, NOW_MS).await.expect("stored");
    let mut order = order("a", ANA, &[0, 1]);
    (order.items[0].category_key, order.items[0].amount) = ("odd".to_owned(), 101);
    (order.items[1].category_key, order.items[1].amount) = ("one".to_owned(), 1);
    (order.total, order.terms) = (102, stored.terms);
    claim(&ledger, &order).await.expect("the cells are free");
    authorised(&ledger, &order).await;
    let capture = capture_of(&ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    refunded(&ledger, &order, TicketSelection::All).await;
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

async fn without_a_rule_nothing_is_refunded(ledger: Books) {
    stocked(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    let before = (history(&ledger, &order).await, outbox(&ledger).await);
    let refused = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 3)
        .await;
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
    let late = ledger
        .refund(&order.id, TicketSelection::All, until_ms + 1)
        .await;
    assert!(matches!(late, Err(RefundRefused::Rule(_))));
    let in_time = ledger
        .refund(&order.id, TicketSelection::All, until_ms)
        .await;
    assert!(in_time.expect("allowed").expect("known").changed);
}

async fn a_scanned_ticket_is_never_refunded(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let ticket = TicketId::of_seat(&order.id, 0);
    let scanned = ledger
        .scan(&ticket, None, NOW_MS + 2)
        .await
        .expect("written");
    assert_eq!(scanned, Some(TicketScanOutcome::First(NOW_MS + 2)));
    for which in [
        TicketSelection::All,
        named(&order, &[0]),
        named(&order, &[0, 1]),
    ] {
        let refused = ledger.refund(&order.id, which, NOW_MS + 3).await;
        assert!(matches!(refused, Err(RefundRefused::Scanned(seats)) if seats == ["A-0"]));
    }
    assert_eq!(record(&ledger, &order).await.order.state, Ticketed);
    let after = refunded(&ledger, &order, TicketSelection::Unscanned).await;
    assert_eq!(after.state, PartlyRefunded);
    let void = TicketId::of_seat(&order.id, 1);
    let scanned = ledger.scan(&void, None, NOW_MS + 9).await.expect("written");
    assert_eq!(scanned, Some(TicketScanOutcome::Void(NOW_MS + 3)));
}

async fn of_a_scan_and_a_refund_at_once_exactly_one_wins(ledger: Books) {
    with_free_refunds(&ledger).await;
    for seat in 0..8 {
        let order = ticketed(&ledger, &format!("k{seat}"), ANA, &[seat]).await;
        let ticket = TicketId::of_seat(&order.id, seat);
        let (scan, refund) = tokio::join!(
            ledger.scan(&ticket, None, NOW_MS + 3),
            ledger.refund(&order.id, TicketSelection::All, NOW_MS + 3),
        );
        let went_in = matches!(scan.expect("written"), Some(TicketScanOutcome::First(_)));
        let went_back = refund.is_ok_and(|applied| applied.is_some_and(|applied| applied.changed));
        assert_ne!(went_in, went_back, "seat {seat}");
    }
}

async fn of_many_refunds_of_one_order_at_once_each_ticket_is_refunded_once(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1, 2, 3]).await;
    let mut running = tokio::task::JoinSet::new();
    let asked: [&[u32]; 6] = [&[0], &[0, 1], &[1, 2], &[3], &[2, 3], &[0, 1, 2, 3]];
    for seats in asked {
        let (ledger, id, which) = (ledger.clone(), order.id.clone(), named(&order, seats));
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

async fn a_later_refund_leaves_a_refunded_seat_to_its_new_buyer(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    let next = ticketed(&ledger, "b", BEN, &[0]).await;
    refunded(&ledger, &order, TicketSelection::All).await;
    assert_eq!(seats_claimed(&ledger).await, [0]);
    assert_eq!(record(&ledger, &next).await.order.state, Ticketed);
    let last = rows(&ledger).await.pop().expect("a row");
    assert_eq!(
        (last.kind, last.items),
        (Free, vec![order.items[1].held.clone()])
    );
}

async fn a_picture_has_no_refunded_seats(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let whole = ticketed(&ledger, "b", BEN, &[2]).await;
    refunded(&ledger, &order, named(&order, &[0])).await;
    refunded(&ledger, &whole, TicketSelection::All).await;
    let row_count = rows(&ledger).await.len();
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    assert_eq!(picture.sold, [(ANA, vec![order.items[1].held.clone()])]);
    assert_eq!(picture.cursor, row_count as u64);
    let limit = ClaimBasis {
        limit: 2,
        ..BASKET_BASIS
    };
    let more = super::order("c", ANA, &[3]);
    let more = ledger.claim(more.clone(), payment(&more), limit).await;
    assert!(more.is_ok(), "a refunded seat no longer counts: {more:?}");
}

//! Cases of shows that are cancelled or postponed.

use super::*;

pub(in super::super) const CASES: &[Case] = cases![
    a_cancelled_show_sells_nothing_and_refunds_all_unscanned_tickets,
    a_postponed_show_has_a_new_start_and_refunds_tickets_for_a_time,
];

async fn a_cancelled_show_sells_nothing_and_refunds_all_unscanned_tickets(ledger: Books) {
    stocked(&ledger).await;
    let paid = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let taken = confirmed(&ledger, "b", BEN, &[2]).await;
    let version = ledger.catalogue_version().await.expect("readable");
    let cancelled = async || {
        ledger
            .put_fate(&show(), NewFate::CANCELLED, NOW_MS + 3)
            .await
    };
    assert!(cancelled().await.expect("written"));
    assert!(
        !cancelled().await.expect("written"),
        "a show is cancelled once"
    );
    assert!(ledger.catalogue_version().await.expect("readable") > version);
    let shows = ledger.shows().await.expect("readable");
    assert_eq!(shows[0].fate, Some(ShowFate::Cancelled));
    let refused = claim(&ledger, &super::order("c", BEN, &[3])).await;
    assert!(
        matches!(refused, Err(SeatClaimRefused::Cancelled)),
        "{refused:?}"
    );
    // One ticket was scanned already.
    let inside = TicketId::of_seat(&paid.id, 0);
    ledger
        .scan(&inside, None, NOW_MS + 3)
        .await
        .expect("written");
    let left = async || ledger.orders_to_refund(10).await.expect("readable");
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
        let given = ledger
            .refund(&order, TicketSelection::Unscanned, NOW_MS + 4)
            .await;
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

async fn a_postponed_show_has_a_new_start_and_refunds_tickets_for_a_time(ledger: Books) {
    stocked(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let postponed = ShowFate::Postponed {
        since_ms: NOW_MS + 3,
        refunds_until_ms: NOW_MS + 10,
    };
    let starts_at: jiff::Timestamp = "2027-09-01T18:00:00Z".parse().expect("a moment");
    let fate = NewFate {
        fate: postponed,
        starts_at: Some(starts_at),
        reason: Some("The singer is ill.".to_owned()),
    };
    let written = ledger.put_fate(&show(), fate, NOW_MS + 3).await;
    assert!(written.expect("written"));
    let figures = ledger.refund_figures(&show()).await.expect("readable");
    assert_eq!(figures.reason.as_deref(), Some("The singer is ill."));
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!(shown.fate, Some(postponed));
    assert_eq!(shown.document.starts_at, starts_at);
    assert!(
        ledger
            .orders_to_refund(10)
            .await
            .expect("readable")
            .is_empty()
    );
    // A basket that was taken before names the old time.
    let old = claim(&ledger, &super::order("b", BEN, &[3])).await;
    assert!(matches!(old, Err(SeatClaimRefused::TimeChanged)));
    let mut new = super::order("c", BEN, &[3]);
    new.terms = shown.terms;
    claim(&ledger, &new).await.expect("the cells are free");
    let one = ledger
        .refund(&order.id, named(&order, &[0]), NOW_MS + 10)
        .await;
    assert!(one.expect("allowed").expect("known").changed);
    let late = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 11)
        .await;
    assert!(matches!(late, Err(RefundRefused::Rule(_))));
    let nowhere = "other".parse().expect("a slug");
    let written = ledger.put_fate(&nowhere, NewFate::CANCELLED, NOW_MS);
    assert!(!written.await.expect("written"), "there is no such show");
}

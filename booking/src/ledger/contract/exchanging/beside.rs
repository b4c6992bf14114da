//! Cases of exchanges of an order that is also being refunded, that another call exchanges too, or
//! whose show is cancelled.

use super::*;
use crate::ledger::NewFate;

pub(in super::super) const CASES: &[Case] = cases![
    while_an_exchange_is_being_paid_other_exchanges_and_refunds_are_refused,
    an_order_that_changed_meanwhile_is_not_exchanged,
    of_an_exchange_and_a_refund_at_once_exactly_one_wins,
    of_many_exchanges_of_one_order_at_once_exactly_one_begins,
    a_refund_of_exchanged_seats_comes_from_the_payments_of_both_orders,
    a_picture_has_each_cell_of_an_exchange_once,
    an_order_of_a_cancelled_show_is_refunded_only_after_its_exchange_ends,
];

async fn while_an_exchange_is_being_paid_other_exchanges_and_refunds_are_refused(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700), (5, 0..2, 1_000)]).await;
    let nothing_else = async || {
        let other = try_exchange(&ledger, &old, "y", &[(6, 0..2, 1_000), (7, 0..2, 1_000)]).await;
        assert!(matches!(other, Err(ExchangeRefused::Open(open)) if open == new.id));
        for which in [TicketSelection::All, named(&old, &[0])] {
            let refund = ledger.refund(&old.id, which, NOW_MS + 4).await;
            assert!(matches!(refund, Err(RefundRefused::Exchanging(open)) if open == new.id));
        }
    };
    nothing_else().await;
    authorised(&ledger, &new).await;
    nothing_else().await;
    // The new order has only the money of the difference until the exchange is done.
    let refund = ledger
        .refund(&new.id, TicketSelection::All, NOW_MS + 4)
        .await;
    assert!(matches!(refund, Err(RefundRefused::ExchangeUnfinished)));
    assert_eq!(record(&ledger, &new).await.order.state, Confirmed);
    assert_unchanged(&ledger, &old).await;
}

async fn an_order_that_changed_meanwhile_is_not_exchanged(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let refund = ledger.refund(&old.id, named(&old, &[0]), NOW_MS + 3).await;
    refund.expect("allowed").expect("known");
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::Changed)));
    // The remaining seats may be exchanged.
    let left = record(&ledger, &old).await.order;
    let new = exchanged(&ledger, &left, "y", &[(4, 0..2, 1_000)]).await;
    assert_eq!(new.state, Ticketed);
    assert_eq!(cells(&ledger).await, both_legs(&[4]));
    let pending = confirmed(&ledger, "b", BEN, &[6]).await;
    let refused = try_exchange(&ledger, &pending, "z", &[(7, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::State(Confirmed))));
}

async fn of_an_exchange_and_a_refund_at_once_exactly_one_wins(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let (swap, refund) = tokio::join!(
        try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000)]),
        ledger.refund(&old.id, TicketSelection::All, NOW_MS + 3)
    );
    let refund = refund.is_ok_and(|applied| applied.is_some_and(|applied| applied.changed));
    assert!(swap.is_ok() != refund, "exactly one succeeds: {swap:?}");
    let left = cells(&ledger).await;
    assert_eq!(
        left,
        if refund {
            BTreeSet::new()
        } else {
            both_legs(&[4])
        }
    );
}

async fn of_many_exchanges_of_one_order_at_once_exactly_one_begins(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let keys = ["p", "q", "r", "s"];
    let tries = keys.into_iter().zip(4..).map(|(key, seat)| {
        let (ledger, old) = (ledger.clone(), old.clone());
        tokio::spawn(async move {
            try_exchange(&ledger, &old, key, &[(seat, 0..2, 1_700)])
                .await
                .is_ok()
        })
    });
    let mut begun = 0;
    for attempt in tries.collect::<Vec<_>>() {
        begun += u32::from(attempt.await.expect("no panic"));
    }
    assert_eq!(begun, 1);
    assert_eq!(
        cells(&ledger).await.len(),
        4,
        "the cells of the old seat and of one new seat"
    );
}

async fn a_refund_of_exchanged_seats_comes_from_the_payments_of_both_orders(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_300), (5, 0..2, 1_000)]).await;
    let new = paid(&ledger, &new).await;
    let applied = ledger
        .refund(&new.id, TicketSelection::All, NOW_MS + 5)
        .await;
    assert_eq!(
        applied.expect("allowed").expect("known").order.state,
        Refunded
    );
    let told = record(&ledger, &new).await.refunds;
    let [refund] = &told[..] else {
        panic!("one refund: {told:?}");
    };
    assert_eq!(
        (refund.amount, refund.elsewhere, refund.state),
        (300, 2_000, RefundState::OnItsWay)
    );
    let due = owed(&ledger, NOW_MS + 9).await;
    let mut amounts: Vec<_> = due
        .iter()
        .map(|due| (due.amount, due.payment.order.clone()))
        .collect();
    amounts.sort_unstable_by_key(|(amount, _)| *amount);
    assert_eq!(amounts, [(300, new.id.clone()), (2_000, old.id.clone())]);
    for due in &due {
        ledger
            .refund_done(&due.id, NOW_MS + 9)
            .await
            .expect("written");
    }
    let told = record(&ledger, &new).await.refunds;
    assert_eq!(told[0].state, RefundState::Done);
    for order in [&old, &new] {
        let payment = ledger.payment(&order.payment).await.expect("readable");
        assert_eq!(payment.expect("known").state, PaymentState::Refunded);
    }
    let parts = record(&ledger, &old).await.refunds;
    assert_eq!(parts[0].part_of.as_ref(), Some(&told[0].id));
}

async fn a_picture_has_each_cell_of_an_exchange_once(ledger: Books) {
    let old = bought(&ledger, &[2, 3]).await;
    let wish: Wish<'_> = &[(3, 0..1, 1_700), (6, 0..2, 1_000)];
    let new = exchanged(&ledger, &old, "x", wish).await;
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    let sold = |picture: &crate::ledger::ShowPicture| -> BTreeSet<(u32, u16)> {
        let held = picture.sold.iter().flat_map(|(_, held)| held);
        held.flat_map(|held| held.legs.clone().map(|leg| (held.seat, leg)))
            .collect()
    };
    assert_eq!(sold(&picture), both_legs(&[2, 3]));
    let [pending] = &picture.ordered[..] else {
        panic!("one pending: {:?}", picture.ordered);
    };
    let locked: Vec<u32> = pending.cells(GRID);
    assert_eq!(
        locked,
        [6, 14],
        "the successor's hold has only the gained cells"
    );
    paid(&ledger, &new).await;
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    assert!(picture.ordered.is_empty());
    assert_eq!(sold(&picture), BTreeSet::from([(3, 0), (6, 0), (6, 1)]));
    assert_eq!(sold(&picture), cells(&ledger).await);
}

async fn an_order_of_a_cancelled_show_is_refunded_only_after_its_exchange_ends(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    let fate = ledger
        .put_fate(&show(), NewFate::CANCELLED, NOW_MS + 4)
        .await;
    assert!(fate.expect("written"));
    let left = async || ledger.orders_to_refund(10).await.expect("readable");
    assert_eq!(left().await, []);
    ledger
        .expire_due(CLAIM_UNTIL_MS + 1, 10)
        .await
        .expect("written");
    assert_eq!(left().await, std::slice::from_ref(&old.id));
    let late = try_exchange(&ledger, &old, "y", &[(5, 0..2, 1_000)]).await;
    assert!(matches!(
        late,
        Err(ExchangeRefused::Claim(SeatClaimRefused::Cancelled))
    ));
    assert_eq!(record(&ledger, &new).await.order.state, Expired);
}

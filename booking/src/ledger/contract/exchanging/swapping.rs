//! Cases of the swap. If there is nothing to pay, the seats are swapped at once. Otherwise they are
//! swapped when the payment is captured.

use super::*;

pub(in super::super) const CASES: &[Case] = cases![
    without_a_difference_the_seats_are_swapped_at_once,
    dearer_seats_are_swapped_with_the_capture_and_not_before,
    a_swap_ends_the_visit_of_the_visitor_who_gets_the_new_seats,
    cheaper_seats_owe_a_refund_of_the_difference,
    only_gained_cells_are_claimed_and_only_lost_cells_are_freed,
    a_successor_that_claims_other_cells_than_its_seats_is_refused,
    an_exchange_for_claimed_cells_changes_nothing,
    a_second_call_for_one_successor_returns_the_successor,
    the_limit_counts_the_old_seats_and_the_gained_seats,
    gained_seats_count_for_the_card_that_bought_the_old_seats,
    gained_seats_count_for_the_card_that_pays_the_difference_too,
    seats_do_not_count_for_a_declined_card,
    the_seats_of_an_exchange_may_be_exchanged_again,
    seats_that_were_exchanged_for_the_sandboxs_seats_are_the_sandboxs,
];

async fn without_a_difference_the_seats_are_swapped_at_once(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert_eq!((new.state, new.total), (Ticketed, 0));
    assert_eq!(cells(&ledger).await, both_legs(&[4, 5]));
    let after = record(&ledger, &old).await;
    assert_eq!(
        (after.order.state, after.order.reason.as_str()),
        (Exchanged, "exchanged")
    );
    assert!(
        after
            .tickets
            .iter()
            .all(|t| t.voided_at_ms == Some(NOW_MS + 3))
    );
    assert_eq!(
        after.exchanges,
        [ExchangeRole::Exchanged {
            into: new.id.clone(),
            state: Ticketed
        }]
    );
    let now = record(&ledger, &new).await;
    let labels: Vec<&str> = now.tickets.iter().map(|t| t.label.as_str()).collect();
    assert_eq!(labels, ["A-4", "A-5"]);
    let told = rows(&ledger).await;
    let [.., sold, freed] = &told[..] else {
        panic!("two rows: {told:?}");
    };
    assert_eq!((sold.kind, &sold.hold), (Sell, &new.hold));
    assert_eq!((freed.kind, &freed.hold), (Free, &old.hold));
    assert_eq!(freed.items, old.held_seats());
    assert!(owed(&ledger, NOW_MS + 9).await.is_empty());
    let due = ledger.due_effects(NOW_MS + 9, 100).await.expect("readable");
    assert!(due.is_empty(), "nothing is to be captured: {due:?}");
}

async fn dearer_seats_are_swapped_with_the_capture_and_not_before(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    assert_eq!((new.state, new.total), (Pending, 700));
    assert_unchanged(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0, 4]));
    authorised(&ledger, &new).await;
    assert_unchanged(&ledger, &old).await;
    let capture = capture_of(&ledger, &new).await;
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    let now = record(&ledger, &new).await;
    assert_eq!((now.order.state, now.tickets.len()), (Ticketed, 1));
    assert_eq!(now.order.items, carrying(&[(4, 0..2, 1_700)], 1_000));
    assert_eq!(record(&ledger, &old).await.order.state, Exchanged);
    assert_eq!(cells(&ledger).await, both_legs(&[4]));
    assert!(owed(&ledger, NOW_MS + 9).await.is_empty());
}

async fn a_swap_ends_the_visit_of_the_visitor_who_gets_the_new_seats(ledger: Books) {
    let finished = async || {
        let finished = ledger.finished(0, vec![show()]).await.expect("readable");
        finished.len()
    };
    let old = bought(&ledger, &[0]).await;
    assert_eq!(finished().await, 1);
    let even = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_000)]).await;
    assert_eq!(finished().await, 2, "the seats are swapped at once");
    let dearer = exchanged(&ledger, &even, "y", &[(5, 0..2, 1_700)]).await;
    assert_eq!(finished().await, 2, "the difference is not paid yet");
    paid(&ledger, &dearer).await;
    assert_eq!(finished().await, 3);
}

async fn cheaper_seats_owe_a_refund_of_the_difference(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 600), (5, 0..2, 1_000)]).await;
    assert_eq!(new.state, Ticketed);
    let due = owed(&ledger, NOW_MS + 9).await;
    let [due] = &due[..] else {
        panic!("one refund: {due:?}");
    };
    assert_eq!((due.amount, &due.payment.id), (400, &old.payment));
    ledger
        .refund_done(&due.id, NOW_MS + 9)
        .await
        .expect("written");
    let after = record(&ledger, &old).await;
    let [refund] = &after.refunds[..] else {
        panic!("one refund: {:?}", after.refunds);
    };
    assert_eq!(
        (
            refund.amount,
            refund.fee,
            refund.reason.as_str(),
            refund.state
        ),
        (400, 0, "exchange_difference", RefundState::Done)
    );
}

async fn only_gained_cells_are_claimed_and_only_lost_cells_are_freed(ledger: Books) {
    let old = bought(&ledger, &[3]).await;
    // The new journey ends one leg earlier and costs less.
    let new = exchanged(&ledger, &old, "x", &[(3, 0..1, 500)]).await;
    assert_eq!(cells(&ledger).await, BTreeSet::from([(3, 0)]));
    let all_rows = rows(&ledger).await;
    let freed = all_rows.last().expect("a row");
    let freed: Vec<_> = freed
        .items
        .iter()
        .map(|item| (item.seat, item.legs.clone()))
        .collect();
    assert_eq!(freed, [(3, 1..2)]);
    // The journey is made longer again, and the difference is paid.
    let longer = exchanged(&ledger, &new, "y", &[(3, 0..2, 1_000)]).await;
    assert_eq!(longer.total, 500);
    let longer = paid(&ledger, &longer).await;
    assert_eq!(longer.items, carrying(&[(3, 0..2, 1_000)], 500));
    assert_eq!(cells(&ledger).await, both_legs(&[3]));
    let legs: Vec<_> = record(&ledger, &longer)
        .await
        .tickets
        .into_iter()
        .map(|t| t.legs)
        .collect();
    assert_eq!(legs, [[0, 1]]);
}

async fn a_successor_that_claims_other_cells_than_its_seats_is_refused(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let mut bad = wanted(&old, "x", &[(4, 0..2, 1_000)]);
    bad.successor.items = items(&[(5, 0..2, 0)]);
    let refused = ledger
        .exchange(&old.id, bad, EXCHANGE_BASIS, NOW_MS + 3)
        .await;
    assert!(matches!(refused, Err(ExchangeRefused::Ledger(_))));
    assert_unchanged(&ledger, &old).await;
    assert_eq!(cells(&ledger).await, both_legs(&[0]));
}

async fn an_exchange_for_claimed_cells_changes_nothing(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    claimed(&ledger, "b", BEN, &[4]).await;
    let before = rows(&ledger).await;
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000)]).await;
    assert!(matches!(
        refused,
        Err(ExchangeRefused::Claim(SeatClaimRefused::Taken(taken))) if taken == [4, 12]
    ));
    assert_unchanged(&ledger, &old).await;
    assert_eq!(rows(&ledger).await, before);
    assert_eq!(record(&ledger, &old).await.exchanges, []);
}

async fn a_second_call_for_one_successor_returns_the_successor(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let wish: Wish<'_> = &[(4, 0..2, 1_000)];
    let first = exchanged(&ledger, &old, "x", wish).await;
    let before = rows(&ledger).await;
    let again = exchanged(&ledger, &old, "x", wish).await;
    assert_eq!(again, first);
    assert_eq!(rows(&ledger).await, before);
}

async fn the_limit_counts_the_old_seats_and_the_gained_seats(ledger: Books) {
    let old = bought(&ledger, &[0, 1]).await;
    let basis = |limit| ClaimBasis {
        limit,
        ..EXCHANGE_BASIS
    };
    let wish: Wish<'_> = &[(4, 0..2, 1_000), (5, 0..2, 1_000)];
    // Two seats are exchanged for two other seats. Until the swap the visitor has claims on all
    // four.
    let refused = ledger
        .exchange(&old.id, wanted(&old, "x", wish), basis(3), NOW_MS + 3)
        .await;
    assert!(matches!(
        refused,
        Err(ExchangeRefused::Claim(SeatClaimRefused::Limit {
            have: 2,
            limit: 3
        }))
    ));
    let made = ledger
        .exchange(&old.id, wanted(&old, "x", wish), basis(4), NOW_MS + 3)
        .await;
    assert_eq!(made.expect("allowed").expect("known").state, Ticketed);
}

async fn gained_seats_count_for_the_card_that_bought_the_old_seats(ledger: Books) {
    with_free_refunds(&ledger).await;
    limit_cards(&ledger, 2).await;
    let old = claimed(&ledger, "a", ANA, &[0, 1]).await;
    assert_eq!(pays_with(&ledger, &old, "visa").await.state, Confirmed);
    let capture = capture_of(&ledger, &old).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let old = record(&ledger, &old).await.order;
    let new = exchanged(&ledger, &old, "x", &[(2, 0..2, 1_000), (3, 0..2, 1_000)]).await;
    assert_eq!(new.state, Ticketed, "nothing is to be paid");
    let more = claimed(&ledger, "b", BEN, &[0]).await;
    let more = pays_with(&ledger, &more, "visa").await;
    assert_eq!(
        (more.state, more.reason.as_str()),
        (Cancelled, "card_limit")
    );
}

/// Pays with a card, and returns the order after the payment.
async fn pays_with(ledger: &Books, order: &Order, card: &str) -> Order {
    let mut event = provider_event(order, ProviderEventKind::Authorised);
    event.card = Some(card.to_owned());
    assert_eq!(settled(ledger, event, NOW_MS).await, "applied");
    record(ledger, order).await.order
}

async fn limit_cards(ledger: &Books, seats: u32) {
    let mut limited = ledger.shows().await.expect("readable").remove(0);
    limited.document.seats_per_card = Some(seats);
    ledger
        .put_show(limited, None, NOW_MS)
        .await
        .expect("stored");
}

async fn gained_seats_count_for_the_card_that_pays_the_difference_too(ledger: Books) {
    with_free_refunds(&ledger).await;
    limit_cards(&ledger, 2).await;
    let old = claimed(&ledger, "a", ANA, &[0, 1]).await;
    pays_with(&ledger, &old, "visa").await;
    let capture = capture_of(&ledger, &old).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let old = record(&ledger, &old).await.order;
    let other = claimed(&ledger, "b", BEN, &[2]).await;
    assert_eq!(pays_with(&ledger, &other, "master").await.state, Confirmed);
    // One seat stays and one is gained. Both count for the card that pays the difference.
    let wish: Wish<'_> = &[(1, 0..2, 1_000), (3, 0..2, 1_500)];
    let refused = exchanged(&ledger, &old, "x", wish).await;
    let refused = pays_with(&ledger, &refused, "master").await;
    assert_eq!(
        (refused.state, refused.reason.as_str()),
        (Cancelled, "card_limit")
    );
    assert_unchanged(&ledger, &old).await;
    let paid = exchanged(&ledger, &old, "y", wish).await;
    assert_eq!(pays_with(&ledger, &paid, "amex").await.state, Confirmed);
    let capture = capture_of(&ledger, &paid).await;
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    // Each of these two cards has reached the limit of two seats.
    for (key, seat, card) in [("c", 0, "visa"), ("d", 4, "amex")] {
        let more = claimed(&ledger, key, BEN, &[seat]).await;
        let more = pays_with(&ledger, &more, card).await;
        assert_eq!(
            (more.state, more.reason.as_str()),
            (Cancelled, "card_limit"),
            "{card}"
        );
    }
}

async fn seats_do_not_count_for_a_declined_card(ledger: Books) {
    with_free_refunds(&ledger).await;
    limit_cards(&ledger, 1).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let mut event = provider_event(&order, ProviderEventKind::Declined);
    event.card = Some("visa".to_owned());
    assert_eq!(settled(&ledger, event, NOW_MS).await, "applied");
    assert_eq!(pays_with(&ledger, &order, "master").await.state, Confirmed);
    // The seat counts for the card that paid, and not for the card that was declined.
    for (key, seat, card, state) in [("b", 1, "visa", Confirmed), ("c", 2, "master", Cancelled)] {
        let more = claimed(&ledger, key, BEN, &[seat]).await;
        assert_eq!(pays_with(&ledger, &more, card).await.state, state, "{card}");
    }
}

async fn the_seats_of_an_exchange_may_be_exchanged_again(ledger: Books) {
    let first = bought(&ledger, &[0]).await;
    let second = exchanged(&ledger, &first, "x", &[(4, 0..2, 1_500)]).await;
    let second = paid(&ledger, &second).await;
    // The new seats cost less than was paid. The money is refunded from the newest payment first.
    let third = exchanged(&ledger, &second, "y", &[(5, 0..2, 800)]).await;
    assert_eq!(third.state, Ticketed);
    let mut due = owed(&ledger, NOW_MS + 9).await;
    due.sort_unstable_by_key(|due| due.amount);
    let amounts: Vec<_> = due
        .iter()
        .map(|due| (due.amount, &due.payment.order))
        .collect();
    assert_eq!(amounts, [(200, &first.id), (500, &second.id)]);
    let applied = ledger
        .refund(&third.id, TicketSelection::All, NOW_MS + 9)
        .await;
    assert!(applied.expect("allowed").expect("known").changed);
    let back = |record: OrderRecord| record.refunds.iter().map(|r| r.amount).sum::<i64>();
    assert_eq!(back(record(&ledger, &first).await), 1_000);
    assert_eq!(back(record(&ledger, &second).await), 500);
    assert_eq!(cells(&ledger).await, BTreeSet::new());
}

async fn seats_that_were_exchanged_for_the_sandboxs_seats_are_the_sandboxs(ledger: Books) {
    let old = bought(&ledger, &[0]).await;
    let paid_by = async |order: &Order| ledger.paid_by(&order.id).await.expect("readable");
    assert_eq!(paid_by(&old).await, ProviderKind::Sandbox);
    let mut free = wanted(&old, "x", &[(4, 0..2, 1_000)]);
    free.payment.provider = "none".to_owned();
    let new = ledger
        .exchange(&old.id, free, EXCHANGE_BASIS, NOW_MS + 3)
        .await
        .expect("allowed")
        .expect("the order is there");
    assert_eq!(new.state, Ticketed);
    assert_eq!(paid_by(&new).await, ProviderKind::Sandbox);
    // A small difference in real money does not make the tickets valid.
    let mut dearer = wanted(&new, "y", &[(5, 0..2, 1_050)]);
    dearer.payment.provider = "stripe".to_owned();
    let dearest = ledger
        .exchange(&new.id, dearer, EXCHANGE_BASIS, NOW_MS + 4)
        .await
        .expect("allowed")
        .expect("the order is there");
    assert_eq!(paid_by(&dearest).await, ProviderKind::Stripe);
    let event = provider_event(&dearest, ProviderEventKind::Authorised);
    assert_eq!(
        settled_by(&ledger, "stripe", event, NOW_MS + 1).await,
        "applied"
    );
    let capture = capture_of(&ledger, &dearest).await;
    ledger.captured(capture, NOW_MS + 6).await.expect("written");
    assert_eq!(record(&ledger, &dearest).await.order.state, Ticketed);
    assert_eq!(paid_by(&dearest).await, ProviderKind::Sandbox);
}

//! Cases of terms of sale. Terms have numbers, never change, and decide every price.

use fairgate_model::orders::refund::TicketSelection;
use fairgate_model::orders::transition::OrderEvent;

use super::exchanging::{exchanged, try_exchange, wanted};
use super::refunding::{ticketed, with_free_refunds};
use super::*;
use crate::ledger::{ExchangeRefused, ShowRefused};

pub(super) const CASES: &[Case] = cases![
    changed_terms_get_the_next_number_and_old_numbers_keep_their_terms,
    the_currency_of_a_show_with_claimed_seats_cannot_change,
    the_time_and_the_venue_of_a_show_with_claimed_seats_cannot_change,
    seats_held_for_another_time_are_not_claimed,
    seats_at_prices_that_differ_from_their_terms_are_refused,
    a_hold_of_another_purpose_never_becomes_a_plain_order,
    a_plain_order_is_never_taken_for_a_successor,
    an_exchange_at_a_wrong_price_is_refused,
    an_exchange_without_payment_is_checked_against_the_card_limit,
    an_order_keeps_the_refund_and_exchange_rules_of_its_terms,
];

async fn changed(ledger: &Books, change: impl FnOnce(&mut StoredShow)) -> u32 {
    let mut shown = ledger.shows().await.expect("readable").remove(0);
    change(&mut shown);
    let number = ledger.put_show(shown, None, NOW_MS).await;
    number.expect("stored").terms
}

async fn changed_terms_get_the_next_number_and_old_numbers_keep_their_terms(ledger: Books) {
    stocked(&ledger).await;
    let first = ledger.terms(&show(), 1).await.expect("readable");
    assert_eq!(
        first.as_ref().map(|terms| terms.prices["cat1"]),
        Some(1_000)
    );
    let renamed = changed(&ledger, |shown| shown.document.title = "Another".to_owned());
    assert_eq!(renamed.await, 1, "the title does not belong to the terms");
    let dearer = changed(&ledger, |shown| {
        shown.document.prices.insert("cat1".to_owned(), 1_200);
    });
    assert_eq!(dearer.await, 2);
    assert_eq!(ledger.terms(&show(), 1).await.expect("readable"), first);
    let second = ledger.terms(&show(), 2).await.expect("readable");
    assert_eq!(second.map(|terms| terms.prices["cat1"]), Some(1_200));
    assert_eq!(ledger.terms(&show(), 3).await.expect("readable"), None);
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!(shown.terms, 2);
}

async fn the_currency_of_a_show_with_claimed_seats_cannot_change(ledger: Books) {
    stocked(&ledger).await;
    let francs = Currency::parse("CHF").expect("a currency");
    let in_francs = changed(&ledger, |shown| shown.document.currency = francs);
    assert_eq!(in_francs.await, 2, "nothing was sold");
    let mut order = order("a", ANA, &[0]);
    (order.currency, order.terms) = (francs, 2);
    claim(&ledger, &order).await.expect("the cells are free");
    let mut shown = ledger.shows().await.expect("readable").remove(0);
    shown.document.currency = Currency::EUR;
    let refused = ledger.put_show(shown, None, NOW_MS).await;
    assert!(matches!(refused, Err(ShowRefused::CurrencyInUse(of)) if of == francs));
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!((shown.document.currency, shown.terms), (francs, 2));
}

async fn the_time_and_the_venue_of_a_show_with_claimed_seats_cannot_change(ledger: Books) {
    stocked(&ledger).await;
    let annex: VenueId = "annex".parse().expect("a slug");
    let plan = ledger.put_venue(&annex, plan_of("plan", [1; 32]), NOWHERE, NOW_MS);
    assert_eq!(plan.await.expect("stored"), 1);
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let before = ledger.shows().await.expect("readable").remove(0);
    let changed = async |fields: &[&str]| {
        let mut shown = ledger.shows().await.expect("readable").remove(0);
        if fields.contains(&"starts_at") {
            shown.document.starts_at = "2027-06-01T20:00:01Z".parse().expect("a moment");
        }
        if fields.contains(&"venue") {
            shown.document.venue = annex.clone();
        }
        ledger
            .put_show(shown, Some(check(1, |_| true)), NOW_MS)
            .await
    };
    for fields in [&["starts_at"][..], &["venue"], &["starts_at", "venue"]] {
        let refused = changed(fields).await;
        assert!(
            matches!(&refused, Err(ShowRefused::PostponeInstead(of)) if of == fields),
            "{fields:?}: {refused:?}"
        );
        let shown = ledger.shows().await.expect("readable").remove(0);
        assert_eq!(shown.document, before.document);
    }
    let given_up = ledger.apply_event(&order.id, OrderEvent::GivenUp, NOW_MS);
    assert!(given_up.await.expect("written").expect("known").changed);
    let moved = changed(&["starts_at", "venue"]).await;
    assert_eq!(moved.expect("nobody has an order").plan, 2);
}

async fn seats_held_for_another_time_are_not_claimed(ledger: Books) {
    stocked(&ledger).await;
    let moved = changed(&ledger, |shown| {
        shown.document.starts_at = "2027-06-02T20:00:00Z".parse().expect("a moment");
    });
    assert_eq!(moved.await, 2);
    let mut order = order("a", ANA, &[0]);
    let refused = claim(&ledger, &order).await;
    assert!(matches!(refused, Err(SeatClaimRefused::TimeChanged)));
    assert!(ledger.claimed(&show()).await.expect("readable").is_empty());
    order.terms = 2;
    claim(&ledger, &order).await.expect("the cells are free");
}

async fn seats_at_prices_that_differ_from_their_terms_are_refused(ledger: Books) {
    stocked(&ledger).await;
    changed(&ledger, |shown| {
        shown.document.prices.insert("cat1".to_owned(), 1_200);
    })
    .await;
    let mut cheap = order("a", ANA, &[0]);
    cheap.items[0].amount = 1;
    cheap.total = 1;
    assert!(matches!(
        claim(&ledger, &cheap).await,
        Err(SeatClaimRefused::Ledger(_))
    ));
    let mut unknown = order("b", ANA, &[0]);
    unknown.terms = 9;
    assert!(matches!(
        claim(&ledger, &unknown).await,
        Err(SeatClaimRefused::Ledger(_))
    ));
    assert!(ledger.claimed(&show()).await.expect("readable").is_empty());
    // A visitor who held seats under the old terms may order them at the old price.
    claimed(&ledger, "c", ANA, &[0]).await;
}

async fn a_hold_of_another_purpose_never_becomes_a_plain_order(ledger: Books) {
    with_free_refunds(&ledger).await;
    for purpose in [HoldPurpose::Exchange, HoldPurpose::LateMoney] {
        let order = order("a", ANA, &[0]);
        let basis = ClaimBasis {
            purpose,
            ..BASKET_BASIS
        };
        let refused = ledger.claim(order.clone(), payment(&order), basis).await;
        assert!(matches!(refused, Err(SeatClaimRefused::OtherPurpose(of)) if of == purpose));
    }
    let old = ticketed(&ledger, "b", ANA, &[1]).await;
    let old = record(&ledger, &old).await.order;
    let pending = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_700)]).await;
    let again = claim(&ledger, &pending).await;
    assert!(matches!(
        again,
        Err(SeatClaimRefused::OtherPurpose(HoldPurpose::Exchange))
    ));
}

async fn a_plain_order_is_never_taken_for_a_successor(ledger: Books) {
    with_free_refunds(&ledger).await;
    let old = ticketed(&ledger, "a", ANA, &[0]).await;
    let old = record(&ledger, &old).await.order;
    let exchange = wanted(&old, "x", &[(4, 0..2, 1_000)]);
    let mut plain = super::order("b", ANA, &[4]);
    plain.id = exchange.successor.id.clone();
    plain.hold = exchange.successor.hold.clone();
    plain.payment = exchange.successor.payment.clone();
    claim(&ledger, &plain).await.expect("the cells are free");
    let refused = try_exchange(&ledger, &old, "x", &[(4, 0..2, 1_000)]).await;
    assert!(matches!(refused, Err(ExchangeRefused::Changed)));
    assert_eq!(
        record(&ledger, &old).await.order.state,
        OrderState::Ticketed
    );
}

async fn an_exchange_at_a_wrong_price_is_refused(ledger: Books) {
    with_free_refunds(&ledger).await;
    let old = ticketed(&ledger, "a", ANA, &[0]).await;
    let old = record(&ledger, &old).await.order;
    let try_with = async |change: fn(&mut fairgate_model::orders::exchange::Exchange)| {
        let mut exchange = wanted(&old, "x", &[(4, 0..2, 1_700)]);
        change(&mut exchange);
        let tried = ledger.exchange(&old.id, exchange, EXCHANGE_BASIS, NOW_MS + 3);
        tried.await
    };
    let free = try_with(|exchange| {
        exchange.deal.due = 0;
        exchange.successor.total = 0;
        exchange.payment.amount.amount = 0;
    });
    assert!(matches!(free.await, Err(ExchangeRefused::Changed)));
    let cheap = try_with(|exchange| exchange.payment.amount.amount = 1);
    assert!(matches!(cheap.await, Err(ExchangeRefused::Changed)));
    let paid_back = try_with(|exchange| exchange.deal.back = 500);
    assert!(matches!(paid_back.await, Err(ExchangeRefused::Changed)));
    let freed = try_with(|exchange| exchange.deal.carried.refundable = 900);
    assert!(matches!(freed.await, Err(ExchangeRefused::Changed)));
    let not_carried = try_with(|exchange| exchange.items[0].carried.amount = 0);
    assert!(matches!(not_carried.await, Err(ExchangeRefused::Changed)));
    let honest = try_with(|_| {}).await.expect("allowed").expect("known");
    assert_eq!((honest.state, honest.total), (OrderState::Pending, 700));
}

async fn an_exchange_without_payment_is_checked_against_the_card_limit(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0, 1]).await;
    let mut event = provider_event(&order, ProviderEventKind::Authorised);
    event.card = Some("visa".to_owned());
    assert_eq!(settled(&ledger, event, NOW_MS).await, "applied");
    let capture = super::refunding::capture_of(&ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let old = record(&ledger, &order).await.order;
    changed(&ledger, |shown| shown.document.seats_per_card = Some(1)).await;
    let wish = &[(4, 0..2, 1_000), (5, 0..2, 1_000)];
    let refused = try_exchange(&ledger, &old, "x", wish).await;
    assert!(matches!(
        refused,
        Err(ExchangeRefused::Claim(SeatClaimRefused::CardLimit))
    ));
    assert_eq!(record(&ledger, &old).await.order, old);
    changed(&ledger, |shown| shown.document.seats_per_card = Some(2)).await;
    let new = exchanged(&ledger, &old, "x", wish).await;
    assert_eq!(new.state, OrderState::Ticketed);
}

async fn an_order_keeps_the_refund_and_exchange_rules_of_its_terms(ledger: Books) {
    with_free_refunds(&ledger).await;
    let number = ledger.shows().await.expect("readable").remove(0).terms;
    let mut order = super::order("a", ANA, &[0, 1]);
    order.terms = number;
    claim(&ledger, &order).await.expect("the cells are free");
    authorised(&ledger, &order).await;
    let capture = super::refunding::capture_of(&ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    changed(&ledger, |shown| {
        shown.document.refunds.clear();
        shown.document.exchange = None;
    })
    .await;
    let old = record(&ledger, &order).await.order;
    let new = exchanged(&ledger, &old, "x", &[(4, 0..2, 1_000), (5, 0..2, 1_000)]).await;
    assert_eq!(new.state, OrderState::Ticketed);
    // The successor has the terms of the old order, so it keeps the old order's refund rule.
    let back = ledger
        .refund(&new.id, TicketSelection::All, NOW_MS + 4)
        .await;
    assert!(back.expect("allowed").expect("known").changed);
}

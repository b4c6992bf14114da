//! Cases of the events of providers, and of effects (owed calls to a provider).

use OrderState::{Cancelled, CaptureFailed, Confirmed, Pending, Ticketed};
use SeatOutboxAction::{Free, Sell};
use fairgate_model::orders::transition::{EffectKind, OrderEvent};
use fairgate_model::payments::CreatedPayment;

use super::*;
use crate::ledger::{DuePaymentEffect, StoredProviderEvent};

pub(super) const CASES: &[Case] = cases![
    an_event_is_stored_once_and_settled_once,
    due_events_are_returned_oldest_first,
    the_oldest_event_keeps_the_others_waiting_until_it_is_settled,
    an_event_with_another_amount_changes_nothing,
    an_event_of_an_unknown_payment_or_provider_changes_nothing,
    an_unreadable_event_is_settled_as_unreadable,
    an_event_out_of_order_changes_nothing,
    a_declined_payment_may_be_approved_later,
    the_event_of_money_for_a_cancelled_order_owes_a_void,
    an_event_that_was_put_off_delays_no_other_event,
    the_first_reference_of_a_payment_stays_and_events_with_another_change_nothing,
    a_capture_event_issues_the_tickets,
    a_card_buys_no_more_than_the_show_allows,
    payments_by_one_card_at_once_stay_within_the_cards_limit,
    a_payment_captured_before_its_void_is_refunded,
    a_capture_issues_the_tickets_once,
    a_refused_capture_frees_the_seats_and_owes_a_void,
    an_effect_that_was_put_off_is_due_later,
    finished_visitors_are_listed_by_show_and_after_a_cursor,
    the_sandbox_changes_a_state_only_from_an_allowed_state,
];

async fn due(ledger: &Books, now_ms: i64) -> Vec<DuePaymentEffect> {
    ledger.due_effects(now_ms, 100).await.expect("readable")
}

async fn events(ledger: &Books, now_ms: i64) -> Vec<StoredProviderEvent> {
    ledger.due_events(now_ms, 100).await.expect("readable")
}

async fn payment_state(ledger: &Books, order: &Order) -> PaymentState {
    record(ledger, order).await.payment
}

async fn an_event_is_stored_once_and_settled_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let event = provider_event(&order, ProviderEventKind::Authorised);
    for fresh in [true, false] {
        let kept = ledger
            .keep_event(PROVIDER, event.event.clone(), None, b"1".to_vec(), NOW_MS)
            .await;
        assert_eq!(kept.expect("stored"), fresh);
    }
    assert_eq!(events(&ledger, NOW_MS).await.len(), 1);
    assert_eq!(settled(&ledger, event.clone(), NOW_MS).await, "applied");
    assert_eq!(settled(&ledger, event, NOW_MS).await, "repeated");
    assert!(events(&ledger, i64::MAX / 2).await.is_empty());
    assert_eq!(record(&ledger, &order).await.order.state, Confirmed);
    assert_eq!(outbox(&ledger).await, [(Sell, order.hold.clone())]);
    assert_eq!(due(&ledger, NOW_MS).await.len(), 1);
}

async fn due_events_are_returned_oldest_first(ledger: Books) {
    for (event, at) in [("b", 2), ("a", 1), ("c", 3)] {
        let kept = ledger.keep_event(PROVIDER, event.to_owned(), None, vec![7], at);
        assert!(kept.await.expect("stored"));
    }
    let waiting = ledger.due_events(NOW_MS, 2).await.expect("readable");
    let names: Vec<&str> = waiting.iter().map(|kept| kept.event.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let first = (waiting[0].provider.as_str(), waiting[0].body.as_slice());
    assert_eq!(first, (PROVIDER, [7].as_slice()));
    assert_eq!(ledger.backlog().await.expect("readable"), (3, 0));
}

async fn the_oldest_event_keeps_the_others_waiting_until_it_is_settled(ledger: Books) {
    for (event, at) in [("b", 2), ("a", 1)] {
        let kept = ledger.keep_event(PROVIDER, event.to_owned(), None, vec![7], at);
        assert!(kept.await.expect("stored"));
    }
    let oldest = async |now_ms| {
        let lent = ledger.oldest_event(now_ms).await.expect("readable");
        let names = lent.into_iter().map(|kept| kept.event);
        names.collect::<Vec<_>>()
    };
    let (one, other) = tokio::join!(oldest(NOW_MS), oldest(NOW_MS));
    assert_eq!([one, other].concat(), ["a"], "it is lent once");
    assert!(oldest(NOW_MS + 1).await.is_empty());
    let name = |event: &str| (PROVIDER.to_owned(), event.to_owned());
    let (provider, event) = name("a");
    let put_off = ledger.put_off_event(provider, event, NOW_MS + 500, NOW_MS);
    put_off.await.expect("written");
    assert!(oldest(NOW_MS + 499).await.is_empty());
    assert_eq!(oldest(NOW_MS + 500).await, ["a"]);
    let (provider, event) = name("a");
    let settled = ledger.settle(provider, event, ParsedProviderEvent::Ignored, NOW_MS + 501);
    assert_eq!(settled.await.expect("written"), "ignored");
    assert_eq!(oldest(NOW_MS + 501).await, ["b"]);
}

async fn an_event_with_another_amount_changes_nothing(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let short = ProviderEvent {
        amount: order.currency.with_amount(order.total - 1),
        ..provider_event(&order, ProviderEventKind::Authorised)
    };
    assert_eq!(settled(&ledger, short, NOW_MS).await, "wrong_amount");
    let foreign = ProviderEvent {
        event: "foreign".to_owned(),
        amount: Currency::parse("USD")
            .expect("a currency")
            .with_amount(order.total),
        ..provider_event(&order, ProviderEventKind::Authorised)
    };
    assert_eq!(settled(&ledger, foreign, NOW_MS).await, "wrong_amount");
    assert_eq!(payment_state(&ledger, &order).await, PaymentState::Created);
    assert_eq!(history(&ledger, &order).await.len(), 1);
    assert!(outbox(&ledger).await.is_empty() && due(&ledger, i64::MAX).await.is_empty());
}

async fn an_event_of_an_unknown_payment_or_provider_changes_nothing(ledger: Books) {
    stocked(&ledger).await;
    let never = provider_event(&order("never", BEN, &[1]), ProviderEventKind::Authorised);
    assert_eq!(settled(&ledger, never, NOW_MS).await, "unknown_payment");
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let event = provider_event(&order, ProviderEventKind::Authorised);
    let kept = ledger.keep_event("other", event.event.clone(), None, vec![], NOW_MS);
    assert!(kept.await.expect("stored"));
    let outcome = ledger
        .settle(
            "other".to_owned(),
            event.event.clone(),
            ParsedProviderEvent::Event(event),
            NOW_MS,
        )
        .await;
    assert_eq!(outcome.expect("settled"), "foreign_provider");
    assert_eq!(payment_state(&ledger, &order).await, PaymentState::Created);
}

async fn an_unreadable_event_is_settled_as_unreadable(ledger: Books) {
    let kept = ledger.keep_event(PROVIDER, "x".to_owned(), None, vec![0xff], NOW_MS);
    assert!(kept.await.expect("stored"));
    let outcome = ledger
        .settle(
            PROVIDER.to_owned(),
            "x".to_owned(),
            ParsedProviderEvent::Unreadable,
            NOW_MS,
        )
        .await;
    assert_eq!(outcome.expect("settled"), "unreadable");
    assert!(events(&ledger, i64::MAX / 2).await.is_empty());
}

async fn an_event_out_of_order_changes_nothing(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let before = history(&ledger, &order).await;
    let declined = provider_event(&order, ProviderEventKind::Declined);
    assert_eq!(settled(&ledger, declined, NOW_MS).await, "out_of_order");
    assert_eq!(history(&ledger, &order).await, before);
    assert_eq!(
        payment_state(&ledger, &order).await,
        PaymentState::Authorised
    );
}

async fn a_declined_payment_may_be_approved_later(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let declined = provider_event(&order, ProviderEventKind::Declined);
    assert_eq!(settled(&ledger, declined, NOW_MS).await, "applied");
    assert_eq!(record(&ledger, &order).await.order.state, Pending);
    assert!(outbox(&ledger).await.is_empty(), "the seats stay claimed");
    authorised(&ledger, &order).await;
    let reasons = [
        (Pending, "ordered"),
        (Pending, "payment_declined"),
        (Confirmed, "payment_authorised"),
    ];
    assert_eq!(
        history(&ledger, &order).await,
        reasons.map(|(state, reason)| (state, reason.to_owned()))
    );
}

async fn the_event_of_money_for_a_cancelled_order_owes_a_void(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    assert!(ended.expect("written").expect("known").changed);
    authorised(&ledger, &order).await;
    let last = history(&ledger, &order).await.pop();
    assert_eq!(last, Some((Cancelled, "late_money_voided".to_owned())));
    let effects = due(&ledger, NOW_MS + 1).await;
    assert_eq!(effects.len(), 1);
    assert_eq!(
        (effects[0].kind, &effects[0].payment.order),
        (EffectKind::Void, &order.id)
    );
    for _ in 0..2 {
        let voided = ledger.voided(effects[0].id, NOW_MS + 2).await;
        voided.expect("written");
    }
    assert_eq!(payment_state(&ledger, &order).await, PaymentState::Voided);
    assert!(due(&ledger, i64::MAX).await.is_empty());
    let kinds: Vec<SeatOutboxAction> = outbox(&ledger).await.iter().map(|row| row.0).collect();
    assert_eq!(kinds, [Free], "nothing was sold");
}

async fn an_event_that_was_put_off_delays_no_other_event(ledger: Books) {
    for (event, at) in [("a", 1), ("b", 2)] {
        let kept = ledger.keep_event(PROVIDER, event.to_owned(), None, vec![7], at);
        assert!(kept.await.expect("stored"));
    }
    let put_off = ledger.put_off_event(PROVIDER.to_owned(), "a".to_owned(), NOW_MS + 1, NOW_MS);
    put_off.await.expect("written");
    let waiting = async |now_ms| -> Vec<(String, u32)> {
        let waiting = events(&ledger, now_ms).await;
        waiting
            .into_iter()
            .map(|kept| (kept.event, kept.attempts))
            .collect()
    };
    assert_eq!(waiting(NOW_MS).await, [("b".to_owned(), 0)]);
    assert_eq!(waiting(NOW_MS + 1).await, [("a".to_owned(), 1)]);
}

async fn the_first_reference_of_a_payment_stays_and_events_with_another_change_nothing(
    ledger: Books,
) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let made = |n: u8| CreatedPayment {
        reference: format!("pi_{n}"),
        client: format!("secret_{n}"),
    };
    for n in [1, 2] {
        let kept = ledger
            .record_created_payment((&order.payment, 0), made(n))
            .await;
        assert_eq!(kept.expect("written"), made(1), "the first reference stays");
    }
    let known = ledger.payment(&order.payment).await.expect("readable");
    assert_eq!(
        known.and_then(|known| known.client).as_deref(),
        Some("secret_1")
    );
    let mut event = provider_event(&order, ProviderEventKind::Authorised);
    event.reference = Some("pi_2".to_owned());
    assert_eq!(
        settled(&ledger, event.clone(), NOW_MS).await,
        "foreign_reference"
    );
    event.event = "right".to_owned();
    event.reference = Some("pi_1".to_owned());
    assert_eq!(settled(&ledger, event, NOW_MS).await, "applied");
}

async fn a_capture_event_issues_the_tickets(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[4]).await;
    authorised(&ledger, &order).await;
    let captured = provider_event(&order, ProviderEventKind::Captured);
    assert_eq!(settled(&ledger, captured, NOW_MS + 2).await, "applied");
    let after = record(&ledger, &order).await;
    assert_eq!(
        (after.order.state, after.payment),
        (Ticketed, PaymentState::Captured)
    );
    assert_eq!(after.tickets.len(), 1);
    assert!(
        due(&ledger, i64::MAX).await.is_empty(),
        "the capture is done"
    );
}

async fn a_card_buys_no_more_than_the_show_allows(ledger: Books) {
    stocked(&ledger).await;
    let mut limited = stored(1);
    limited.document.seats_per_card = Some(3);
    ledger
        .put_show(limited, None, NOW_MS)
        .await
        .expect("stored");
    let pay = async |key: &str, visitor, seats: &[u32], card: &str| {
        let order = claimed(&ledger, key, visitor, seats).await;
        let mut event = provider_event(&order, ProviderEventKind::Authorised);
        event.card = Some(card.to_owned());
        assert_eq!(settled(&ledger, event, NOW_MS).await, "applied");
        let after = record(&ledger, &order).await.order;
        (after.state, after.reason)
    };
    let confirmed = (Confirmed, "payment_authorised".to_owned());
    assert_eq!(pay("a", ANA, &[0, 1], "visa").await, confirmed);
    assert_eq!(
        pay("b", BEN, &[2, 3], "visa").await,
        (Cancelled, "card_limit".to_owned()),
        "another visitor, the same card"
    );
    assert_eq!(
        pay("c", BEN, &[2, 3], "other").await,
        confirmed,
        "the seats are free again"
    );
    assert_eq!(
        pay("d", BEN, &[4], "visa").await,
        confirmed,
        "the card's third seat"
    );
    let voids = due(&ledger, i64::MAX).await;
    let voids = voids.iter().filter(|due| due.kind == EffectKind::Void);
    assert_eq!(voids.count(), 1);
}

async fn payments_by_one_card_at_once_stay_within_the_cards_limit(ledger: Books) {
    stocked(&ledger).await;
    let mut limited = stored(1);
    limited.document.seats_per_card = Some(3);
    ledger
        .put_show(limited, None, NOW_MS)
        .await
        .expect("stored");
    let mut running = tokio::task::JoinSet::new();
    for seat in 0..8_u32 {
        let visitor = Holder([u8::try_from(seat).expect("small") + 10; 32]);
        let order = claimed(&ledger, "a", visitor, &[seat]).await;
        let ledger = ledger.clone();
        running.spawn(async move {
            let mut event = provider_event(&order, ProviderEventKind::Authorised);
            event.card = Some("visa".to_owned());
            settled(&ledger, event, NOW_MS).await;
            record(&ledger, &order).await.order.state
        });
    }
    let states = running.join_all().await;
    let confirmed = states.iter().filter(|state| **state == Confirmed).count();
    assert_eq!(confirmed, 3, "{states:?}");
}

async fn a_payment_captured_before_its_void_is_refunded(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    let ended = ledger
        .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    ended.expect("written");
    authorised(&ledger, &order).await;
    let void = due(&ledger, NOW_MS + 1).await.remove(0);
    for _ in 0..2 {
        ledger
            .refund_instead(void.id, NOW_MS + 2)
            .await
            .expect("written");
    }
    assert_eq!(payment_state(&ledger, &order).await, PaymentState::Captured);
    let refund = due(&ledger, NOW_MS + 2).await.remove(0);
    assert_eq!(refund.kind, EffectKind::Refund);
    for _ in 0..2 {
        ledger
            .refunded(refund.id, NOW_MS + 3)
            .await
            .expect("written");
    }
    assert_eq!(payment_state(&ledger, &order).await, PaymentState::Refunded);
    assert!(due(&ledger, i64::MAX).await.is_empty());
}

async fn a_capture_issues_the_tickets_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[4, 2]).await;
    authorised(&ledger, &order).await;
    assert!(record(&ledger, &order).await.tickets.is_empty());
    let effects = due(&ledger, NOW_MS + 1).await;
    assert_eq!((effects.len(), effects[0].kind), (1, EffectKind::Capture));
    assert_eq!(effects[0].payment.amount, order.currency.with_amount(2_000));
    for _ in 0..2 {
        let captured = ledger.captured(effects[0].id, NOW_MS + 5).await;
        captured.expect("written");
    }
    let after = record(&ledger, &order).await;
    assert_eq!(
        (after.order.state, after.payment),
        (Ticketed, PaymentState::Captured)
    );
    let labels: Vec<&str> = after.tickets.iter().map(|t| t.label.as_str()).collect();
    assert_eq!(labels, ["A-4", "A-2"], "in the order of the seats");
    let first = &after.tickets[0];
    assert_eq!(
        (first.visitor, first.legs.as_slice(), first.issued_at_ms),
        (ANA, [0, 1].as_slice(), NOW_MS + 5)
    );
    let read = ledger.ticket(&first.id).await.expect("readable");
    assert_eq!(read.as_ref(), Some(first));
    assert!(due(&ledger, i64::MAX).await.is_empty());
    let finished = ledger.finished(0, vec![show()]).await;
    assert_eq!(finished.expect("readable").len(), 1);
}

async fn a_refused_capture_frees_the_seats_and_owes_a_void(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let capture = due(&ledger, NOW_MS + 1).await[0].id;
    for _ in 0..2 {
        let refused = ledger.capture_refused(capture, "no funds".into(), NOW_MS + 2);
        refused.await.expect("written");
    }
    let after = record(&ledger, &order).await;
    assert_eq!(after.order.state, CaptureFailed);
    assert!(after.tickets.is_empty());
    let hold = order.hold.clone();
    assert_eq!(outbox(&ledger).await, [(Sell, hold.clone()), (Free, hold)]);
    let effects = due(&ledger, NOW_MS + 2).await;
    assert_eq!((effects.len(), effects[0].kind), (1, EffectKind::Void));
    claimed(&ledger, "b", BEN, &[0]).await;
}

async fn an_effect_that_was_put_off_is_due_later(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let first = due(&ledger, NOW_MS + 1).await.remove(0);
    assert_eq!(first.attempts, 0);
    let later = NOW_MS + 60_000;
    let put_off = ledger
        .put_off(first.id, later, "no answer".into(), NOW_MS)
        .await;
    put_off.expect("written");
    assert!(due(&ledger, later - 1).await.is_empty());
    assert_eq!(ledger.backlog().await.expect("readable"), (0, 1));
    let again = due(&ledger, later).await.remove(0);
    assert_eq!((again.id, again.attempts), (first.id, 1));
    ledger.captured(first.id, later).await.expect("written");
    let put_off = ledger
        .put_off(first.id, later, "too late".into(), NOW_MS)
        .await;
    put_off.expect("written");
    assert!(
        due(&ledger, i64::MAX).await.is_empty(),
        "a done effect stays done"
    );
}

async fn finished_visitors_are_listed_by_show_and_after_a_cursor(ledger: Books) {
    stocked(&ledger).await;
    for (key, visitor, seat) in [("a", ANA, 0), ("b", BEN, 1)] {
        let order = claimed(&ledger, key, visitor, &[seat]).await;
        authorised(&ledger, &order).await;
        let capture = due(&ledger, NOW_MS + 1).await[0].id;
        ledger.captured(capture, NOW_MS + 1).await.expect("written");
    }
    let finished = async |after, show: ShowId| {
        let listed = ledger.finished(after, vec![show]).await;
        listed.expect("readable")
    };
    let all = finished(0, show()).await;
    let who: Vec<Holder> = all.iter().map(|(_, visitor)| *visitor).collect();
    assert_eq!(who, [ANA, BEN]);
    assert_eq!(finished(all[0].0, show()).await, all[1..]);
    assert!(finished(all[1].0, show()).await.is_empty());
    assert!(
        finished(0, "other".parse().expect("a slug"))
            .await
            .is_empty()
    );
}

async fn the_sandbox_changes_a_state_only_from_an_allowed_state(ledger: Books) {
    let payment = order("a", ANA, &[0]).payment;
    let moved = async |from, to| {
        let moved = ledger.sandbox_move(&payment, from, to).await;
        moved.expect("written")
    };
    assert_eq!(moved(&["open"], "declined").await, "declined");
    assert_eq!(moved(&["open"], "authorised").await, "declined");
    assert_eq!(
        moved(&["open", "declined"], "authorised").await,
        "authorised"
    );
    assert_eq!(
        moved(&["open"], "voided").await,
        "authorised",
        "the state is stored"
    );
}

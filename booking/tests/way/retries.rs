//! Tests calls that are sent again. A repeated call gets the same answer, or finds the hold or the
//! order that the first call made.

use std::pin::pin;
use std::task::Poll;

use booking::retention::{BATCH_MAX, RetentionKind};
use fairgate_model::holds::{Hold, HoldPurpose};
use fairgate_model::ids::HoldId;
use fairgate_model::shows::terms::UNNUMBERED;
use fairgate_pass::Holder;
use serde_json::{Value, json};

use crate::harness::*;
use crate::train::CLASS;
use crate::trains;

/// The holder of the first visitor.
const ANA: Holder = Holder([1; 32]);
const HOLDS: &str = "/v1/shows/night-1/holds";

async fn forget_answers(app: &App) {
    let ledger = app.ledger().await;
    let pruned = ledger.prune(RetentionKind::Answers, 0, i64::MAX, BATCH_MAX);
    pruned.await.expect("forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_and_body_get_the_same_answer() {
    let (app, ana, ben) = opened().await;
    let ask = || post(HOLDS, &json!({"seats": ["A-1", "A-2"]})).keyed("k");
    let first = app.ask(ask().by(&ana)).await;
    first.is(201);
    app.clock.advance_ms(10_000);
    let again = app.ask(ask().by(&ana)).await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = app.ask(ask().by(&ben)).await;
    other.problem(409, "seats_taken");
    assert_eq!(app.seats("night-1").await["held"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_gets_the_same_answer_even_if_it_was_an_error() {
    let (app, ana, ben) = opened().await;
    let held = text(&app.hold(&ben, &["A-1", "A-2"]).await, "hold");
    let ask = || post(HOLDS, &json!({"seats": ["A-1"]})).keyed("k").by(&ana);
    let first = app.ask(ask()).await;
    first.problem(409, "seats_taken");
    app.ask(delete(&format!("/v1/holds/{held}")).by(&ben))
        .await
        .is(204);
    let again = app.ask(ask()).await;
    again.problem(409, "seats_taken");
    assert_eq!(again.body, first.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_with_another_body_or_address_is_refused() {
    let (app, ana, _) = opened().await;
    let hold = post(HOLDS, &json!({"seats": ["A-1", "A-2"]})).keyed("k");
    let hold = app.ask(hold.by(&ana)).await.is(201);
    let other = post(HOLDS, &json!({"seats": ["B-1", "B-2"]})).keyed("k");
    app.ask(other.by(&ana))
        .await
        .problem(422, "idempotency_mismatch");
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let other = post(&path, &buyer()).keyed("k").by(&ana);
    app.ask(other).await.problem(422, "idempotency_mismatch");
    assert_eq!(app.seats("night-1").await["held"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_still_runs_is_not_made_twice() {
    let (app, ana, _) = opened().await;
    let ask = || {
        post(HOLDS, &json!({"seats": ["A-1", "A-2"]}))
            .keyed("k")
            .by(&ana)
    };
    let mut first = pin!(app.ask(ask()));
    // After one poll the first call waits for the ledger. It goes on only when it is polled again.
    std::future::poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    let second = app.ask(ask()).await;
    second.problem(409, "idempotency_in_flight");
    assert_eq!(second.headers["retry-after"], "1");
    let first = first.await;
    first.is(201);
    assert_eq!(app.ask(ask()).await.body, first.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_half_way_leaves_its_key_free() {
    let (app, ana, _) = opened().await;
    let ask = || {
        post(HOLDS, &json!({"seats": ["A-1", "A-2"]}))
            .keyed("k")
            .by(&ana)
    };
    {
        let mut first = pin!(app.ask(ask()));
        std::future::poll_fn(|context| Poll::Ready(first.as_mut().poll(context).is_pending()))
            .await;
    }
    app.ask(ask()).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_whose_answer_was_lost_finds_its_own_hold_and_order() {
    let (app, ana, _) = opened().await;
    let ask = || {
        post(HOLDS, &json!({"seats": ["A-1", "A-2"]}))
            .keyed("k")
            .by(&ana)
    };
    let hold = app.ask(ask()).await.is(201);
    forget_answers(&app).await;
    app.clock.advance_ms(1_000);
    let again = app.ask(ask()).await.is(201);
    let same = |one: &Value, other: &Value, members: &[&str]| {
        for member in members {
            assert_eq!(one[*member], other[*member], "{member}");
        }
    };
    same(&hold, &again, &["hold", "seats", "expires_at"]);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let ask = || post(&path, &buyer()).keyed("o").by(&ana);
    let order = app.ask(ask()).await.is(201);
    forget_answers(&app).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    let again = app.ask(ask()).await.is(201);
    same(
        &order,
        &again,
        &["order", "order_key", "pay_until", "total"],
    );
    assert_eq!(again["state"], "ticketed");
    assert_eq!(
        app.read(&order).await["tickets"].as_array().map(Vec::len),
        Some(2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_retries_at_once_make_one_hold() {
    let (app, ana, _) = opened().await;
    let best = json!({"best": {"quantity": 2}});
    let asked = (0..100).map(|_| app.ask(post(HOLDS, &best).keyed("k").by(&ana)));
    let mut holds = Vec::new();
    for answer in join_all(asked).await {
        match answer.status {
            201 => holds.push(text(&answer.is(201), "hold")),
            _ => drop(answer.problem(409, "idempotency_in_flight")),
        }
    }
    holds.dedup();
    assert_eq!(holds.len(), 1);
    assert_eq!(app.seats("night-1").await["held"], 2);
}

/// Runs all futures at once on this task, and returns their values in the order in which they end.
async fn join_all<T>(asked: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = asked.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(move |context| {
        running.retain_mut(|one| match one.as_mut().poll(context) {
            Poll::Ready(answer) => {
                done.push(answer);
                false
            }
            Poll::Pending => true,
        });
        if running.is_empty() {
            Poll::Ready(std::mem::take(&mut done))
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Replaces Ana's basket with the form in which an earlier version would have stored it, under
/// `id`.
pub async fn as_before(app: &App, hold: &Value, id: HoldId) {
    let made: HoldId = text(hold, "hold").parse().expect("an id");
    let kept = app
        .store
        .hold(&made, ANA)
        .await
        .expect("the basket is stored");
    let released = app.store.release(&made, ANA, &[HoldPurpose::Basket]).await;
    released.expect("a basket");
    let old = Hold {
        id,
        terms: UNNUMBERED,
        ..kept
    };
    app.store.take(old, 10).await.expect("the seats are free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_an_earlier_version_is_found_by_its_call_and_ordered_at_the_shows_price() {
    let (app, ana, _) = opened().await;
    let ask = || post(HOLDS, &json!({"seats": ["A-1"]})).keyed("k").by(&ana);
    let hold = app.ask(ask()).await.is(201);
    forget_answers(&app).await;
    let old = HoldId::of_key(&"night-1".parse().expect("a slug"), ANA, "k");
    as_before(&app, &hold, old.clone()).await;
    let found = app.ask(ask()).await.is(201);
    assert_eq!(found["hold"], old.as_str());
    assert_eq!(app.seats("night-1").await["held"], 1);
    let order = app.checkout(&ana, &found).await;
    assert_eq!(order["payment"]["amount"]["amount"], 9_900);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_that_an_earlier_version_held_is_found_as_its_basket() {
    let (app, ana, _) = trains::opened().await;
    let ask = json!({"best": {"quantity": 1, "class": CLASS}, "from": "S00", "to": "S02"});
    let hold = trains::hold(&app, &ana, &ask).await;
    let old = HoldId::of_journey(&trains::SHOW.parse().expect("a slug"), ANA, &(0..2), 0);
    as_before(&app, &hold, old.clone()).await;
    assert_eq!(trains::hold(&app, &ana, &ask).await["hold"], old.as_str());
}

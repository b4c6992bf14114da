//! Tests how a visitor accepts an offer of the waitlist. An offer lasts a minute. If it is accepted
//! in that time, it becomes a basket that lasts for the show's `hold_s`, and the party no longer
//! waits.

use booking::internal::wire::StoppedPassNotice;
use fairgate_pass::Holder;
use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;
use crate::waiting::{LIST, ended, full, give_back, join, labels, look, offered};

fn path_of(offer: &Value) -> String {
    format!("/v1/holds/{}", text(offer, "hold"))
}

fn accept(offer: &Value) -> TestCall {
    post(&format!("{}/accept", path_of(offer)), &json!({}))
}

/// Opens a show whose seats are all held. Ana and then Ben wait for two seats each. One basket is
/// given back, and Ana gets an offer. Returns the app, both visitors, the offer, and the other
/// baskets.
async fn with_offer(changes: Value) -> (App, Visitor, Visitor, Value, Vec<(Visitor, Value)>) {
    let mut document = json!({ "hold_s": 300 });
    if let (Some(document), Value::Object(changes)) = (document.as_object_mut(), changes) {
        document.extend(changes);
    }
    let (app, ana, ben) = opened_with(document).await;
    let mut baskets = full(&app).await;
    join(&app, &ana, 2).await;
    join(&app, &ben, 2).await;
    give_back(&app, &baskets.remove(0)).await;
    let offer = offered(&app, &ana).await["offer"].clone();
    (app, ana, ben, offer, baskets)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_offer_is_a_basket_of_the_shows_hold_s() {
    let (app, ana, _, offer, _) = with_offer(json!({ "extensions": 1 })).await;
    let hold = app.ask(get(&path_of(&offer)).by(&ana)).await.is(200);
    assert_eq!(
        (&hold["purpose"], &hold["extensions_left"]),
        (&json!("offer"), &json!(0))
    );
    app.clock.advance_ms(20_000);
    let basket = app.ask(accept(&offer).by(&ana)).await.is(200);
    assert_eq!(
        (
            &basket["hold"],
            &basket["state"],
            &basket["purpose"],
            &basket["extensions_left"]
        ),
        (
            &offer["hold"],
            &json!("basket"),
            &json!("basket"),
            &json!(1)
        )
    );
    assert_eq!(labels(&basket["seats"]), labels(&offer["seats"]));
    assert_eq!(basket["total"], offer["total"]);
    assert_eq!(basket["next_to_each_other"], true);
    assert_eq!(
        (text(&basket, "server_time"), text(&basket, "expires_at")),
        ("2027-01-10T09:00:20Z".into(), "2027-01-10T09:05:20Z".into())
    );
    // The call has already recorded that the party no longer waits.
    let waiter = look(&app, &ana).await;
    assert_eq!(
        (&waiter["state"], &waiter["reason"]),
        (&json!("ended"), &json!("taken"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_offer_is_extended_and_ordered_like_any_basket() {
    let (app, ana, _, offer, _) = with_offer(json!({ "extensions": 1 })).await;
    let extend = post(&format!("{}/extend", path_of(&offer)), &json!({}));
    app.ask(extend.by(&ana)).await.problem(409, "hold_purpose");
    app.ask(accept(&offer).by(&ana)).await.is(200);
    app.clock.advance_ms(100_000);
    let extend = post(&format!("{}/extend", path_of(&offer)), &json!({}));
    let extended = app.ask(extend.by(&ana)).await.is(200);
    assert_eq!(extended["extensions_left"], 0);
    let again = app.ask(accept(&offer).by(&ana)).await.is(200);
    assert_eq!(
        (&again["expires_at"], &again["extensions_left"]),
        (&extended["expires_at"], &json!(0))
    );
    app.clock.advance_ms(200_000);
    let order = post(&format!("{}/order", path_of(&offer)), &buyer());
    let order = app.ask(order.by(&ana)).await.is(201);
    let late = app.ask(accept(&offer).by(&ana)).await;
    late.problem(409, "hold_ordered");
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_tap_gets_the_same_basket_with_or_without_a_key() {
    let (app, ana, _, offer, _) = with_offer(json!({})).await;
    let first = app.ask(accept(&offer).keyed("tap").by(&ana)).await;
    assert_eq!(first.status, 200);
    app.clock.advance_ms(30_000);
    let repeated = app.ask(accept(&offer).keyed("tap").by(&ana)).await;
    assert_eq!(repeated.body, first.body, "the same key");
    let first = first.is(200);
    for call in [accept(&offer), accept(&offer).keyed("another tap")] {
        let again = app.ask(call.by(&ana)).await.is(200);
        assert_eq!(
            (&again["hold"], &again["seats"], &again["expires_at"]),
            (&first["hold"], &first["seats"], &first["expires_at"])
        );
    }
    let path = format!("{}/accept", path_of(&offer));
    let other = post(&path, &json!({ "seats": ["A-1"] })).by(&ana);
    let other = app.ask(other.keyed("tap")).await;
    other.problem(422, "idempotency_mismatch");
    let unknown = app.ask(post(&path, &json!({ "seats": [] })).by(&ana)).await;
    assert!(matches!(unknown.status, 400 | 422), "{}", unknown.status);
    let empty = post(&path, &json!({})).raw("").by(&ana);
    assert_eq!(app.ask(empty).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_taps_at_once_from_two_tabs_set_one_deadline() {
    let (app, ana, _, offer, _) = with_offer(json!({})).await;
    let taps = (0..20).map(|n| {
        let call = accept(&offer).by(&ana);
        let call = match n % 3 {
            0 => call,
            one => call.keyed(&format!("tab {one}")),
        };
        let app = &app;
        async move {
            app.clock.advance_ms(7);
            app.ask(call).await
        }
    });
    let answers = join_all(taps).await;
    let stored = app.ask(get(&path_of(&offer)).by(&ana)).await.is(200);
    for answer in answers {
        if answer.status == 200 {
            assert_eq!(answer.is(200)["expires_at"], stored["expires_at"]);
        } else {
            answer.problem(409, "idempotency_in_flight");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_is_accepted_by_its_visitor_alone() {
    let (app, ana, ben, offer, _) = with_offer(json!({})).await;
    let refused = app.ask(accept(&offer).by(&ben)).await;
    refused.problem(403, "not_yours");
    app.ask(accept(&offer)).await.problem(429, "waiting_room");
    let stranger = app.visitor_of("other", 9);
    let refused = app.ask(accept(&offer).by(&stranger)).await;
    refused.problem(401, "pass_invalid");
    assert_eq!(look(&app, &ana).await["state"], "offered");
    app.ask(accept(&offer).by(&ana)).await.is(200);
    let refused = app.ask(accept(&offer).by(&ben)).await;
    refused.problem(403, "not_yours");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_that_was_no_offer_is_not_accepted() {
    let (app, ana, _) = opened().await;
    let basket = app.hold(&ana, &["A-1", "A-2"]).await;
    let refused = app.ask(accept(&basket).by(&ana)).await;
    let refused = refused.problem(409, "hold_purpose");
    assert_eq!(refused["purpose"], "basket");
    let after = app.ask(get(&path_of(&basket)).by(&ana)).await.is(200);
    assert_eq!(after["expires_at"], basket["expires_at"]);
    let unknown = post("/v1/holds/hold_night-1_00/accept", &json!({}));
    app.ask(unknown.by(&ana)).await.problem(404, "not_found");
    let none = "hold_night-1_00112233445566778899aabbccddeeff";
    let gone = app.ask(accept(&json!({ "hold": none })).by(&ana)).await;
    gone.problem(410, "hold_expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_ran_out_or_was_declined_is_not_accepted() {
    let (app, ana, ben, offer, baskets) = with_offer(json!({ "hold_s": 1_200 })).await;
    // An offer lasts 60 s, and the grace of holds is 5 s.
    app.clock.advance_ms(65_000);
    let late = app.ask(accept(&offer).by(&ana)).await;
    late.problem(410, "hold_expired");
    let next = offered(&app, &ben).await["offer"].clone();
    assert_eq!(labels(&next["seats"]), labels(&offer["seats"]));
    app.ask(delete(&path_of(&next)).by(&ben)).await.is(204);
    let declined = app.ask(accept(&next).by(&ben)).await;
    declined.problem(410, "hold_expired");
    drop(baskets);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_whose_pass_ran_out_while_it_waited_accepts() {
    let (app, ana, ben) = opened_with(json!({ "hold_s": 3_600 })).await;
    let baskets = full(&app).await;
    join(&app, &ana, 2).await;
    join(&app, &ben, 2).await;
    app.clock.advance_ms(1_200_000);
    look(&app, &ana).await;
    give_back(&app, &baskets[0]).await;
    let offer = offered(&app, &ana).await["offer"].clone();
    let hold = post("/v1/shows/night-1/holds", &json!({ "seats": ["A-1"] }));
    app.ask(hold.by(&ana)).await.problem(401, "pass_expired");
    let basket = app.ask(accept(&offer).by(&ana)).await.is(200);
    assert_eq!(basket["expires_at"], "2027-01-10T10:20:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_whose_pass_was_stopped_accepts_nothing() {
    let (app, ana, _, offer, _) = with_offer(json!({})).await;
    let stopped = StoppedPassNotice {
        number: 1,
        expires_s: app.clock.now_ms() / 1_000 + 600,
        holder: Holder([1; 32]),
        visit: None,
    };
    let stopped = app.booking.gateways().stop_passes(ROOM, vec![stopped]);
    stopped.await.expect("written");
    let refused = app.ask(accept(&offer).by(&ana)).await;
    refused.problem(401, "pass_stopped");
    ended(&app, &ana, "left").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_of_an_accepted_offer_outlive_it_and_go_to_the_next_party_when_they_lapse() {
    let (app, ana, ben, offer, baskets) = with_offer(json!({ "hold_s": 90, "grace_s": 5 })).await;
    app.clock.advance_ms(10_000);
    app.ask(accept(&offer).by(&ana)).await.is(200);
    // The baskets of the other visitors do not lapse, because they are ordered.
    for (who, hold) in &baskets {
        let path = format!("{}/order", path_of(hold));
        app.ask(post(&path, &buyer()).by(who)).await.is(201);
    }
    // The offer would have run out by now.
    app.clock.advance_ms(60_000);
    let swept = app.store.sweep(app.clock.now_ms(), 100).await;
    assert!(swept.lapsed.is_empty());
    let waits = look(&app, &ben).await;
    assert_eq!(
        (&waits["state"], &waits["ahead"]),
        (&json!("waiting"), &json!(0))
    );
    let held = app.ask(get(&path_of(&offer)).by(&ana)).await.is(200);
    assert_eq!(held["state"], "basket");
    // The basket began 10 s after the offer. It lasts 90 s, and the grace is 5 s.
    app.clock.advance_ms(35_000);
    let next = offered(&app, &ben).await["offer"].clone();
    assert_eq!(labels(&next["seats"]), labels(&offer["seats"]));
    app.ask(get(&path_of(&offer)).by(&ana))
        .await
        .problem(410, "hold_expired");
    // The party that let its basket lapse no longer waits, so it is not offered the seats again.
    let waiter = look(&app, &ana).await;
    assert_eq!(
        (&waiter["state"], &waiter["reason"], &waiter["missed"]),
        (&json!("ended"), &json!("taken"), &json!(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_offer_keeps_the_prices_of_its_terms() {
    let (app, ana, _, offer, _) = with_offer(json!({})).await;
    let dearer = json!({ "hold_s": 300, "prices": { "cat1": 20_000, "cat2": 20_000 } });
    app.put_show("night-1", dearer).await;
    let basket = app.ask(accept(&offer).by(&ana)).await.is(200);
    assert_eq!(basket["total"], offer["total"]);
    let order = post(&format!("{}/order", path_of(&offer)), &buyer());
    let order = app.ask(order.by(&ana)).await.is(201);
    assert_eq!(order["total"], offer["total"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_is_not_accepted_beyond_a_limit_that_was_lowered() {
    let (app, ana, _, offer, _) = with_offer(json!({ "seats_per_visitor": 4 })).await;
    app.put_show("night-1", json!({ "hold_s": 300, "seats_per_visitor": 1 }))
        .await;
    let refused = app.ask(accept(&offer).by(&ana)).await;
    let refused = refused.problem(422, "limit_exceeded");
    assert_eq!(
        (&refused["limit"], &refused["have"], &refused["asked"]),
        (&json!(1), &json!(0), &json!(2))
    );
    assert_eq!(look(&app, &ana).await["state"], "offered");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_end_of_the_show_no_offer_becomes_a_basket() {
    let ends = json!({ "hold_s": 600, "sells_until": "2027-01-10T09:00:30Z" });
    let (app, ana, _, offer, _) = with_offer(ends).await;
    app.clock.advance_ms(30_000);
    let refused = app.ask(accept(&offer).by(&ana)).await;
    refused.problem(409, "sales_ended");
    // The offer was made before the end of the sale, so it may still be ordered.
    let order = post(&format!("{}/order", path_of(&offer)), &buyer());
    app.ask(order.by(&ana)).await.is(201);
    let (app, ana, _, offer, _) = with_offer(json!({})).await;
    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    let refused = app.ask(accept(&offer).by(&ana)).await;
    refused.problem(409, "show_cancelled");
    ended(&app, &ana, "cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_the_waitlist_keeps_the_basket_of_an_accepted_offer() {
    let (app, ana, _, offer, _) = with_offer(json!({})).await;
    app.ask(accept(&offer).by(&ana)).await.is(200);
    app.ask(delete(LIST).by(&ana)).await.is(204);
    let basket = app.ask(get(&path_of(&offer)).by(&ana)).await.is(200);
    assert_eq!(basket["state"], "basket");
    // Somebody who has a basket may wait for more.
    let again = join(&app, &ana, 2).await;
    assert_eq!(
        (&again["state"], &again["ahead"]),
        (&json!("waiting"), &json!(1))
    );
    app.ask(delete(&path_of(&offer)).by(&ana)).await.is(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_an_accepted_offer_is_lost_as_any_basket_and_its_party_waits_no_more() {
    let (app, ana, ben, offer, _) = with_offer(json!({})).await;
    app.ask(accept(&offer).by(&ana)).await.is(200);
    let app = app.restarted().await;
    app.ask(get(&path_of(&offer)).by(&ana))
        .await
        .problem(410, "hold_expired");
    app.ask(accept(&offer).by(&ana))
        .await
        .problem(410, "hold_expired");
    offered(&app, &ben).await;
    ended(&app, &ana, "taken").await;
}

/// Accepts offers at the same time at two nodes that share PostgreSQL and Redis. Each offer becomes
/// one basket with one deadline, and both nodes know it. The other node makes its order.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_accept_an_offer_once() {
    if servers::must_skip("accepting an offer over two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let baskets = full(&nodes[0]).await;
    let parties: Vec<Visitor> = (1..4).map(|n| nodes[0].visitor(n)).collect();
    for party in &parties {
        join(&nodes[0], party, 2).await;
    }
    for (n, party) in parties.iter().enumerate() {
        give_back(&nodes[1], &baskets[n]).await;
        let offer = offered(&nodes[n % 2], party).await["offer"].clone();
        let taps = (0..8).map(|tap| {
            let call = accept(&offer).by(party);
            let node = &nodes[tap % 2];
            async move { node.ask(call).await.is(200) }
        });
        let mut deadlines: Vec<String> = join_all(taps)
            .await
            .iter()
            .map(|basket| text(basket, "expires_at"))
            .collect();
        deadlines.dedup();
        assert_eq!(deadlines.len(), 1, "{deadlines:?}");
        ended(&nodes[0], party, "taken").await;
        for node in &nodes {
            let held = node.ask(get(&path_of(&offer)).by(party)).await.is(200);
            assert_eq!(text(&held, "expires_at"), deadlines[0]);
        }
        if n == 0 {
            let order = post(&format!("{}/order", path_of(&offer)), &buyer());
            nodes[1].ask(order.by(party)).await.is(201);
        }
    }
    // The last two parties have baskets. When Redis is emptied, these baskets are lost like all
    // others, and the parties get no new offer.
    redis.flush_all().await.expect("Redis answers");
    for party in &parties {
        ended(&nodes[0], party, "taken").await;
    }
}

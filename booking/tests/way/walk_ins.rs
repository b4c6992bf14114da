//! Tests who sells a show: the room that names it, `everyday` if it is a walk-in, and otherwise
//! nobody.

use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_servers as servers;
use serde_json::json;

use crate::harness::*;

/// How often a change is made at one node and tried at once at the other. The nodes read changes
/// every 300 ms, so without a reading of its own a node would be behind in nearly every round.
const ROUNDS: usize = 8;

fn hold_of(show: &str) -> TestCall {
    post(
        &format!("/v1/shows/{show}/holds"),
        &json!({"best": {"quantity": 1}}),
    )
}

async fn cover(app: &App, rooms: &[(&str, &str)]) {
    let list = rooms
        .iter()
        .map(|(room, pattern)| ((*room).to_owned(), vec![(*pattern).to_owned()]));
    let replaced = app.booking.gateways().replace_coverage(list.collect());
    replaced.await.expect("covered");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_seats_of_a_show_that_no_room_names() {
    let (app, ana, _) = opened().await;
    app.put_show("gala", json!({})).await;
    let shown = app.ask(get("/v1/shows/gala")).await.is(200);
    assert_eq!(
        (&shown["state"], &shown["room"]),
        (&json!("announced"), &json!(null))
    );
    let walk_in = app.visitor_of(EVERYDAY, 9);
    for call in [
        hold_of("gala"),
        hold_of("gala").by(&ana),
        hold_of("gala").by(&walk_in),
        post("/v1/shows/gala/waitlist", &json!({"quantity": 1})).by(&walk_in),
    ] {
        let refused = app.ask(call).await.problem(409, "not_on_sale");
        assert!(text(&refused, "detail").contains("No new seats were held"));
    }
    let order = app.order(&ana, &["A-1"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let exchange = post(&path, &json!({"show": "gala", "seats": ["A-1"]}));
    let exchange = exchange.by(&text(&order, "order_key"));
    app.ask(exchange).await.problem(409, "not_on_sale");
    let seats = app.seats("gala").await;
    assert_eq!((&seats["free"], &seats["held"]), (&json!(40), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_when_a_show_is_taken_off_sale_can_be_paid_but_nothing_is_added() {
    let (app, _, _) = opened().await;
    app.put_show("gala", json!({"walk_in": true})).await;
    let ana = app.visitor_of(EVERYDAY, 1);
    let hold = app.ask(hold_of("gala").by(&ana)).await.is(201);
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    for taken_off in [json!({}), json!({"walk_in": true, "state": "announced"})] {
        app.put_show("gala", taken_off).await;
        let add = patch(&path, &json!({"add": ["D-1"]})).by(&ana);
        app.ask(add).await.problem(409, "not_on_sale");
        app.ask(hold_of("gala").by(&ana))
            .await
            .problem(409, "not_on_sale");
    }
    let order = post(&format!("{path}/order"), &buyer()).by(&ana);
    let order = app.ask(order).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_show_is_not_sold_by_the_room_that_names_it() {
    let (app, ana, _) = opened_with(json!({"state": "announced"})).await;
    let shown = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(
        (&shown["state"], &shown["room"]),
        (&json!("announced"), &json!(ROOM))
    );
    app.ask(hold_of("night-1").by(&ana))
        .await
        .problem(409, "not_on_sale");
    for state in ["draft", "ended"] {
        let call = put(
            "/v1/promoter/shows/night-1",
            &document(json!({"state": state})),
        );
        let refused = app.ask(call.by(&PROMOTER)).await;
        assert_eq!(refused.problem(422, "not_available")["field"], "state");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_not_read_a_change_yet_sells_nothing_that_was_taken_off_sale() {
    if servers::must_skip("a show that is taken off sale at another node") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let walk_in = |n: usize| nodes[0].visitor_of(EVERYDAY, u16::try_from(n).expect("small"));
    let far = json!({"starts_at": NODES_BEGIN, "walk_in": true});
    for round in 1..=ROUNDS {
        cover(&nodes[0], &[(ROOM, "night-*")]).await;
        nodes[0].put_show("gala", far.clone()).await;
        until("the walk-in is sold at the other node", async || {
            let held = nodes[1].ask(hold_of("gala").by(&walk_in(round))).await;
            (held.status == 201).then_some(())
        })
        .await;
        let late = walk_in(100 + round);
        match round % 3 {
            // A room takes the walk-in over.
            0 => cover(&nodes[0], &[("gala-room", "gala")]).await,
            1 => {
                let announced =
                    json!({"starts_at": NODES_BEGIN, "walk_in": true, "state": "announced"});
                nodes[0].put_show("gala", announced).await;
            }
            _ => {
                nodes[0]
                    .put_show("gala", json!({"starts_at": NODES_BEGIN}))
                    .await
            }
        }
        let refused = nodes[1].ask(hold_of("gala").by(&late)).await;
        assert!(
            [401, 409].contains(&refused.status),
            "round {round}: {}",
            refused.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_ledger_is_away_nothing_is_sold_that_may_have_been_taken_off_sale() {
    if servers::must_skip("holds while the ledger of two nodes is away") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let ana = nodes[1].visitor(1);
    nodes[1].hold(&ana, &["A-1"]).await;
    nodes[0].database().kill();
    let hold = post("/v1/shows/night-1/holds", &json!({"seats": ["A-2"]}));
    let refused = nodes[1].ask(hold.by(&ana)).await;
    refused.problem(503, "ledger_unavailable");
}

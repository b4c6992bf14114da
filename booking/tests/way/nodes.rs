//! Tests several nodes over one ledger and one Redis: no node is special, and what Redis loses is
//! restored from the ledger.

use std::collections::HashMap;

use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;
use crate::trains::{names, on_sale_at_node, seats};

/// Waits until a node shows this many held and sold seats.
async fn shows(node: &App, held: u64, sold: u64) -> Value {
    until(&format!("{held} held and {sold} sold"), async || {
        let seats = node.ask(get("/v1/shows/night-1/seats").header("accept", "application/json"));
        let seats = seats.await;
        let seats = (seats.status == 200).then(|| seats.is(200))?;
        (seats["held"] == held && seats["sold"] == sold).then_some(seats)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_one_node_is_ordered_and_paid_at_other_nodes_and_shown_by_all() {
    if servers::must_skip("three nodes over one Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(3, &redis.url()).await;
    let (ana, ben) = (nodes[0].visitor(1), nodes[0].visitor(2));
    let hold = nodes[0].hold(&ana, &["A-1", "A-2"]).await;
    for node in &nodes {
        shows(node, 2, 0).await;
        let call = post(
            "/v1/shows/night-1/holds",
            &json!({ "seats": ["A-2", "A-3"] }),
        );
        let refused = node.ask(call.by(&ben)).await.is(409);
        assert_eq!(refused["seats"], json!(["A-2"]));
    }
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = nodes[1].ask(post(&path, &buyer()).by(&ana)).await.is(201);
    nodes[2].pay(&order, "approve").await.is(200);
    nodes[0].order_in(&order, "ticketed").await;
    for node in &nodes {
        let seats = shows(node, 0, 2).await;
        assert_eq!(seats["unavailable"], json!({"A-1": "sold", "A-2": "sold"}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_redis_is_rebuilt_from_the_ledger_and_sells_nothing_twice() {
    if servers::must_skip("an emptied Redis under two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let (ana, ben) = (nodes[0].visitor(1), nodes[0].visitor(2));
    let sold = nodes[0].order(&ana, &["A-1"]).await;
    nodes[0].pay(&sold, "approve").await.is(200);
    let pending = nodes[1].order(&ana, &["B-1"]).await;
    nodes[1].hold(&ben, &["C-1"]).await;
    for node in &nodes {
        shows(node, 2, 1).await;
    }
    let version = |seats: &Value| text(seats, "version").parse::<u64>().expect("a number");
    let before = version(&nodes[0].seats("night-1").await);
    redis.flush_all().await.expect("Redis answers");
    // No call asks for a hold. The nodes notice the loss by themselves. The basket is lost, but the
    // order is not.
    for node in &nodes {
        let seats = shows(node, 1, 1).await;
        assert!(version(&seats) > before, "versions never decrease");
        assert_eq!(seats["unavailable"], json!({"A-1": "sold", "B-1": "held"}));
    }
    let call = post("/v1/shows/night-1/holds", &json!({ "seats": ["B-1"] }));
    nodes[0].ask(call.by(&ben)).await.is(409);
    nodes[0].pay(&pending, "approve").await.is(200);
    nodes[1].order_in(&pending, "ticketed").await;
    for node in &nodes {
        shows(node, 0, 2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_with_a_ledger_that_was_set_back_refuses_its_first_hold() {
    if servers::must_skip("a node over a ledger that was set back") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let mut nodes = App::nodes(1, &redis.url()).await;
    let before = nodes.remove(0);
    let (ana, ben) = (before.visitor(1), before.visitor(2));
    let sold = before.order(&ana, &["A-1"]).await;
    before.pay(&sold, "approve").await.is(200);
    shows(&before, 0, 1).await;
    let after = before
        .followed_by(&redis.url(), async |_, server| {
            let set_back = "DELETE FROM claims; DELETE FROM seat_outbox; DELETE FROM seat_marks";
            server.query(set_back).await.expect("valid SQL");
        })
        .await;
    let call = post("/v1/shows/night-1/holds", &json!({ "seats": ["B-1"] }));
    after
        .ask(call.by(&ben))
        .await
        .problem(503, "ledger_unavailable");
    let told = after
        .booking
        .gateways()
        .condition()
        .await
        .warnings
        .join("\n");
    assert!(told.contains("ledger was set back"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_node_takes_over_all_work_of_a_node_that_died() {
    if servers::must_skip("a node that dies") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let mut nodes = App::nodes(2, &redis.url()).await;
    let ana = nodes[0].visitor(1);
    // By now one of the two nodes delivers the rows of the seat outbox.
    let first = nodes[0].order(&ana, &["A-1"]).await;
    nodes[0].pay(&first, "approve").await.is(200);
    shows(&nodes[1], 0, 1).await;
    let order = nodes[0].order(&ana, &["A-2"]).await;
    drop(nodes.remove(0));
    nodes[0].pay(&order, "approve").await.is(200);
    nodes[0].order_in(&order, "ticketed").await;
    shows(&nodes[0], 0, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_show_at_one_node_applies_to_holds_at_the_other() {
    if servers::must_skip("a change at one of two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let ben = nodes[0].visitor(2);
    assert_eq!(nodes[1].seats("night-1").await["free"], 40);
    let shorter = json!({"starts_at": NODES_BEGIN, "hold_s": 60});
    nodes[0].put_show("night-1", shorter).await;
    until("the new hold time at the other node", async || {
        let hold = nodes[1].hold(&ben, &["A-1"]).await;
        let span = |at: &str| text(&hold, at).parse::<jiff::Timestamp>().expect("a time");
        let shown = span("expires_at").duration_since(span("server_time"));
        let path = format!("/v1/holds/{}", text(&hold, "hold"));
        nodes[1].ask(delete(&path).by(&ben)).await.is(204);
        (shown.as_secs() <= 60).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_missed_outbox_rows_is_rebuilt_from_the_ledger_if_the_rows_are_deleted() {
    if servers::must_skip("a Redis that was set back further than rows are kept") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let ana = nodes[0].visitor(1);
    for seat in ["A-1", "A-2"] {
        let order = nodes[0].order(&ana, &[seat]).await;
        nodes[0].pay(&order, "approve").await.is(200);
    }
    let order = nodes[0].order(&ana, &["A-3"]).await;
    shows(&nodes[1], 1, 2).await;
    nodes[0].query("DELETE FROM seat_outbox").await;
    let back = ["HSET", "{show:night-1}:meta", "cursor", "0"];
    redis.command(0, &back).await.expect("Redis answers");
    // A row of the outbox is applied only after all rows before it. The rows before the next one
    // are deleted, so Redis must be rebuilt.
    nodes[0].pay(&order, "approve").await.is(200);
    for node in &nodes {
        shows(node, 0, 3).await;
    }
    let order = nodes[1].order(&ana, &["A-4"]).await;
    nodes[1].pay(&order, "approve").await.is(200);
    shows(&nodes[0], 0, 4).await;
}

/// Puts `night-1` in a venue, and returns the number of the plan that it then pins.
async fn put_in(node: &App, venue: &str) -> u64 {
    let document = document(json!({ "venue": venue }));
    let put = put("/v1/promoter/shows/night-1", &document).by(&PROMOTER);
    let stored = node.ask(put).await.is(200);
    stored["plan_version"].as_u64().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_that_move_a_show_at_once_give_no_number_to_plans_of_two_venues() {
    if servers::must_skip("two nodes that move one show") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(3, &redis.url()).await;
    nodes[0].put_venue("annex", "grid:4x10").await;
    let ana = nodes[2].visitor(1);
    let hold = nodes[2].hold(&ana, &["A-1"]).await;
    let mut venues = HashMap::from([(1, "hall")]);
    for round in 0..4 {
        // In most rounds both nodes move the show to the same venue.
        let moves = [["annex", "annex"], ["hall", "hall"], ["annex", "hall"]][round % 3];
        let puts = nodes
            .iter()
            .zip(moves)
            .map(|(node, venue)| put_in(node, venue));
        for (number, venue) in join_all(puts).await.into_iter().zip(moves) {
            let known = *venues.entry(number).or_insert(venue);
            assert_eq!(known, venue, "number {number} in round {round}");
        }
    }
    // The third node may not have read the changes yet.
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = nodes[2].ask(post(&path, &buyer()).by(&ana));
    order.await.problem(409, "plan_changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_hold_of_a_departure_is_known_at_every_node_at_once() {
    if servers::must_skip("the first hold of a departure at two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    for node in &nodes {
        on_sale_at_node(node).await;
    }
    for day in 1..=12 {
        let who = nodes[0].visitor_of(EVERYDAY, day);
        let holds = format!("/v1/shows/t1-2099-03-{day:02}/holds");
        let first = seats(&["A-1"], "S00", "S01");
        let held = nodes[0].ask(post(&holds, &first).by(&who)).await.is(201);
        let hold = format!("/v1/holds/{}", text(&held, "hold"));
        let other = &nodes[1];
        match day % 4 {
            0 => other.ask(get(&hold).by(&who)).await.is(200),
            1 => {
                let order = post(&format!("{hold}/order"), &names(&["Ana Perez"]));
                other.ask(order.by(&who)).await.is(201)
            }
            2 => {
                let add = json!({ "add": ["A-2"] });
                other.ask(patch(&hold, &add).by(&who)).await.is(200)
            }
            _ => {
                let released = other.ask(delete(&hold).by(&who)).await;
                assert_eq!(released.status, 204, "{}", released.text());
                continue;
            }
        };
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_that_one_node_put_is_sold_by_the_other_at_once() {
    if servers::must_skip("a new show at two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let ana = nodes[0].visitor(1);
    for n in 2..8 {
        let show = format!("night-{n}");
        nodes[0]
            .put_show(&show, json!({"starts_at": NODES_BEGIN}))
            .await;
        let seat = json!({ "seats": ["A-1"] });
        let held = nodes[1].try_hold(&ana, &show, &seat).await.is(201);
        let path = format!("/v1/holds/{}", text(&held, "hold"));
        nodes[0].ask(get(&path).by(&ana)).await.is(200);
    }
}

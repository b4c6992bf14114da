//! Tests idempotency keys. If two nodes get calls with the same key and different bodies at once,
//! one call is granted and the other is refused. A scan that is repeated with its key is accepted
//! again for a minute.

use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;

/// The number of pairs of calls that most of these tests make.
const PAIRS: u16 = 30;
const HOLDS: &str = "/v1/shows/night-1/holds";
const LIST: &str = "/v1/shows/night-1/waitlist";

/// Starts a Redis server and two nodes that sell a hall of sixty seats.
async fn two(changes: Value) -> (servers::RedisServers, Vec<App>) {
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let mut sold = json!({"starts_at": NODES_BEGIN, "orphans": "allow", "seats_per_visitor": 10});
    if let (Some(sold), Value::Object(changes)) = (sold.as_object_mut(), changes) {
        sold.extend(changes);
    }
    let nodes = App::nodes_selling(2, &redis.url(), "grid:6x10", sold).await;
    (redis, nodes)
}

/// Returns the seats of pair `n`, one for each of the two bodies.
fn seats(n: u16) -> [String; 2] {
    let row = ["A", "B", "C", "D", "E", "F"][usize::from(n / 5)];
    [1, 2].map(|of| format!("{row}-{}", n % 5 * 2 + of))
}

/// Sends two bodies under one key to two nodes at once. One must be granted, and the other refused
/// because of its key. Returns which body was granted, and its answer.
async fn pair(
    nodes: &[App],
    path: &str,
    who: &str,
    key: &str,
    bodies: [Value; 2],
) -> (usize, Value) {
    let calls = bodies.iter().zip(nodes).map(|(body, node)| {
        let call = post(path, body).keyed(key).by(who);
        async move { node.ask(call).await }
    });
    let answers = join_all(calls).await;
    let granted = |answer: &TestAnswer| answer.status < 300;
    let told = answers.iter().map(TestAnswer::text).collect::<Vec<_>>();
    assert_eq!(
        answers.iter().filter(|answer| granted(answer)).count(),
        1,
        "one of two is granted: {told:#?}"
    );
    let one = usize::from(granted(&answers[1]));
    let refused: Value = serde_json::from_slice(&answers[1 - one].body).expect("JSON");
    let code = text(&refused, "code");
    let codes = ["idempotency_mismatch", "idempotency_in_flight"];
    assert!(codes.contains(&code.as_str()), "{told:#?}");
    let own = nodes[1 - one].ask(post(path, &bodies[one]).keyed(key).by(who));
    let own = own.await;
    assert_eq!(
        own.body, answers[one].body,
        "the other node gives the same answer"
    );
    (one, own.is(answers[one].status))
}

async fn ticketed(node: &App, who: &Visitor, seats: &[&str]) -> Value {
    let order = node.order(who, seats).await;
    node.pay(&order, "approve").await.is(200);
    node.order_in(&order, "ticketed").await;
    order
}

fn labels(seats: &Value) -> Vec<String> {
    let seats = seats.as_array().expect("a list").iter();
    seats.map(|seat| text(seat, "label")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hold_requests_under_one_key_at_two_nodes_one_takes_its_seat() {
    if servers::must_skip("holds under one key at two nodes") {
        return;
    }
    let (_redis, nodes) = two(json!({})).await;
    for n in 0..PAIRS {
        let who = nodes[0].visitor(n);
        let seats = seats(n);
        let bodies = seats.each_ref().map(|seat| json!({"seats": [seat]}));
        let (one, hold) = pair(&nodes, HOLDS, &who.pass, "k", bodies).await;
        assert_eq!(labels(&hold["seats"]), [seats[one].clone()]);
    }
    for node in &nodes {
        until("one held seat for each pair", async || {
            (node.seats("night-1").await["held"] == PAIRS).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_orders_under_one_key_at_two_nodes_one_is_made() {
    if servers::must_skip("orders under one key at two nodes") {
        return;
    }
    let (_redis, nodes) = two(json!({})).await;
    for n in 0..PAIRS {
        let who = nodes[0].visitor(n);
        let hold = nodes[0].hold(&who, &[&seats(n)[0]]).await;
        let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
        let bodies = ["Ana", "Ben"]
            .map(|name| json!({"buyer": {"name": name, "email": "somebody@example.org"}}));
        let (one, made) = pair(&nodes, &path, &who.pass, "k", bodies).await;
        let id = text(&made, "order").parse().expect("an id");
        let record = nodes[0].ledger().await.order(&id).await.expect("readable");
        assert_eq!(record.expect("made").order.buyer.name, ["Ana", "Ben"][one]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_exchanges_or_refunds_under_one_key_at_two_nodes_one_is_made() {
    if servers::must_skip("exchanges and refunds under one key at two nodes") {
        return;
    }
    let (_redis, nodes) = two(json!({"refunds": [{"until_h": 48, "fee_pct": 10}]})).await;
    for n in 0..PAIRS / 5 {
        let who = nodes[0].visitor(n);
        let row = ["A", "B", "C", "D", "E", "F"][usize::from(n)];
        let seat = |n: u16| format!("{row}-{n}");
        let order = ticketed(&nodes[0], &who, &[&seat(1), &seat(2)]).await;
        let key = text(&order, "order_key");
        let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
        let wanted = [[seat(3), seat(4)], [seat(5), seat(6)]];
        let bodies = wanted
            .each_ref()
            .map(|seats| json!({"show": "night-1", "seats": seats}));
        let (one, new) = pair(&nodes, &path, &key, "k", bodies).await;
        assert_eq!(labels(&new["seats"]), wanted[one]);

        let told = nodes[0].read(&order).await["exchange"].clone();
        let key = text(&told, "order_key");
        let path = format!("/v1/orders/{}/refund", text(&told, "order"));
        let tickets = nodes[0].read(&told).await["tickets"].clone();
        let bodies = [0, 1].map(|n| json!({"tickets": [tickets[n]["ticket"]]}));
        let (one, after) = pair(&nodes, &path, &key, "r", bodies).await;
        assert_eq!(after["refunds"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            after["refunds"][0]["seats"],
            json!([wanted_seat(&new, one)])
        );
        assert_eq!(nodes[0].read(&told).await["state"], "partly_refunded");
    }
}

fn wanted_seat(order: &Value, n: usize) -> String {
    labels(&order["seats"])[n].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_waitlist_requests_under_one_key_at_two_nodes_one_joins() {
    if servers::must_skip("parties under one key at two nodes") {
        return;
    }
    let (_redis, nodes) = two(json!({})).await;
    for (n, row) in ["A", "B", "C", "D", "E", "F"].into_iter().enumerate() {
        let seats: Vec<String> = (1..=10).map(|seat| format!("{row}-{seat}")).collect();
        let seats: Vec<&str> = seats.iter().map(String::as_str).collect();
        let n = u16::try_from(n).expect("few");
        nodes[0].hold(&nodes[0].visitor(1_000 + n), &seats).await;
    }
    for n in 0..PAIRS {
        let who = nodes[0].visitor(n);
        let bodies = [1, 2].map(|quantity| json!({"quantity": quantity}));
        let (one, waiter) = pair(&nodes, LIST, &who.pass, "k", bodies).await;
        assert_eq!(waiter["quantity"], one + 1);
    }
}

/// Buys A-1 and A-2 for Ana, and returns one of the tickets.
async fn ticket(app: &App, ana: &Visitor) -> String {
    let order = ticketed(app, ana, &["A-1", "A-2"]).await;
    text(&app.read(&order).await["tickets"][0], "ticket")
}

fn scan(ticket: &str, key: &str, scanner: &str) -> TestCall {
    let path = format!("/v1/tickets/{ticket}/scan");
    post(&path, &json!({})).keyed(key).by(scanner)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_scan_is_accepted_for_a_minute_with_the_same_key_and_scanner_only() {
    let (app, ana, _) = opened().await;
    let ticket = ticket(&app, &ana).await;
    let first = app.ask(scan(&ticket, "k", DOOR)).await;
    first.is(200);
    app.clock.advance_ms(59_999);
    let again = app.ask(scan(&ticket, "k", DOOR)).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    for (what, call) in [
        ("another key", scan(&ticket, "l", DOOR)),
        ("another scanner", scan(&ticket, "k", OTHER_DOOR)),
    ] {
        let told = app.ask(call).await.problem(409, "already_scanned");
        assert_eq!(told["scanned_at"], first.is(200)["scanned_at"], "{what}");
    }
    app.clock.advance_ms(1);
    let late = app.ask(scan(&ticket, "k", DOOR)).await;
    late.problem(409, "already_scanned");
    let long = app.ask(scan(&ticket, &"k".repeat(256), DOOR)).await;
    long.problem(400, "idempotency_key_invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_node_answers_a_repeated_scan_like_the_first() {
    let (app, ana, _) = opened().await;
    let ticket = ticket(&app, &ana).await;
    let first = app.ask(scan(&ticket, "k", DOOR)).await.is(200);
    let app = app.restarted().await;
    let again = app.ask(scan(&ticket, "k", DOOR)).await.is(200);
    assert_eq!(again["scanned_at"], first["scanned_at"]);
    let other = app.ask(scan(&ticket, "l", DOOR)).await;
    other.problem(409, "already_scanned");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_payment_outcomes_under_one_key_the_sandbox_takes_the_first() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    let path = format!(
        "/v1/sandbox/payments/{}",
        text(&order["payment"], "payment")
    );
    let pay = |outcome: &str| post(&path, &json!({"outcome": outcome})).keyed("k");
    app.ask(pay("decline")).await.is(200);
    let other = app.ask(pay("approve")).await;
    other.problem(422, "idempotency_mismatch");
    let again = app.ask(pay("decline")).await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.is(200)["outcome"], "decline");
}

//! Tests money while many calls run at once. Orders are exchanged, refunded, cancelled, scanned and
//! paid. Meanwhile their owners try to buy the seats that are held for the exchanges a second time.
//! Afterwards every cent must follow from the terms and rules, and nobody may have more seats than
//! allowed.
//! `FAIRGATE_STORM=orders,calls,at_once` sets the size, which is small by default.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fairgate_model::ids::{HoldIdDeriver, OrderId, ShowId};
use fairgate_servers as servers;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::harness::*;

/// The price of a seat at each show. `night-2` is dearer than `night-1`, `night-3` is cheaper, and
/// `night-4` costs nothing.
const NIGHTS: [(&str, i64); 4] = [
    ("night-1", 5_000),
    ("night-2", 6_500),
    ("night-3", 4_200),
    ("night-4", 0),
];
const ROWS: u32 = 20;
const ACROSS: u32 = 30;
const SEATS_MAX: i64 = 6;
/// Returns how many orders and calls there are, and how many calls run at once.
fn size() -> (u16, usize, usize) {
    let Ok(given) = std::env::var("FAIRGATE_STORM") else {
        return (8, 120, 25);
    };
    let read = |text: &str| {
        let mut parts = text.split(',');
        let orders = parts.next()?.parse().ok()?;
        let mut count = || parts.next()?.parse().ok();
        Some((orders, count()?, count()?))
    };
    read(&given).expect("FAIRGATE_STORM is ORDERS,CALLS,AT_ONCE")
}

fn night(price: i64) -> Value {
    json!({
        "starts_at": NODES_BEGIN, "prices": {"cat1": price, "cat2": price}, "seats_per_visitor": SEATS_MAX, "orphans": "allow",
        "refunds": [{"until_h": 48, "fee_pct": 10}], "exchange": {"cheaper": "refund_rule", "fee": 150},
    })
}

fn seat(dice: &mut StdRng) -> String {
    let row = char::from(b'A' + u8::try_from(dice.random_range(0..ROWS)).expect("few rows"));
    format!("{row}-{}", dice.random_range(1..=ACROSS))
}

/// Makes a random call about an order, and returns the status of the answer.
async fn act(app: &App, order: &Value, dice: &mut StdRng, ids: &HoldIdDeriver) -> u16 {
    let path = |verb: &str| format!("/v1/orders/{}/{verb}", text(order, "order"));
    let key = text(order, "order_key");
    let call = match dice.random_range(0..10) {
        0..=4 => {
            let (show, _) = NIGHTS[dice.random_range(0..NIGHTS.len())];
            let named = format!("k{}", dice.random_range(0..40));
            let ask = json!({"show": show, "seats": [seat(dice), seat(dice)]});
            let show: ShowId = show.parse().expect("a slug");
            let of: OrderId = text(order, "order").parse().expect("an order's id");
            let hold = ids.hold_of_exchange(&show, &of, &named);
            let exchanged = app.ask(post(&path("exchange"), &ask).by(&key).keyed(&named));
            let checkout = post(&format!("/v1/holds/{hold}/order"), &buyer());
            let owner =
                app.visitor(u16::try_from(order["visitor"].as_u64().unwrap_or(0)).unwrap_or(0));
            let (exchanged, ordered) = tokio::join!(exchanged, app.ask(checkout.by(&owner)));
            assert_ne!(ordered.status, 201, "the hold of an exchange was ordered");
            return exchanged.status;
        }
        5 => post(&path("refund"), &json!({})).by(&key),
        6 => post(&path("cancel"), &json!({})).by(&key),
        7 => {
            let tickets = app.read(order).await["tickets"].clone();
            let Some(ticket) = tickets[0]["ticket"].as_str() else {
                return 404;
            };
            post(&format!("/v1/tickets/{ticket}/scan"), &json!({})).by(&DOOR)
        }
        _ => {
            let read = app.read(order).await;
            return app.pay(&read, "approve").await.status;
        }
    };
    app.ask(call).await.status
}

/// Follows an order's exchanges. Returns the order that has the seats now, with the first order's
/// visitor.
async fn newest(app: &App, order: &Value) -> Value {
    let mut order = order.clone();
    loop {
        let next = app.read(&order).await["exchange"].clone();
        if next.is_null()
            || ["expired", "cancelled"]
                .iter()
                .any(|ended| next["state"] == *ended)
        {
            return order;
        }
        order["order"] = next["order"].clone();
        order["order_key"] = next["order_key"].clone();
    }
}

async fn storm(nodes: &[App], seed: u64) {
    let (orders, calls, at_once) = size();
    let mut dice = StdRng::seed_from_u64(seed);
    nodes[0]
        .put_venue("big", &format!("grid:{ROWS}x{ACROSS}"))
        .await;
    for (show, price) in NIGHTS {
        let mut night = night(price);
        night["venue"] = json!("big");
        nodes[0].put_show(show, night).await;
    }
    for node in nodes {
        for (show, _) in NIGHTS {
            until("the shows at every node", async || {
                let seats = node.ask(get(&format!("/v1/shows/{show}/seats"))).await;
                (seats.status == 200).then_some(())
            })
            .await;
        }
    }
    let secret = nodes[0]
        .ledger()
        .await
        .secret(&secret(), "call_ids", [0; 32])
        .await;
    let ids = HoldIdDeriver::new(secret.expect("readable"));
    let mut paid = Vec::new();
    for n in 0..orders {
        let row = char::from(b'A' + u8::try_from(n % 20).expect("few rows"));
        let across = n / 20 * 2 + 1;
        let who = nodes[0].visitor(n + 1);
        let seats = [format!("{row}-{across}"), format!("{row}-{}", across + 1)];
        let mut order = nodes[0].order(&who, &[&seats[0], &seats[1]]).await;
        nodes[0].pay(&order, "approve").await.is(200);
        nodes[0].order_in(&order, "ticketed").await;
        order["visitor"] = json!(n + 1);
        paid.push(order);
    }
    let mut done: BTreeMap<u16, u32> = BTreeMap::new();
    for _ in 0..calls.div_ceil(at_once) {
        // Only a few orders are chosen at a time, so that many calls are about the same order.
        let mut chosen = Vec::new();
        for _ in 0..at_once {
            let order = &paid[dice.random_range(0..paid.len().min(6))];
            chosen.push((newest(&nodes[0], order).await, dice.random::<u64>()));
        }
        let ids = &ids;
        let running = chosen
            .iter()
            .zip(0_usize..)
            .map(|((order, seed), at)| async move {
                let mut dice = StdRng::seed_from_u64(*seed);
                act(&nodes[at % nodes.len()], order, &mut dice, ids).await
            });
        for status in join_all(running).await {
            assert!(status < 500 || status == 503, "{status}");
            *done.entry(status).or_default() += 1;
        }
        paid.rotate_left(1);
    }
    #[expect(clippy::print_stdout, reason = "the proof shows how much was done")]
    {
        println!("FIGURE {orders} orders, answers {done:?}");
    }
}

fn amount(record: &Value, field: &str) -> i64 {
    record[field].as_i64().unwrap_or(0)
}

/// Checks every cent in a dump, for each order and the exchanges that led to it. Also checks that
/// nobody has too many seats.
fn check(dump: &Path) {
    let text = std::fs::read_to_string(dump).expect("a dump");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["kind"] == kind);
    let orders: BTreeMap<&str, &Value> = of("order")
        .map(|order| (order["order"].as_str().expect("an id"), order))
        .collect();
    let prices: BTreeMap<&str, i64> = NIGHTS.into_iter().collect();
    let mut before: BTreeMap<&str, &Value> = BTreeMap::new();
    for exchange in of("exchange").filter(|exchange| !exchange["done_ms"].is_null()) {
        before.insert(exchange["successor"].as_str().expect("an id"), exchange);
    }
    let given: BTreeSet<&str> = before
        .values()
        .filter_map(|exchange| exchange["order"].as_str())
        .collect();
    let captured = |order: &str| -> i64 {
        let own = of("payment").filter(|payment| payment["order"] == order);
        own.map(|payment| amount(payment, "captured")).sum()
    };
    for (id, order) in &orders {
        let is_last = !given.contains(id);
        let state = order["state"].as_str().expect("a state");
        if !is_last || ["pending", "cancelled", "expired"].contains(&state) {
            continue;
        }
        // Along the chain of exchanges, `balance` adds up the payments minus the refunds, and
        // `kept` adds up the fees that the house keeps.
        let (mut balance, mut kept, mut at) = (0, 0, *id);
        loop {
            balance += captured(at);
            for refund in of("refund").filter(|refund| refund["order"] == at) {
                balance -= amount(refund, "amount");
                kept += amount(refund, "fee");
            }
            let Some(exchange) = before.get(at) else {
                break;
            };
            let (credit, price, fee) = (
                amount(exchange, "credit"),
                amount(exchange, "price"),
                amount(exchange, "fee"),
            );
            let cheaper = (credit - price).max(0);
            assert_eq!(fee, 150);
            // The house keeps a tenth of the difference to cheaper seats, and the fee of the
            // exchange.
            kept += cheaper / 10 + fee;
            at = exchange["order"].as_str().expect("an id");
        }
        let night = order["show"].as_str().expect("a show");
        let living: i64 = of("claim").filter(|claim| claim["order"] == *id).count() as i64;
        assert_eq!(
            balance,
            living * prices[night] + kept,
            "{id} ({state}): the balance is the price of its seats plus the kept fees"
        );
        assert!(order["items"].as_array().is_some_and(|items| {
            items
                .iter()
                .all(|item| amount(item, "amount") == prices[night])
        }));
    }
    let mut seats: BTreeMap<(&str, &str), BTreeSet<u64>> = BTreeMap::new();
    for claim in of("claim") {
        let order = orders[claim["order"].as_str().expect("an id")];
        let whose = (
            order["visitor"].as_str().expect("a holder"),
            claim["show"].as_str().expect("a show"),
        );
        seats
            .entry(whose)
            .or_default()
            .insert(claim["seat"].as_u64().expect("a seat"));
    }
    for (whose, seats) in seats {
        assert!(
            seats.len() as i64 <= SEATS_MAX,
            "{whose:?} has {}",
            seats.len()
        );
    }
}

/// Writes dumps until one shows no unfinished work, and returns its path.
async fn at_rest(app: &App, write: impl AsyncFn(&Path)) -> std::path::PathBuf {
    let out = app.folder.path().join("storm.jsonl");
    until("the end of all work", async || {
        write(&out).await;
        let text = std::fs::read_to_string(&out).expect("a dump");
        let last: Value = serde_json::from_str(text.lines().last()?).ok()?;
        (last["effects"] == 0 && last["events"] == 0).then_some(())
    })
    .await;
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cent_of_a_storm_follows_from_terms_and_rules_in_one_file() {
    let app = App::new().await;
    let nodes = [app];
    storm(&nodes, 1).await;
    let folder = nodes[0].folder.path().to_owned();
    let out = at_rest(&nodes[0], async |out: &Path| {
        booking::commands::dump::write(&folder, out, 1).expect("a dump");
    })
    .await;
    check(&out);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cent_of_a_storm_follows_from_terms_and_rules_at_two_nodes() {
    if servers::must_skip("a storm over two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    storm(&nodes, 2).await;
    let url = nodes[0].url();
    let out = at_rest(&nodes[0], async |out: &Path| {
        booking::commands::dump::write_database(&url, out, 1)
            .await
            .expect("a dump");
    })
    .await;
    check(&out);
}

//! Puts an older copy of the ledger back. Nothing may be sold twice, no number given twice, and
//! operators must be told. A server that was only killed must never look like that.

use std::path::{Path, PathBuf};
use std::process::Output;

use fairgate_servers::FakeStripeServer;
use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};

use crate::card_form::{confirm, selling_by_card};
use crate::harness::{
    DOOR_KEY, Live, PROMOTER_KEY, Promoter, Server, TestShop, Visitor, gateway, get, in_seconds,
    post, text, until,
};

/// The number of kills, unless `FAIRGATE_CRASH_ROUNDS` says otherwise.
const ROUNDS: usize = 6;

/// Puts a show on sale in a room without a line.
async fn on_sale(server: &Server) {
    on_sale_as(server, json!({})).await;
}

async fn on_sale_as(server: &Server, show: Value) {
    let promoter = Promoter::of(server);
    let room = json!({"title": "Night one", "method": "open", "draw_at": in_seconds(-30)});
    promoter.on_sale("6x10", show, room).await;
    promoter.selling("sale").await;
}

async fn stop(server: &Server) {
    server.terminate();
    server.ended().await;
}

/// Buys seats, and returns the order with its tickets.
async fn buy(server: &Server, visitor: &Visitor<'_>, seats: &[&str]) -> Value {
    let asked = json!({ "seats": seats });
    let held = server.try_hold(visitor, "night", &asked).await.is(201);
    let ordered = server.checkout(visitor, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
    ordered
}

pub(crate) fn reopen(server: &Server, show: &str) -> Output {
    let mut command = gateway();
    command
        .args(["reopen", show, "--target", &server.url])
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY);
    command.output().expect("the command starts")
}

pub(crate) fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Returns the warning that the ledger went back, if operators see it.
async fn warning(server: &Server) -> Option<String> {
    let told = server.ready_as_operator().await.is(200);
    let warnings = told["warnings"].as_array().expect("warnings");
    let mut warnings = warnings.iter().filter_map(Value::as_str);
    let found = warnings.find(|told| told.contains("went back to an older state"))?;
    Some(found.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_ledger_sells_nothing_until_somebody_reopens_its_shows() {
    let server = Server::start().await;
    on_sale(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    buy(&server, &ana, &["A-1"]).await;
    stop(&server).await;
    let ledger = server.data().join("ledger.db");
    let copy = std::fs::read(&ledger).expect("a copy");
    server.restart().await;
    let ben = Visitor::admitted(&server, "sale").await;
    let lost = buy(&server, &ben, &["A-2"]).await;
    let later: Vec<u64> = {
        let mut numbers = vec![ben.number];
        for _ in 0..5 {
            numbers.push(Visitor::joined(&server, "sale").await.number);
        }
        numbers
    };
    stop(&server).await;
    std::fs::write(&ledger, copy).expect("put back");
    server.restart().await;

    let told = warning(&server).await.expect("operators are told");
    assert!(told.contains("its last commit is of 20"), "{told}");
    let one_lost = "At least 1 order that no payment provider knows";
    assert!(told.contains(one_lost), "{told}");
    assert!(server.read_log().contains("every show is closed"));
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-2"]}))
        .await;
    held.problem(503, "sale_closed_after_restore");
    let carla = Visitor::joined(&server, "sale").await;
    assert!(
        later.iter().all(|number| *number < carla.number),
        "{} was given before: {later:?}",
        carla.number
    );
    until("the room says that nobody is let in", async || {
        let room = server.get("/v1/rooms/sale").await.is(200);
        (room["paused"] == true).then_some(())
    })
    .await;
    carla.try_claim().await.problem(409, "not_called");
    let path = format!("/v1/orders/{}", text(&lost, "order"));
    let read = server.ask(get(&path).by(&text(&lost, "order_key"))).await;
    assert_eq!(read.status, 404, "the ledger lacks it");

    let other = said(&reopen(&server, "matinee"));
    assert!(other.contains("404"), "{other}");
    let reopened = reopen(&server, "night");
    let told = said(&reopened);
    assert!(
        reopened.status.success() && told.contains(one_lost),
        "{told}"
    );
    assert!(
        told.contains("night sells again. 0 orders came back"),
        "{told}"
    );
    server
        .try_hold(&ana, "night", &json!({"seats": ["A-3"]}))
        .await
        .is(201);
    let mut carla = carla;
    carla.claim().await;
    let again = said(&reopen(&server, "night"));
    assert!(again.contains("sells again"), "{again}");
    reopen(&server, "*");
    assert_eq!(warning(&server).await, None, "it is over");
    let nothing = said(&reopen(&server, "night"));
    assert!(nothing.contains("was not closed"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_show_takes_no_seat_in_any_way_and_gives_back_what_was_paid_before() {
    let server = Server::start().await;
    on_sale(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let bought = buy(&server, &ana, &["A-1"]).await;
    stop(&server).await;
    let counter = server.data().join("counter");
    set_ahead(&counter, 1_000);
    server.restart().await;
    let told = warning(&server).await.expect("operators are told");
    assert!(told.contains("It is not known whether"), "{told}");
    for asked in [json!({"seats": ["A-2"]}), json!({"best": {"quantity": 2}})] {
        let refused = server.try_hold(&ana, "night", &asked).await;
        let refused = refused.problem(503, "sale_closed_after_restore");
        assert!(refused["retry_after_s"].is_number(), "{refused}");
    }
    let exchange = format!("/v1/orders/{}/exchange", text(&bought, "order"));
    let asked = json!({"show": "night", "seats": ["A-4"]});
    let refused = ana.send(Method::POST, &exchange, &asked).await;
    assert!([409, 503].contains(&refused.status), "{refused:?}");
    assert_eq!(server.read(&bought).await["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn fans_read_in_the_lobby_that_the_sale_is_closed_for_a_check_and_then_that_it_goes_on() {
    let server = Server::start().await;
    on_sale(&server).await;
    stop(&server).await;
    set_ahead(&server.data().join("counter"), 1_000);
    server.restart().await;
    let ana = Visitor::joined(&server, "sale").await;
    let is_closed = |room: &Value| room["closed_for_check"] == true;
    until("the room is closed", async || {
        let room = server.get("/v1/rooms/sale").await.is(200);
        (is_closed(&room) && room["paused"] == true).then_some(())
    })
    .await;
    let mut live = Live::open(&ana).await;
    assert!(is_closed(&live.text("room").await));
    let words = "The sale is closed for now";
    assert!(server.get("/r/sale").await.text().contains(words));

    let told = said(&reopen(&server, "*"));
    assert!(told.contains("sell"), "{told}");
    live.text_where("room", |room| !is_closed(room)).await;
    assert!(!server.get("/r/sale").await.text().contains(words));
}

/// Buys a seat by card, and returns the order.
pub(crate) async fn buy_by_card(
    stripe: &FakeStripeServer,
    server: &Server,
    visitor: &Visitor<'_>,
    seat: &str,
) -> Value {
    let asked = json!({ "seats": [seat] });
    let held = server.try_hold(visitor, "night", &asked).await.is(201);
    let ordered = server.checkout(visitor, &held).await;
    confirm(stripe, visitor, &ordered).await;
    server.order_in(&ordered, "ticketed").await;
    ordered
}

/// Puts an older copy of the ledger back, over which `meanwhile` has sold.
pub(crate) async fn put_back(server: &Server, meanwhile: impl AsyncFnOnce()) {
    stop(server).await;
    let ledger = server.data().join("ledger.db");
    let copy = std::fs::read(&ledger).expect("a copy");
    server.restart().await;
    meanwhile().await;
    stop(server).await;
    std::fs::write(&ledger, copy).expect("put back");
    server.restart().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn free_orders_that_are_lost_are_counted_until_the_shows_are_reopened() {
    let server = Server::with(&[("FAIRGATE_PAYMENTS", "none")]).await;
    on_sale_as(&server, json!({"prices": {"cat1": 0, "cat2": 0}})).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let take = async |seat: &str| {
        let asked = json!({ "seats": [seat] });
        let held = server.try_hold(&ana, "night", &asked).await.is(201);
        let ordered = server.checkout(&ana, &held).await;
        server.order_in(&ordered, "ticketed").await;
    };
    take("A-1").await;
    put_back(&server, async || {
        take("A-2").await;
        take("A-4").await;
    })
    .await;
    let lost = "At least 2 orders that no payment provider knows";
    let told = warning(&server).await.expect("operators are told");
    assert!(told.contains(lost), "{told}");
    let told = said(&reopen(&server, "*"));
    assert!(
        told.contains("* sells again.") && told.contains(lost),
        "{told}"
    );
    assert_eq!(warning(&server).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_were_paid_by_card_come_back_whole_from_the_provider() {
    let exchange = json!({"until_h": 0, "cheaper": "refund_rule", "fee": 200});
    let show = json!({"title": "Night one", "exchange": exchange, "seats_per_visitor": 10});
    let (stripe, server) = selling_by_card(show).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let kept = buy_by_card(&stripe, &server, &ana, "A-1").await;
    let mut lost = Vec::new();
    let (mut new, mut returned) = (Value::Null, Value::Null);
    put_back(&server, async || {
        lost.push(buy_by_card(&stripe, &server, &ana, "A-4").await);
        // An order from before the copy is exchanged, and a later one is refunded at the provider.
        let path = format!("/v1/orders/{}/exchange", text(&kept, "order"));
        let asked = json!({"show": "night", "seats": ["B-5"]});
        let call = post(&path, &asked).by(&text(&kept, "order_key"));
        server.ask(call).await.is(200);
        new = server.read(&kept).await["exchange"].clone();
        confirm(&stripe, &ana, &new).await;
        server.order_in(&new, "ticketed").await;
        returned = buy_by_card(&stripe, &server, &ana, "C-1").await;
        let payment = text(&returned["payment"], "payment");
        let total = returned["payment"]["amount"]["amount"].as_i64();
        assert!(stripe.refund_in_dashboard(&payment, total.expect("a sum")));
        server.order_in(&returned, "refunded").await;
    })
    .await;

    let told = said(&reopen(&server, "night"));
    assert!(told.contains("sells again. 2 orders came back"), "{told}");
    assert!(told.contains("no order is lost"), "{told}");
    for order in lost.iter().chain([&new]) {
        let back = server.order_in(order, "ticketed").await;
        let ticket = text(&back["tickets"][0], "ticket");
        let path = format!("/v1/tickets/{ticket}/scan");
        let scan = post(&path, &json!({})).by(DOOR_KEY);
        server.ask(scan).await.is(200);
    }
    assert_eq!(server.read(&kept).await["state"], "exchanged");
    let path = format!("/v1/orders/{}", text(&returned, "order"));
    let gone = get(&path).by(&text(&returned, "order_key"));
    assert_eq!(server.ask(gone).await.status, 404, "its money went back");
    for seat in ["A-4", "B-5"] {
        let asked = json!({ "seats": [seat] });
        let taken = server.try_hold(&ana, "night", &asked).await;
        assert_eq!(taken.status, 409, "{seat} was sold before");
    }
    let free = json!({"seats": ["C-1"]});
    server.try_hold(&ana, "night", &free).await.is(201);
    let listed = Promoter::of(&server).get("attention").await.is(200);
    assert_eq!(listed, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_ledger_whose_counter_is_missing_sells_nothing_until_it_is_reopened() {
    let server = Server::start().await;
    on_sale(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    stop(&server).await;
    let ledger = server.data().join("ledger.db");
    let copy = std::fs::read(&ledger).expect("a copy");
    server.restart().await;
    buy(&server, &ana, &["A-1"]).await;
    let last = Visitor::joined(&server, "sale").await.number;
    stop(&server).await;
    std::fs::write(&ledger, copy).expect("put back");
    std::fs::remove_file(server.data().join("counter")).expect("removed");
    server.restart().await;
    let warnings = server.ready_as_operator().await.is(200)["warnings"].to_string();
    assert!(warnings.contains("may have gone back"), "{warnings}");
    let asked = json!({"seats": ["A-1"]});
    let held = server.try_hold(&ana, "night", &asked).await;
    held.problem(503, "sale_closed_after_restore");
    let next = Visitor::joined(&server, "sale").await.number;
    assert!(next > last, "{next} may have been given before");
    let told = said(&reopen(&server, "*"));
    assert!(told.contains("sell"), "{told}");
    stop(&server).await;
    server.restart().await;
    assert_eq!(warning(&server).await, None, "the counter is there again");
    server.try_hold(&ana, "night", &asked).await.is(201);
}

/// Gives tickets back, and returns the order once the money is back.
async fn give_back(server: &Server, ordered: &Value, tickets: Value) -> Value {
    let path = format!("/v1/orders/{}/refund", text(ordered, "order"));
    let call = post(&path, &tickets).by(&text(ordered, "order_key"));
    server.ask(call).await.is(200);
    let is_done = |order: &Value| order["refunds"][0]["state"] == "done";
    server.order_once(ordered, is_done).await
}

/// Returns the refunds of an order without their times.
fn refunds_of(order: &Value) -> Vec<Value> {
    let mut refunds = order["refunds"].as_array().expect("refunds").clone();
    for refund in &mut refunds {
        for time in ["at", "done_at"] {
            refund[time].take();
        }
    }
    refunds
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_that_were_given_back_meanwhile_stay_void_and_the_next_buyers_have_their_seats() {
    let refunds = json!([{"until_h": 1, "fee_pct": 10}]);
    let show = json!({"title": "Night one", "refunds": refunds, "seats_per_visitor": 10});
    let (stripe, server) = selling_by_card(show).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let ben = Visitor::admitted(&server, "sale").await;
    // The copy has these two orders. All of one and a half of the other is given back afterwards.
    let whole = buy_by_card(&stripe, &server, &ana, "A-1").await;
    let pair = json!({"seats": ["B-1", "B-2"]});
    let held = server.try_hold(&ana, "night", &pair).await.is(201);
    let half = server.checkout(&ana, &held).await;
    confirm(&stripe, &ana, &half).await;
    let tickets = server.order_in(&half, "ticketed").await["tickets"].clone();
    let (mut lost, mut before, mut sold_again) = (Value::Null, Vec::new(), Vec::new());
    put_back(&server, async || {
        lost = buy_by_card(&stripe, &server, &ana, "C-1").await;
        let named = json!({"tickets": [tickets[0]["ticket"]]});
        for (ordered, given) in [(&whole, json!({})), (&half, named), (&lost, json!({}))] {
            before.push(give_back(&server, ordered, given).await);
        }
        for seat in ["A-1", "B-1", "C-1"] {
            sold_again.push(buy_by_card(&stripe, &server, &ben, seat).await);
        }
    })
    .await;

    let told = said(&reopen(&server, "night"));
    assert!(told.contains("sells again. 4 orders came back"), "{told}");
    let attention = Promoter::of(&server).get("attention").await.is(200);
    assert_eq!(attention, json!([]));
    for (ordered, before) in [&whole, &half, &lost].into_iter().zip(&before) {
        let is_same = |order: &Value| order["state"] == before["state"];
        let now = server.order_once(ordered, is_same).await;
        assert_eq!(refunds_of(&now), refunds_of(before));
        assert_eq!(now["seats"], before["seats"]);
    }
    let scan = async |ticket: &Value| {
        let path = format!("/v1/tickets/{}/scan", text(ticket, "ticket"));
        server.ask(post(&path, &json!({})).by(DOOR_KEY)).await
    };
    scan(&tickets[0]).await.problem(409, "ticket_void");
    scan(&tickets[1]).await.is(200);
    for ordered in &sold_again {
        let back = server.order_in(ordered, "ticketed").await;
        scan(&back["tickets"][0]).await.is(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_may_have_been_drawn_before_the_ledger_went_back_gets_another_secret() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"title": "Night one", "draw_at": in_seconds(3_600)});
    promoter.on_sale("20x40", json!({}), room).await;
    for _ in 0..5 {
        Visitor::joined(&server, "sale").await;
    }
    let record = async || server.get("/v1/rooms/sale/draw").await.is(200);
    let drawn = async || {
        promoter.post("rooms/sale/draw").await.is(200);
        until("the line is drawn", async || {
            let record = record().await;
            record["drawn_at"].is_string().then_some(record)
        })
        .await
    };
    let promised = record().await["commitment"].clone();
    let mut lost = Value::Null;
    put_back(&server, async || {
        lost = drawn().await;
    })
    .await;

    assert_eq!(lost["commitment"], promised);
    let announced = record().await;
    assert_eq!(announced["secret"], Value::Null);
    assert_ne!(
        announced["commitment"], promised,
        "its secret was published"
    );
    let shown = server.get("/v1/rooms/sale").await.is(200);
    assert_eq!(shown["commitment"], announced["commitment"]);
    let audit = promoter.get("rooms/sale/audit").await.is(200);
    let told = audit["rows"].as_array().expect("rows").iter();
    let told = told.filter(|row| row["action"] == "commitment_replaced");
    let told: Vec<&Value> = told.collect();
    assert_eq!(told.len(), 1, "{audit}");
    assert_eq!(told[0]["detail"]["commitment"], announced["commitment"]);
    Visitor::joined(&server, "sale").await;
    let drawn = drawn().await;
    assert_eq!(drawn["commitment"], announced["commitment"]);
    assert_ne!(drawn["secret"], lost["secret"]);
    stop(&server).await;
    server.restart().await;
    assert_eq!(
        record().await,
        drawn,
        "the line follows from its new secret"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_the_older_ledger_does_not_know_keeps_its_shows_closed_until_it_is_settled() {
    let (stripe, server) = selling_by_card(json!({"title": "Night one"})).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let bought = buy_by_card(&stripe, &server, &ana, "A-1").await;
    put_back(&server, async || {
        // Its order cannot be restored, because the provider has no copy of it.
        let payment = text(&bought["payment"], "payment");
        let strange = payment.replace(|letter: char| letter.is_ascii_digit(), "7");
        stripe.capture_unknown(&strange, "order_x", 1_234);
        buy_by_card(&stripe, &server, &ana, "A-4").await;
    })
    .await;

    let refused = said(&reopen(&server, "night"));
    assert!(refused.contains("was not reopened (409)"), "{refused}");
    assert!(refused.contains("belong to no payment here"), "{refused}");
    let promoter = Promoter::of(&server);
    let listed = promoter.get("attention").await.is(200);
    let listed = listed.as_array().expect("a list").clone();
    let unknown: Vec<&Value> = listed
        .iter()
        .filter(|entry| entry["code"] == "unknown_money")
        .collect();
    assert_eq!(unknown.len(), 1, "{listed:?}");
    let free = json!({"seats": ["C-1"]});
    let held = server.try_hold(&ana, "night", &free).await;
    held.problem(503, "sale_closed_after_restore");

    let settle = format!("attention/{}/settle", text(unknown[0], "finding"));
    let reason = json!({"reason": "given back in the dashboard"});
    promoter.post_json(&settle, &reason).await.is(200);
    let told = said(&reopen(&server, "night"));
    assert!(told.contains("sells again"), "{told}");
    server.try_hold(&ana, "night", &free).await.is(201);
}

/// Writes a counter that is ahead of the ledger's into the file.
fn set_ahead(file: &Path, by: u64) {
    let text = std::fs::read_to_string(file).expect("a counter");
    let line = text.lines().nth(1).expect("a line");
    let words: Vec<&str> = line.split_whitespace().collect();
    let ahead = words[1].parse::<u64>().expect("a number") + by;
    let line = format!("{:<127}\n", format!("{} {ahead} {ahead}", words[0]));
    let head = &text[..128];
    std::fs::write(file, [head, &line, &line].concat()).expect("written");
}

/// Returns how often a server is killed.
pub(crate) fn kill_rounds() -> usize {
    let set = std::env::var("FAIRGATE_CRASH_ROUNDS");
    set.map_or(ROUNDS, |rounds| rounds.parse().expect("a number"))
}

/// Kills a server while visitors join and hold seats.
pub(crate) async fn kill_in_the_middle(server: &Server) {
    let coming = async || {
        let visitor = Visitor::admitted(server, "sale").await;
        let asked = json!({"best": {"quantity": 1}});
        let held = server.try_hold(&visitor, "night", &asked).await;
        assert_ne!(held.json()["code"], "sale_closed_after_restore");
    };
    let crowd = stream::iter(0..40).map(|_| coming()).buffer_unordered(8);
    let came = crowd.take(rand::random_range(1..20)).collect::<Vec<()>>();
    came.await;
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_never_looks_like_one_that_went_back() {
    let server = Server::start().await;
    on_sale(&server).await;
    let rounds = kill_rounds();
    for round in 1..=rounds {
        kill_in_the_middle(&server).await;
        server.restart().await;
        assert_eq!(warning(&server).await, None, "round {round}");
    }
    eprintln!("FIGURE {rounds} kills of a server with a ledger file: no sale was closed");
    let log = server.read_log();
    assert!(!log.contains("went back"), "{log}");
}

/// Starts a gateway on this folder, which must refuse to start. Returns what it says.
pub(crate) fn refused_start(data: &Path) -> String {
    let mut command = gateway();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
    let output = command.arg(data).output().expect("it starts");
    assert!(!output.status.success(), "{}", said(&output));
    said(&output)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_is_missing_or_copied_in_part_keeps_the_server_from_starting() {
    let server = Server::start().await;
    on_sale(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    buy(&server, &ana, &["A-1"]).await;
    server.kill();
    let data = server.data();
    let ledger = data.join("ledger.db");

    // A copy of the file without its log, beside the counter and in a folder of its own.
    let elsewhere = server.folder().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    let half = std::fs::read(&ledger).expect("readable");
    let copied = elsewhere.join("ledger.db");
    std::fs::write(&copied, &half[..4_096.min(half.len())]).expect("written");
    let told = refused_start(&elsewhere);
    assert!(
        told.contains("not a whole ledger") || told.contains("malformed"),
        "{told}"
    );

    let aside: Vec<(PathBuf, PathBuf)> = ["ledger.db", "ledger.db-wal", "ledger.db-shm"]
        .iter()
        .map(|name| (data.join(name), server.folder().join(name)))
        .filter(|(file, _)| file.exists())
        .collect();
    for (file, place) in &aside {
        std::fs::rename(file, place).expect("moved");
    }
    let told = refused_start(&data);
    assert!(
        told.contains("is missing") && told.contains("commits"),
        "{told}"
    );
    assert!(!ledger.exists(), "no new ledger was made");
    for (file, place) in &aside {
        std::fs::rename(place, file).expect("moved back");
    }
    server.restart().await;
    assert_eq!(warning(&server).await, None);

    stop(&server).await;
    std::fs::copy(data.join("counter"), elsewhere.join("counter")).expect("copied");
    std::fs::remove_file(&copied).expect("removed");
    std::fs::rename(elsewhere.join("counter"), elsewhere.join("aside")).expect("moved");
    let other = Server::start().await;
    stop(&other).await;
    std::fs::copy(elsewhere.join("aside"), other.data().join("counter")).expect("copied");
    let told = refused_start(&other.data());
    assert!(told.contains("counter of another ledger"), "{told}");
}

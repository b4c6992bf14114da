//! Drills of a lost ledger. A crowd buys by card, a copy of the ledger is made meanwhile, the crowd
//! goes on, and the server is killed. Then the copy takes the ledger's place. Every ticket that a
//! buyer was told of must be there again, and no seat may be sold twice.
//!
//! `FAIRGATE_DRILL_ORDERS` sets how many orders are made before the copy, and again after it.
//! `FAIRGATE_DUMPS` names a folder for the ledger's dump and the provider's books, which the judge
//! of the load test reads.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;

use fairgate_servers::{
    FakeStripeServer, PostgresServer, RedisServers, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY,
    STRIPE_WEBHOOK_SECRET, must_skip,
};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use crate::card_form::confirm;
use crate::harness::{
    PROMOTER_KEY, Promoter, Server, TestShop, Visitor, gateway, in_seconds, post, text, until,
};
use crate::rail::{TERMS, date as rail_date, put_in};

const ORDERS: usize = 25;
/// How many of the first orders, and how many of the last, are given back after the copy.
const GIVEN_BACK: usize = 4;
/// How many people buy at the same time.
const BUYERS: usize = 6;
/// The seats of the hall `20x40`, row by row.
const SEATS_A_ROW: usize = 40;

/// How many orders are made before and after the copy.
fn orders() -> usize {
    let set = std::env::var("FAIRGATE_DRILL_ORDERS");
    set.map_or(ORDERS, |orders| orders.parse().expect("a number"))
}

fn seat(nth: usize) -> String {
    let row = char::from(b'A' + u8::try_from(nth / SEATS_A_ROW).expect("a row"));
    format!("{row}-{}", nth % SEATS_A_ROW + 1)
}

/// An order whose buyer was told of a ticket.
struct Bought {
    order: Value,
    tickets: Vec<String>,
    seat: String,
}

fn tickets_of(order: &Value) -> Vec<String> {
    let tickets = order["tickets"].as_array().expect("tickets");
    tickets.iter().map(|one| text(one, "ticket")).collect()
}

/// Starts a server that takes cards of this provider, with these settings in addition.
async fn selling(
    stripe: &FakeStripeServer,
    settings: &[(&str, &str)],
    prepare: impl AsyncFnOnce(&Path),
) -> Server {
    let mut all = vec![
        ("FAIRGATE_PAYMENTS", "stripe"),
        ("FAIRGATE_STRIPE_SECRET_KEY", STRIPE_SECRET_KEY),
        ("FAIRGATE_STRIPE_WEBHOOK_SECRET", STRIPE_WEBHOOK_SECRET),
        ("FAIRGATE_STRIPE_PUBLISHABLE_KEY", STRIPE_PUBLISHABLE_KEY),
        ("FAIRGATE_STRIPE_URL", stripe.url()),
    ];
    all.extend_from_slice(settings);
    let server = Server::prepared(&all, prepare).await;
    stripe.send_events_to(vec![server.at("/v1/payments/stripe/webhook")]);
    server
}

async fn on_sale(server: &Server) {
    let promoter = Promoter::of(server);
    let room = json!({"title": "Night one", "method": "open", "draw_at": in_seconds(-30)});
    let show = json!({"seats_per_visitor": 100, "refunds": [{"until_h": 1, "fee_pct": 10}]});
    promoter.on_sale("20x40", show, room).await;
    promoter.selling("sale").await;
}

/// Buys one seat by card. Returns `None` if the seat is taken.
async fn buy(
    stripe: &FakeStripeServer,
    server: &Server,
    visitor: &Visitor<'_>,
    seat: String,
) -> Option<Bought> {
    let wish = json!({ "seats": [&seat] });
    let held = server.try_hold(visitor, "night", &wish).await;
    if held.status == 409 {
        return None;
    }
    let order = server.checkout(visitor, &held.is(201)).await;
    confirm(stripe, visitor, &order).await;
    let tickets = tickets_of(&server.order_in(&order, "ticketed").await);
    Some(Bought {
        order,
        tickets,
        seat,
    })
}

/// The orders of a crowd, as their buyers are told of them. A crowd that is dropped leaves its
/// calls where they are.
type Crowd<'a> = Pin<Box<dyn Stream<Item = Bought> + 'a>>;

fn crowd<'a>(
    stripe: &'a FakeStripeServer,
    server: &'a Server,
    buyers: &'a [Visitor<'a>],
    seats: std::ops::Range<usize>,
) -> Crowd<'a> {
    let buying = seats.map(move |nth| buy(stripe, server, &buyers[nth % BUYERS], seat(nth)));
    let bought = stream::iter(buying).buffer_unordered(BUYERS);
    Box::pin(bought.filter_map(std::future::ready))
}

async fn admitted(server: &Server) -> Vec<Visitor<'_>> {
    let mut buyers = Vec::new();
    for _ in 0..BUYERS {
        buyers.push(Visitor::admitted(server, "sale").await);
    }
    buyers
}

/// What buyers were told before the server was killed.
struct Evening {
    /// The orders with tickets.
    bought: Vec<Bought>,
    /// The orders whose tickets were given back. Others bought their seats afterwards.
    given_back: Vec<Bought>,
}

/// Gives the first and the last orders back, and sells their seats again.
async fn give_back_and_sell_again(
    stripe: &FakeStripeServer,
    server: &Server,
    mut bought: Vec<Bought>,
) -> Evening {
    let last = bought.split_off(bought.len() - GIVEN_BACK);
    let kept = bought.split_off(GIVEN_BACK);
    let given_back: Vec<Bought> = bought.into_iter().chain(last).collect();
    let buyer = Visitor::admitted(server, "sale").await;
    let mut bought = kept;
    for one in &given_back {
        let path = format!("/v1/orders/{}/refund", text(&one.order, "order"));
        let refund = post(&path, &json!({})).by(&text(&one.order, "order_key"));
        server.ask(refund).await.is(200);
        let is_done = |order: &Value| order["refunds"][0]["state"] == "done";
        server.order_once(&one.order, is_done).await;
        let again = buy(stripe, server, &buyer, one.seat.clone()).await;
        bought.push(again.expect("the seat is free"));
    }
    Evening { bought, given_back }
}

/// Lets a crowd buy, calls `copy` after the first half, lets some give their tickets back, and
/// kills the server in the middle of calls.
async fn sell_and_kill(
    stripe: &FakeStripeServer,
    server: &Server,
    copy: impl AsyncFnOnce(),
) -> Evening {
    on_sale(server).await;
    let buyers = admitted(server).await;
    let mut crowd = crowd(stripe, server, &buyers, 0..3 * orders());
    let mut bought: Vec<Bought> = crowd.by_ref().take(orders()).collect().await;
    let (meanwhile, ()) = tokio::join!(crowd.by_ref().take(orders()).collect::<Vec<_>>(), copy());
    bought.extend(meanwhile);
    let evening = give_back_and_sell_again(stripe, server, bought).await;
    server.kill();
    evening
}

fn done(command: &mut Command) {
    let output = command.output().expect("the command starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// Runs a program beside the crowd.
async fn beside(mut command: Command) {
    let run = tokio::task::spawn_blocking(move || done(&mut command));
    run.await.expect("it ends");
}

async fn is_closed(server: &Server) {
    until("operators are told", async || {
        let told = server.ready_as_operator().await.is(200)["warnings"].to_string();
        told.contains("gateway reopen").then_some(())
    })
    .await;
}

/// Checks the server whose ledger went back: it sells nothing before the show is reopened, then has
/// every order of which a buyer was told, and sells the other seats, each once.
async fn check(name: &str, stripe: &FakeStripeServer, server: &Server, evening: &Evening) {
    let Evening { bought, given_back } = evening;
    is_closed(server).await;
    let ana = Visitor::joined(server, "sale").await;
    ana.try_claim().await.problem(409, "not_called");
    let mut reopen = gateway();
    reopen.args(["reopen", "night", "--target", &server.url]);
    done(reopen.env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY));

    let mut sold = HashSet::new();
    for one in bought {
        let order = server.order_in(&one.order, "ticketed").await;
        assert_eq!(tickets_of(&order), one.tickets, "{}", one.seat);
        assert!(sold.insert(one.seat.clone()), "{} twice", one.seat);
    }
    for one in given_back {
        let order = server.order_in(&one.order, "refunded").await;
        assert_eq!(order["refunds"][0]["state"], "done", "{}", one.seat);
    }
    // The crowd wants every seat once more, and seats that nobody had.
    let buyers = admitted(server).await;
    let again = crowd(stripe, server, &buyers, 0..4 * orders());
    let again: Vec<Bought> = again.collect().await;
    for one in &again {
        assert!(sold.insert(one.seat.clone()), "{} twice", one.seat);
    }
    assert!(again.len() >= orders(), "only {} more", again.len());
    write_files(name, stripe, server).await;
    eprintln!(
        "FIGURE drill {name}: {} of {} orders are there again, {} more sold",
        bought.len(),
        bought.len(),
        again.len()
    );
}

/// Writes what the judge reads, once the ledger has nothing left to do: the dump, the provider's
/// books, and a history without calls.
async fn write_files(name: &str, stripe: &FakeStripeServer, server: &Server) {
    let dump = until("the end of all work", async || {
        let dump = Promoter::of(server).get("dump").await.text();
        let last: Value = serde_json::from_str(dump.lines().next_back()?).expect("JSON");
        let is_done = |work: &&str| last[*work].as_u64().unwrap_or(0) == 0;
        let works = ["seat_rows", "effects", "events"];
        (last["kind"] == "pending" && works.iter().all(is_done)).then_some(dump)
    })
    .await;
    let Some(folder) = std::env::var_os("FAIRGATE_DUMPS").map(PathBuf::from) else {
        return;
    };
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let history = [
        json!({"kind": "run", "version": 1, "started_ms": 1, "planned": 1, "room": "none",
            "room_doc": {"method": "fifo"}}),
        json!({"kind": "end", "visitor": 0, "outcome": "left"}),
        json!({"kind": "finished", "at_ms": now_ms}),
    ];
    let lines = |records: &[Value]| {
        let lines = records.iter().map(|record| format!("{record}\n"));
        lines.collect::<String>()
    };
    for (file, content) in [
        ("dump", dump),
        ("books", lines(&stripe.books())),
        ("history", lines(&history)),
    ] {
        let path = folder.join(format!("{file}-drill-{name}.jsonl"));
        fs::write(path, content).expect("written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_sales_is_restored_elsewhere_and_every_paid_order_is_there() {
    let stripe = FakeStripeServer::start(1).await.expect("a port");
    let server = selling(&stripe, &[], async |_| ()).await;
    let file = server.folder().join("evening.fairgate");
    let evening = sell_and_kill(&stripe, &server, async || {
        let mut backup = gateway();
        let backup_args = backup.arg("backup").arg(&file).arg("--data");
        backup_args.arg(server.data());
        beside(backup).await;
    })
    .await;
    let restore = async |data: &Path| {
        fs::copy(server.data().join("secret"), data.join("secret")).expect("copied");
        done(gateway().arg("restore").arg(&file).arg("--data").arg(data));
    };
    // Without the provider, nobody can tell what was paid since.
    let other = Server::prepared(&[], restore).await;
    let mut reopen = gateway();
    reopen.args(["reopen", "*", "--target", &other.url]);
    let output = reopen.env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY).output();
    let told = output.expect("the command starts").stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("FAIRGATE_PAYMENTS=stripe"), "{told}");
    drop(other);
    let restored = selling(&stripe, &[], restore).await;
    check("backup", &stripe, &restored, &evening).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_ledger_in_the_same_folder_gets_every_paid_order_back() {
    let stripe = FakeStripeServer::start(2).await.expect("a port");
    let server = selling(&stripe, &[], async |_| ()).await;
    let file = server.folder().join("older.db");
    let evening = sell_and_kill(&stripe, &server, async || {
        // A consistent copy, as a snapshot of the disk would be.
        let mut copy = Command::new("python3");
        let script = "import sqlite3, sys; a, b = map(sqlite3.connect, sys.argv[1:]); a.backup(b)";
        copy.args(["-c", script])
            .arg(server.data().join("ledger.db"));
        copy.arg(&file);
        beside(copy).await;
    })
    .await;
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(server.data().join(format!("ledger.db{ending}")));
    }
    fs::copy(&file, server.data().join("ledger.db")).expect("put back");
    server.restart().await;
    check("older", &stripe, &server, &evening).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_put_back_gets_every_paid_order_back() {
    if must_skip("a database that is put back under sales") {
        return;
    }
    let stripe = FakeStripeServer::start(3).await.expect("a port");
    let redis = RedisServers::single().await.expect("Redis starts");
    let postgres = PostgresServer::options().without_fsync().start().await;
    let postgres = postgres.expect("PostgreSQL starts");
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let settings = [
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
    ];
    let server = selling(&stripe, &settings, async |_| ()).await;
    let dump = server.folder().join("fairgate.dump");
    let evening = sell_and_kill(&stripe, &server, async || {
        let mut pg_dump = Command::new("pg_dump");
        pg_dump.args(["--format=custom", "--file"]).arg(&dump);
        pg_dump.arg(&database_url);
        beside(pg_dump).await;
    })
    .await;
    let mut pg_restore = Command::new("pg_restore");
    pg_restore.args(["--clean", "--if-exists", "--single-transaction", "--dbname"]);
    done(pg_restore.arg(&database_url).arg(&dump));
    // It is noticed by the counter in Redis. Redis is then emptied, because it has later sales.
    server.restart().await;
    is_closed(&server).await;
    server.kill();
    redis.flush_all().await.expect("emptied");
    server.restart().await;
    check("database", &stripe, &server, &evening).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rides_in_one_seat_of_a_train_that_nobody_had_booked_before_come_back() {
    let stripe = FakeStripeServer::start(4).await.expect("a port");
    let server = selling(&stripe, &[], async |data| {
        put_in("Europe/Berlin", TERMS, data).await;
    })
    .await;
    let train = format!("r1-{}", rail_date());
    server.terminate();
    server.ended().await;
    let ledger = server.data().join("ledger.db");
    let copy = fs::read(&ledger).expect("a copy");
    server.restart().await;
    let mut rides = Vec::new();
    for (from, to) in [("RVN", "LAK"), ("LAK", "HIL")] {
        let ana = Visitor::admitted(&server, "everyday").await;
        let wish = json!({"best": {"quantity": 1, "class": "second"}, "from": from, "to": to});
        let held = server.try_hold(&ana, &train, &wish).await.is(201);
        let path = format!("/v1/holds/{}/order", text(&held, "hold"));
        let names = json!({
            "buyer": {"name": "Ana Perez", "email": "ana@example.org"},
            "travellers": [{"name": format!("Ana to {to}")}],
        });
        let order = server.ask(post(&path, &names).by(&ana)).await.is(201);
        confirm(&stripe, &ana, &order).await;
        rides.push(server.order_in(&order, "ticketed").await);
        rides.last_mut().expect("a ride")["order_key"] = order["order_key"].clone();
    }
    server.kill();
    fs::write(&ledger, copy).expect("put back");
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(server.data().join(format!("ledger.db{ending}")));
    }
    server.restart().await;
    is_closed(&server).await;
    let mut reopen = gateway();
    reopen.args(["reopen", "*", "--target", &server.url]);
    done(reopen.env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY));
    for ride in &rides {
        let back = server.order_in(ride, "ticketed").await;
        for what in ["tickets", "seats", "journey", "total"] {
            assert_eq!(back[what], ride[what], "{what}");
        }
    }
}

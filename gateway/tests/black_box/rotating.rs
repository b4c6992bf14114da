//! Tests `gateway keys rotate` while a server is used: nobody is refused, new places have the new
//! key, and what the old key signed is checked offline as before.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fairgate_servers::{PostgresServer, RedisServers, TEST_SECRET, must_skip};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Promoter, Server, TestShop, Visitor, gateway, text, until, until_within};

/// How many people use the server during the rotation.
const CROWD: usize = 6;
/// How often each person does something, and how often somebody joins. More would only measure how
/// this machine sheds load.
const EVERY: Duration = Duration::from_millis(100);
/// After how many seconds the new key signs in this test: as soon as a command may ask for.
const AFTER_S: u64 = 10;
/// How long nodes may take to publish the new key.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(5);

/// Returns the name of the key in a JWT's header.
fn kid_of(jwt: &str) -> String {
    let header = jwt.split('.').next().expect("a header");
    let header = URL_SAFE_NO_PAD.decode(header).expect("base64url");
    let header: Value = serde_json::from_slice(&header).expect("JSON");
    text(&header, "kid")
}

async fn published(server: &Server) -> BTreeSet<String> {
    let jwks = server.get("/.well-known/jwks.json").await.is(200);
    let keys = jwks["keys"].as_array().expect("a list");
    keys.iter().map(|key| text(key, "kid")).collect()
}

/// Uses the nodes in turn as a person does, over and over: looks at the place, holds a seat, gives
/// it back, and sends the place and the pass that were given before the rotation. Every answer must
/// be a good one.
async fn live(visitor: &Visitor<'_>, nodes: &[Server], over: &AtomicBool, steps: &AtomicUsize) {
    let mut every = tokio::time::interval(EVERY);
    let mut turns = nodes.iter().cycle();
    while !over.load(Ordering::Relaxed) {
        every.tick().await;
        let visitor = Visitor {
            server: turns.next().expect("a node"),
            ..visitor.clone()
        };
        assert_eq!(visitor.look().await["number"], visitor.number);
        let wish = json!({"best": {"quantity": 1}});
        let held = visitor
            .send(reqwest::Method::POST, "/v1/shows/night/holds", &wish)
            .await
            .is(201);
        let path = format!("/v1/holds/{}", text(&held, "hold"));
        let gone = visitor
            .send(reqwest::Method::DELETE, &path, &json!({}))
            .await;
        assert!(gone.status < 300, "{}", gone.text());
        steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lets new people join until the rotation is over. Returns the keys of their places, in order.
async fn arrive(nodes: &[Server], over: &AtomicBool) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut every = tokio::time::interval(EVERY);
    let mut turns = nodes.iter().cycle();
    while !over.load(Ordering::Relaxed) {
        every.tick().await;
        let node = turns.next().expect("a node");
        let kid = kid_of(&Visitor::joined(node, "sale").await.place);
        if keys.last() != Some(&kid) {
            keys.push(kid);
        }
    }
    keys
}

/// Runs `gateway keys rotate` on the ledger of these nodes.
async fn rotate(nodes: &[Server], settings: &[(&str, &str)]) -> std::process::Output {
    let mut command = gateway();
    command
        .args(["keys", "rotate", "--json", "--after", &AFTER_S.to_string()])
        .arg("--data")
        .arg(nodes[0].data())
        .envs(settings.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    output.expect("no panic").expect("the command starts")
}

/// Buys a ticket, and returns its signed form.
async fn bought(server: &Server, visitor: &Visitor<'_>, seat: &str) -> String {
    let wish = json!({"seats": [seat]});
    let held = server.try_hold(visitor, "night", &wish).await.is(201);
    let order = server.checkout(visitor, &held).await;
    server.pay(&order, "approve").await.is(200);
    let ticketed = server.order_in(&order, "ticketed").await;
    let path = format!("/v1/tickets/{}", text(&ticketed["tickets"][0], "ticket"));
    let read = server.http.get(server.at(&path));
    let read = read.bearer_auth(text(&order, "order_key"));
    let read = crate::harness::TestAnswer::of(read).await;
    text(&read.expect("an answer").is(200), "code")
}

/// Rotates the keys, and waits until new places have the new key. Returns the new key's name.
async fn rotated(nodes: &[Server], settings: &[(&str, &str)], old: &str) -> String {
    let output = rotate(nodes, settings).await;
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let rotation: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let new = text(&rotation, "kid");
    assert_eq!(rotation["retired"][0]["kid"], json!(old));
    let both = BTreeSet::from([old.to_owned(), new.clone()]);
    for node in nodes {
        until_within("both keys are published", PUBLISHED_WITHIN, async || {
            (published(node).await == both).then_some(())
        })
        .await;
    }
    let again = rotate(nodes, settings).await;
    assert_eq!(again.status.code(), Some(1));
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(
        told.contains(&new) && told.contains("nothing was changed"),
        "{told}"
    );
    for node in nodes {
        until("a new place has the new key", async || {
            let place = Visitor::joined(node, "sale").await.place;
            (kid_of(&place) == new).then_some(())
        })
        .await;
    }
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_refused_while_the_keys_are_rotated_and_old_draws_and_tickets_hold() {
    rotate_under_load(&[Server::start().await], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_refused_at_two_nodes_while_the_keys_are_rotated() {
    if must_skip("a rotation at two nodes") {
        return;
    }
    let redis = RedisServers::single().await.expect("Redis starts");
    let postgres = PostgresServer::options().without_fsync().start().await;
    let postgres = postgres.expect("PostgreSQL starts");
    let (redis_url, database_url) = (redis.url(), postgres.url());
    let settings = [
        ("FAIRGATE_REDIS_URL", &*redis_url),
        ("FAIRGATE_DATABASE_URL", &*database_url),
        ("FAIRGATE_SECRET", TEST_SECRET),
    ];
    let nodes = [Server::with(&settings).await, Server::with(&settings).await];
    rotate_under_load(&nodes, &settings).await;
}

/// Rotates the keys of these nodes while people use them, and checks that nobody was refused and
/// that old passes, tickets and draws hold.
async fn rotate_under_load(nodes: &[Server], settings: &[(&str, &str)]) {
    let server = &nodes[0];
    let promoter = Promoter::of(server);
    let show = json!({"seats_per_visitor": 100});
    promoter
        .on_sale("20x20", show, json!({"per_s": 1000}))
        .await;
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(Visitor::joined(server, "sale").await);
    }
    promoter.draw("sale").await;
    for visitor in &mut crowd {
        visitor.claim().await;
    }
    let old = kid_of(&crowd[0].place);
    let ticket = bought(server, &crowd[0], "A-1").await;
    let pass = crowd[0].try_claim().await.is(201);

    let (over, steps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let rotation = async {
        let new = rotated(nodes, settings, &old).await;
        let before = steps.load(Ordering::Relaxed);
        until("the crowd goes on", async || {
            (steps.load(Ordering::Relaxed) >= before + 2 * CROWD).then_some(())
        })
        .await;
        over.store(true, Ordering::Relaxed);
        new
    };
    let living = join_all(
        crowd
            .iter()
            .map(|visitor| live(visitor, nodes, &over, &steps)),
    );
    let (new, _, keys) = tokio::join!(rotation, living, arrive(nodes, &over));
    assert_eq!(keys, [old, new], "each place has the key of its date");
    eprintln!(
        "FIGURE {} steps of visitors at {} nodes during a rotation, none refused",
        steps.load(Ordering::Relaxed),
        nodes.len()
    );

    // A retry gets the very same pass, and the old ticket and the old draw are checked as before.
    let retried = crowd[0].try_claim().await.is(201);
    assert_eq!(retried["pass"], pass["pass"]);
    let jwks = server.get("/.well-known/jwks.json").await.text();
    let keys: fairgate_pass::Jwks = serde_json::from_str(&jwks).expect("a key set");
    let doors = fairgate_pass::Verifier::new(&keys).expect("good keys");
    assert!(doors.verify_ticket(&ticket).is_ok());
    check_draw(server, &jwks).await;
    // After a restart everything is as before.
    server.kill();
    server.restart().await;
    assert_eq!(server.get("/.well-known/jwks.json").await.text(), jwks);
    assert_eq!(crowd[0].look().await["number"], crowd[0].number);
}

/// Checks the room's draw with `gateway verify-draw`, as anybody can without the server.
async fn check_draw(server: &Server, jwks: &str) {
    let record = server.get("/v1/rooms/sale/draw").await.text();
    let [record_path, jwks_path] =
        ["record.json", "jwks.json"].map(|name| server.folder().join(name));
    std::fs::write(&record_path, record).expect("written");
    std::fs::write(&jwks_path, jwks).expect("written");
    let checked = gateway()
        .arg("verify-draw")
        .arg(record_path)
        .arg("--jwks")
        .arg(jwks_path)
        .output()
        .expect("the command starts");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
}

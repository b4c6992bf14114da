//! Reads the log of a running process. Tests its format and its lines about an outage, and that it
//! contains no secret.

use std::time::{Duration, Instant};

use fairgate_servers::{PostgresServer, RedisServers, must_skip};
use serde_json::Value;

use crate::harness::{
    DOOR_KEY, PROMOTER_KEY, Promoter, Server, TestAnswer, VIEWER_KEY, Visitor, until,
};
use serde_json::json;

/// Secrets of the installation that the tests put into its settings.
const PLANTED: [&str; 3] = [
    "planted-database-password",
    "planted-internal-key-0123",
    "planted-partner-key-01234",
];

/// A part of the line that says that Redis is away.
const REDIS_AWAY: &str = "the room store has not answered";

/// A part of the line that says that the ledger is away.
const LEDGER_AWAY: &str = "the ledger took no write";

/// Returns the lines of the log that contain `words`.
fn lines(server: &Server, words: &str) -> Vec<String> {
    let log = server.read_log();
    let lines = log.lines().filter(|line| line.contains(words));
    lines.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_redis_is_one_line_and_its_end_another_and_no_secret_is_in_any_line() {
    if must_skip("the log over an outage of Redis") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    let database = PostgresServer::start().await.expect("it starts");
    // This server accepts every password, so the planted one does not matter to it.
    let url = database.url();
    let database_url = url.replacen("fairgate@", "fairgate:planted-database-password@", 1);
    assert_ne!(url, database_url);
    let redis_url = redis.url();
    let server = Server::with(&[
        ("FAIRGATE_DATABASE_URL", &database_url),
        ("FAIRGATE_REDIS_URL", &redis_url),
        ("FAIRGATE_INTERNAL_KEY", "planted-internal-key-0123"),
        ("FAIRGATE_API_KEYS", "agency:planted-partner-key-01234:5:5"),
        (
            "FAIRGATE_LOG",
            "info,gateway=trace,booking=trace,fairgate=trace",
        ),
    ])
    .await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let guess = server
        .http
        .get(server.at("/readyz"))
        .bearer_auth("guessed-key-000000");
    TestAnswer::of(guess)
        .await
        .expect("an answer")
        .problem(401, "key_invalid");

    redis.pause(0);
    until("the outage is logged", async || {
        lines(&server, REDIS_AWAY).first().cloned()
    })
    .await;
    // The outage lasts long enough for several rounds of each background loop.
    until("it lasts", async || {
        let ready = server.ready_as_operator().await.text();
        ready.contains("has not answered for 5 s").then_some(())
    })
    .await;
    redis.resume(0);
    let over = format!("no longer so: {REDIS_AWAY}");
    until("the end is logged", async || {
        lines(&server, &over).first().cloned()
    })
    .await;
    let begun = lines(&server, REDIS_AWAY).len() - lines(&server, &over).len();
    assert_eq!(begun, 1, "{}", server.read_log());
    let warned = lines(&server, " WARN ");
    let of_redis = ["room", "Redis", "seats"];
    let of_redis = |line: &&String| of_redis.iter().any(|word| line.contains(word));
    assert_eq!(warned.iter().filter(of_redis).count(), 1, "{warned:#?}");

    let log = server.read_log();
    let keys = [
        PROMOTER_KEY,
        VIEWER_KEY,
        DOOR_KEY,
        "guessed-key-000000",
        &ana.place,
    ];
    for secret in PLANTED.into_iter().chain(keys) {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
    assert!(!log.contains('\u{1b}'), "there are colours in a file");
}

/// How many requests are refused during the outage of the ledger.
const REFUSED: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_ledger_is_one_line_and_its_end_another_however_many_are_refused() {
    if must_skip("the log over an outage of PostgreSQL") {
        return;
    }
    let database = PostgresServer::start().await.expect("it starts");
    let url = database.url();
    let database_url = url.replacen("fairgate@", "fairgate:planted-database-password@", 1);
    let server = Server::with(&[("FAIRGATE_DATABASE_URL", &database_url)]).await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let before = server.read_log().lines().count();

    database.kill();
    let hall = json!({"plan": "grid:4x10"});
    for _ in 0..REFUSED {
        let refused = promoter.put("venues/another", &hall).await;
        refused.problem(503, "ledger_unavailable");
    }
    until("the outage is logged", async || {
        lines(&server, LEDGER_AWAY).first().cloned()
    })
    .await;
    // The outage lasts long enough for several rounds of each background loop. Visitors are
    // refused, too.
    let begun = Instant::now();
    let ana = Visitor::new(&server, "sale");
    let secret = json!({"secret": ana.secret});
    until("it lasts", async || {
        let refused = ana.post_once("places", &secret).await;
        assert!(
            [429, 503].contains(&refused.status),
            "{} {}",
            refused.status,
            refused.text()
        );
        (begun.elapsed() >= Duration::from_secs(5)).then_some(())
    })
    .await;
    database.ensure_running().await.expect("it starts again");
    let over = format!("no longer so: {LEDGER_AWAY}");
    until("the end is logged", async || {
        lines(&server, &over).first().cloned()
    })
    .await;
    promoter.put("venues/another", &hall).await.is(200);

    let log = server.read_log();
    let during: Vec<&str> = log.lines().skip(before).collect();
    let count = |words: &str| during.iter().filter(|line| line.contains(words)).count();
    assert_eq!(count(&over), 1, "{during:#?}");
    assert_eq!(count(LEDGER_AWAY), 2, "a beginning and an end: {during:#?}");
    assert_eq!(count("a request was refused"), 1, "{during:#?}");
    // A commit that was on its way when the database was killed has a line of its own, because
    // nobody knows what became of it.
    let warned = during.iter().filter(|line| {
        let others = [
            "the load's level changed",
            "the answer to a ledger commit was lost",
        ];
        let is_other = others.iter().any(|words| line.contains(words));
        (line.contains(" WARN ") || line.contains(" ERROR ")) && !is_other
    });
    assert_eq!(warned.count(), 2, "{during:#?}");
    assert!(!log.contains("planted-database-password"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_for_programs_has_one_json_document_a_line() {
    let server = Server::with(&[("FAIRGATE_LOG_FORMAT", "json")]).await;
    until("a warning is logged", async || {
        lines(&server, "sandbox").first().cloned()
    })
    .await;
    let log = server.read_log();
    for line in log.lines() {
        let document: Value = serde_json::from_str(line).expect("JSON");
        for member in ["timestamp", "level", "target", "message"] {
            assert!(document[member].is_string(), "{member} in {line}");
        }
    }
}

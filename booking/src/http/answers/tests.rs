//! Tests of repeated calls with two nodes and one ledger. The first call succeeds, fails, takes
//! long or is dropped.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use fairgate_base::clock::Clock;
use fairgate_base::http::ProblemCode;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::*;
use crate::ledger::CALL_LEASE_MS;
use crate::ledger::Ledger;

const CALL: &str = "POST /v1/things";
/// How long a step may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two nodes, their clock, and the folder of their ledger.
struct Nodes {
    nodes: [IdempotencyAnswers; 2],
    clock: Clock,
    writer: SqliteDatabase,
    _folder: TempDir,
}

impl Nodes {
    async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a file");
        let ledger = Ledger::open(Installation::File(writer.clone())).await;
        let ledger = ledger.expect("its tables");
        let clock = Clock::standing_at("2027-01-10T09:00:00Z".parse().expect("a moment"));
        Self {
            nodes: [0, 1].map(|_| {
                let secret = InstallationSecret::derive("a test's secret");
                IdempotencyAnswers::new(ledger.clone(), clock.clone(), secret)
            }),
            clock,
            writer,
            _folder: folder,
        }
    }

    /// Waits until the lease on the only call has been extended beyond `moment_ms`.
    async fn wait_for_lease_beyond(&self, moment_ms: i64) {
        let mut every = tokio::time::interval(Duration::from_millis(5));
        let lent = async {
            loop {
                every.tick().await;
                let read = self.writer.read(|connection| {
                    let sql = "SELECT COALESCE(MAX(lent_until), 0) FROM kept_answers";
                    Ok::<i64, crate::ledger::LedgerError>(
                        connection.query_row(sql, [], |row| row.get(0))?,
                    )
                });
                if read.await.expect("readable") > moment_ms {
                    return;
                }
            }
        };
        let lent = tokio::time::timeout(PATIENCE, lent).await;
        lent.expect("the lease on the call is renewed in time");
    }

    /// Makes a call with the key "k". Returns the status, and the body's `made` or the problem's
    /// `code`.
    async fn call(
        &self,
        at: usize,
        body: &str,
        act: impl Future<Output = Result<JsonAnswer, Problem>>,
    ) -> (u16, Value) {
        let key = Some("k".to_owned());
        let answered = self.nodes[at].answer_once(b"ana", CALL, key, body.as_bytes(), act);
        let answer = answered.await;
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), usize::MAX).await;
        let body: Value = serde_json::from_slice(&body.expect("whole")).expect("JSON");
        let member = if status < 300 { "made" } else { "code" };
        (status, body[member].clone())
    }

    async fn call_making(&self, at: usize, body: &str, what: u32) -> (u16, Value) {
        let act = async { JsonAnswer::json(201, &json!({"made": what})) };
        self.call(at, body, act).await
    }
}

fn refusal(code: ProblemCode) -> Result<JsonAnswer, Problem> {
    Err(Problem::new(code, "What happened."))
}

fn told(status: u16, code: &str) -> (u16, Value) {
    (status, json!(code))
}

/// Polls a call until its action begins.
async fn poll_until_acting(
    call: &mut (impl Future<Output = (u16, Value)> + Unpin),
    acting: &Notify,
) {
    tokio::select! {
        ended = call => panic!("the call ended before its action began: {ended:?}"),
        () = acting.notified() => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_call_is_in_flight_at_both_nodes_and_a_different_call_with_its_key_is_refused() {
    let nodes = Nodes::open().await;
    let (acting, go_on) = (Notify::new(), Notify::new());
    let act = async {
        acting.notify_one();
        go_on.notified().await;
        JsonAnswer::json(201, &json!({"made": 1}))
    };
    let mut first = pin!(nodes.call(0, "a", act));
    poll_until_acting(&mut first, &acting).await;
    for at in [0, 1] {
        let again = nodes.call_making(at, "a", 2).await;
        assert_eq!(again, told(409, "idempotency_in_flight"), "at {at}");
    }
    let other = nodes.call_making(1, "b", 3).await;
    assert_eq!(other, told(422, "idempotency_mismatch"));
    go_on.notify_one();
    assert_eq!(first.await, (201, json!(1)));
    for at in [0, 1] {
        assert_eq!(nodes.call_making(at, "a", 4).await, (201, json!(1)));
        let other = nodes.call_making(at, "b", 5).await;
        assert_eq!(other, told(422, "idempotency_mismatch"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_5xx_or_429_a_repeated_call_acts_and_a_different_call_with_its_key_is_refused() {
    for code in [ProblemCode::LedgerUnavailable, ProblemCode::TooManyJoins] {
        let nodes = Nodes::open().await;
        let failed = nodes.call(0, "a", async { refusal(code) }).await;
        assert_eq!(failed, told(code.status().as_u16(), code.as_str()));
        let other = nodes.call_making(1, "b", 1).await;
        assert_eq!(other, told(422, "idempotency_mismatch"));
        assert_eq!(nodes.call_making(1, "a", 2).await, (201, json!(2)));
        assert_eq!(nodes.call_making(0, "a", 3).await, (201, json!(2)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_gets_the_stored_error_at_the_other_node() {
    let nodes = Nodes::open().await;
    let refused = nodes.call(0, "a", async { refusal(ProblemCode::SeatsTaken) });
    assert_eq!(refused.await, told(409, "seats_taken"));
    assert_eq!(nodes.call_making(1, "a", 1).await, told(409, "seats_taken"));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_lease_of_a_dead_node_a_repeated_call_acts_and_a_different_call_is_refused() {
    let nodes = Nodes::open().await;
    {
        let acting = Notify::new();
        let act = async {
            acting.notify_one();
            std::future::pending().await
        };
        let mut first = pin!(nodes.call(0, "a", act));
        poll_until_acting(&mut first, &acting).await;
    }
    let again = nodes.call_making(1, "a", 1).await;
    assert_eq!(again, told(409, "idempotency_in_flight"));
    nodes.clock.advance_ms(CALL_LEASE_MS);
    let other = nodes.call_making(1, "b", 2).await;
    assert_eq!(other, told(422, "idempotency_mismatch"));
    assert_eq!(nodes.call_making(1, "a", 3).await, (201, json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_can_be_repeated_at_the_same_node_at_once() {
    let nodes = Nodes::open().await;
    {
        let acting = Notify::new();
        let act = async {
            acting.notify_one();
            std::future::pending().await
        };
        let mut first = pin!(nodes.call(0, "a", act));
        poll_until_acting(&mut first, &acting).await;
    }
    assert_eq!(nodes.call_making(0, "a", 1).await, (201, json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_call_stays_in_flight_at_the_other_node() {
    let nodes = Arc::new(Nodes::open().await);
    let go_on = Arc::new(Notify::new());
    let first = tokio::spawn({
        let (nodes, go_on) = (Arc::clone(&nodes), Arc::clone(&go_on));
        async move {
            let act = async {
                go_on.notified().await;
                JsonAnswer::json(201, &json!({"made": 1}))
            };
            nodes.call(0, "a", act).await
        }
    });
    let begun_ms = nodes.clock.now_ms();
    nodes.wait_for_lease_beyond(begun_ms).await;
    nodes.clock.advance_ms(CALL_LEASE_MS - 1);
    nodes.wait_for_lease_beyond(begun_ms + CALL_LEASE_MS).await;
    nodes.clock.advance_ms(CALL_LEASE_MS - 1);
    let again = nodes.call_making(1, "a", 2).await;
    assert_eq!(again, told(409, "idempotency_in_flight"));
    go_on.notify_one();
    assert_eq!(first.await.expect("no panic"), (201, json!(1)));
}

//! Runs a crowd that joins, holds and pays on a server that is killed again and again. Each member
//! records the answers that it gets, and all of them must stay true.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{TestAnswer, Visitor, buyer, text};

/// How long a member tries to get one answer from a server that is killed and started again.
const PATIENCE: Duration = Duration::from_secs(90);
/// The wait before a dead or busy server is asked again.
const BREATH: Duration = Duration::from_millis(15);

/// The answers that one member got and that must stay true.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The member's join number.
    pub number: Option<u64>,
    /// The member's rank.
    pub rank: Option<u64>,
    /// The member's orders: the answer to each checkout, the state that was seen last, and the
    /// seats' labels.
    pub orders: Vec<(Value, &'static str, Vec<String>)>,
}

/// The state that the crowd shares with the test that kills the server.
#[derive(Default)]
pub struct Stage {
    /// The number of answers so far that changed something.
    pub steps: AtomicUsize,
    /// The number of kills so far whose restart was checked.
    pub survived: AtomicUsize,
    /// Whether the crowd must stop.
    pub over: std::sync::atomic::AtomicBool,
}

/// One member of the crowd.
pub struct Member<'a> {
    /// The visitor that the member acts as.
    pub visitor: Visitor<'a>,
    /// The number of kills after which the member joins. It differs between the members, so that
    /// some of them join during each of the first kills.
    pub joins_after: usize,
    /// The answers that the member got.
    pub told: Mutex<Told>,
    /// The shared state.
    pub stage: &'a Stage,
}

impl Member<'_> {
    /// Joins, waits, and buys until the stage is over. While the server is down, the member repeats
    /// its call.
    pub async fn live(&self) {
        self.wait_until(|| self.stage.survived.load(Ordering::Relaxed) >= self.joins_after)
            .await;
        let mut visitor = self.visitor.clone();
        let secret = json!({"secret": visitor.secret});
        let places = visitor
            .server
            .at(&format!("/v1/rooms/{}/places", visitor.room));
        let joined = self
            .insist("join", || visitor.server.http.post(&places).json(&secret))
            .await;
        assert!(matches!(joined.status, 200 | 201), "{joined:?}");
        let joined = joined.json();
        visitor.place = joined["place"].as_str().expect("a place").to_owned();
        visitor.number = joined["number"].as_u64().expect("a number");
        self.told.lock().number = Some(visitor.number);
        self.step();

        if !self.be_admitted(&mut visitor).await {
            return;
        }
        self.step();
        let mut round = 0;
        while !self.is_over() {
            self.buy(&visitor, round).await;
            round += 1;
        }
    }

    /// Waits for the rank and the pass. Returns false if the stage is over first.
    async fn be_admitted(&self, visitor: &mut Visitor<'_>) -> bool {
        let address = |what: &str| {
            visitor
                .server
                .at(&format!("/v1/rooms/{}/{what}", visitor.room))
        };
        let (look, pass) = (address("place"), address("pass"));
        loop {
            let place = self
                .insist("look", || {
                    visitor.server.http.get(&look).bearer_auth(&visitor.place)
                })
                .await;
            if let Some(rank) = place.is(200)["rank"].as_u64() {
                let before = self.told.lock().rank.replace(rank);
                assert!(
                    before.is_none_or(|before| before == rank),
                    "rank {before:?} became {rank}"
                );
            }
            let claimed = self
                .insist("claim", || {
                    visitor.server.http.post(&pass).bearer_auth(&visitor.place)
                })
                .await;
            if claimed.status == 201 {
                visitor.pass = claimed.json()["pass"].as_str().expect("a pass").to_owned();
                return true;
            }
            claimed.problem(409, "not_called");
            if self.is_over() {
                return false;
            }
            tokio::time::sleep(BREATH * 10).await;
        }
    }

    /// Makes one hold, its order and its payment. If the hold was lost when the server was killed,
    /// the round ends.
    async fn buy(&self, visitor: &Visitor<'_>, round: u32) {
        let key = |what: &str| format!("{what}-{}-{round}", visitor.number);
        let ask = json!({"best": {"quantity": 1 + round % 2}});
        let holds = "/v1/shows/night/holds".to_owned();
        let held = self
            .insist("hold", || self.call(visitor, &holds, &key("hold"), &ask))
            .await;
        match held.status {
            201 => self.step(),
            // The seats were taken in the meantime, or too few are left. The next round chooses
            // again.
            409 | 422 => return,
            _ => panic!("{held:?}"),
        }
        let held = held.json();
        let path = format!("/v1/holds/{}/order", text(&held, "hold"));
        let ordered = self
            .insist("order", || {
                self.call(visitor, &path, &key("order"), &buyer())
            })
            .await;
        match ordered.status {
            201 => self.step(),
            // A hold without an order may be lost when the server is killed.
            409 | 410 => return,
            _ => panic!("{ordered:?}"),
        }
        let ordered = ordered.json();
        let (order, order_key) = (text(&ordered, "order"), text(&ordered, "order_key"));
        let labels = held["seats"].as_array().expect("seats").iter();
        let labels = labels.map(|seat| text(seat, "label")).collect();
        let at = {
            let mut told = self.told.lock();
            told.orders.push((ordered.clone(), "pending", labels));
            told.orders.len() - 1
        };
        // Every fourth order stays unpaid, so that there are paid and unpaid orders.
        if round % 4 == 3 {
            return;
        }
        let pay = format!(
            "/v1/sandbox/payments/{}",
            text(&ordered["payment"], "payment")
        );
        let approve = json!({"outcome": "approve"});
        let paid = self
            .insist("pay", || self.call(visitor, &pay, &key("pay"), &approve))
            .await;
        paid.is(200);
        self.step();
        let read = visitor.server.at(&format!("/v1/orders/{order}"));
        loop {
            let now = self
                .insist("read", || {
                    visitor.server.http.get(&read).bearer_auth(&order_key)
                })
                .await
                .is(200);
            let state = now["state"].as_str().expect("a state");
            let best = self.told.lock().orders[at].1;
            assert!(
                !(state == "pending" && best == "confirmed"),
                "{order} fell back to pending"
            );
            match state {
                "ticketed" => break,
                "confirmed" => self.told.lock().orders[at].1 = "confirmed",
                "pending" => {}
                _ => panic!("{now}"),
            }
            tokio::time::sleep(BREATH).await;
        }
        self.told.lock().orders[at].1 = "ticketed";
        self.step();
    }

    fn call(&self, visitor: &Visitor<'_>, path: &str, key: &str, body: &Value) -> RequestBuilder {
        visitor
            .booking(Method::POST, path)
            .header("idempotency-key", key)
            .json(body)
    }

    /// Repeats a call until the server answers it and does not ask the caller to come back later.
    async fn insist(&self, what: &str, ask: impl Fn() -> RequestBuilder) -> TestAnswer {
        let started = Instant::now();
        loop {
            if let Ok(answer) = TestAnswer::of(ask()).await
                && !is_put_off(&answer)
            {
                return answer;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "{what} was not answered within {PATIENCE:?}"
            );
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn wait_until(&self, there: impl Fn() -> bool) {
        while !there() && !self.is_over() {
            tokio::time::sleep(BREATH).await;
        }
    }

    fn step(&self) {
        self.stage.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.stage.over.load(Ordering::Relaxed)
    }
}

/// Returns whether the server did nothing and asks the caller to come back later.
fn is_put_off(answer: &TestAnswer) -> bool {
    let in_flight = || !answer.body.is_empty() && answer.json()["code"] == "idempotency_in_flight";
    matches!(answer.status, 429 | 503) || (answer.status == 409 && in_flight())
}

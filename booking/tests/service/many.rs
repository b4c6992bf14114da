//! Two bookings over one PostgreSQL and one Redis: whatever is done at one is there at the other,
//! once.

use std::time::Duration;

use booking::config::BookingConfig;
use booking::door::signing::keyring;
use booking::service::BookingService;
use fairgate_base::config::SettingSources;
use fairgate_databases::{Installation, PostgresDatabase};
use fairgate_pass::{Holder, Keyring, PassClaims};
use fairgate_servers::{PostgresServer, RedisServers};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(20);
const PROMOTER: &str = "promoter-key-of-the-tests";

/// Two bookings, and the servers that they share.
struct Two {
    urls: [String; 2],
    stops: Vec<oneshot::Sender<()>>,
    running: Vec<JoinHandle<()>>,
    keyring: Keyring,
    client: reqwest::Client,
    _postgres: PostgresServer,
    _redis: RedisServers,
}

/// An answer: its status and its JSON.
type Told = (u16, Value);

impl Two {
    async fn start() -> Self {
        let postgres = PostgresServer::start().await.expect("PostgreSQL");
        let redis = RedisServers::single().await.expect("Redis");
        let (mut urls, mut stops, mut running) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2 {
            let flags = [
                ("listen", "127.0.0.1:0".to_owned()),
                ("database_url", postgres.url()),
                ("redis_url", redis.url()),
                ("promoter_key", PROMOTER.to_owned()),
                ("payments", "sandbox".to_owned()),
            ];
            let config = BookingConfig::resolve(&SettingSources {
                flags: flags.into(),
                ..SettingSources::default()
            })
            .expect("good settings");
            let service = BookingService::build(config).await.expect("it opens");
            urls.push(format!(
                "http://{}",
                service.listen_address().expect("an address")
            ));
            let (stop, stopped) = oneshot::channel::<()>();
            stops.push(stop);
            running.push(tokio::spawn(service.run(async {
                let _ = stopped.await;
            })));
        }
        let database = PostgresDatabase::connect(&postgres.url())
            .await
            .expect("a database");
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let keyring = keyring(&Installation::Server(database), now_ms).await;
        Self {
            urls: urls.try_into().expect("two"),
            stops,
            running,
            keyring: keyring.expect("the installation's keys"),
            client: reqwest::Client::new(),
            _postgres: postgres,
            _redis: redis,
        }
    }

    /// A pass of the room `everyday`, which covers what no room names.
    fn pass(&self, n: u8) -> String {
        let now = jiff::Timestamp::now().as_second();
        self.keyring.sign_pass(&PassClaims {
            sub: Holder([n; 32]),
            room: "everyday".to_owned(),
            rank: u64::from(n),
            number: u64::from(n),
            iat: now,
            nbf: now,
            exp: now + 600,
            jti: format!("pass-{n}"),
        })
    }

    async fn call(&self, at: usize, call: &str, bearer: &str, body: Value, key: &str) -> Told {
        let (method, path) = call.split_once(' ').expect("a method and a path");
        let url = format!("{}{path}", self.urls[at]);
        let mut request = self.client.request(method.parse().expect("a method"), url);
        if !bearer.is_empty() {
            request = request.bearer_auth(bearer);
        }
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or_default())
    }

    /// Asks one of them until the answer satisfies.
    async fn until(
        &self,
        at: usize,
        call: &str,
        bearer: &str,
        done: impl Fn(&Told) -> bool,
    ) -> Told {
        let asking = async {
            loop {
                let told = self.call(at, call, bearer, Value::Null, "").await;
                if done(&told) {
                    return told;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let asked = tokio::time::timeout(PATIENCE, asking).await;
        asked.unwrap_or_else(|_| panic!("{call} never came to it"))
    }

    /// The show `night` on a hall of 40, put at the first and known at the second.
    async fn on_sale(&self, changes: Value) {
        let hall = json!({"plan": "grid:4x10"});
        let put = self.call(0, "PUT /v1/promoter/venues/hall", PROMOTER, hall, "");
        assert_eq!(put.await.0, 200);
        let mut show = json!({"venue": "hall", "title": "Night", "starts_at": "2037-06-01T20:00:00Z",
            "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}, "orphans": "allow"});
        for (field, value) in changes.as_object().expect("fields") {
            show[field] = value.clone();
        }
        let put = self.call(0, "PUT /v1/promoter/shows/night", PROMOTER, show, "");
        let put = put.await;
        assert_eq!(put.0, 200, "{}", put.1);
        // The first to ask has the seats opened in Redis; both have seen them before anybody
        // chooses.
        for at in [0, 1] {
            self.until(at, "GET /v1/shows/night/seats", "", |told| told.0 == 200)
                .await;
        }
    }

    async fn hold(&self, at: usize, pass: &str, seats: &[&str], key: &str) -> Told {
        let call = "POST /v1/shows/night/holds";
        self.call(at, call, pass, json!({"seats": seats}), key)
            .await
    }

    async fn end(self) {
        drop(self.stops);
        for running in self.running {
            let ended = tokio::time::timeout(PATIENCE, running).await;
            ended.expect("it drains").expect("it does not panic");
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_at_one_booking_goes_on_at_the_other() {
    if fairgate_servers::or_skip("what_is_done_at_one_booking_goes_on_at_the_other") {
        return;
    }
    let two = Two::start().await;
    two.on_sale(json!({})).await;
    let (ana, ben) = (two.pass(1), two.pass(2));
    let held = two.hold(0, &ana, &["A-1", "A-2"], "").await;
    assert_eq!(held.0, 201, "{}", held.1);
    let hold = text(&held.1["hold"]);
    let refused = two.hold(1, &ben, &["A-2", "A-3"], "").await;
    assert_eq!(
        (refused.0, &refused.1["code"]),
        (409, &json!("seats_taken"))
    );
    assert_eq!(refused.1["seats"], json!(["A-2"]));

    let buyer = json!({"buyer": {"name": "Ana", "email": "ana@example.org"}});
    let call = format!("POST /v1/holds/{hold}/order");
    let made = two.call(1, &call, &ana, buyer, "").await;
    assert_eq!(made.0, 201, "{}", made.1);
    let (order, key) = (text(&made.1["order"]), text(&made.1["order_key"]));
    let call = format!(
        "POST /v1/sandbox/payments/{}",
        text(&made.1["payment"]["payment"])
    );
    let paid = two
        .call(0, &call, "", json!({"outcome": "approve"}), "")
        .await;
    assert_eq!(paid.0, 200, "{}", paid.1);
    let call = format!("GET /v1/orders/{order}");
    for at in [0, 1] {
        let told = two
            .until(at, &call, &key, |told| told.1["state"] == "ticketed")
            .await;
        let steps = told.1["history"].as_array().expect("a history");
        let named: Vec<_> = steps.iter().map(|step| text(&step["state"])).collect();
        assert_eq!(
            named,
            ["pending", "confirmed", "ticketed"],
            "each step once"
        );
        assert_eq!(told.1["tickets"].as_array().map(Vec::len), Some(2));
    }
    for at in [0, 1] {
        let call = "GET /v1/shows/night/seats";
        let url = format!("{}{}", two.urls[at], &call[4..]);
        let asking = async {
            loop {
                let request = two.client.get(&url).header("accept", "application/json");
                let seen: Value = request
                    .send()
                    .await
                    .expect("seats")
                    .json()
                    .await
                    .expect("JSON");
                if seen["sold"] == 2 && seen["held"] == 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let seen = tokio::time::timeout(PATIENCE, asking).await;
        seen.expect("both see two seats sold");
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_both_bookings_at_once_is_one_hold() {
    if fairgate_servers::or_skip("one_key_at_both_bookings_at_once_is_one_hold") {
        return;
    }
    let two = Two::start().await;
    two.on_sale(json!({"seats_per_visitor": 4})).await;
    for round in 0..10 {
        let pass = two.pass(round + 1);
        let seat = format!(
            "{}-{}",
            if round < 5 { "A" } else { "C" },
            round % 5 * 2 + 1
        );
        let key = format!("key-{round}");
        let seats = [seat.as_str()];
        let both = (0..6).map(|n| two.hold(n % 2, &pass, &seats, &key));
        let told = join_all(both).await;
        let holds: std::collections::BTreeSet<String> = told
            .iter()
            .filter(|told| told.0 == 201)
            .map(|told| text(&told.1["hold"]))
            .collect();
        assert_eq!(holds.len(), 1, "one hold, whoever answered: {told:?}");
        let others = told.iter().filter(|told| told.0 != 201);
        for other in others {
            assert_eq!(other.1["code"], "idempotency_in_flight", "{other:?}");
        }
        let again = two.hold(1, &pass, &seats, &key).await;
        assert_eq!(
            (again.0, text(&again.1["hold"])),
            (201, holds.into_iter().next().expect("one"))
        );
        let other_body = two.hold(0, &pass, &["D-10"], &key).await;
        assert_eq!(
            other_body.1["code"], "idempotency_mismatch",
            "{other_body:?}"
        );
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_nobody_pays_expires_once_and_its_seats_come_back_at_both() {
    if fairgate_servers::or_skip("an_order_that_nobody_pays_expires_once") {
        return;
    }
    let two = Two::start().await;
    two.on_sale(json!({"hold_s": 1, "grace_s": 1, "claim_grace_s": 1, "pay_s": 1}))
        .await;
    let ana = two.pass(1);
    let mut orders = Vec::new();
    for n in 0..4 {
        let seat = format!("B-{}", n + 1);
        let held = two.hold(n % 2, &ana, &[seat.as_str()], "").await;
        assert_eq!(held.0, 201, "{}", held.1);
        let buyer = json!({"buyer": {"name": "Ana", "email": "ana@example.org"}});
        let call = format!("POST /v1/holds/{}/order", text(&held.1["hold"]));
        let made = two.call((n + 1) % 2, &call, &ana, buyer, "").await;
        assert_eq!(made.0, 201, "{}", made.1);
        orders.push((text(&made.1["order"]), text(&made.1["order_key"])));
    }
    for (order, key) in &orders {
        let call = format!("GET /v1/orders/{order}");
        let told = two
            .until(1, &call, key, |told| told.1["state"] == "expired")
            .await;
        assert_eq!(told.1["history"].as_array().map(Vec::len), Some(2));
    }
    // The same seats are somebody else's now, at either booking.
    for (at, seats) in [["B-1", "B-2"], ["B-3", "B-4"]].into_iter().enumerate() {
        let ben = two.pass(7);
        let asking = async {
            loop {
                let held = two.hold(at, &ben, &seats, "").await;
                if held.0 == 201 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, asking).await;
        held.unwrap_or_else(|_| panic!("{seats:?} never came back"));
    }
    two.end().await;
}

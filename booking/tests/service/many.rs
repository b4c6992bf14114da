//! Tests two booking servers that share one PostgreSQL and one Redis. Each server shows what the
//! other does, and nothing is done twice.

use booking::config::BookingConfig;
use booking::door::signing::keyring;
use booking::service::BookingService;
use fairgate_base::config::SettingSources;
use fairgate_base::process::LedgerLost;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, PostgresDatabase};
use fairgate_pass::Keyring;
use fairgate_servers::actors::{
    PATIENCE, TestAnswer, TestClient, TestShop, get, post, put, sign_test_pass, text, until,
};
use fairgate_servers::{PostgresServer, RedisServers, TEST_SECRET};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const PROMOTER: &str = "promoter-key-of-the-tests";

/// One of the two booking servers.
struct Node(TestClient);

impl TestShop for Node {
    fn client(&self) -> &TestClient {
        &self.0
    }
}

/// Two booking servers, and the databases that they share.
struct Two {
    nodes: [Node; 2],
    stops: Vec<oneshot::Sender<()>>,
    running: Vec<JoinHandle<Result<(), LedgerLost>>>,
    keyring: Keyring,
    _postgres: PostgresServer,
    _redis: RedisServers,
}

impl Two {
    async fn start() -> Self {
        let postgres = PostgresServer::start().await.expect("PostgreSQL");
        let redis = RedisServers::single().await.expect("Redis");
        let (mut nodes, mut stops, mut running) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2 {
            let flags = [
                ("listen", "127.0.0.1:0".to_owned()),
                ("database_url", postgres.url()),
                ("redis_url", redis.url()),
                ("promoter_key", PROMOTER.to_owned()),
                ("payments", "sandbox".to_owned()),
                ("secret", TEST_SECRET.to_owned()),
            ];
            let config = BookingConfig::resolve(&SettingSources {
                flags: flags.into(),
                ..SettingSources::default()
            })
            .expect("good settings");
            let service = BookingService::build(config).await.expect("it opens");
            let address = service.listen_address().expect("an address");
            nodes.push(Node(TestClient::of_address(&format!("http://{address}"))));
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
        let secret = InstallationSecret::derive(TEST_SECRET);
        let keyring = keyring(&Installation::Server(database), &secret, now_ms).await;
        Self {
            nodes: nodes.try_into().ok().expect("two"),
            stops,
            running,
            keyring: keyring.expect("the installation's keys"),
            _postgres: postgres,
            _redis: redis,
        }
    }

    /// Returns a pass of the room `everyday`, which sells the walk-ins that no other room names.
    fn pass(&self, n: u16) -> String {
        let now_s = jiff::Timestamp::now().as_second();
        sign_test_pass(&self.keyring, "everyday", n, now_s)
    }

    /// Puts the show `night-1` in a hall of 40 seats at the first server, and waits until the
    /// second knows it.
    async fn on_sale(&self, changes: Value) {
        let put = async |path: &str, body: &Value| {
            let call = put(&format!("/v1/promoter/{path}"), body).by(PROMOTER);
            self.nodes[0].ask(call).await.is(200);
        };
        put("venues/hall", &json!({"plan": "grid:4x10"})).await;
        let mut show = json!({"venue": "hall", "title": "Night", "starts_at": "2037-06-01T20:00:00Z",
            "walk_in": true, "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}, "orphans": "allow"});
        for (field, value) in changes.as_object().expect("fields") {
            show[field] = value.clone();
        }
        put("shows/night-1", &show).await;
        // The first request for the seats opens them in Redis. Both servers must show them before
        // the test takes a hold.
        let seats = get("/v1/shows/night-1/seats");
        for node in &self.nodes {
            node.client()
                .ask_until(&seats, |told| told.status == 200)
                .await;
        }
    }

    /// Asks the server with index `at` for a hold, under an idempotency key.
    async fn hold(&self, at: usize, pass: &str, seats: &[&str], key: &str) -> TestAnswer {
        let call = post("/v1/shows/night-1/holds", &json!({"seats": seats}));
        self.nodes[at].ask(call.by(pass).keyed(key)).await
    }

    async fn end(self) {
        drop(self.stops);
        for running in self.running {
            let ended = tokio::time::timeout(PATIENCE, running).await;
            let ended = ended.expect("it drains").expect("it does not panic");
            assert_eq!(ended, Ok(()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_starts_at_one_server_goes_on_at_the_other() {
    if fairgate_servers::must_skip("an_order_that_starts_at_one_server_goes_on_at_the_other") {
        return;
    }
    let two = Two::start().await;
    two.on_sale(json!({})).await;
    let [one, other] = &two.nodes;
    let (ana, ben) = (two.pass(1), two.pass(2));
    let hold = one.hold(&ana, &["A-1", "A-2"]).await;
    let wish = json!({"seats": ["A-2", "A-3"]});
    let refused = other.try_hold(&ben, "night-1", &wish).await;
    let refused = refused.problem(409, "seats_taken");
    assert_eq!(refused["seats"], json!(["A-2"]));

    let order = other.checkout(&ana, &hold).await;
    one.pay(&order, "approve").await.is(200);
    for node in &two.nodes {
        let told = node.order_in(&order, "ticketed").await;
        let steps = told["history"].as_array().expect("a history");
        let named: Vec<_> = steps.iter().map(|step| text(step, "state")).collect();
        assert_eq!(
            named,
            ["pending", "confirmed", "ticketed"],
            "each step once"
        );
        assert_eq!(told["tickets"].as_array().map(Vec::len), Some(2));
    }
    for node in &two.nodes {
        until("two seats sold", async || {
            let seen = node.seats("night-1").await;
            (seen["sold"] == 2 && seen["held"] == 0).then_some(())
        })
        .await;
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_both_servers_at_once_makes_one_hold() {
    if fairgate_servers::must_skip("one_key_at_both_servers_at_once_makes_one_hold") {
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
            .filter(|told| told.status == 201)
            .map(|told| text(&told.json(), "hold"))
            .collect();
        assert_eq!(holds.len(), 1, "all answers name one hold: {told:?}");
        let others = told.iter().filter(|told| told.status != 201);
        for other in others {
            assert_eq!(other.refusal().1, "idempotency_in_flight");
        }
        let again = two.hold(1, &pass, &seats, &key).await.is(201);
        assert_eq!(Some(text(&again, "hold")), holds.into_iter().next());
        let other_body = two.hold(0, &pass, &["D-10"], &key).await;
        assert_eq!(other_body.refusal().1, "idempotency_mismatch");
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unpaid_order_expires_once_and_its_seats_are_free_at_both_servers() {
    if fairgate_servers::must_skip("an_unpaid_order_at_two_servers") {
        return;
    }
    let two = Two::start().await;
    two.on_sale(json!({"hold_s": 1, "grace_s": 1, "claim_grace_s": 1, "pay_s": 1}))
        .await;
    let ana = two.pass(1);
    let mut orders = Vec::new();
    for n in 0..4 {
        let seat = format!("B-{}", n + 1);
        let hold = two.nodes[n % 2].hold(&ana, &[seat.as_str()]).await;
        orders.push(two.nodes[(n + 1) % 2].checkout(&ana, &hold).await);
    }
    for order in &orders {
        let told = two.nodes[1].order_in(order, "expired").await;
        assert_eq!(told["history"].as_array().map(Vec::len), Some(2));
    }
    // Ben can now hold the same seats, at either server.
    let ben = two.pass(7);
    for (at, seats) in [["B-1", "B-2"], ["B-3", "B-4"]].into_iter().enumerate() {
        let call = post("/v1/shows/night-1/holds", &json!({"seats": seats})).by(&ben);
        let is_held = |told: &TestAnswer| told.status == 201;
        two.nodes[at].client().ask_until(&call, is_held).await;
    }
    two.end().await;
}

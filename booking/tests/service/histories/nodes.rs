//! Two booking processes over one PostgreSQL and one Redis, which are killed and started again.

use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};

use booking::door::signing::keyring;
use booking::ledger::Ledger;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, PostgresDatabase};
use fairgate_pass::Keyring;
use fairgate_servers::actors::{TestAnswer, TestCall, TestClient, get, put, sign_test_pass, until};
use fairgate_servers::{
    FakeStripeServer, PostgresServer, RedisServers, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY,
    STRIPE_WEBHOOK_SECRET, TEST_SECRET, free_port,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::alone::booking;

pub const PROMOTER: &str = "promoter-key-of-the-tests";
pub const DOOR: &str = "door-key-of-the-tests";

/// The shows. Orders of the first are exchanged for seats of the second.
pub const SHOWS: [&str; 2] = ["night-1", "night-2"];

/// Two processes, the databases that they share, and the ledger as the test reads it.
pub struct TwoNodes {
    ports: [u16; 2],
    clients: [TestClient; 2],
    children: [Mutex<Option<Child>>; 2],
    calls: AtomicU64,
    stripe_url: String,
    postgres: PostgresServer,
    redis: RedisServers,
    keyring: Keyring,
    pub ledger: Ledger,
    folder: tempfile::TempDir,
}

impl Drop for TwoNodes {
    fn drop(&mut self) {
        for child in &self.children {
            if let Some(mut child) = child.lock().take() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

impl TwoNodes {
    /// Starts both processes. The provider sends its events to both.
    pub async fn start(stripe: &FakeStripeServer) -> Self {
        let postgres = PostgresServer::options().without_fsync().start().await;
        let postgres = postgres.expect("PostgreSQL");
        let redis = RedisServers::single().await.expect("Redis");
        let ports = [(); 2].map(|()| free_port().expect("a free port"));
        let urls = ports.map(|port| format!("http://127.0.0.1:{port}"));
        let hooks = urls
            .iter()
            .map(|url| format!("{url}/v1/payments/stripe/webhook"));
        stripe.send_events_to(hooks.collect());
        let database = PostgresDatabase::connect(&postgres.url()).await;
        let installation = Installation::Server(database.expect("a database"));
        let ledger = Ledger::open(installation.clone()).await.expect("migrated");
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let secret = InstallationSecret::derive(TEST_SECRET);
        let keyring = keyring(&installation, &secret, now_ms).await;
        let nodes = Self {
            ports,
            clients: urls.each_ref().map(|url| TestClient::of_address(url)),
            children: Default::default(),
            calls: AtomicU64::new(0),
            stripe_url: stripe.url().to_owned(),
            postgres,
            redis,
            keyring: keyring.expect("the installation's keys"),
            ledger,
            folder: tempfile::tempdir().expect("a folder"),
        };
        for at in 0..2 {
            nodes.spawn(at);
        }
        nodes.until_all_run().await;
        nodes
    }

    fn spawn(&self, at: usize) {
        let (listen, database) = (format!("127.0.0.1:{}", self.ports[at]), self.postgres.url());
        let redis = self.redis.url();
        let settings = [
            ("FAIRGATE_LISTEN", &*listen),
            ("FAIRGATE_DATABASE_URL", &database),
            ("FAIRGATE_REDIS_URL", &redis),
            ("FAIRGATE_PROMOTER_KEY", PROMOTER),
            ("FAIRGATE_DOOR_KEY", DOOR),
            ("FAIRGATE_PAYMENTS", "stripe"),
            ("FAIRGATE_STRIPE_SECRET_KEY", STRIPE_SECRET_KEY),
            ("FAIRGATE_STRIPE_WEBHOOK_SECRET", STRIPE_WEBHOOK_SECRET),
            ("FAIRGATE_STRIPE_PUBLISHABLE_KEY", STRIPE_PUBLISHABLE_KEY),
            ("FAIRGATE_STRIPE_URL", &self.stripe_url),
            ("FAIRGATE_STRIPE_READ_BACK_S", "1"),
        ];
        let log = Path::new(self.folder.path()).join(format!("log-{at}"));
        let mut options = std::fs::OpenOptions::new();
        let log = options.create(true).append(true).open(log);
        let mut command = booking(self.folder.path(), &settings);
        command.stderr(log.expect("a file for the log"));
        let child = command.spawn().expect("the process starts");
        *self.children[at].lock() = Some(child);
    }

    /// Kills a process without any warning, and starts it again.
    pub async fn kill_and_restart(&self, at: usize) {
        if let Some(mut child) = self.children[at].lock().take() {
            child.kill().expect("it is killed");
            child.wait().expect("it has ended");
        }
        self.spawn(at);
        self.until_runs(at).await;
    }

    async fn until_runs(&self, at: usize) {
        until("a node to run", async || {
            let answer = self.clients[at].try_ask(get("/readyz")).await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    /// Waits until both processes run.
    pub async fn until_all_run(&self) {
        for at in 0..2 {
            self.until_runs(at).await;
        }
    }

    /// Puts the hall and both shows on sale.
    pub async fn put_shows(&self) {
        let put = async |path: String, body: &Value| {
            let call = put(&path, body).by(PROMOTER);
            let answer = self.clients[0].ask(call).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        };
        put(
            "/v1/promoter/venues/hall".to_owned(),
            &json!({"plan": "grid:40x50"}),
        )
        .await;
        for show in SHOWS {
            let document = json!({
                "venue": "hall", "title": show, "starts_at": "2037-06-01T20:00:00Z", "walk_in": true,
                "currency": "EUR", "prices": {"cat1": 5_000, "cat2": 4_000}, "orphans": "allow", "pay_s": 600,
                "shares_hall": true, "refunds": [{"until_h": 1, "fee_pct": 10}], "exchange": {"cheaper": "refund"},
            });
            let mut document = document;
            document
                .as_object_mut()
                .expect("fields")
                .remove("shares_hall");
            put(format!("/v1/promoter/shows/{show}"), &document).await;
        }
        for client in &self.clients {
            for show in SHOWS {
                let seats = get(&format!("/v1/shows/{show}/seats"));
                client.ask_until(&seats, |told| told.status == 200).await;
            }
        }
    }

    /// Waits until a reconciler has begun to follow the provider's list of events.
    pub async fn until_events_are_followed(&self, stripe: &FakeStripeServer) {
        stripe.capture_unknown("payment_of_somebody_else", "order_of_somebody_else", 100);
        until("a place in the list of events", async || {
            let cursor = self.ledger.event_cursor("stripe").await.expect("readable");
            cursor.map(drop)
        })
        .await;
    }

    /// Returns how many calls were made so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the pass of a visitor.
    pub fn pass(&self, n: u16) -> String {
        let now_s = jiff::Timestamp::now().as_second();
        sign_test_pass(&self.keyring, "everyday", n, now_s)
    }

    /// Makes a call at one of the nodes. If that node is killed meanwhile, or cannot answer now,
    /// the call is made again, at the other node.
    pub async fn ask(&self, at: usize, call: &TestCall) -> TestAnswer {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut at = at;
        until("an answer of one of two nodes", async || {
            at = 1 - at;
            let answer = self.clients[at].try_ask(call.clone()).await.ok()?;
            let again = answer.status >= 500
                || answer.status == 429
                || answer.text().contains("idempotency_in_flight");
            (!again).then_some(answer)
        })
        .await
    }
}

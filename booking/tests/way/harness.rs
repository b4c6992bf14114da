//! What the tests share: apps with their workers, visitors with passes, and the keys of the staff.
//! A single app has a ledger of its own, and a clock that only the test moves. Several nodes share
//! PostgreSQL and Redis, and use the system's clock.

use std::path::PathBuf;
use std::sync::Arc;

use booking::app::{Booking, BookingSetup};
use booking::choices::{ImportDecisions, ShowChoices};
use booking::commands::import_timetable::{TimetableImportError, replace_timetable};
use booking::config::PaymentSettings;
use booking::internal::wire::PulseRequest;
use booking::ledger::{Ledger, LedgerError, SwitchedTimetable};
use booking::store::InventoryStore;
use booking::store::memory::MemoryStore;
use booking::store::redis::{RedisStore, RedisStoreOptions};
use fairgate_base::clock::Clock;
use fairgate_base::http::keys::{Role, RoleKeys};
use fairgate_base::http::request_id;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, PostgresDatabase, SqliteDatabase};
use fairgate_model::timetables::TimetableParts;
use fairgate_pass::{Keyring, StoredKey};
use fairgate_redis::Redis;
pub use fairgate_servers::actors::{
    TestAnswer, TestCall, TestClient, TestShop, buyer, delete, get, patch, post, put,
    sign_test_pass, text, until,
};
use fairgate_servers::{PostgresServer, TEST_SECRET};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

pub const PROMOTER: &str = "promoter-key";
pub const VIEWER: &str = "viewer-key";
pub const DOOR: &str = "door-key";
/// The key of another door.
pub const OTHER_DOOR: &str = "other-door-key";
/// The room that covers the shows `night-*`.
pub const ROOM: &str = "demo";
/// When the shows of nodes begin. Nodes use the system's clock, so this moment must be far away.
pub const NODES_BEGIN: &str = "2099-06-01T20:00:00+02:00";

/// Returns the secret that the ledgers' keys are sealed with.
pub fn secret() -> InstallationSecret {
    InstallationSecret::derive(TEST_SECRET)
}

/// Returns the question of a gateway for the figures of these shows, and for the visitors who
/// finished after the cursor.
pub fn pulse_of(room: &str, shows: &[&str], finished_after: u64) -> PulseRequest {
    PulseRequest {
        room: room.to_owned(),
        shows: shows.iter().map(|show| (*show).to_owned()).collect(),
        finished_after,
        soon_s: 60,
    }
}

/// Booking with its running workers.
pub struct App {
    client: TestClient,
    pub booking: Booking,
    pub clock: Clock,
    pub keyring: Keyring,
    pub folder: Arc<TempDir>,
    pub store: Arc<dyn InventoryStore>,
    ledger: LedgerAt,
    pub payments: PaymentSettings,
    workers: JoinSet<()>,
}

/// The database that holds an app's ledger.
#[derive(Clone)]
enum LedgerAt {
    File(SqliteDatabase),
    Server(Arc<PostgresServer>, PostgresDatabase),
}

/// A visitor with a pass.
pub struct Visitor {
    pub pass: String,
}

/// Opens an app that sells `night-1` in a hall of four rows of ten, with two visitors of [`ROOM`].
pub async fn opened() -> (App, Visitor, Visitor) {
    opened_with(json!({})).await
}

/// Does the same as [`opened`], with changes to the show's document.
pub async fn opened_with(changes: Value) -> (App, Visitor, Visitor) {
    stocked(App::new().await, changes).await
}

/// Does the same as [`opened`], with the ledger in a PostgreSQL server of its own.
pub async fn opened_on_server() -> (App, Visitor, Visitor) {
    stocked(App::on_server().await, json!({})).await
}

async fn stocked(app: App, changes: Value) -> (App, Visitor, Visitor) {
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", changes).await;
    let (ana, ben) = (app.visitor(1), app.visitor(2));
    (app, ana, ben)
}

impl App {
    /// Opens an app with an empty ledger in a file, and the sandbox for payments.
    pub async fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a ledger file");
        Self::begun(folder, LedgerAt::File(writer), PaymentSettings::Sandbox).await
    }

    /// Opens an app with an empty ledger in a file, and no payment provider.
    pub async fn without_payments() -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a ledger file");
        Self::begun(folder, LedgerAt::File(writer), PaymentSettings::None).await
    }

    async fn on_server() -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let server = PostgresServer::options().without_fsync().start().await;
        let server = server.expect("PostgreSQL starts");
        let database = PostgresDatabase::connect(&server.url())
            .await
            .expect("PostgreSQL answers");
        let ledger = LedgerAt::Server(Arc::new(server), database);
        Self::begun(folder, ledger, PaymentSettings::Sandbox).await
    }

    async fn begun(folder: Arc<TempDir>, ledger: LedgerAt, payments: PaymentSettings) -> Self {
        let now: jiff::Timestamp = "2027-01-10T09:00:00Z".parse().expect("a moment");
        let key = StoredKey::generate(now.as_second()).expect("a key");
        let keyring = Keyring::new(vec![key]).expect("a keyring");
        let parts = (folder, Clock::standing_at(now), keyring);
        let app = Self::over(parts, ledger, payments).await;
        let coverage = vec![(ROOM.to_owned(), vec!["night-*".to_owned()])];
        app.booking
            .gateways()
            .replace_coverage(coverage)
            .await
            .expect("covered");
        app
    }

    /// Opens the same ledger in a new app. Everything that was only in memory is lost.
    pub async fn restarted(self) -> Self {
        let Self {
            folder,
            ledger,
            clock,
            keyring,
            payments,
            ..
        } = self;
        Self::over((folder, clock, keyring), ledger, payments).await
    }

    /// Opens the app's ledger once more, so that the test can call it directly.
    pub async fn ledger(&self) -> Ledger {
        match self.ledger.clone() {
            LedgerAt::File(writer) => Ledger::open(Installation::File(writer))
                .await
                .expect("open"),
            LedgerAt::Server(_, database) => Ledger::open(Installation::Server(database))
                .await
                .expect("open"),
        }
    }

    /// Puts a timetable in the place of the one in force.
    pub async fn import_timetable(&self, parts: &TimetableParts) {
        let switched = self.replace_timetable(parts, ShowChoices::default());
        switched.await.expect("imported");
    }

    /// Puts a timetable in the place of the one in force, with these decisions about single
    /// departures.
    pub async fn replace_timetable(
        &self,
        parts: &TimetableParts,
        choices: ShowChoices,
    ) -> Result<SwitchedTimetable, TimetableImportError> {
        let ledger = self.ledger().await;
        let now_ms = self.clock.now_ms();
        let decisions = ImportDecisions {
            choices,
            is_preview: false,
        };
        replace_timetable(&ledger, parts, decisions, now_ms).await
    }

    /// Returns the URL of the ledger's PostgreSQL server.
    pub fn url(&self) -> String {
        match &self.ledger {
            LedgerAt::Server(server, _) => server.url(),
            LedgerAt::File(_) => panic!("the ledger is in a file"),
        }
    }

    /// Runs SQL directly in the ledger's PostgreSQL database.
    pub async fn query(&self, sql: &str) {
        let LedgerAt::Server(server, _) = &self.ledger else {
            panic!("the ledger is in a file");
        };
        server.query(sql).await.expect("valid SQL");
    }

    /// Opens several nodes that sell `night-1` in a hall of 40 seats. They share one PostgreSQL and
    /// one Redis, and use the system's clock.
    pub async fn nodes(count: usize, redis_url: &str) -> Vec<Self> {
        let begins = json!({"starts_at": NODES_BEGIN});
        Self::nodes_selling(count, redis_url, "grid:4x10", begins).await
    }

    /// Does the same as [`Self::nodes`], with a plan for the hall and changes to the show's
    /// document. They must say when it begins, as [`NODES_BEGIN`] does.
    pub async fn nodes_selling(
        count: usize,
        redis_url: &str,
        plan: &str,
        changes: Value,
    ) -> Vec<Self> {
        let server = PostgresServer::options().without_fsync().start().await;
        let server = Arc::new(server.expect("PostgreSQL starts"));
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let clock = Clock::system();
        let key = StoredKey::generate(clock.now_ms() / 1_000).expect("a key");
        let keyring = Keyring::new(vec![key]).expect("a keyring");
        let mut nodes = Vec::new();
        for _ in 0..count {
            let redis = Redis::connect(redis_url).expect("a URL");
            let store =
                RedisStore::open(redis, "ledger", RedisStoreOptions::new(clock.clone())).await;
            let store = Arc::new(store.expect("Redis answers"));
            let database = PostgresDatabase::connect(&server.url())
                .await
                .expect("PostgreSQL answers");
            let ledger = LedgerAt::Server(Arc::clone(&server), database);
            let parts = (Arc::clone(&folder), clock.clone(), keyring.clone());
            nodes.push(Self::over_store(parts, ledger, store, PaymentSettings::Sandbox).await);
        }
        let coverage = vec![(ROOM.to_owned(), vec!["night-*".to_owned()])];
        nodes[0]
            .booking
            .gateways()
            .replace_coverage(coverage)
            .await
            .expect("covered");
        nodes[0].put_venue("hall", plan).await;
        nodes[0].put_show("night-1", changes).await;
        for node in &nodes {
            until("the show at every node", async || {
                let seats = node.ask(get("/v1/shows/night-1/seats")).await;
                (seats.status == 200).then_some(())
            })
            .await;
        }
        nodes
    }

    /// Stops this node's work in the background, as if its process stood still. It still answers
    /// calls.
    pub fn stand_still(&mut self) {
        self.workers.abort_all();
    }

    /// Ends this node, and opens another one over the same Redis. `meanwhile` works with the ledger
    /// while no node runs.
    pub async fn followed_by(
        self,
        redis_url: &str,
        meanwhile: impl AsyncFnOnce(&Ledger, &PostgresServer),
    ) -> Self {
        let opened = self.ledger().await;
        let Self {
            folder,
            ledger,
            clock,
            keyring,
            workers,
            ..
        } = self;
        drop(workers);
        let LedgerAt::Server(server, _) = &ledger else {
            panic!("nodes share a server");
        };
        meanwhile(&opened, server).await;
        let redis = Redis::connect(redis_url).expect("a URL");
        let store = RedisStore::open(redis, "ledger", RedisStoreOptions::new(clock.clone())).await;
        let store = Arc::new(store.expect("Redis answers"));
        Self::over_store(
            (folder, clock, keyring),
            ledger,
            store,
            PaymentSettings::Sandbox,
        )
        .await
    }

    async fn over(
        parts: (Arc<TempDir>, Clock, Keyring),
        ledger: LedgerAt,
        payments: PaymentSettings,
    ) -> Self {
        let store = Arc::new(MemoryStore::default());
        Self::over_store(parts, ledger, store, payments).await
    }

    async fn over_store(
        (folder, clock, keyring): (Arc<TempDir>, Clock, Keyring),
        ledger: LedgerAt,
        store: Arc<dyn InventoryStore>,
        payments: PaymentSettings,
    ) -> Self {
        let mut keys = RoleKeys::default();
        for (role, key) in [
            (Role::Promoter, PROMOTER),
            (Role::Viewer, VIEWER),
            (Role::Door, DOOR),
            (Role::Door, OTHER_DOOR),
        ] {
            keys.add(role, key);
        }
        let setup = BookingSetup {
            secret: secret(),
            keyring: keyring.clone(),
            keys,
            clock: clock.clone(),
            payments: payments.clone(),
        };
        let books: Ledger = match ledger.clone() {
            LedgerAt::File(writer) => Ledger::open(Installation::File(writer))
                .await
                .expect("open"),
            LedgerAt::Server(_, database) => Ledger::open(Installation::Server(database))
                .await
                .expect("the ledger opens"),
        };
        let booking = Booking::with_store(Arc::clone(&store), books, setup).await;
        let booking = booking.expect("open");
        let (router, _) = booking.router().split_for_parts();
        Self {
            client: TestClient::of_router(router.layer(axum::middleware::from_fn(request_id))),
            workers: booking.start(),
            booking,
            clock,
            keyring,
            folder,
            store,
            ledger,
            payments,
        }
    }

    /// Returns a visitor of [`ROOM`] whose pass is valid for ten minutes.
    pub fn visitor(&self, n: u16) -> Visitor {
        self.visitor_of(ROOM, n)
    }

    pub fn visitor_of(&self, room: &str, n: u16) -> Visitor {
        let now_s = self.clock.now_ms() / 1_000;
        Visitor {
            pass: sign_test_pass(&self.keyring, room, n, now_s),
        }
    }

    /// Returns the PostgreSQL server that nodes share.
    pub fn database(&self) -> &PostgresServer {
        match &self.ledger {
            LedgerAt::Server(server, _) => server,
            LedgerAt::File(_) => panic!("the ledger is in a file"),
        }
    }

    /// Runs SQL directly in the ledger's file.
    pub async fn tamper(&self, statement: &'static str) {
        let LedgerAt::File(writer) = &self.ledger else {
            panic!("the ledger is not in a file");
        };
        let done = writer.write(move |tx| tx.execute_batch(statement).map_err(LedgerError::from));
        done.await.expect("valid SQL");
    }

    pub async fn put_venue(&self, venue: &str, plan: &str) {
        let path = format!("/v1/promoter/venues/{venue}");
        let put = put(&path, &json!({ "plan": plan })).by(&PROMOTER);
        self.ask(put).await.is(200);
    }

    /// Puts a show in the hall, with changes to its document.
    pub async fn put_show(&self, show: &str, changes: Value) {
        let put = put(&format!("/v1/promoter/shows/{show}"), &document(changes));
        self.ask(put.by(&PROMOTER)).await.is(200);
    }
}

impl TestShop for App {
    fn client(&self) -> &TestClient {
        &self.client
    }
}

/// Runs all futures at once on this task, and returns their values in the order of the futures.
pub async fn join_all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<T>> = running.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, slot) in running.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *slot = Some(value);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

impl AsRef<str> for Visitor {
    fn as_ref(&self) -> &str {
        &self.pass
    }
}

/// Returns a show's document, with changes.
pub fn document(changes: Value) -> Value {
    let mut document = json!({
        "venue": "hall", "title": "Night one", "starts_at": "2027-06-01T20:00:00+02:00",
        "currency": "EUR", "prices": { "cat1": 9_900, "cat2": 4_900 },
        "exchange": { "until_h": 0, "cheaper": "refund" },
    });
    if let (Some(document), Value::Object(changes)) = (document.as_object_mut(), changes) {
        document.extend(changes);
    }
    document
}

/// Returns a chart of the real data. If the data is not there, prints a message and returns `None`.
pub fn chart(name: &str) -> Option<String> {
    // Relative folders start at the repository's root, wherever the test runs.
    let folder = std::env::var_os("FAIRGATE_REAL_DATA").unwrap_or_else(|| "../shared/data".into());
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    let path = folder.join("seatmaps").join(format!("seatsio-{name}.json"));
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        #[expect(clippy::print_stdout, reason = "the log must show what was not tested")]
        {
            println!("SKIPPED: {} is not there", path.display());
        }
    }
    text
}

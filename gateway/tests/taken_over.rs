//! Tests a gateway that owned its PostgreSQL alone, stood still until another gateway had taken its
//! place, and then goes on.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use booking::door::signing::keyring;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, PostgresDatabase};
use fairgate_pass::Keyring;
use fairgate_servers::actors::{
    TestAnswer, TestCall, TestClient, TestShop, buyer, get, post, put, sign_test_pass, text, until,
    until_within,
};
use fairgate_servers::{PostgresServer, TEST_SECRET, free_port, must_skip};
use serde_json::json;

const PROMOTER: &str = "promoter-key-of-the-tests";
/// The longest time until a process that lost its place has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// A gateway without Redis, with booking in it. It is killed when the test drops it.
struct AloneProcess {
    child: Child,
    client: TestClient,
    _folder: tempfile::TempDir,
}

impl Drop for AloneProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestShop for AloneProcess {
    fn client(&self) -> &TestClient {
        &self.client
    }
}

impl AloneProcess {
    /// Starts a process on this database, and waits until it serves.
    async fn start(database: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = format!("127.0.0.1:{}", free_port().expect("a free port"));
        let settings = [
            ("FAIRGATE_LISTEN", &*listen),
            ("FAIRGATE_DATABASE_URL", database),
            ("FAIRGATE_PAYMENTS", "sandbox"),
            ("FAIRGATE_PROMOTER_KEY", PROMOTER),
            ("FAIRGATE_SECRET", TEST_SECRET),
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateway"));
        for (name, _) in std::env::vars() {
            if name.starts_with("FAIRGATE_") {
                command.env_remove(name);
            }
        }
        let log = std::fs::File::create(folder.path().join("log")).expect("a file for the log");
        let child = command
            .args(["serve", "--data"])
            .arg(folder.path())
            .envs(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the process starts");
        let process = Self {
            child,
            client: TestClient::of_address(&format!("http://{listen}")),
            _folder: folder,
        };
        until("the gateway listens", async || {
            let ready = process.client.try_ask(get("/healthz")).await;
            ready.is_ok().then_some(())
        })
        .await;
        process
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.expect("the command kill runs").success());
    }
}

async fn keys(database: &str) -> Keyring {
    let database = PostgresDatabase::connect(database).await;
    let installation = Installation::Server(database.expect("it connects"));
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let secret = InstallationSecret::derive(TEST_SECRET);
    let keys = keyring(&installation, &secret, now_ms).await;
    keys.expect("the keys")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_whose_place_was_taken_while_it_stood_still_takes_no_money_and_ends() {
    if must_skip("a process whose place was taken") {
        return;
    }
    let postgres = PostgresServer::start().await.expect("it starts");
    let mut old = AloneProcess::start(&postgres.url()).await;
    for (path, document) in [
        ("venues/hall", json!({"plan": "grid:4x10"})),
        (
            "shows/night-1",
            json!({"venue": "hall", "title": "Night", "starts_at": "2099-06-01T20:00:00Z",
                "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}, "orphans": "allow",
                "walk_in": true}),
        ),
    ] {
        let call = put(&format!("/v1/promoter/{path}"), &document).by(PROMOTER);
        old.ask(call).await.is(200);
    }
    let keyring = keys(&postgres.url()).await;
    let now_s = jiff::Timestamp::now().as_second();
    let pass = |n| sign_test_pass(&keyring, "everyday", n, now_s);
    let (ana, ben) = (pass(1), pass(2));
    let held = old.hold(&ana, &["A-1"]).await;
    let order = old.checkout(&ana, &held).await;
    let bens = old.hold(&ben, &["B-1"]).await;

    old.signal("-STOP");
    // These calls reach the process while it stands still, and are carried out when it goes on.
    let payment = text(&order["payment"], "payment");
    let approve = post(
        &format!("/v1/sandbox/payments/{payment}"),
        &json!({"outcome": "approve"}),
    );
    let bens_order = format!("/v1/holds/{}/order", text(&bens, "hold"));
    let calls = [approve.clone(), post(&bens_order, &buyer()).by(&ben)];
    let asked = calls.map(|call: TestCall| {
        let client = old.client.clone();
        tokio::spawn(async move { client.ask(call).await })
    });
    let new = AloneProcess::start(&postgres.url()).await;
    old.signal("-CONT");
    for answer in asked {
        let answer: TestAnswer = answer.await.expect("an answer");
        assert_eq!(answer.status, 503, "{} {}", answer.asked, answer.text());
    }
    until_within("the old process ends", ENDS_WITHIN, async || {
        old.child.try_wait().expect("a status")
    })
    .await;

    assert_eq!(new.read(&order).await["state"], "pending");
    new.ask(approve).await.is(200);
    new.order_in(&order, "ticketed").await;
}

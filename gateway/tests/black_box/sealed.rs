//! Tests that a copy of the ledger forges nothing: no key stands in it in any form, and a process
//! with another secret does not start on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use booking::ledger::Ledger;
use fairgate_base::secret::{InstallationSecret, SECRET_FILE};
use fairgate_databases::{Installation, PostgresDatabase, SqliteDatabase};
use fairgate_pass::StoredKey;
use fairgate_servers::{PostgresServer, TEST_SECRET, must_skip};
use gateway::ledger::RoomLedger;
use serde_json::{Value, json};

use crate::harness::{PROMOTER_KEY, Promoter, Server, TestShop, Visitor, free_port, text};

/// What nobody may find in a copy of the ledger: bytes, and texts of an order's owner.
struct Secrets {
    keys: Vec<(&'static str, Vec<u8>)>,
    order_key: String,
}

impl Secrets {
    /// Opens every sealed key of a ledger with its secret.
    async fn of(installation: Installation, secret: &InstallationSecret, order_key: &str) -> Self {
        let mut keys = Vec::new();
        let stored = installation.stored_value("signing_keys").await;
        let stored = stored.expect("readable").expect("there are keys");
        let opened = secret.open("signing_keys", &stored).expect("it opens");
        let signing: Vec<StoredKey> = serde_json::from_slice(&opened).expect("a list of keys");
        for key in signing {
            // The private half is the last 32 bytes of this form.
            keys.push(("signing key", key.pkcs8[key.pkcs8.len() - 32..].to_vec()));
            keys.push(("signing key in PKCS #8", key.pkcs8));
        }
        let stored = installation.stored_value("door_secret").await;
        let stored = stored.expect("readable").expect("there is one");
        let opened = secret.open("door_secret", &stored).expect("it opens");
        keys.push(("door secret", opened));
        let rooms = RoomLedger::open(installation.clone(), secret.clone()).await;
        for room in rooms.expect("it opens").rooms().await.expect("readable") {
            if room.room == "later" {
                keys.push(("secret of an unpublished draw", room.secret.0.to_vec()));
            }
        }
        let ledger = Ledger::open(installation).await.expect("it opens");
        for name in ["call_ids", "order_keys", "sandbox_webhook"] {
            let opened = ledger.secret(secret, name, [0; 32]).await;
            keys.push((name, opened.expect("it opens").to_vec()));
        }
        assert!(keys.len() >= 7, "{} keys", keys.len());
        Self {
            keys,
            order_key: order_key.to_owned(),
        }
    }

    /// Checks that none of them stands in these bytes, raw or in a usual text form.
    fn check_absent(&self, place: &str, bytes: &[u8]) {
        for (name, key) in &self.keys {
            for form in forms(key) {
                assert!(!contains(bytes, &form), "{name} stands in {place}");
            }
        }
        let order_key = self.order_key.as_bytes();
        assert!(
            !contains(bytes, order_key),
            "an order's key stands in {place}"
        );
    }
}

/// Returns the forms in which a key may stand somewhere. In base64, the first characters of a text
/// that begins elsewhere differ, so what follows at each of the three offsets is a form of its own.
fn forms(key: &[u8]) -> Vec<Vec<u8>> {
    let hex = hex::encode(key);
    let mut forms = vec![
        key.to_vec(),
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
    ];
    for offset in 0..3 {
        let whole = &key[offset..key.len() - (key.len() - offset) % 3];
        forms.push(STANDARD_NO_PAD.encode(whole).into_bytes());
        forms.push(URL_SAFE_NO_PAD.encode(whole).into_bytes());
    }
    forms
}

fn contains(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

#[test]
fn a_key_is_found_in_each_of_its_forms() {
    let key: Vec<u8> = (0..32).map(|n| n * 7 + 1).collect();
    let secrets = Secrets {
        keys: vec![("planted key", key.clone())],
        order_key: "orderkey_planted".to_owned(),
    };
    let longer: Vec<u8> = [b"ab", &*key, b"c"].concat();
    let list = [&*key, b"]"].concat();
    for planted in [
        key.clone(),
        hex::encode(&key).into_bytes(),
        STANDARD_NO_PAD.encode(&key).into_bytes(),
        URL_SAFE_NO_PAD.encode(&longer).into_bytes(),
        STANDARD_NO_PAD.encode(list).into_bytes(),
        b"orderkey_planted".to_vec(),
    ] {
        let bytes = [b"before", &*planted, b"after"].concat();
        let checked = std::panic::catch_unwind(|| secrets.check_absent("a test", &bytes));
        assert!(checked.is_err(), "{}", String::from_utf8_lossy(&planted));
    }
    secrets.check_absent("a test", b"nothing of it");
}

/// Sells a seat in a drawn room, and fills another room that is not drawn yet. Returns the order,
/// which was made under an `Idempotency-Key`.
async fn sold(server: &Server) -> Value {
    let promoter = Promoter::of(server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let later = json!({
        "title": "Later", "shows": ["other"], "opens_at": "2020-01-01T00:00:00Z",
        "draw_at": "2099-01-01T00:00:00Z",
    });
    promoter.put("rooms/later", &later).await.is(201);
    Visitor::joined(server, "later").await;
    let mut ana = Visitor::joined(server, "sale").await;
    promoter.draw("sale").await;
    ana.claim().await;
    let wish = json!({"seats": ["A-1"]});
    let held = server.try_hold(&ana, "night", &wish).await.is(201);
    let path = format!("/v1/holds/{}/order", text(&held, "hold"));
    let order = ana
        .booking(reqwest::Method::POST, &path)
        .header("idempotency-key", "a-key")
        .json(&json!({"buyer": {"name": "Ana", "email": "ana@example.com"}}));
    let order = crate::harness::TestAnswer::of(order).await;
    let order = order.expect("an answer").is(201);
    server.pay(&order, "approve").await.is(200);
    server.order_in(&order, "ticketed").await;
    order
}

/// Copies the files of a ledger, without the secret, into a new folder.
fn copied(data: &Path, to: &Path) -> PathBuf {
    let copy = to.join("copy");
    std::fs::create_dir(&copy).expect("a folder");
    for file in std::fs::read_dir(data).expect("a folder") {
        let file = file.expect("a file");
        if file.file_name() != SECRET_FILE {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
    }
    copy
}

/// Starts a gateway that must not start, and returns what it says.
fn refusal(data: &Path, settings: &[(&str, &str)]) -> String {
    let listen = format!("127.0.0.1:{}", free_port().expect("a free port"));
    let mut command: Command = crate::harness::gateway();
    let output = command
        .args(["serve", "--listen", &listen, "--data"])
        .arg(data)
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY)
        .envs(settings.iter().copied())
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_files_without_the_secret_shows_no_key_and_does_not_start() {
    let server = Server::start().await;
    let order = sold(&server).await;
    server.kill();
    let kept = std::fs::read_to_string(server.data().join(SECRET_FILE)).expect("the secret");
    let copy = copied(&server.data(), server.folder());
    let files = ["ledger.db", "ledger.db-wal"].map(|name| {
        let bytes = std::fs::read(copy.join(name)).expect("it was copied");
        (name, bytes)
    });
    let dump = server.folder().join("dump");
    booking::commands::dump::write(&copy, &dump, 0).expect("a dump");

    for settings in [vec![], vec![("FAIRGATE_SECRET", TEST_SECRET)]] {
        let told = refusal(&copy, &settings);
        assert!(told.contains("FAIRGATE_SECRET"), "{told}");
        assert!(told.contains("Nothing was changed"), "{told}");
        assert_eq!(told.trim().lines().count(), 1, "{told}");
    }
    assert!(!copy.join(SECRET_FILE).exists(), "no other secret is made");

    let secret = InstallationSecret::derive(kept.trim());
    let file = SqliteDatabase::open(&copy.join("ledger.db")).expect("the file opens");
    let secrets = Secrets::of(
        Installation::File(file),
        &secret,
        &text(&order, "order_key"),
    )
    .await;
    for (name, bytes) in &files {
        assert!(
            contains(bytes, b"ana@example.com") || !name.ends_with("db-wal"),
            "what was written last is in the log"
        );
        secrets.check_absent(name, bytes);
    }
    secrets.check_absent("a dump", &std::fs::read(&dump).expect("a file"));
    // With its secret, the same ledger goes on.
    server.restart().await;
    let key = text(&order, "order_key");
    let path = format!("/v1/orders/{}", text(&order, "order"));
    let read = server.http.get(server.at(&path)).bearer_auth(key);
    let read = crate::harness::TestAnswer::of(read).await;
    assert_eq!(read.expect("an answer").is(200)["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cell_of_a_server_shows_a_key_and_a_node_with_another_secret_does_not_start() {
    if must_skip("the sealed keys on PostgreSQL") {
        return;
    }
    let postgres = PostgresServer::start().await.expect("PostgreSQL");
    let url = postgres.url();
    let server = Server::with(&[("FAIRGATE_DATABASE_URL", &*url)]).await;
    let order = sold(&server).await;
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'";
    let tables = postgres.query(tables).await.expect("a list");
    let mut cells = String::new();
    for table in tables.lines() {
        let sql = format!("SELECT t::text FROM {table} AS t");
        cells += &postgres.query(&sql).await.expect("its rows");
    }
    assert!(cells.contains("ana@example.com"), "the rows are read");
    let folder = tempfile::tempdir().expect("a folder");
    let told = refusal(folder.path(), &[("FAIRGATE_DATABASE_URL", &*url)]);
    assert!(told.contains("FAIRGATE_SECRET is not set"), "{told}");
    let other = "another-secret-of-thirty-two-letters";
    let settings = [("FAIRGATE_DATABASE_URL", &*url), ("FAIRGATE_SECRET", other)];
    let told = refusal(folder.path(), &settings);
    assert!(told.contains("FAIRGATE_SECRET is not the secret"), "{told}");

    let secret = InstallationSecret::derive(TEST_SECRET);
    let database = PostgresDatabase::connect(&url).await.expect("it connects");
    let installation = Installation::Server(database);
    let secrets = Secrets::of(installation, &secret, &text(&order, "order_key")).await;
    secrets.check_absent("a table", cells.as_bytes());
}

//! Tests the first start on a ledger in which an earlier version stored keys as they are: the same
//! keys are used, and their plain form is gone.

use booking::ledger::Ledger;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{
    Installation, LedgerError, PostgresDatabase, SqlTransaction, SqliteDatabase,
};
use fairgate_pass::StoredKey;
use fairgate_rules::draw;
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::{LineMethod, RoomDocument};
use fairgate_servers::{PostgresServer, must_skip};
use gateway::ledger::{DrawSecret, RoomAuditEntry, RoomLedger, RoomRow};
use serde_json::{Value, json};

use crate::harness::Server;

/// The secret of a room's draw, the door's secret, booking's secrets, and an order's key in an
/// answer.
const DRAW: [u8; 32] = *b"draw secret of the earlier build";
const DOOR: [u8; 32] = *b"door secret of the earlier build";
const ORDERS: [u8; 32] = *b"orderkeysecret of earlier builds";
const ANSWER: &str = r#"{"order_key":"orderkey_of-the-earlier-build"}"#;

/// What an earlier version stored, and the name of its signing key.
struct Earlier {
    kid: String,
    plain: Vec<Vec<u8>>,
}

/// Makes the tables, and writes keys as an earlier version did.
async fn write_earlier(installation: &Installation) -> Earlier {
    let unused = InstallationSecret::derive("what seals the row that is replaced");
    let rooms = RoomLedger::open(installation.clone(), unused).await;
    let row = RoomRow {
        room: "earlier".to_owned(),
        document: RoomDocument {
            method: LineMethod::Draw,
            draw_at: 4_000_000_000_000,
            ..RoomDocument::everyday()
        },
        facts: RoomFacts::default(),
        version: 1,
        secret: DrawSecret([0; 32]),
        created_at: 0,
    };
    let entry = RoomAuditEntry {
        at: 0,
        role: "promoter",
        action: "room_created",
        detail: Value::Null,
    };
    let made = rooms.expect("tables").create_room(row, entry).await;
    assert!(made.expect("written"));
    Ledger::open(installation.clone()).await.expect("tables");
    let key = StoredKey::generate(1_700_000_000).expect("a key");
    let mut stored = serde_json::to_value(&key).expect("JSON");
    let fields = stored.as_object_mut().expect("an object");
    fields.retain(|name, _| ["kid", "pkcs8", "created_at", "retired_at"].contains(&&**name));
    let pkcs8 = stored["pkcs8"]
        .as_str()
        .expect("base64")
        .as_bytes()
        .to_vec();
    let keys = json!([stored]).to_string().into_bytes();
    let put = installation.write(keys, |tx, keys| Box::pin(put_plain(tx, keys)));
    put.await.expect("written");
    let plain = [&DRAW, &DOOR, &ORDERS].map(|key| key.to_vec());
    let order_key = b"orderkey_of-the-earlier-build".to_vec();
    Earlier {
        kid: key.kid,
        plain: [plain.to_vec(), vec![order_key, pkcs8]].concat(),
    }
}

async fn put_plain(tx: &SqlTransaction, keys: &[u8]) -> Result<(), LedgerError> {
    let value = "INSERT INTO installation (name, value) VALUES ($1, $2)";
    tx.execute(value, &[&"signing_keys", &keys]).await?;
    tx.execute(value, &[&"door_secret", &DOOR]).await?;
    // What was deleted stays in the file until its page is used again.
    tx.execute(value, &[&"deleted", &keys.repeat(40)]).await?;
    let sql = "DELETE FROM installation WHERE name = 'deleted'";
    tx.execute(sql, &[]).await?;
    let sql = "INSERT INTO secrets (name, value) VALUES ('order_keys', $1)";
    tx.execute(sql, &[&ORDERS]).await?;
    tx.execute("UPDATE gw_rooms SET secret = $1", &[&DRAW])
        .await?;
    let sql = "INSERT INTO kept_answers (scope, key, asked, status, body, kept_at) \
         VALUES ($1, 'a-key', $1, 201, $2, 4000000000000)";
    tx.execute(sql, &[&[5_u8; 32], &ANSWER]).await?;
    Ok(())
}

/// Checks that the server uses the keys of the earlier version.
async fn check_used(server: &Server, earlier: &Earlier) {
    let jwks = server.get("/.well-known/jwks.json").await.is(200);
    assert_eq!(jwks["keys"][0]["kid"], json!(earlier.kid));
    let draw = server.get("/v1/rooms/earlier/draw").await.is(200);
    assert_eq!(draw["commitment"], json!(draw::commitment(&DRAW)));
    assert!(
        server
            .read_log()
            .contains("keys in the ledger are sealed now")
    );
}

fn holds(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_seals_the_keys_of_an_earlier_version_and_leaves_none_in_the_file() {
    let mut earlier = None;
    let server = Server::prepared(&[], async |data| {
        let path = data.join("ledger.db");
        let file = SqliteDatabase::open(&path).expect("a file");
        let installation = Installation::File(file);
        let written = write_earlier(&installation).await;
        installation.close().await.expect("closed");
        let bytes = std::fs::read(&path).expect("readable");
        for key in &written.plain {
            assert!(holds(&bytes, key), "{}", String::from_utf8_lossy(key));
        }
        earlier = Some(written);
    })
    .await;
    let earlier = earlier.expect("it was prepared");
    check_used(&server, &earlier).await;
    server.kill();
    for name in ["ledger.db", "ledger.db-wal"] {
        let bytes = std::fs::read(server.data().join(name)).expect("readable");
        for key in &earlier.plain {
            let shown = String::from_utf8_lossy(key);
            assert!(!holds(&bytes, key), "{shown} in {name}");
        }
    }
    server.restart().await;
    check_used(&server, &earlier).await;
    let said = server.read_log();
    let sealed = said.matches("keys in the ledger are sealed now").count();
    assert_eq!(sealed, 1, "the second start has nothing to seal: {said}");
    // The kept answer opens with the secret, and has what was in it.
    server.kill();
    let secret = std::fs::read_to_string(server.data().join("secret")).expect("a file");
    let secret = InstallationSecret::derive(secret.trim());
    let file = SqliteDatabase::open(&server.data().join("ledger.db")).expect("a file");
    let body = kept_body(&Installation::File(file)).await;
    let place = format!("kept_answers/{}/a-key", hex::encode([5_u8; 32]));
    assert_eq!(
        secret.open(&place, body.as_bytes()).expect("it opens"),
        ANSWER.as_bytes()
    );
}

async fn kept_body(installation: &Installation) -> String {
    let read = installation.read((), |tx, ()| {
        Box::pin(async move {
            let sql = "SELECT body FROM kept_answers";
            tx.query_one(sql, &[]).await?.get(0)
        })
    });
    let read: Result<String, LedgerError> = read.await;
    read.expect("readable")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_seals_the_keys_of_an_earlier_version_on_a_server() {
    if must_skip("an earlier ledger on PostgreSQL") {
        return;
    }
    let postgres = PostgresServer::start().await.expect("PostgreSQL");
    let url = postgres.url();
    let database = PostgresDatabase::connect(&url).await.expect("it connects");
    let earlier = write_earlier(&Installation::Server(database)).await;
    let server = Server::with(&[("FAIRGATE_DATABASE_URL", &*url)]).await;
    check_used(&server, &earlier).await;
    let mut cells = String::new();
    for table in ["installation", "secrets", "gw_rooms", "kept_answers"] {
        // This shows bytes in hex, and text as it is.
        let sql = format!("SELECT t::text FROM {table} AS t");
        cells += &postgres.query(&sql).await.expect("its rows");
    }
    assert!(cells.contains("earlier"), "the rows are read");
    for key in &earlier.plain {
        let (text, hex) = (String::from_utf8_lossy(key), hex::encode(key));
        assert!(!cells.contains(&*text) && !cells.contains(&hex), "{text}");
    }
}

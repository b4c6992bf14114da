//! Runs the ledger contract on both databases. Also checks that the signing keys in a file of an
//! older version are still used.

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, LedgerError, PostgresDatabase, SqliteDatabase};
use fairgate_servers::{PostgresServer, must_skip};

use super::{RoomLedger, migrations};
use crate::ledger::{DrawSecret, contract};

#[tokio::test]
async fn the_sqlite_ledger_keeps_the_contract_with_its_file_opened_twice() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    contract::suite(async || {
        let file = Installation::File(SqliteDatabase::open(&path).expect("the file opens"));
        RoomLedger::open(file, InstallationSecret::derive("a test's secret"))
            .await
            .expect("it migrates")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_postgresql_ledger_keeps_the_contract_at_two_nodes() {
    if must_skip("the rooms' ledger on PostgreSQL") {
        return;
    }
    let server = PostgresServer::options().without_fsync().start().await;
    let server = server.expect("a server");
    let url = server.url();
    contract::suite(async || {
        let database = PostgresDatabase::connect(&url).await.expect("it connects");
        let server = Installation::Server(database);
        RoomLedger::open(server, InstallationSecret::derive("a test's secret"))
            .await
            .expect("it migrates")
    })
    .await;
}

#[tokio::test]
async fn the_signing_keys_of_an_older_file_are_still_used() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("the file opens");
    let file = Installation::File(writer);
    let older = &migrations::MIGRATIONS[..3];
    file.migrate("gateway", older).await.expect("it migrates");
    let key = fairgate_pass::StoredKey::generate(1).expect("a key");
    let (kid, stored) = (key.kid.clone(), serde_json::to_string(&key).expect("JSON"));
    let put = file.write((kid.clone(), stored), |tx, (kid, stored)| {
        Box::pin(async move {
            let sql = "INSERT INTO gw_keys (kid, stored) VALUES ($1, $2)";
            tx.execute(sql, &[kid, stored]).await?;
            Ok::<_, LedgerError>(())
        })
    });
    put.await.expect("it is written");
    let secret = InstallationSecret::derive("a test's secret");
    let opened = RoomLedger::open(file.clone(), secret.clone()).await;
    opened.expect("it migrates");
    let keyring = booking::door::signing::keyring(&file, &secret, 2_000).await;
    assert_eq!(keyring.expect("keys").kid_at(2), kid);
}

#[tokio::test]
async fn lost_numbers_are_void_once_in_every_room_that_may_still_give_some() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("the file opens");
    let file = Installation::File(writer);
    let secret = InstallationSecret::derive("a test's secret");
    let ledger = RoomLedger::open(file.clone(), secret).await;
    let ledger = ledger.expect("it migrates");
    assert_eq!(ledger.void_lost_numbers().await.expect("it answers"), 0);
    for (id, closes_at) in [("open", None), ("over", Some(1_000))] {
        contract::make_room(&ledger, id, closes_at).await;
    }
    let mut outside = file.counter().await.expect("it answers").to_outside();
    outside.counter += 50;
    let noticed = file.note_outside_counter(outside).await;
    let lacking = noticed
        .expect("it is written")
        .expect("it is behind")
        .lacking;
    let next = async |room: &str| {
        let line = ledger.line(room).await.expect("it answers");
        line.life.map(|life| life.ceiling)
    };
    for voided in [lacking, 0] {
        let found = ledger.void_lost_numbers().await;
        assert_eq!(found.expect("it answers"), voided);
        assert_eq!(next("open").await, Some(lacking));
        assert_eq!(next("over").await, None);
    }
}

#[tokio::test]
async fn lines_that_are_not_frozen_get_new_secrets_once_after_the_ledger_went_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("the file opens");
    let file = Installation::File(writer);
    let secret = InstallationSecret::derive("a test's secret");
    let ledger = RoomLedger::open(file.clone(), secret).await;
    let ledger = ledger.expect("it migrates");
    for (id, closes_at) in [("waiting", None), ("frozen", None), ("over", Some(1_000))] {
        contract::make_room(&ledger, id, closes_at).await;
    }
    contract::publish_freeze(&ledger, "frozen").await;
    let renewed = DrawSecret([99; 32]);
    let renew = async || {
        let now = 200_000_000;
        let made = ledger
            .renew_draw_secrets(now, || DrawSecret([99; 32]))
            .await;
        made.expect("it is written");
    };
    let has_new = async |room: &str| {
        let row = ledger.room(room).await.expect("it answers");
        row.expect("it is there").secret == renewed
    };
    let owes = async || {
        let versions = ledger.versions().await.expect("it answers");
        versions.iter().all(|version| version.owes_secrets)
    };
    renew().await;
    assert!(
        !has_new("waiting").await && !owes().await,
        "it never went back"
    );

    let mut outside = file.counter().await.expect("it answers").to_outside();
    outside.counter += 50;
    let noticed = file.note_outside_counter(outside).await;
    noticed.expect("it is written").expect("it is behind");
    assert!(owes().await);
    for _ in 0..2 {
        renew().await;
        assert!(has_new("waiting").await && !owes().await);
        assert!(!has_new("frozen").await, "its root decides the line");
        assert!(!has_new("over").await);
        let audit = ledger.audit("waiting").await.expect("it answers");
        let told = audit
            .iter()
            .filter(|row| row.action == "commitment_replaced");
        assert_eq!(told.count(), 1);
    }
}

//! Tests of states that are visible only while a transaction is stopped halfway.

use std::time::Duration;

use fairgate_databases::{Installation, PostgresDatabase, tokio_postgres};
use fairgate_servers::{PostgresServer, must_skip};

use super::Ledger;
use crate::ledger::contract::{BASKET_BASIS, PLAN, order, payment, show, stocked};

/// Waits until `waiting` transactions wait for a lock of this kind.
async fn until_waited_for(server: &PostgresServer, kind: &str, waiting: u32) {
    let sql = format!("SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND locktype = '{kind}'");
    let met = async {
        while server.query(&sql).await.expect("it answers").trim() != waiting.to_string() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let met = tokio::time::timeout(Duration::from_secs(10), met).await;
    met.unwrap_or_else(|_| panic!("{waiting} transactions never waited for a lock of kind {kind}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_waits_for_a_claim_that_is_being_written() {
    if must_skip("a claim that is being written") {
        return;
    }
    let server = PostgresServer::options().without_fsync().start().await;
    let server = server.expect("PostgreSQL starts");
    let database = PostgresDatabase::connect(&server.url())
        .await
        .expect("it answers");
    let ledger = Ledger::open(Installation::Server(database))
        .await
        .expect("migrated");

    stocked(&ledger).await;
    let (other, session) = tokio_postgres::connect(&server.url(), tokio_postgres::NoTls)
        .await
        .expect("it answers");
    tokio::spawn(session);
    // While this lock is held, a claim is half written: its order is inserted, but its cells are
    // not.
    let half = other.batch_execute("BEGIN; LOCK TABLE claims IN SHARE MODE");
    half.await.expect("locked");
    let order = order("a", fairgate_pass::Holder([1; 32]), &[3]);
    let claiming = tokio::spawn({
        let (ledger, order) = (ledger.clone(), order.clone());
        async move {
            ledger
                .claim(order.clone(), payment(&order), BASKET_BASIS)
                .await
        }
    });
    until_waited_for(&server, "relation", 1).await;
    let opening = tokio::spawn({
        let ledger = ledger.clone();
        async move {
            ledger
                .open_show(&show(), PLAN, Some(BASKET_BASIS.incarnation + 1))
                .await
        }
    });
    until_waited_for(&server, "advisory", 1).await;
    other.batch_execute("ROLLBACK").await.expect("rolled back");
    let claimed = claiming.await.expect("it ends");
    assert!(claimed.is_ok(), "{claimed:?}");
    let picture = opening.await.expect("it ends").expect("readable");
    let seen: Vec<_> = picture.ordered.iter().map(|hold| &hold.id).collect();
    assert_eq!(seen, [&order.hold]);
}

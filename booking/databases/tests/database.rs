//! Tests the PostgreSQL side with a real server: a transaction is written whole or not at all, even
//! if connections break.

mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use fairgate_databases::{Installation, LedgerError, PostgresDatabase};
use fairgate_servers::{PostgresServer, must_skip};
use wire::Wire;

const TABLES: &[&str] = &["CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT NOT NULL)"];

async fn server() -> PostgresServer {
    let server = PostgresServer::options().without_fsync().start().await;
    server.expect("PostgreSQL starts")
}

async fn database(url: &str) -> PostgresDatabase {
    let database = PostgresDatabase::connect(url).await.expect("it answers");
    database.migrate("test", TABLES).await.expect("migrates");
    database
}

async fn put(database: &PostgresDatabase, k: i64) -> Result<u64, LedgerError> {
    let sql = "INSERT INTO t (k, v) VALUES ($1, 0)";
    database
        .write(move |tx| async move { tx.execute(sql, &[&k]).await })
        .await
}

/// Returns all keys. If the pool's connection was broken, reads again.
async fn keys(database: &PostgresDatabase) -> BTreeSet<i64> {
    for _ in 0..500 {
        let read = |tx: fairgate_databases::PostgresTransaction| async move {
            let rows = tx.query("SELECT k FROM t", &[]).await?;
            Ok::<_, LedgerError>(rows.iter().map(|row| row.get(0)).collect())
        };
        if let Ok(keys) = database.read(read).await {
            return keys;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the database cannot be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_nodes_that_start_at_once_make_the_tables_once() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let mut starting = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let url = server.url();
        starting.spawn(async move {
            let installation = Installation::Server(database(&url).await);
            installation.ledger_id().await.expect("readable")
        });
    }
    let ids: BTreeSet<[u8; 32]> = starting.join_all().await.into_iter().collect();
    assert_eq!(ids.len(), 1, "one ledger, one id");
    let versions = server.query("SELECT count(*) FROM migrations WHERE owner = 'test'");
    assert_eq!(versions.await.expect("readable"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_refused() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let database = database(&server.url()).await;
    let older: &'static [&'static str] = &[];
    let refused = database.migrate("test", older).await;
    assert!(
        matches!(refused, Err(LedgerError::Corrupt(_))),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_transaction_writes_nothing_and_a_dropped_caller_does_not_cancel_its_write() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let database = database(&server.url()).await;
    let refused: Result<(), LedgerError> = database
        .write(|tx| async move {
            tx.execute("INSERT INTO t VALUES (1, 0)", &[]).await?;
            Err(LedgerError::Corrupt("thought better of it".to_owned()))
        })
        .await;
    assert!(matches!(refused, Err(LedgerError::Corrupt(_))));
    let swallowed: Result<(), LedgerError> = database
        .write(|tx| async move {
            tx.execute("INSERT INTO t VALUES (2, 0)", &[]).await?;
            let _ = tx.execute("INSERT INTO t VALUES (2, 0)", &[]).await;
            Ok(())
        })
        .await;
    assert!(
        matches!(swallowed, Err(LedgerError::Sql(_))),
        "{swallowed:?}"
    );
    assert!(keys(&database).await.is_empty());

    // The caller goes away while the transaction waits for a lock.
    let (hold, held) = tokio::sync::oneshot::channel();
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    let (hold, released) = (
        parking_lot::Mutex::new(Some(hold)),
        parking_lot::Mutex::new(Some(released)),
    );
    let blocker = database.clone();
    let blocking = tokio::spawn(async move {
        let blocked = blocker.write(move |tx| {
            let hold = hold.lock().take();
            let released = released.lock().take();
            async move {
                tx.execute("INSERT INTO t VALUES (3, 0)", &[]).await?;
                let _ = hold.map(|hold| hold.send(()));
                if let Some(released) = released {
                    let _ = released.await;
                }
                Err::<(), _>(LedgerError::Corrupt("makes room".to_owned()))
            }
        });
        blocked
            .await
            .expect_err("the transaction ends with an error");
    });
    held.await.expect("the blocker has its row lock");
    let other = database.clone();
    let caller = tokio::spawn(async move { put(&other, 3).await });
    wait_until(async || {
        server
            .query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
            .await
            .expect("readable")
            == "1"
    })
    .await;
    caller.abort();
    assert!(caller.await.expect_err("it went away").is_cancelled());
    release.send(()).expect("the blocker waits");
    blocking.await.expect("it ends");
    wait_until(async || keys(&database).await == BTreeSet::from([3])).await;
}

/// Waits until the condition holds. Panics after ten seconds or more.
async fn wait_until(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the condition never held");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_lost_a_deadlock_is_run_again() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let database = database(&server.url()).await;
    for k in 0..4 {
        put(&database, k).await.expect("written");
    }
    let begun = Arc::new(AtomicU32::new(0));
    let both_hold_one = Arc::new(tokio::sync::Barrier::new(2));
    let mut running = tokio::task::JoinSet::new();
    for keys in [[0_i64, 1], [1, 0]] {
        let (database, begun) = (database.clone(), Arc::clone(&begun));
        let both_hold_one = Arc::clone(&both_hold_one);
        running.spawn(async move {
            let counted = database.write(move |tx| {
                let first_try = begun.fetch_add(1, Ordering::SeqCst) < 2;
                let both_hold_one = Arc::clone(&both_hold_one);
                async move {
                    let sql = "UPDATE t SET v = v + 1 WHERE k = $1";
                    tx.execute(sql, &[&keys[0]]).await?;
                    if first_try {
                        both_hold_one.wait().await;
                    }
                    // Now each transaction waits for the other. The server ends the deadlock by
                    // aborting one of them.
                    tx.execute(sql, &[&keys[1]]).await?;
                    Ok::<_, LedgerError>(())
                }
            });
            counted.await
        });
    }
    for done in running.join_all().await {
        done.expect("both transactions are committed");
    }
    assert!(begun.load(Ordering::SeqCst) >= 3, "one of them began again");
    let sums = server
        .query("SELECT count(*) FROM t WHERE v = 2")
        .await
        .expect("readable");
    assert_eq!(sums, "2", "each counted once");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_agree_with_what_is_stored_while_connections_are_killed() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let database = database(&server.url()).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut writing = tokio::task::JoinSet::new();
    for writer in 0..6_i64 {
        let (database, over) = (database.clone(), Arc::clone(&over));
        writing.spawn(async move {
            let mut told = Vec::new();
            while !over.load(Ordering::Acquire) {
                let k = writer * 1_000_000 + i64::try_from(told.len()).expect("few");
                told.push((k, put(&database, k).await));
            }
            told
        });
    }
    let mut killed = 0;
    while killed < 40 {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = 'fairgate' AND state <> 'idle'";
        let count = server.query(sql).await.expect("readable");
        killed += count.parse::<u32>().expect("a number");
    }
    over.store(true, Ordering::Release);
    let told = writing.join_all().await;
    // This does not read through the pool, which may still contain killed connections.
    let stored = server.query("SELECT k FROM t").await.expect("readable");
    let stored: BTreeSet<i64> = stored.lines().map(|k| k.parse().expect("a key")).collect();
    for (k, answer) in told.into_iter().flatten() {
        match answer {
            Ok(_) => assert!(stored.contains(&k), "{k} was acknowledged and is lost"),
            Err(LedgerError::Unknown(why)) => panic!("the outcome of {k} is not known: {why}"),
            Err(error) => assert!(!stored.contains(&k), "{k} is stored in spite of {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_commit_whose_answer_or_question_was_lost_the_outcome_is_found_out() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let wire = Wire::to(&server.url()).await;
    let database = database(&wire.url()).await;
    for k in 0..5 {
        wire.lose_the_answer_to("COMMIT");
        assert_eq!(put(&database, k).await.expect("it was committed"), 1);
    }
    for k in 5..10 {
        wire.lose_the_question("COMMIT");
        assert_eq!(put(&database, k).await.expect("it was run again"), 1);
    }
    assert_eq!(wire.cuts(), 10);
    assert_eq!(keys(&database).await, (0..10).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_under_load_every_outcome_is_known() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = Arc::new(PostgresServer::start().await.expect("PostgreSQL starts"));
    let database = database(&server.url()).await;
    // There are more writers than connections. Writers that ask about lost commits must not wait
    // for one another's connections.
    let mut writing = tokio::task::JoinSet::new();
    for writer in 0..40_i64 {
        let database = database.clone();
        writing.spawn(async move {
            let mut told = Vec::new();
            for n in 0..40 {
                let k = writer * 1_000 + n;
                told.push((k, put(&database, k).await));
            }
            told
        });
    }
    wait_until(async || keys(&database).await.len() > 100).await;
    server.restart().await.expect("it comes back");
    let told = writing.join_all().await;
    let stored = keys(&database).await;
    for (k, answer) in told.into_iter().flatten() {
        match answer {
            Ok(_) => assert!(stored.contains(&k), "{k} was acknowledged and is lost"),
            Err(LedgerError::Unknown(why)) => panic!("the outcome of {k} is not known: {why}"),
            Err(error) => assert!(!stored.contains(&k), "{k} is stored in spite of {error}"),
        }
    }
    assert!(stored.len() > 100);
    put(&database, 1_000_000).await.expect("it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_a_crash_lost_is_never_acknowledged() {
    if must_skip("PostgreSQL") {
        return;
    }
    // This server runs with fsync, because acknowledged writes must survive the kill.
    let server = Arc::new(PostgresServer::start().await.expect("PostgreSQL starts"));
    let database = database(&server.url()).await;
    let (mut told, mut met) = (Vec::new(), 0);
    for round in 0..2_i64 {
        let mut writing = tokio::task::JoinSet::new();
        let (struck, over) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        for writer in 0..6 {
            let (database, struck, over) =
                (database.clone(), Arc::clone(&struck), Arc::clone(&over));
            writing.spawn(async move {
                let (mut told, mut met) = (Vec::new(), 0);
                let mut numbers = 0..;
                while !over.load(Ordering::SeqCst)
                    && let Some(n) = numbers.next()
                {
                    let k = round * 1_000_000 + writer * 100_000 + n;
                    let before = struck.load(Ordering::SeqCst);
                    told.push((k, put(&database, k).await));
                    met += usize::from(!before && struck.load(Ordering::SeqCst));
                }
                (told, met)
            });
        }
        wait_until(async || {
            keys(&database).await.len() > usize::try_from(round).expect("small") * 20 + 10
        })
        .await;
        struck.store(true, Ordering::SeqCst);
        server.kill();
        server.ensure_running().await.expect("it starts again");
        over.store(true, Ordering::SeqCst);
        for (answers, met_here) in writing.join_all().await {
            told.extend(answers);
            met += met_here;
        }
    }
    let stored = keys(&database).await;
    for (k, answer) in told {
        match answer {
            Ok(_) => assert!(stored.contains(&k), "{k} was acknowledged and is lost"),
            Err(LedgerError::Unknown(_)) => {}
            Err(error) => assert!(!stored.contains(&k), "{k} is stored in spite of {error}"),
        }
    }
    assert!(met > 0, "no kill met a write");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_survives_its_owners_crash_only_until_its_end() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = server().await;
    let installation = Installation::Server(database(&server.url()).await);
    let lease = async |owner, ttl_ms| {
        installation
            .lease("seats", owner, ttl_ms)
            .await
            .expect("written")
    };
    assert!(lease("one", 300).await);
    assert!(!lease("two", 300).await);
    wait_until(async || lease("two", 60_000).await).await;
    assert!(!lease("one", 300).await);
}

#[tokio::test]
async fn the_error_for_a_bad_address_names_the_form_and_hides_the_password() {
    let refused = PostgresDatabase::connect("postgres://fan:hush@localhost:port/x").await;
    let told = refused.err().expect("the port is not a number").to_string();
    assert!(
        told.contains("postgres://user:password@host:port/database"),
        "{told}"
    );
    assert!(!told.contains("hush"), "{told}");
}

//! Tests that one and the same transaction has the same outcome in both databases.

use std::sync::atomic::{AtomicU32, Ordering};

use fairgate_databases::{
    Installation, LedgerError, Migration, NamedLock, PostgresDatabase, SqlTransaction,
    SqliteDatabase,
};
use fairgate_servers::{PostgresServer, must_skip};

const TABLES: &[Migration] = &[
    Migration::of_both(
        "CREATE TABLE things (name TEXT PRIMARY KEY, size BIGINT NOT NULL, mark BYTEA, \
         is_big BOOLEAN NOT NULL DEFAULT FALSE)",
    ),
    Migration::of_sqlite("CREATE INDEX things_of_sqlite ON things (size)"),
    Migration::of_each(
        "CREATE TABLE documents (text TEXT NOT NULL) STRICT",
        "CREATE TABLE documents (text JSONB NOT NULL)",
    ),
];

/// Returns a SQLite file and, where one can be started, a PostgreSQL server.
async fn databases() -> Vec<(Installation, Box<dyn std::any::Any>)> {
    let folder = tempfile::tempdir().expect("a folder");
    let writer = SqliteDatabase::open(&folder.path().join("seam.sqlite")).expect("a file");
    let mut all: Vec<(Installation, Box<dyn std::any::Any>)> =
        vec![(Installation::File(writer), Box::new(folder))];
    if !must_skip("the seam on PostgreSQL") {
        let server = PostgresServer::options().without_fsync().start().await;
        let server = server.expect("PostgreSQL starts");
        let database = PostgresDatabase::connect(&server.url())
            .await
            .expect("it answers");
        all.push((Installation::Server(database), Box::new(server)));
    }
    for (installation, _) in &all {
        installation
            .migrate("seam", TABLES)
            .await
            .expect("migrates");
    }
    all
}

async fn put(tx: &SqlTransaction, name: &str, size: u32) -> Result<u64, LedgerError> {
    let sql = "INSERT INTO things (name, size, mark, is_big) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (name) DO UPDATE SET size = GREATEST(things.size, excluded.size)";
    let mark = (size > 1).then_some([7_u8; 32]);
    tx.execute(sql, &[&name, &size, &mark, &(size > 9)]).await
}

async fn sizes(installation: &Installation) -> Vec<(String, u32)> {
    let read = installation.read((), |tx, ()| {
        Box::pin(async move {
            let rows = tx
                .query("SELECT name, size FROM things ORDER BY name", &[])
                .await?;
            rows.iter()
                .map(|row| Ok((row.get(0)?, row.get(1)?)))
                .collect::<Result<_, LedgerError>>()
        })
    });
    read.await.expect("readable")
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_read_as_they_were_written() {
    for (installation, _kept) in databases().await {
        let done = installation.write((), |tx, ()| {
            Box::pin(async move {
                put(tx, "a", 1).await?;
                put(tx, "b", 12).await?;
                tx.execute(
                    "INSERT INTO documents (text) VALUES ($1)",
                    &[&r#"{"n": 5}"#],
                )
                .await
            })
        });
        assert_eq!(done.await.expect("written"), 1);
        let read = installation.read((), |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT name, size, mark, is_big, text ->> 'n' IS NOT NULL, \
                     (text ->> 'n')::bigint FROM things, documents \
                     WHERE name = ANY ($1) ORDER BY name";
                let names = vec!["a", "b", "c"];
                let rows = tx.query(sql, &[&names]).await?;
                let read = |row: &fairgate_databases::SqlRow| {
                    Ok((
                        row.get::<String>(0)?,
                        row.get::<u16>(1)?,
                        row.get::<Option<Vec<u8>>>(2)?,
                        row.get::<bool>(3)?,
                        row.get::<bool>(4)?,
                        row.get::<i64>(5)?,
                    ))
                };
                rows.iter()
                    .map(read)
                    .collect::<Result<Vec<_>, LedgerError>>()
            })
        });
        let expected = vec![
            ("a".to_owned(), 1, None, false, true, 5),
            ("b".to_owned(), 12, Some(vec![7; 32]), true, true, 5),
        ];
        assert_eq!(
            read.await.expect("readable"),
            expected,
            "{:?}",
            installation.dialect()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_by_a_list_of_byte_values() {
    for (installation, _kept) in databases().await {
        let found = installation.write((), |tx, ()| {
            Box::pin(async move {
                put(tx, "a", 1).await?;
                put(tx, "b", 2).await?;
                let marks: Vec<&[u8]> = vec![&[7; 32], &[8; 32]];
                let sql = "SELECT name FROM things WHERE mark = ANY ($1::bytea[])";
                let rows = tx.query(sql, &[&marks]).await?;
                rows.iter()
                    .map(|row| row.get(0))
                    .collect::<Result<Vec<String>, LedgerError>>()
            })
        });
        assert_eq!(
            found.await.expect("written"),
            ["b"],
            "{:?}",
            installation.dialect()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_of_another_type_is_refused_without_showing_its_content() {
    for (installation, _kept) in databases().await {
        let read = installation.write((), |tx, ()| {
            Box::pin(async move {
                put(tx, "a", 2).await?;
                let sql = "SELECT mark, name FROM things WHERE size = ANY ($1)";
                let row = tx.query_one(sql, &[&vec![2_u64]]).await?;
                assert_eq!(row.get::<[u8; 32]>(0)?, [7; 32]);
                assert_eq!(row.get::<Option<[u8; 32]>>(0)?, Some([7; 32]));
                let told = [row.get::<[u8; 16]>(0).err(), row.get::<[u8; 1]>(1).err()];
                Ok::<_, LedgerError>(told.map(|error| error.expect("an error").to_string()))
            })
        });
        let [bytes, text] = read.await.expect("written");
        assert!(bytes.contains("32 bytes, which is no [u8; 16]"), "{bytes}");
        assert!(text.contains("a text of 1 bytes"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_fails_leaves_nothing() {
    for (installation, _kept) in databases().await {
        let failed = installation.write((), |tx, ()| {
            Box::pin(async move {
                put(tx, "a", 1).await?;
                Err::<(), _>(LedgerError::Corrupt("no".to_owned()))
            })
        });
        assert!(matches!(failed.await, Err(LedgerError::Corrupt(_))));
        let broken = installation.write((), |tx, ()| {
            Box::pin(async move {
                put(tx, "b", 1).await?;
                tx.execute("INSERT INTO things (name) VALUES ($1)", &[&"c"])
                    .await
            })
        });
        assert!(broken.await.is_err());
        let done = installation.write(3_u32, |tx, size| Box::pin(put(tx, "d", *size)));
        assert_eq!(done.await.expect("written"), 1);
        assert_eq!(sizes(&installation).await, [("d".to_owned(), 3)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_transaction_that_waits_for_something_else_is_rolled_back() {
    let all = databases().await;
    let (installation, _kept) = &all[0];
    let waiting = installation.write((), |tx, ()| {
        Box::pin(async move {
            put(tx, "a", 1).await?;
            std::future::pending::<()>().await;
            Ok::<_, LedgerError>(())
        })
    });
    assert!(matches!(waiting.await, Err(LedgerError::Sql(_))));
    assert_eq!(sizes(installation).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_held_alone_excludes_other_transactions() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    for (installation, _kept) in databases().await {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let installation = installation.clone();
            tasks.spawn(async move {
                let alone = installation.write((), |tx, ()| {
                    Box::pin(async move {
                        tx.lock(&[NamedLock::shared(1, "a"), NamedLock::alone(2, "b")])
                            .await?;
                        tx.lock_each(3, &["x".to_owned(), "y".to_owned()]).await?;
                        let others = INSIDE.fetch_add(1, Ordering::SeqCst);
                        tx.query("SELECT 1", &[]).await?;
                        INSIDE.fetch_sub(1, Ordering::SeqCst);
                        Ok::<_, LedgerError>(others)
                    })
                });
                alone.await.expect("written")
            });
        }
        assert_eq!(tasks.join_all().await, [0; 8]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_sees_one_moment() {
    for (installation, _kept) in databases().await {
        let other = installation.clone();
        let counts = installation.read_snapshot(other, |tx, other| {
            Box::pin(async move {
                let sql = "SELECT COUNT(*) FROM things";
                let before: i64 = tx.query_one(sql, &[]).await?.get(0)?;
                let handle = tokio::runtime::Handle::current();
                let other = other.clone();
                let beside = std::thread::spawn(move || {
                    handle.block_on(other.write((), |tx, ()| Box::pin(put(tx, "late", 1))))
                });
                beside.join().expect("no panic")?;
                let after: i64 = tx.query_one(sql, &[]).await?.get(0)?;
                Ok::<_, LedgerError>((before, after))
            })
        });
        assert_eq!(
            counts.await.expect("readable"),
            (0, 0),
            "{:?}",
            installation.dialect()
        );
        assert_eq!(sizes(&installation).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_a_clock_ahead_took_ends_after_the_time_for_which_it_was_taken() {
    for (installation, _kept) in databases().await {
        let lease = async |owner, ttl_ms| {
            let leased = installation.lease("ahead", owner, ttl_ms).await;
            leased.expect("written")
        };
        assert!(lease("one", 300).await);
        let moved = installation.write((), |tx, ()| {
            Box::pin(async move {
                let sql = "UPDATE leases SET until = until + 3600000, \
                     taken_at = taken_at + 3600000 WHERE name = 'ahead'";
                tx.execute(sql, &[]).await
            })
        });
        let moved: Result<u64, LedgerError> = moved.await;
        assert_eq!(moved.expect("written"), 1);
        assert!(!lease("two", 60_000).await, "its owner may still be there");
        let asked = std::time::Instant::now();
        while !lease("two", 60_000).await {
            assert!(asked.elapsed().as_secs() < 20, "the lease does not end");
        }
        assert!(!lease("one", 300).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_keeps_its_id_and_first_values_and_gives_a_lease_to_one_owner() {
    for (installation, _kept) in databases().await {
        let id = installation.ledger_id().await.expect("readable");
        assert_eq!(installation.ledger_id().await.expect("readable"), id);
        for fresh in [vec![1], vec![2]] {
            let value = installation.value("a value", fresh).await;
            assert_eq!(value.expect("written"), [1], "the first value stays");
        }
        let lease = async |owner| installation.lease("a lease", owner, 60_000).await;
        assert!(lease("one").await.expect("written"));
        assert!(lease("one").await.expect("written"), "it is renewed");
        assert!(!lease("two").await.expect("written"));
        for (owner, is_over) in [("two", false), ("one", true)] {
            installation
                .release_lease("a lease", owner)
                .await
                .expect("written");
            assert_eq!(
                lease("two").await.expect("written"),
                is_over,
                "after the release by {owner}"
            );
        }
        installation
            .check_writable()
            .await
            .expect("it takes writes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_refused() {
    for (installation, _kept) in databases().await {
        let refused = installation.migrate("seam", &TABLES[..1]).await;
        assert!(
            matches!(refused, Err(LedgerError::Corrupt(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_transaction_that_ignores_a_failed_statement_writes_nothing() {
    for (installation, _keep) in databases().await {
        let written = installation.write((), |tx, ()| {
            Box::pin(async move {
                put(tx, "before", 1).await?;
                let failed = tx.execute("INSERT INTO nowhere VALUES (1)", &[]).await;
                assert!(failed.is_err());
                let later = put(tx, "after", 1).await;
                assert!(later.is_err(), "no statement runs after a failed one");
                Ok::<_, LedgerError>(())
            })
        });
        let outcome = written.await;
        assert!(matches!(outcome, Err(LedgerError::Sql(_))), "{outcome:?}");
        assert!(sizes(&installation).await.is_empty());
    }
}

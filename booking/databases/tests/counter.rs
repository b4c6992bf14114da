//! Tests the ledger's counter, and what is noticed with it: an older copy, and a file that is no
//! whole ledger.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fairgate_databases::{
    CountedOutside, CounterFile, CounterRecord, Installation, LedgerError, LedgerSetBack,
    Migration, PostgresDatabase, SqliteDatabase,
};
use fairgate_servers::{PostgresServer, must_skip};

/// The tables that the cases write.
const TABLES: [&str; 1] = ["CREATE TABLE t (k BIGINT PRIMARY KEY)"];

async fn file_in(folder: &Path) -> Installation {
    let opened = SqliteDatabase::open(&folder.join("ledger.db")).expect("it opens");
    opened.migrate("test", TABLES).await.expect("it migrates");
    Installation::File(opened)
}

async fn put(installation: &Installation, k: i64) -> Result<u64, LedgerError> {
    installation
        .write(k, |tx, k| {
            Box::pin(async move { tx.execute("INSERT INTO t VALUES ($1)", &[k]).await })
        })
        .await
}

async fn counter(installation: &Installation) -> u64 {
    installation.counter().await.expect("readable").counter
}

async fn count_into(installation: &Installation, path: &Path) -> CounterFile {
    let ledger = installation.ledger_id().await.expect("readable");
    let counted = installation.counter().await.expect("readable").to_outside();
    let record = CounterRecord { ledger, counted };
    let file = CounterFile::start(path, record).expect("it starts");
    installation.count_into(file.clone());
    file
}

fn recorded(path: &Path) -> CountedOutside {
    let record = CounterRecord::read(path).expect("readable");
    record.expect("there is one").counted
}

/// Returns what a place outside tells that was written with this counter by an older version.
fn uncounted(counter: u64) -> CountedOutside {
    CountedOutside {
        counter,
        orders_without_provider: None,
    }
}

/// Writes a row, and counts an order without a provider. Fails after that if `fails` is true.
async fn put_order(installation: &Installation, k: i64, fails: bool) -> Result<(), LedgerError> {
    installation
        .write(k, move |tx, k| {
            Box::pin(async move {
                tx.execute("INSERT INTO t VALUES ($1)", &[k]).await?;
                tx.count_order_without_provider();
                match fails {
                    true => Err(LedgerError::Corrupt("on purpose".to_owned())),
                    false => Ok(()),
                }
            })
        })
        .await
}

#[tokio::test]
async fn each_transaction_of_a_file_is_counted_in_its_own_commit_and_then_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = file_in(folder.path()).await;
    let outside = folder.path().join("elsewhere").join("counter");
    let file = count_into(&ledger, &outside).await;
    let before = counter(&ledger).await;
    for k in 0..5 {
        put(&ledger, k).await.expect("written");
    }
    let after = counter(&ledger).await;
    assert_eq!(after - before, 5);
    let idle = ledger.write((), |tx, ()| {
        Box::pin(tx.execute("DELETE FROM t WHERE k > 100", &[]))
    });
    let deleted: Result<u64, LedgerError> = idle.await;
    assert_eq!(deleted.expect("written"), 0);
    assert_eq!(counter(&ledger).await, after, "nothing was changed");
    assert!(file.flush(Duration::from_secs(10)), "{:?}", file.trouble());
    assert_eq!(recorded(&outside).counter, after);
    put(&ledger, 5).await.expect("written");
    ledger.close().await.expect("closed");
    let closed = recorded(&outside).counter;
    assert_eq!(closed, after + 1, "closing waits for the file");
}

#[tokio::test]
async fn an_older_copy_is_noticed_once_with_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, outside) = (
        folder.path().join("ledger.db"),
        folder.path().join("counter"),
    );
    let first = file_in(folder.path()).await;
    put(&first, 1).await.expect("written");
    first.close().await.expect("closed");
    let copy = std::fs::read(&ledger).expect("a copy");
    let second = file_in(folder.path()).await;
    count_into(&second, &outside).await;
    put(&second, 2).await.expect("written");
    put_order(&second, 3, false).await.expect("written");
    assert!(put_order(&second, 4, true).await.is_err());
    put_order(&second, 4, false).await.expect("written");
    let newest = counter(&second).await;
    second.close().await.expect("closed");
    std::fs::write(&ledger, copy).expect("put back");

    let older = file_in(folder.path()).await;
    let now_has = counter(&older).await;
    assert!(newest - now_has >= 3);
    let noticed = older.note_outside_counter(recorded(&outside)).await;
    let noticed = noticed.expect("written").expect("it is behind");
    assert_eq!(
        (noticed.lacking, noticed.counter),
        (newest - now_has, newest + 1)
    );
    assert_eq!(noticed.orders_lost, Some(2), "the third was undone");
    assert!(!noticed.is_restored);
    assert!(noticed.last_commit_at_ms <= noticed.noticed_at_ms);
    assert_eq!(
        older.last_set_back().await.expect("readable"),
        Some(noticed)
    );
    let again = older.note_outside_counter(recorded(&outside)).await;
    assert_eq!(again.expect("readable"), None);
    let goes_on = older.counter().await.expect("readable");
    assert!(goes_on.counter > newest, "no counter is used twice");
    assert_eq!(goes_on.orders_without_provider, 2);
}

#[tokio::test]
async fn what_a_restored_ledger_lost_is_known_once_a_place_outside_tells_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = file_in(folder.path()).await;
    put_order(&ledger, 1, false).await.expect("written");
    let backup = ledger.counter().await.expect("readable");
    let lost = async || {
        let last = ledger.last_set_back().await.expect("readable");
        last.expect("it was restored").orders_lost
    };
    ledger.mark_restored(1_000).await.expect("written");
    let own = ledger.counter().await.expect("readable").to_outside();
    for tells_nothing in [own, uncounted(backup.counter + 5)] {
        let noticed = ledger.note_outside_counter(tells_nothing).await;
        assert_eq!(noticed.expect("readable"), None);
        assert_eq!(lost().await, None);
    }
    let outside = CountedOutside {
        counter: backup.counter + 5,
        orders_without_provider: Some(4),
    };
    let noticed = ledger.note_outside_counter(outside).await;
    assert!(noticed.expect("written").is_some());
    assert_eq!(lost().await, Some(3));
    let again = ledger.note_outside_counter(outside).await;
    assert_eq!(again.expect("readable"), None);
    let goes_on = ledger.counter().await.expect("readable");
    assert_eq!(goes_on.orders_without_provider, 4);
}

#[tokio::test]
async fn a_file_without_tables_and_a_log_without_its_file_are_refused_and_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    let live = file_in(folder.path()).await;
    put(&live, 1).await.expect("written");
    // What a copy of the file lacks is in its log, as long as it is in use.
    let half = tempfile::tempdir().expect("a folder");
    let copied = half.path().join("ledger.db");
    make_without_tables(&copied);
    for content in [std::fs::read(&copied).expect("written"), Vec::new()] {
        std::fs::write(&copied, &content).expect("written");
        let told = refusal(&copied);
        assert!(told.contains("not a whole ledger"), "{told}");
        assert_eq!(std::fs::read(&copied).expect("still there"), content);
    }
    live.close().await.expect("closed");
    std::fs::rename(&path, folder.path().join("aside")).expect("moved");
    std::fs::write(folder.path().join("ledger.db-wal"), "a log").expect("written");
    assert!(refusal(&path).contains("its log"), "{}", refusal(&path));
    assert!(!path.exists());
}

/// Writes a database in the form that the ledger has, which has no table.
fn make_without_tables(path: &Path) {
    let connection = fairgate_databases::rusqlite::Connection::open(path).expect("it opens");
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .expect("it is set");
}

fn refusal(path: &Path) -> String {
    let Err(refused) = SqliteDatabase::open(path) else {
        panic!("{} was opened", path.display());
    };
    refused.to_string()
}

#[tokio::test]
async fn what_an_interrupted_first_start_left_is_no_ledger_and_no_obstacle() {
    let folder = tempfile::tempdir().expect("a folder");
    let left: Vec<PathBuf> = ["ledger.db.new", "ledger.db.new-wal", "ledger.db.new-shm"]
        .iter()
        .map(|name| folder.path().join(name))
        .collect();
    for file in &left {
        std::fs::write(file, "half").expect("written");
    }
    let ledger = file_in(folder.path()).await;
    put(&ledger, 1).await.expect("written");
    assert!(left.iter().all(|file| !file.exists()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_counted_by_raises_and_two_nodes_notice_one_set_back() {
    if must_skip("the counter of a server") {
        return;
    }
    let server = PostgresServer::options().without_fsync().start().await;
    let server = server.expect("PostgreSQL starts");
    let connect = async || {
        let database = PostgresDatabase::connect(&server.url()).await;
        Installation::Server(database.expect("it answers"))
    };
    let (one, other) = (connect().await, connect().await);
    let raised = async |node: &Installation| {
        let counter = node.raise_counter().await.expect("raised");
        (counter.counter, counter.orders_without_provider)
    };
    let (first, _) = raised(&one).await;
    assert_eq!(raised(&other).await, (first + 1, 0));
    one.migrate("test", &[Migration::of_both(TABLES[0])])
        .await
        .expect("it migrates");
    put_order(&one, 1, false).await.expect("written");
    put_order(&other, 2, false).await.expect("written");
    assert!(put_order(&other, 3, true).await.is_err());
    assert_eq!(raised(&one).await, (first + 2, 1));
    assert_eq!(raised(&other).await, (first + 3, 2));
    let nothing = one.note_outside_counter(uncounted(first + 3)).await;
    assert_eq!(nothing.expect("readable"), None);
    let ahead = CountedOutside {
        counter: first + 10,
        orders_without_provider: Some(7),
    };
    let (a, b) = tokio::join!(
        one.note_outside_counter(ahead),
        other.note_outside_counter(ahead)
    );
    let noticed: Vec<LedgerSetBack> = [a, b]
        .into_iter()
        .filter_map(|noticed| noticed.expect("written"))
        .collect();
    let [noticed] = noticed.as_slice() else {
        panic!("{noticed:?}");
    };
    assert_eq!((noticed.lacking, noticed.counter), (7, first + 11));
    assert_eq!(noticed.orders_lost, Some(5));
    assert_eq!(
        other.last_set_back().await.expect("readable"),
        Some(*noticed)
    );
    assert_eq!(raised(&one).await, (first + 12, 7));
}

/// Makes a ledger, keeps a copy of it, and lets the ledger go on. Returns the open ledger and the
/// copy.
async fn grown_beside_a_copy(folder: &Path) -> (Installation, Vec<u8>) {
    let ledger = file_in(folder).await;
    put(&ledger, 1).await.expect("written");
    ledger.close().await.expect("closed");
    let copy = std::fs::read(folder.join("ledger.db")).expect("readable");
    let ledger = file_in(folder).await;
    count_into(&ledger, &folder.join("counter")).await;
    for k in 2..6 {
        put(&ledger, k).await.expect("written");
    }
    (ledger, copy)
}

/// Opens the ledger anew, and returns the set back that its counter outside shows.
async fn set_back_at_the_next_start(folder: &Path) -> (Installation, Option<LedgerSetBack>) {
    let again = file_in(folder).await;
    let outside = recorded(&folder.join("counter"));
    let noted = again.note_outside_counter(outside).await.expect("written");
    (again, noted)
}

#[tokio::test]
async fn an_older_copy_that_is_written_over_an_open_ledger_takes_no_write_and_is_noticed() {
    for writes_meanwhile in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let (ledger, copy) = grown_beside_a_copy(folder.path()).await;
        let path = folder.path().join("ledger.db");
        std::fs::write(&path, &copy).expect("overwritten in its place");
        if writes_meanwhile {
            let refused = put(&ledger, 9).await.expect_err("it was overwritten");
            assert!(matches!(refused, LedgerError::Unavailable(_)), "{refused}");
        }
        let noticed = tokio::time::timeout(Duration::from_secs(20), ledger.wait_until_file_moved());
        noticed.await.expect("it is noticed");
        ledger.close().await.expect("closed");
        let now = std::fs::read(&path).expect("readable");
        assert!(now == copy, "what was written over it was not changed");
        let (again, noted) = set_back_at_the_next_start(folder.path()).await;
        assert!(noted.is_some_and(|noted| noted.lacking > 0), "{noted:?}");
        put(&again, 2).await.expect("it is the older ledger");
        assert!(put(&again, 1).await.is_err(), "which has its own rows");
    }
}

#[tokio::test]
async fn an_older_copy_that_another_program_restores_into_an_open_ledger_takes_no_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, _) = grown_beside_a_copy(folder.path()).await;
    let other = rusqlite::Connection::open(folder.path().join("ledger.db")).expect("it opens");
    let back = "UPDATE ledger_counter SET counter = counter - 3; DELETE FROM t WHERE k > 2;";
    other.execute_batch(back).expect("written");
    drop(other);
    let refused = put(&ledger, 9).await.expect_err("its counter went back");
    assert!(refused.to_string().contains("overwritten"), "{refused}");
    ledger.close().await.expect("closed");
    let (_, noted) = set_back_at_the_next_start(folder.path()).await;
    assert!(noted.is_some_and(|noted| noted.lacking > 0), "{noted:?}");
}

#[tokio::test]
async fn a_guest_and_own_checkpoints_are_no_foreign_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, _) = grown_beside_a_copy(folder.path()).await;
    let guest = SqliteDatabase::open_beside(&folder.path().join("ledger.db"));
    let guest = Installation::File(guest.expect("it opens beside"));
    for k in 0..3_000 {
        put(&ledger, 10 + 2 * k).await.expect("written");
        if k % 500 == 0 {
            put(&guest, 11 + 2 * k).await.expect("written");
        }
    }
    guest.close().await.expect("closed");
    put(&ledger, 7).await.expect("nobody else wrote the file");
    ledger.close().await.expect("closed");
    let (_, noted) = set_back_at_the_next_start(folder.path()).await;
    assert_eq!(noted, None);
}

//! Tests the writer: writes are grouped, isolated, durable and ordered.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use futures_util::future::join_all;

use fairgate_databases::{Installation, LedgerError, SqliteDatabase};

async fn writer() -> (tempfile::TempDir, SqliteDatabase) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer =
        SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a fresh file opens");
    writer
        .migrate(
            "test",
            &["CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT NOT NULL) STRICT;"],
        )
        .await
        .expect("migrates");
    (folder, writer)
}

async fn put(writer: &SqliteDatabase, k: i64) -> Result<usize, LedgerError> {
    writer
        .write(move |tx| Ok(tx.execute("INSERT INTO t VALUES (?1, 'x')", [k])?))
        .await
}

async fn count(writer: &SqliteDatabase) -> i64 {
    let counted: Result<i64, LedgerError> = writer
        .read(|c| Ok(c.query_row("SELECT COUNT(*) FROM t", [], |row| row.get(0))?))
        .await;
    counted.expect("counts")
}

#[tokio::test]
async fn a_failed_transaction_does_not_undo_the_others_of_its_group() {
    let (_folder, writer) = writer().await;
    let one =
        writer.enqueue(|tx| Ok::<_, LedgerError>(tx.execute("INSERT INTO t VALUES (1, 'a')", [])?));
    let twice = writer.enqueue(|tx| {
        tx.execute("INSERT INTO t VALUES (2, 'half')", [])?;
        Ok::<_, LedgerError>(tx.execute("INSERT INTO t VALUES (1, 'again')", [])?)
    });
    let three =
        writer.enqueue(|tx| Ok::<_, LedgerError>(tx.execute("INSERT INTO t VALUES (3, 'c')", [])?));
    assert!(one.await.is_ok());
    assert!(matches!(twice.await, Err(LedgerError::Sql(_))));
    assert!(three.await.is_ok());
    assert_eq!(count(&writer).await, 2);
}

/// Holds the writer, so that all writes that are queued meanwhile form one group. The group begins
/// when the returned sender is dropped.
fn hold_writer(writer: &SqliteDatabase) -> std::sync::mpsc::Sender<()> {
    let (begin, begun) = std::sync::mpsc::channel();
    drop(writer.enqueue(move |_| {
        let _ = begun.recv();
        Ok::<_, LedgerError>(())
    }));
    begin
}

#[tokio::test]
async fn if_sqlite_undoes_the_whole_group_no_write_of_it_is_kept_or_confirmed() {
    let (_folder, writer) = writer().await;
    let trigger = "CREATE TRIGGER undo BEFORE INSERT ON t WHEN NEW.k = 13 \
         BEGIN SELECT RAISE(ROLLBACK, 'no space'); END";
    let made = writer.write(move |tx| Ok::<_, LedgerError>(tx.execute(trigger, [])?));
    made.await.expect("the trigger is made");
    let begin = hold_writer(&writer);
    let [before, fails, after] = [1, 13, 2].map(|k| {
        writer.enqueue(move |tx| {
            Ok::<_, LedgerError>(tx.execute("INSERT INTO t VALUES (?1, 'x')", [k])?)
        })
    });
    drop(begin);
    assert!(before.await.is_err(), "its group was undone");
    assert!(fails.await.is_err());
    let kept = after.await.is_ok();
    assert_eq!(count(&writer).await, i64::from(kept));
    put(&writer, 3).await.expect("the writer goes on");
}

#[tokio::test]
async fn a_transaction_that_panics_is_undone_and_the_writer_goes_on() {
    let (_folder, writer) = writer().await;
    let panicked = writer.enqueue(|tx| -> Result<(), LedgerError> {
        tx.execute("INSERT INTO t VALUES (1, 'half')", [])?;
        panic!("a fault of the program");
    });
    assert!(matches!(panicked.await, Err(LedgerError::Sql(_))));
    put(&writer, 2).await.expect("the writer goes on");
    assert_eq!(count(&writer).await, 1);
}

#[tokio::test]
async fn a_dropped_caller_does_not_cancel_its_write() {
    let (_folder, writer) = writer().await;
    drop(
        writer.enqueue(|tx| Ok::<_, LedgerError>(tx.execute("INSERT INTO t VALUES (1, 'a')", [])?)),
    );
    put(&writer, 2)
        .await
        .expect("the next write comes after the dropped one");
    assert_eq!(count(&writer).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_readings_only_a_few_run_at_once() {
    let (_folder, writer) = writer().await;
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let readings = (0..200).map(|_| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        writer.read(move |c| {
            most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT COUNT(*) FROM n";
            let counted: u32 = c.query_row(sql, [], |row| row.get(0))?;
            running.fetch_sub(1, SeqCst);
            Ok::<_, LedgerError>(counted)
        })
    });
    for counted in join_all(readings).await {
        assert_eq!(counted.expect("it reads"), 1_000);
    }
    let most = most.load(SeqCst);
    assert!(most <= 4, "{most} readings ran at once");
}

#[tokio::test]
async fn acknowledged_writes_are_there_after_reopening() {
    let (folder, writer) = writer().await;
    for k in 0..50 {
        put(&writer, k).await.expect("writes");
    }
    drop(writer);
    let again = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("reopens");
    assert_eq!(count(&again).await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_ledger_file_is_complete_without_its_log() {
    let (folder, writer) = writer().await;
    let reading = tokio::spawn({
        let writer = writer.clone();
        async move { while writer.read(|_| Ok::<_, LedgerError>(())).await.is_ok() {} }
    });
    let mut answers = Vec::new();
    for k in 0..2_000 {
        answers.push(writer.enqueue(move |tx| {
            Ok::<_, LedgerError>(tx.execute("INSERT INTO t VALUES (?1, 'x')", [k])?)
        }));
    }
    writer.close().await.expect("it closes");
    for answer in answers {
        answer.await.expect("what was queued before is written");
    }
    let late = put(&writer, 5_000).await;
    assert!(matches!(late, Err(LedgerError::Unavailable(_))), "{late:?}");
    reading.await.expect("the reader ends");

    // Copies the file alone, as a backup does.
    let copy = tempfile::tempdir().expect("a second folder");
    let alone = copy.path().join("ledger.db");
    std::fs::copy(folder.path().join("ledger.db"), &alone).expect("it is copied");
    let copied = SqliteDatabase::open(&alone).expect("it opens by itself");
    assert_eq!(count(&copied).await, 2_000);
    let sound: Result<String, LedgerError> = copied
        .read(|c| Ok(c.query_row("PRAGMA integrity_check", [], |row| row.get(0))?))
        .await;
    assert_eq!(sound.expect("it is checked"), "ok");
}

#[tokio::test]
async fn transactions_that_change_nothing_do_not_keep_the_log_from_being_folded_in() {
    let (folder, writer) = writer().await;
    put(&writer, 1).await.expect("writes");
    let modified = || {
        let file = folder.path().join("ledger.db");
        let modified = std::fs::metadata(file).and_then(|file| file.modified());
        modified.expect("the file has a time of its last change")
    };
    let before = modified();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while modified() == before {
        assert!(
            std::time::Instant::now() < deadline,
            "the log was not folded in"
        );
        let nothing: Result<usize, LedgerError> = writer
            .write(|tx| Ok(tx.execute("DELETE FROM t WHERE k = 2", [])?))
            .await;
        assert_eq!(nothing.expect("runs"), 0);
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let (_folder, writer) = writer().await;
    let older: &'static [&'static str] = &[];
    let refused = writer.migrate("test", older).await;
    assert!(
        matches!(refused, Err(LedgerError::Corrupt(_))),
        "{refused:?}"
    );
}

/// A small disk for one test, which is unmounted when this value is dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts the disk. Returns `None` where this machine does not allow it.
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mounted = std::process::Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size}"),
                "fairgate-test",
            ])
            .arg(folder.path())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self { folder })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("--lazy")
            .arg(self.folder.path())
            .status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_reported_before_a_write_fails_and_until_space_is_free_again() {
    let Some(disk) = SmallDisk::mount("12m") else {
        eprintln!("SKIPPED: a full disk (this machine does not let this test mount one)");
        return;
    };
    let writer =
        SqliteDatabase::open(&disk.folder.path().join("ledger.db")).expect("a fresh file opens");
    let installation = Installation::File(writer);
    installation
        .check_writable()
        .await
        .expect("there is free space");
    let filler = disk.folder.path().join("filler");
    // This write fails when the disk is full, as intended.
    let _ = std::fs::write(&filler, vec![1; 12 << 20]);
    let full = found(&installation, |found| found.is_err()).await;
    assert!(
        full.contains("too little free space") && full.contains("Free some space"),
        "{full}"
    );
    std::fs::remove_file(&filler).expect("it is there");
    found(&installation, Result::is_ok).await;
}

/// Checks whether the file takes writes until the result is the wanted one. Returns the result as
/// text.
async fn found(
    installation: &Installation,
    wanted: fn(&Result<(), LedgerError>) -> bool,
) -> String {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
    loop {
        let found = installation.check_writable().await;
        if wanted(&found) {
            return format!("{found:?}");
        }
        assert!(std::time::Instant::now() < deadline, "{found:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_file_that_was_moved_or_replaced_takes_no_further_write_and_keeps_the_earlier_ones() {
    for is_replaced in [false, true] {
        let (folder, writer) = writer().await;
        put(&writer, 1).await.expect("the file is in its place");
        let (place, aside) = (
            folder.path().join("ledger.db"),
            folder.path().join("aside.db"),
        );
        let installation = Installation::File(writer.clone());
        std::fs::rename(&place, &aside).expect("moved");
        if is_replaced {
            std::fs::write(&place, "another file").expect("written");
        }
        let refused = put(&writer, 2).await.expect_err("the file is elsewhere");
        assert!(matches!(refused, LedgerError::Unavailable(_)), "{refused}");
        let noticed = installation.wait_until_file_moved();
        let noticed = tokio::time::timeout(Duration::from_secs(20), noticed).await;
        assert_eq!(noticed.expect("it is noticed"), place);
        if is_replaced {
            let other = std::fs::read_to_string(&place).expect("readable");
            assert_eq!(other, "another file", "it was not changed");
        }
        std::fs::rename(&aside, &place).expect("moved back");
        assert!(put(&writer, 3).await.is_err(), "the process ends");
        writer.close().await.expect("closed");
        let again = SqliteDatabase::open(&place).expect("it opens");
        assert_eq!(count(&again).await, 1);
    }
}

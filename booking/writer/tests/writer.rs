//! The writer's promises: grouped, isolated, durable, ordered.

use fairgate_writer::{LedgerError, Writer};

async fn writer() -> (tempfile::TempDir, Writer) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer = Writer::open(&folder.path().join("ledger.db")).expect("a fresh file opens");
    writer
        .migrate(
            "test",
            &["CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT NOT NULL) STRICT;"],
        )
        .await
        .expect("migrates");
    (folder, writer)
}

async fn put(writer: &Writer, k: i64) -> Result<usize, LedgerError> {
    writer
        .write(move |tx| Ok(tx.execute("INSERT INTO t VALUES (?1, 'x')", [k])?))
        .await
}

async fn count(writer: &Writer) -> i64 {
    let counted: Result<i64, LedgerError> = writer
        .read(|c| Ok(c.query_row("SELECT COUNT(*) FROM t", [], |row| row.get(0))?))
        .await;
    counted.expect("counts")
}

#[tokio::test]
async fn a_failed_transaction_leaves_its_neighbours_in_the_group_alone() {
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

#[tokio::test]
async fn what_was_answered_is_there_after_reopening() {
    let (folder, writer) = writer().await;
    for k in 0..50 {
        put(&writer, k).await.expect("writes");
    }
    drop(writer);
    let again = Writer::open(&folder.path().join("ledger.db")).expect("reopens");
    assert_eq!(count(&again).await, 50);
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

//! Overloads a server: writes to its ledger wait, so it refuses new joins and new holds.

use std::sync::mpsc;

use super::{Server, TestAnswer, until};

/// A writer that locks the ledger file and does not finish until it is dropped, so that every other
/// write waits.
pub struct LedgerBlockage {
    _release: mpsc::Sender<()>,
    _writer: fairgate_databases::SqliteDatabase,
}

impl LedgerBlockage {
    /// Locks the ledger of a server.
    pub fn of(server: &Server) -> Self {
        let path = server.data().join("ledger.db");
        let writer = fairgate_databases::SqliteDatabase::open(&path).expect("the file opens");
        let (release, released) = mpsc::channel::<()>();
        let blocked = writer.enqueue(move |_| {
            // The lock is held until the other end of the channel is dropped.
            let _ = released.recv();
            Ok::<_, fairgate_databases::LedgerError>(())
        });
        drop(blocked);
        Self {
            _release: release,
            _writer: writer,
        }
    }
}

/// Waits until the load of a server has this level.
pub async fn until_level(server: &Server, level: u8) {
    let line = format!("fairgate_load_level {level}");
    until(&line, async || {
        let metrics = TestAnswer::of(server.http.get(server.at("/metrics")))
            .await
            .ok()?;
        metrics.text().lines().any(|one| one == line).then_some(())
    })
    .await;
}

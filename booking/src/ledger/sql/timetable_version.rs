//! Which timetable is in force, and the lock that keeps it in force.

use fairgate_databases::{NamedLock, SqlTransaction};

use super::lock;
use super::rows::{Result, small};

/// The word of the lock on the timetable.
const TIMETABLE: &str = "timetable";

/// Returns the version of the newest timetable, if there is one.
pub(super) async fn newest_version(tx: &SqlTransaction) -> Result<Option<u32>> {
    let sql = "SELECT version FROM timetables ORDER BY version DESC LIMIT 1";
    let newest = tx.first(sql, &[]).await?;
    newest.map(|row| small(&row, 0)).transpose()
}

/// Keeps the timetable from being replaced until this transaction ends. Many transactions may do so
/// at the same time.
pub(super) async fn lock_against_switch(tx: &SqlTransaction) -> Result<()> {
    tx.lock(&[NamedLock::shared(lock::TIMETABLE, TIMETABLE)])
        .await
}

/// Waits until no transaction needs the timetable in force, and keeps others from opening
/// departures until this transaction ends.
pub(super) async fn lock_switch(tx: &SqlTransaction) -> Result<()> {
    tx.lock(&[NamedLock::alone(lock::TIMETABLE, TIMETABLE)])
        .await
}

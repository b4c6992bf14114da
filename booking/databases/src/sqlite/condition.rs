//! Whether the file may take writes: its disk has room, and no commit failed a moment ago.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::SqliteDatabase;
use crate::LedgerError;
use crate::finding::LastWriteCheck;

/// With less room than this the next commits may not fit, though a small one may find room in the
/// log.
const ROOM_MIN_BYTES: u64 = 1 << 20;
/// A commit that failed counts for so long, because a small one may fit where that one did not.
const FAILED_COUNTS: Duration = Duration::from_secs(1);

/// How the file was found last.
#[derive(Default)]
pub(crate) struct SqliteFileHealth {
    failed: Mutex<Option<(Instant, String)>>,
    finding: LastWriteCheck,
}

impl SqliteFileHealth {
    /// A commit failed.
    pub(crate) fn note_commit_failure(&self, reason: &str) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        *failed = Some((Instant::now(), reason.to_owned()));
    }

    fn failed_lately(&self) -> Option<String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, reason) = failed.as_ref()?;
        (at.elapsed() < FAILED_COUNTS).then(|| reason.clone())
    }
}

impl SqliteDatabase {
    /// What was found when somebody asked last whether the file takes writes.
    pub(crate) fn finding(&self) -> &LastWriteCheck {
        &self.condition.finding
    }

    /// Whether the disk has room, and no commit failed a moment ago.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] with the reason.
    pub(crate) fn may_take_writes(&self) -> Result<(), LedgerError> {
        has_room(self.path())?;
        match self.condition.failed_lately() {
            Some(reason) => Err(LedgerError::Unavailable(reason)),
            None => Ok(()),
        }
    }
}

/// Whether the disk has room for what is written next. Where the system does not say, the write
/// itself finds out.
fn has_room(file: &Path) -> Result<(), LedgerError> {
    let Ok(disk) = statvfs(file) else {
        return Ok(());
    };
    let left = disk.f_bavail.saturating_mul(disk.f_frsize);
    if left >= ROOM_MIN_BYTES {
        return Ok(());
    }
    Err(LedgerError::Unavailable(format!(
        "the disk of {} is full: {} KiB are left, and {} are needed. Make room there; what was answered before is kept",
        file.display(),
        left >> 10,
        ROOM_MIN_BYTES >> 10
    )))
}

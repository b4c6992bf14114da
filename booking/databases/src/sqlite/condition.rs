//! Checks whether the file takes writes. The disk must have free space, and the last failed commit
//! must be more than a second ago.

use parking_lot::Mutex;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::SqliteDatabase;
use crate::LedgerError;
use crate::write_check::LastWriteCheck;

/// The least free space, in bytes. With less free space, the next large commit may fail, even if a
/// small one still fits into the write-ahead log.
const FREE_BYTES_MIN: u64 = 1 << 20;
/// The check writes only a small row, which may succeed where a larger commit did not fit. So for
/// this long after a failed commit, the file is reported as not writable.
const FAILURE_REPORTED_FOR: Duration = Duration::from_secs(1);
/// A failed commit is logged as an error only if no other commit failed within this time before it.
/// While the disk is full or the file is locked, almost every commit fails.
const LOGGED_AFTER: Duration = Duration::from_secs(60);

/// The last failed commit, and the cached result of the check whether the file takes writes.
#[derive(Default)]
pub(crate) struct SqliteFileHealth {
    last_failure: Mutex<Option<(Instant, String)>>,
    write_check: LastWriteCheck,
}

impl SqliteFileHealth {
    /// Notes that a commit failed. Returns whether the failure should be logged as an error.
    pub(crate) fn note_commit_failure(&self, reason: &str) -> bool {
        let mut last_failure = self.last_failure.lock();
        let previous = last_failure.replace((Instant::now(), reason.to_owned()));
        previous.is_none_or(|(at, _)| at.elapsed() >= LOGGED_AFTER)
    }

    fn failed_lately(&self) -> Option<String> {
        let last_failure = self.last_failure.lock();
        let (at, reason) = last_failure.as_ref()?;
        (at.elapsed() < FAILURE_REPORTED_FOR).then(|| reason.clone())
    }
}

impl SqliteDatabase {
    /// Returns the cached result of the check whether the file takes writes.
    pub(crate) fn write_check(&self) -> &LastWriteCheck {
        &self.health.write_check
    }

    /// Checks that the disk has free space, and that no commit failed within the last second.
    ///
    /// # Errors
    /// Returns [`LedgerError::Unavailable`] with the reason.
    pub(crate) fn check_space_and_last_commit(&self) -> Result<(), LedgerError> {
        check_free_space(self.path())?;
        match self.health.failed_lately() {
            Some(reason) => Err(LedgerError::Unavailable(reason)),
            None => Ok(()),
        }
    }
}

/// Checks that the disk has free space for the next writes. If the system does not report the free
/// space, the check passes. A full disk is then noticed when a write fails.
fn check_free_space(file: &Path) -> Result<(), LedgerError> {
    let Ok(disk) = statvfs(file) else {
        return Ok(());
    };
    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free_bytes >= FREE_BYTES_MIN {
        return Ok(());
    }
    Err(LedgerError::Unavailable(format!(
        "the disk of {} has too little free space: {} KiB are free, and at least {} KiB are needed. Free some space on it; every write that was acknowledged is kept",
        file.display(),
        free_bytes >> 10,
        FREE_BYTES_MIN >> 10
    )))
}

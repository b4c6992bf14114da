//! Checks that the ledger's file is in its place. If it is moved, replaced or removed while this
//! process has it open, the system goes on writing to the open file, and the next start would not
//! find what was written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::SqliteDatabase;
use crate::LedgerError;
use crate::file_id::FileId;

/// How often a process that serves checks the place. Each commit checks it as well.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The path of the ledger's file, and which file it is.
pub(crate) struct FilePlace {
    path: PathBuf,
    file: FileId,
    /// Whether a check has found another file, or none. It stays so, because a reading connection
    /// may have opened the other file meanwhile.
    is_lost: AtomicBool,
}

impl FilePlace {
    /// Notes which file is at `path`.
    ///
    /// # Errors
    /// Returns the system's error if there is no file, or it does not tell which one it is.
    pub(crate) fn of(path: &Path) -> Result<Self, LedgerError> {
        let unusable = |error: io::Error| LedgerError::Unavailable(error.to_string());
        let metadata = std::fs::metadata(path).map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            file: FileId::of(&metadata),
            is_lost: AtomicBool::new(false),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks whether the file is still in its place. If the system does not tell, it counts as
    /// being there.
    pub(crate) fn is_lost(&self) -> bool {
        if !self.file.is_at(&self.path).unwrap_or(true) {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Refuses to go on if the file is not in its place.
    ///
    /// # Errors
    /// Returns [`LedgerError::Unavailable`].
    pub(crate) fn require(&self) -> Result<(), LedgerError> {
        if !self.is_lost() {
            return Ok(());
        }
        Err(LedgerError::Unavailable(format!(
            "{} was moved, replaced or removed while this process was using it",
            self.path.display()
        )))
    }
}

impl SqliteDatabase {
    /// Returns once the file was moved, replaced or removed.
    pub(crate) async fn wait_until_moved(&self) {
        let mut ticks = tokio::time::interval(CHECK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.place.is_lost() {
                return;
            }
        }
    }
}

//! Checks that the ledger's file is in its place, and that nobody else writes to it. If it is
//! moved, replaced or removed while this process has it open, the system goes on writing to the
//! open file, and the next start would not find what was written. If another program writes an
//! older copy over it, this process would mix its own pages into the copy, and hide that the ledger
//! went back.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::MissedTickBehavior;

use super::SqliteDatabase;
use super::group::WriterCommand;
use crate::LedgerError;
use crate::file_id::FileId;

/// How often a process that serves checks the place. Each commit checks it as well.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// When a file was last written, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    seconds: i64,
    nanoseconds: i64,
    bytes: u64,
}

impl FileVersion {
    fn of(metadata: &Metadata) -> Self {
        Self {
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
            bytes: metadata.size(),
        }
    }
}

/// The path of the ledger's file, and which file it is.
pub(crate) struct FilePlace {
    path: PathBuf,
    file: FileId,
    /// Whether a check has found another file, none, or other content. It stays so, because a
    /// reading connection may have opened the other file meanwhile.
    is_lost: AtomicBool,
    /// Whether another program wrote to the file.
    is_overwritten: AtomicBool,
    /// The file as the writing thread left it. `None` if others may write to it, too.
    left_as: Mutex<Option<FileVersion>>,
    /// The ledger's counter after the last commit of this process.
    counter: AtomicU64,
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
            is_overwritten: AtomicBool::new(false),
            left_as: Mutex::new(None),
            counter: AtomicU64::new(0),
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

    /// Returns whether another program wrote to the file.
    pub(super) fn is_overwritten(&self) -> bool {
        self.is_overwritten.load(Ordering::Relaxed)
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
            "{} was moved, replaced, removed or overwritten while this process was using it",
            self.path.display()
        )))
    }

    /// Refuses to go on if the file is not in its place, or another program wrote to it. Only the
    /// writing thread may ask, because only it knows what it has written itself.
    ///
    /// # Errors
    /// Returns [`LedgerError::Unavailable`].
    pub(super) fn require_unchanged(&self) -> Result<(), LedgerError> {
        let left_as = *self.left_as.lock();
        if let (Some(left_as), Ok(metadata)) = (left_as, std::fs::metadata(&self.path))
            && FileId::of(&metadata) == self.file
            && FileVersion::of(&metadata) != left_as
        {
            self.note_overwritten();
        }
        self.require()
    }

    /// Notes how the writing thread has left the file.
    pub(super) fn note_own_writes(&self) {
        if let Ok(metadata) = std::fs::metadata(&self.path)
            && FileId::of(&metadata) == self.file
        {
            *self.left_as.lock() = Some(FileVersion::of(&metadata));
        }
    }

    /// Checks that the ledger's counter went on from the last commit. A group of `transactions`
    /// has raised it to `counter`. If it went back, another program changed the ledger by SQLite's
    /// own means: file and log still belong together, and the counter outside is ahead of both.
    ///
    /// # Errors
    /// Returns [`LedgerError::Unavailable`] if it went back.
    pub(super) fn check_counter(&self, counter: u64, transactions: u64) -> Result<(), LedgerError> {
        if counter >= self.counter.load(Ordering::Relaxed) + transactions {
            return Ok(());
        }
        self.is_lost.store(true, Ordering::Relaxed);
        self.require()
    }

    /// Notes the ledger's counter after a commit.
    pub(super) fn note_counter(&self, counter: u64) {
        self.counter.store(counter, Ordering::Relaxed);
    }

    fn note_overwritten(&self) {
        self.is_overwritten.store(true, Ordering::Relaxed);
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Puts the log of a file that was overwritten under another name. SQLite would write it into
    /// the file, although it belongs to what the file was before.
    pub(super) fn set_log_aside(&self) -> io::Result<()> {
        let beside = |ending: &str| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let _ = std::fs::remove_file(beside("-shm"));
        match std::fs::rename(beside("-wal"), beside("-wal.overwritten")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl SqliteDatabase {
    /// Returns once the file was moved, replaced, removed or overwritten.
    pub(crate) async fn wait_until_moved(&self) {
        let mut ticks = tokio::time::interval(CHECK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // Without a writing thread the file was closed.
            let _ = self.jobs.send(WriterCommand::Check);
            if self.place.is_lost() {
                return;
            }
        }
    }
}

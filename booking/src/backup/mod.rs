//! Backups of a ledger in a file: `make` writes one while the installation serves, `restore` reads
//! one into an empty folder, `file` has the format of the file, and `scratch` the files beside a
//! backup while it is made. A ledger in PostgreSQL is backed up with PostgreSQL's own programs.

pub mod file;
pub mod make;
pub mod restore;
mod scratch;

use std::io;
use std::path::{Path, PathBuf};

use fairgate_base::process::data::DataLockError;
use fairgate_databases::LedgerError;

pub use file::BackupHead;
pub use make::{back_up, find_ledger};
pub use restore::{open_backup, restore};

/// The purpose of the key that signs heads.
pub const KEY_PURPOSE: &str = "backup head";

/// Why there is no backup, or why one was not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file of the new backup exists.
    #[error("{} exists already, and a backup is never written over; nothing was changed. Name another file", .0.display())]
    Exists(PathBuf),
    /// There is no ledger to back up.
    #[error("there is no ledger {}; nothing was written. Name the folder of the installation with --data or FAIRGATE_DATA", .0.display())]
    NoLedger(PathBuf),
    /// The system does not tell whether there is a ledger.
    #[error("the ledger {} cannot be read: {error}; nothing was written. Run this as the user of the gateway, or name another folder with --data", .ledger.display())]
    LedgerUnreadable {
        /// The ledger's file.
        ledger: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The ledger cannot be read, or the copy is damaged.
    #[error("the ledger {} was not backed up: {error}; nothing was left behind. Run this as the user of the gateway, with room on the disk for a copy; if the ledger is damaged, restore an earlier backup", .ledger.display())]
    Copy {
        /// The ledger's file.
        ledger: PathBuf,
        /// Why.
        error: LedgerError,
    },
    /// The new backup cannot be written.
    #[error("the backup {} cannot be written: {error}; nothing was left behind. Name a file in a folder that exists, that this user may write, and that has room", .file.display())]
    Unwritable {
        /// The file of the backup.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The backup to restore cannot be read.
    #[error("the backup {} cannot be read: {error}; nothing was restored. Name a file that this user may read", .file.display())]
    Unreadable {
        /// The file of the backup.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The restored ledger cannot be written.
    #[error("the restored ledger {} cannot be written: {error}; nothing was restored. Name a folder that this user may write and that has room", .file.display())]
    RestoredUnwritable {
        /// The file of the restored ledger.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is no backup, or is damaged.
    #[error("{} is not a whole backup: {why}; nothing was restored. Take another backup", .file.display())]
    NotWhole {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The head has another signature.
    #[error("{} was changed, or belongs to an installation with another secret; nothing was restored. Set FAIRGATE_SECRET as at that installation, or put its file \"secret\" into the new folder first", .0.display())]
    OtherSecret(PathBuf),
    /// The folder to restore into has files.
    #[error("{} is not empty, and a backup is restored into an empty folder only; nothing was changed. Name a new folder, and keep the old one until the shows are reopened", .0.display())]
    NotEmpty(PathBuf),
    /// The folder to restore into cannot be used.
    #[error("nothing was restored: {0}")]
    Folder(#[from] DataLockError),
    /// The restored ledger cannot be used.
    #[error(
        "the restored ledger cannot be used: {0}; nothing was restored. Try again, or take another backup"
    )]
    Ledger(#[from] LedgerError),
}

impl BackupError {
    fn of_restored(file: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::RestoredUnwritable {
            file: file.to_owned(),
            error,
        }
    }
}

//! Backups of a ledger in a file: `make` writes one while the installation serves, `restore` reads
//! one into an empty folder, and `file` has the format of the file. A ledger in PostgreSQL is
//! backed up with PostgreSQL's own programs.

pub mod file;
pub mod make;
pub mod restore;

use std::io;
use std::path::PathBuf;

use fairgate_base::process::data::DataLockError;
use fairgate_databases::LedgerError;

pub use file::BackupHead;
pub use make::back_up;
pub use restore::restore;

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
    /// The ledger cannot be read, or the copy is damaged.
    #[error("the ledger {} was not backed up: {error}; nothing was left behind", .ledger.display())]
    Copy {
        /// The ledger's file.
        ledger: PathBuf,
        /// Why.
        error: LedgerError,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}; there is no backup and no restored ledger", .file.display())]
    File {
        /// The file.
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
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] DataLockError),
    /// The restored ledger cannot be used.
    #[error("the restored ledger cannot be used: {0}; remove the folder and try again")]
    Ledger(#[from] LedgerError),
}

impl BackupError {
    fn of_file(file: &std::path::Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::File {
            file: file.to_owned(),
            error,
        }
    }
}

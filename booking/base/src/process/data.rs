//! The data folder: one folder has one process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The data folder, held by this process alone for as long as this lives.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

/// Why the folder is not this process's.
#[derive(Debug, thiserror::Error)]
pub enum DataLockError {
    /// The system refuses.
    #[error("the data folder {} cannot be used: {error}", .folder.display())]
    Unusable {
        /// Which.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody else has it.
    #[error("another process is using the data folder {}. One folder has one process: stop the other one, or give this one another folder with --data or FAIRGATE_DATA.", .0.display())]
    Taken(PathBuf),
}

/// Holds the data folder, or says who should.
///
/// # Errors
/// Where the folder cannot be made, or another process holds it.
pub fn lock_data_folder(data: &Path) -> Result<DataLock, DataLockError> {
    let unusable = |error| DataLockError::Unusable {
        folder: data.to_owned(),
        error,
    };
    std::fs::create_dir_all(data).map_err(unusable)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(data.join("lock"))
        .map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(DataLock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(DataLockError::Taken(data.to_owned())),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_is_told_which_folder_and_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let held = lock_data_folder(folder.path()).expect("the first holds it");
        let told = lock_data_folder(folder.path())
            .expect_err("the second does not")
            .to_string();
        assert!(
            told.contains("--data") && told.contains(&folder.path().display().to_string()),
            "{told}"
        );
        drop(held);
        assert!(
            lock_data_folder(folder.path()).is_ok(),
            "a held folder is free again when its process ends"
        );
    }
}

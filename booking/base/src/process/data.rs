//! Locks the data folder, because only one process may use it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The lock on the data folder. This process holds it as long as this value lives.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

/// Why this process cannot use the folder.
#[derive(Debug, thiserror::Error)]
pub enum DataLockError {
    /// The operating system does not let this process use the folder.
    #[error("FAIRGATE_DATA (--data): the data folder {} cannot be used: {error}; name a folder that this user may write", .folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Another process has locked it.
    #[error("another process is using the data folder {}. One folder has one process: stop the other one, or give this one another folder with --data or FAIRGATE_DATA.", .0.display())]
    Taken(PathBuf),
}

/// Locks the data folder.
///
/// # Errors
/// If the folder cannot be made, or another process has locked it.
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
    fn a_second_process_gets_an_error_that_names_the_folder_and_the_remedy() {
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
            "the folder is free again after the first lock ends"
        );
    }
}

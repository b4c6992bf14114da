//! Tells whether a path still leads to the file that this process has open.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The device and the inode of a file. A file that is moved keeps them, and a file that takes its
/// place has others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Returns whether this file is at `path`.
    ///
    /// # Errors
    /// Returns the system's error if it does not tell what is at `path`.
    pub(crate) fn is_at(self, path: &Path) -> io::Result<bool> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Self::of(&metadata) == self),
            Err(error) if is_nothing_there(error.kind()) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether this error says that there is no such file.
fn is_nothing_there(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

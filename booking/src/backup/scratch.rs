//! The files beside a new backup while it is made. A backup that is killed leaves them behind, and
//! the next backup into the same file removes them.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rand::RngExt;

/// How many hexadecimal digits are in the names of a backup's files.
const DIGITS: usize = 16;

/// How the names end: the copy of the ledger, the log of its writer, and the unfinished backup.
const ENDINGS: [&str; 3] = [".copy", ".copy-journal", ".new"];

/// A file that is removed when this is dropped.
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The folder of a new backup. As long as this lives, no other backup removes files of this one.
pub(super) struct ScratchFolder {
    /// Locked by this process. The system ends the lock with the process, also if it is killed.
    _folder: File,
    file: PathBuf,
    digits: String,
}

impl ScratchFolder {
    /// Opens the folder of the new backup `file`, and removes what killed backups into the same
    /// file left there. While another backup is made in this folder, nothing is removed, because it
    /// may belong to that one.
    ///
    /// # Errors
    /// Returns the system's error if the folder cannot be read.
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        let path = folder_of(file);
        let folder = File::open(path)?;
        if folder.try_lock().is_ok() {
            remove_leftovers(path, file)?;
        }
        // Where a file system has no such locks, nobody gets the other lock, either.
        let _ = folder.lock_shared();
        Ok(Self {
            _folder: folder,
            file: file.to_owned(),
            digits: format!("{:0DIGITS$x}", rand::rng().random::<u64>()),
        })
    }

    /// Returns the path of one of this backup's files. It is not made yet.
    pub(super) fn scratch(&self, ending: &str) -> Scratch {
        let mut name = self.file.as_os_str().to_owned();
        name.push(format!(".{}{ending}", self.digits));
        Scratch(name.into())
    }
}

/// Returns the folder that a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    file.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn remove_leftovers(folder: &Path, file: &Path) -> io::Result<()> {
    let of = file.file_name().unwrap_or_default().as_bytes();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if is_leftover(entry.file_name().as_bytes(), of) {
            // A leftover that stays only takes space.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Returns whether a file of this name belongs to a backup into the file named `of`.
fn is_leftover(name: &[u8], of: &[u8]) -> bool {
    let rest = name
        .strip_prefix(of)
        .and_then(|rest| rest.strip_prefix(b"."));
    let Some((digits, ending)) = rest.and_then(|rest| rest.split_at_checked(DIGITS)) else {
        return false;
    };
    digits.iter().all(u8::is_ascii_hexdigit)
        && ENDINGS.iter().any(|known| known.as_bytes() == ending)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(folder: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).expect("readable");
        let name = |entry: io::Result<std::fs::DirEntry>| {
            let name = entry.expect("readable").file_name();
            name.into_string().expect("text")
        };
        entries.map(name).collect()
    }

    #[test]
    fn what_a_killed_backup_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str| std::fs::write(folder.path().join(name), "").expect("written");
        let others = [
            "monday",
            "monday.copy",
            "monday.12345.copy",
            "monday.0123456789abcdef.copy.kept",
            "monday.0123456789abcdeg.copy",
            "a-monday.0123456789abcdef.copy",
        ];
        others.into_iter().for_each(put);
        ENDINGS
            .into_iter()
            .map(|ending| format!("monday.0123456789abcdef{ending}"))
            .for_each(|name| put(&name));
        let file = folder.path().join("monday");
        let opened = ScratchFolder::open(&file).expect("it opens");
        let kept: BTreeSet<String> = others.map(str::to_owned).into();
        assert_eq!(names(folder.path()), kept);
        drop(opened);
    }

    #[test]
    fn the_files_of_a_backup_that_is_being_made_stay_until_it_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("monday");
        let running = ScratchFolder::open(&file).expect("it opens");
        let killed = std::mem::ManuallyDrop::new(running.scratch(".copy"));
        std::fs::write(&killed.0, "half").expect("written");
        let second = ScratchFolder::open(&file).expect("it opens");
        assert!(killed.0.exists(), "it may still be used");
        drop(running);
        let third = ScratchFolder::open(&file).expect("it opens");
        assert!(killed.0.exists(), "the second may have made it");
        drop((second, third));
        let last = ScratchFolder::open(&file).expect("it opens");
        assert!(!killed.0.exists(), "nobody uses it");
        let own = last.scratch(".new");
        std::fs::write(&own.0, "").expect("written");
        drop(own);
        assert_eq!(names(folder.path()), BTreeSet::new());
    }
}

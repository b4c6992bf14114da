//! Writes a backup of a ledger file while a process serves it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use fairgate_base::clock::rfc3339;
use fairgate_databases::copy_ledger_file;
use sha2::{Digest, Sha256};

use super::BackupError;
use super::file::{BackupHead, write_head};
use crate::ledger::{LEDGER_FILE, figures_of_file};

/// How many bytes are read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// A file that is removed when this is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may have been moved away, or never made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Copies the ledger in the folder `data` into the new file `file`, with a head that is signed with
/// `key`. The process that serves the ledger does not wait. The file has its name only once it is
/// whole and on the disk.
///
/// # Errors
/// [`BackupError`]. Nothing is then left behind.
pub fn back_up(
    data: &Path,
    file: &Path,
    key: &[u8; 32],
    now_ms: i64,
) -> Result<BackupHead, BackupError> {
    if file.exists() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let ledger = data.join(LEDGER_FILE);
    if !ledger.exists() {
        return Err(BackupError::NoLedger(ledger));
    }
    let beside = |ending: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".{}{ending}", std::process::id()));
        Scratch(name.into())
    };
    let (copy, fresh) = (beside(".copy"), beside(".new"));
    let failed = |error| BackupError::Copy {
        ledger: ledger.clone(),
        error,
    };
    let copied = copy_ledger_file(&ledger, &copy.0).map_err(failed)?;
    let figures = figures_of_file(&copy.0).map_err(failed)?;
    let (bytes, sha256) = sum_of(&copy.0).map_err(BackupError::of_file(&copy.0))?;
    let head = BackupHead {
        made_at: rfc3339(now_ms),
        ledger: hex::encode(copied.ledger),
        counter: copied.counter,
        orders: figures.orders,
        tickets: figures.tickets,
        bytes,
        sha256,
    };
    write_whole(&fresh.0, &head, key, &copy.0).map_err(BackupError::of_file(file))?;
    // A file that appeared meanwhile stays: a link is never made over another file.
    std::fs::hard_link(&fresh.0, file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(file.to_owned()),
        _ => BackupError::of_file(file)(error),
    })?;
    sync_folder_of(file).map_err(BackupError::of_file(file))?;
    Ok(head)
}

fn write_whole(fresh: &Path, head: &BackupHead, key: &[u8; 32], copy: &Path) -> io::Result<()> {
    let mut backup = BufWriter::new(File::create_new(fresh)?);
    write_head(&mut backup, head, key)?;
    io::copy(&mut File::open(copy)?, &mut backup)?;
    backup.flush()?;
    backup.get_ref().sync_all()
}

/// Returns the length of a file, and its SHA-256 in hex.
fn sum_of(file: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut digest, mut bytes) = (File::open(file)?, Sha256::new(), 0);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok((bytes, hex::encode(digest.finalize())));
        }
        digest.update(&chunk[..read]);
        bytes += read as u64;
    }
}

/// Makes sure that the name of a new file is on the disk, too.
pub(super) fn sync_folder_of(file: &Path) -> io::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

//! Writes a backup of a ledger file while a process serves it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use fairgate_base::clock::rfc3339;
use fairgate_databases::copy_ledger_file;
use sha2::{Digest, Sha256};

use super::BackupError;
use super::file::{BackupHead, write_head};
use super::scratch::{ScratchFolder, folder_of};
use crate::ledger::{LEDGER_FILE, figures_of_file};

/// How many bytes are read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Returns the path of the ledger in the folder `data`.
///
/// # Errors
/// [`BackupError`] if there is no ledger, or the folder cannot be read.
pub fn find_ledger(data: &Path) -> Result<PathBuf, BackupError> {
    let ledger = data.join(LEDGER_FILE);
    match ledger.metadata() {
        Ok(_) => Ok(ledger),
        Err(error) if is_nothing_there(error.kind()) => Err(BackupError::NoLedger(ledger)),
        Err(error) => Err(BackupError::LedgerUnreadable { ledger, error }),
    }
}

/// Returns whether this error says that there is no such file.
fn is_nothing_there(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Copies the ledger in the folder `data` into the new file `file`, with a head that is signed with
/// `key`. The process that serves the ledger does not wait. The file has its name only once it is
/// whole and on the disk. Files that a killed backup left beside it are removed first.
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
    let ledger = find_ledger(data)?;
    let unwritable = |error| BackupError::Unwritable {
        file: file.to_owned(),
        error,
    };
    let folder = ScratchFolder::open(file).map_err(unwritable)?;
    let (copy, fresh) = (folder.scratch(".copy"), folder.scratch(".new"));
    // A folder that cannot be written is noticed before the ledger is copied.
    let backup = File::create_new(&fresh.0).map_err(unwritable)?;
    let failed = |error| BackupError::Copy {
        ledger: ledger.clone(),
        error,
    };
    let copied = copy_ledger_file(&ledger, &copy.0).map_err(failed)?;
    let figures = figures_of_file(&copy.0).map_err(failed)?;
    let (bytes, sha256) = sum_of(&copy.0).map_err(unwritable)?;
    let head = BackupHead {
        made_at: rfc3339(now_ms),
        ledger: hex::encode(copied.ledger),
        counter: copied.counter,
        orders: figures.orders,
        tickets: figures.tickets,
        bytes,
        sha256,
    };
    write_whole(backup, &head, key, &copy.0).map_err(unwritable)?;
    // A file that appeared meanwhile stays: a link is never made over another file.
    std::fs::hard_link(&fresh.0, file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(file.to_owned()),
        _ => unwritable(error),
    })?;
    sync_folder_of(file).map_err(unwritable)?;
    Ok(head)
}

fn write_whole(backup: File, head: &BackupHead, key: &[u8; 32], copy: &Path) -> io::Result<()> {
    let mut backup = BufWriter::new(backup);
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
    File::open(folder_of(file))?.sync_all()
}

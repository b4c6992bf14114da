//! Restores a backup into an empty folder. All shows are closed then, because what was sold after
//! the backup is not in it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use fairgate_base::process::data::{DataLockError, lock_data_folder};
use fairgate_base::secret::SECRET_FILE;
use fairgate_databases::{Installation, SqliteDatabase, check_ledger_file};
use sha2::{Digest, Sha256};

use super::BackupError;
use super::file::{BackupHead, HeadFault, read_head};
use super::make::sync_folder_of;
use crate::ledger::LEDGER_FILE;

/// How many transactions may be lost at least, as far as anybody knows. Each room begins again so
/// far above its last number. A counter outside the ledger that is further ahead counts, too, when
/// the gateway starts.
const LOST_AT_LEAST: u64 = 10_000;

/// How many bytes are read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Opens the backup `file`, and checks that it can be restored into the folder `data`. Changes
/// nothing.
///
/// # Errors
/// [`BackupError`] if the file cannot be read, or the folder is not empty or cannot be used.
pub fn open_backup(file: &Path, data: &Path) -> Result<File, BackupError> {
    let opened = File::open(file).map_err(|error| BackupError::Unreadable {
        file: file.to_owned(),
        error,
    })?;
    require_empty(data)?;
    Ok(opened)
}

/// Restores the backup `file` into the folder `data`, which must be missing or empty; only the
/// file with the installation's secret may be in it. Returns the backup's head.
///
/// # Errors
/// [`BackupError`]. The folder then has no ledger.
pub async fn restore(file: &Path, data: &Path, key: &[u8; 32]) -> Result<BackupHead, BackupError> {
    let mut backup = BufReader::new(open_backup(file, data)?);
    let head = read_head(&mut backup, key).map_err(|fault| match fault {
        HeadFault::Signature => BackupError::OtherSecret(file.to_owned()),
        HeadFault::Unreadable(why) => not_whole(file, why),
    })?;
    let lock = lock_data_folder(data)?;
    let fresh = unfinished(data);
    remove_unfinished(&fresh);
    let restored = async {
        let written =
            write_ledger(&mut backup, &fresh).map_err(BackupError::of_restored(&fresh))?;
        if written != (head.bytes, head.sha256.clone()) {
            return Err(not_whole(file, "its ledger is not the one in its head"));
        }
        let damaged = |error: fairgate_databases::LedgerError| not_whole(file, &error.to_string());
        let has = check_ledger_file(&fresh).map_err(damaged)?;
        if (hex::encode(has.ledger), has.counter) != (head.ledger.clone(), head.counter) {
            return Err(not_whole(file, "its ledger is not the one in its head"));
        }
        let installation = Installation::File(SqliteDatabase::open(&fresh)?);
        installation.mark_restored(LOST_AT_LEAST).await?;
        installation.close().await?;
        Ok(())
    };
    if let Err(error) = restored.await {
        remove_unfinished(&fresh);
        return Err(error);
    }
    let ledger = data.join(LEDGER_FILE);
    std::fs::rename(&fresh, &ledger).map_err(BackupError::of_restored(&ledger))?;
    sync_folder_of(&ledger).map_err(BackupError::of_restored(&ledger))?;
    drop(lock);
    Ok(head)
}

fn not_whole(file: &Path, why: &str) -> BackupError {
    BackupError::NotWhole {
        file: file.to_owned(),
        why: why.to_owned(),
    }
}

/// Returns the ledger's path while it is being restored.
#[must_use]
pub fn unfinished(data: &Path) -> PathBuf {
    data.join(unfinished_name())
}

/// Returns the name with which all files of a restore begin until it has ended.
fn unfinished_name() -> String {
    format!("{LEDGER_FILE}.restored")
}

/// Removes what a restore left that was interrupted.
fn remove_unfinished(fresh: &Path) {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = fresh.as_os_str().to_owned();
        name.push(ending);
        // What was not made cannot be removed.
        let _ = std::fs::remove_file(name);
    }
}

/// Refuses a folder that has anything but the secret, an old lock and an interrupted restore in it.
fn require_empty(data: &Path) -> Result<(), BackupError> {
    let unusable = |error| DataLockError::Unusable {
        folder: data.to_owned(),
        error,
    };
    let entries = match std::fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(error).into()),
    };
    for entry in entries {
        let name = entry.map_err(unusable)?.file_name();
        let is_unfinished = name.to_string_lossy().starts_with(&unfinished_name());
        if name != SECRET_FILE && name != "lock" && !is_unfinished {
            return Err(BackupError::NotEmpty(data.to_owned()));
        }
    }
    Ok(())
}

/// Writes what follows the head to a new file. Returns its length, and its SHA-256 in hex.
fn write_ledger(backup: &mut impl Read, fresh: &Path) -> io::Result<(u64, String)> {
    let mut ledger = BufWriter::new(File::create_new(fresh)?);
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = backup.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        digest.update(&chunk[..read]);
        ledger.write_all(&chunk[..read])?;
        bytes += read as u64;
    }
    ledger.flush()?;
    ledger.get_ref().sync_all()?;
    Ok((bytes, hex::encode(digest.finalize())))
}

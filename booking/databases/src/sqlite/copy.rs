//! Copies a ledger file, also while another process writes it.

use std::fs::File;
use std::path::Path;

use super::{SqliteConnection, reader};
use crate::LedgerError;

/// What a copy of a ledger has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerCopy {
    /// The ledger's id.
    pub ledger: [u8; 32],
    /// How far the ledger had got.
    pub counter: u64,
    /// When its last commit was made, in milliseconds since the epoch. 0 if it had none.
    pub last_commit_at_ms: i64,
}

/// Copies the ledger at `from` into the new file `to`, as it is at one moment. Another process may
/// read and write the ledger meanwhile, and does not wait. The copy needs no log, and is on the
/// disk and checked when this returns.
///
/// # Errors
/// Returns an error where the ledger cannot be read, `to` exists or cannot be written, or the copy
/// is damaged.
pub fn copy_ledger_file(from: &Path, to: &Path) -> Result<LedgerCopy, LedgerError> {
    let unusable = |error: std::io::Error| LedgerError::Unavailable(error.to_string());
    let source = reader::open(from)?;
    let to_text = to.to_str().ok_or_else(|| {
        LedgerError::Unavailable(format!("{} is not a name in UTF-8", to.display()))
    })?;
    // The statement reads in one transaction, so the copy is of one moment.
    source.with_connection(|connection| connection.execute("VACUUM INTO ?1", [to_text]))?;
    File::open(to)
        .and_then(|copy| copy.sync_all())
        .map_err(unusable)?;
    check_ledger_file(to)
}

/// Checks that a file is a whole ledger, and returns what it has. Changes nothing.
///
/// # Errors
/// Returns [`LedgerError::Corrupt`] where the file is damaged or is no ledger.
pub fn check_ledger_file(file: &Path) -> Result<LedgerCopy, LedgerError> {
    let copy = reader::open(file)?;
    let faults = texts(&copy, "PRAGMA integrity_check(3)")?;
    if faults != ["ok"] {
        return Err(LedgerError::Corrupt(faults.join("; ")));
    }
    let no_ledger = || LedgerError::Corrupt("it is not a ledger".to_owned());
    let (mut ledger, mut counter) = (None, None);
    let sql = "SELECT value FROM installation WHERE name = 'ledger_id'";
    copy.query_each(sql, &[], |row| {
        ledger = row.get::<[u8; 32]>(0).ok();
        false
    })?;
    let sql = "SELECT counter, raised_at FROM ledger_counter WHERE one = 1";
    copy.query_each(sql, &[], |row| {
        counter = row.get::<i64>(0).ok().zip(row.get::<i64>(1).ok());
        false
    })?;
    let (counter, last_commit_at_ms) = counter.ok_or_else(no_ledger)?;
    Ok(LedgerCopy {
        ledger: ledger.ok_or_else(no_ledger)?,
        counter: u64::try_from(counter).map_err(|_| no_ledger())?,
        last_commit_at_ms,
    })
}

/// Returns the sealed check value of the ledger in a file, if it has one. Another process may be
/// writing the ledger.
///
/// # Errors
/// Returns an error where the file cannot be read as a ledger.
pub fn secret_check_of_file(file: &Path) -> Result<Option<String>, LedgerError> {
    let sql = "SELECT check_value FROM installation_secret WHERE one = 1";
    let opened = reader::open(file)?;
    Ok(texts(&opened, sql)?.pop())
}

fn texts(connection: &SqliteConnection, sql: &str) -> Result<Vec<String>, LedgerError> {
    let mut texts = Vec::new();
    connection.query_each(sql, &[], |row| {
        texts.extend(row.get::<String>(0).ok());
        true
    })?;
    Ok(texts)
}

//! Finds the installation's secret at the start of a process, and checks that it is the one that
//! the ledger's values are sealed with.

use std::fmt;
use std::path::{Path, PathBuf};

use fairgate_databases::{Installation, LedgerError, secret_check_of_file};

use super::file::{SecretFileError, make_secret, read_secret, remove_made_secret};
use super::{InstallationSecret, SECRET_FILE};
use crate::config::SecretSettings;

/// The name under which the check value is sealed, and the value.
const CHECK: (&str, &[u8]) = ("secret_check", b"fairgate");

/// Where a process got the secret from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// From the setting `FAIRGATE_SECRET`.
    Setting,
    /// From this file in the data folder.
    File(PathBuf),
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting => f.write_str("FAIRGATE_SECRET"),
            Self::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

/// Why a process has no secret with which it can open the ledger. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The secret's file cannot be used.
    #[error(transparent)]
    File(#[from] SecretFileError),
    /// This process has no secret.
    #[error("the keys of this installation are sealed, and their secret is missing: FAIRGATE_SECRET is not set, and there is no file {}. Nothing was changed. Set FAIRGATE_SECRET as at the other processes, or put the file back from where it was kept", .0.display())]
    Missing(PathBuf),
    /// The ledger was sealed with another secret.
    #[error(
        "{0} is not the secret that the keys in this ledger are sealed with. Nothing was changed. Give every process of this ledger the same secret: FAIRGATE_SECRET, or the file that the first process made in its data folder"
    )]
    Wrong(SecretSource),
    /// The ledger has no sealed values yet, and the command that was called does not make any.
    #[error(
        "the keys in this ledger are not sealed yet. Nothing was changed. Start a gateway or a booking of this version on it once"
    )]
    NotSealed,
    /// The ledger did not answer.
    #[error("the ledger cannot be used: {0}")]
    Ledger(#[from] LedgerError),
}

/// Returns the installation's secret for a process that serves: `FAIRGATE_SECRET`, or the file in
/// the data folder. If the ledger has no sealed values yet, this secret becomes the ledger's, and
/// the file is made if there is no setting. Of several first processes one decides; the others are
/// refused unless they have the same secret.
///
/// # Errors
/// [`SecretError`].
pub async fn open_secret(
    installation: &Installation,
    settings: &SecretSettings,
    data: &Path,
) -> Result<InstallationSecret, SecretError> {
    let stored = installation.secret_check().await?;
    let mut is_made = false;
    if stored.is_none() && settings.secret.is_none() {
        is_made = make_secret(data)?;
    }
    let (secret, source) = find_secret(settings, data)?;
    let stored = match stored {
        Some(stored) => stored,
        None => {
            let fresh = secret.seal(CHECK.0, CHECK.1);
            installation.put_secret_check(fresh).await?
        }
    };
    if let Err(error) = check_secret(&secret, source, &stored) {
        if is_made {
            remove_made_secret(data);
        }
        return Err(error);
    }
    if is_made {
        // A start that fails later says only why it failed, so this is no line of the usual log.
        tracing::debug!(file = %data.join(SECRET_FILE).display(), "made the secret that seals the ledger's keys; keep a copy apart from the backups");
    }
    Ok(secret)
}

/// Returns the secret that the ledger is sealed with, for a command that makes nothing new.
///
/// # Errors
/// [`SecretError`].
pub async fn require_secret(
    installation: &Installation,
    settings: &SecretSettings,
    data: &Path,
) -> Result<InstallationSecret, SecretError> {
    let stored = installation.secret_check().await?;
    let stored = stored.ok_or(SecretError::NotSealed)?;
    let (secret, source) = find_secret(settings, data)?;
    check_secret(&secret, source, &stored)?;
    Ok(secret)
}

/// Returns the secret that the ledger in a file is sealed with, while another process may be
/// writing it.
///
/// # Errors
/// [`SecretError`].
pub fn require_secret_of_file(
    ledger: &Path,
    settings: &SecretSettings,
    data: &Path,
) -> Result<InstallationSecret, SecretError> {
    let stored = secret_check_of_file(ledger)?.ok_or(SecretError::NotSealed)?;
    let (secret, source) = find_secret(settings, data)?;
    check_secret(&secret, source, &stored)?;
    Ok(secret)
}

/// Returns the secret that a process was given, and from where, without looking into a ledger.
///
/// # Errors
/// [`SecretError::Missing`] or [`SecretError::File`].
pub fn find_secret(
    settings: &SecretSettings,
    data: &Path,
) -> Result<(InstallationSecret, SecretSource), SecretError> {
    if let Some(setting) = &settings.secret {
        return Ok((
            InstallationSecret::derive(&setting.0),
            SecretSource::Setting,
        ));
    }
    let path = data.join(SECRET_FILE);
    match read_secret(data)? {
        Some(text) => Ok((InstallationSecret::derive(&text), SecretSource::File(path))),
        None => Err(SecretError::Missing(path)),
    }
}

fn check_secret(
    secret: &InstallationSecret,
    source: SecretSource,
    stored: &str,
) -> Result<(), SecretError> {
    match secret.open(CHECK.0, stored.as_bytes()) {
        Ok(plain) if plain == CHECK.1 => Ok(()),
        _ => Err(SecretError::Wrong(source)),
    }
}

#[cfg(test)]
mod tests;

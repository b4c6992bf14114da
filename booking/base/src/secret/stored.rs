//! Sealed values of the whole installation.

use fairgate_databases::{Installation, LedgerError};

use super::{InstallationSecret, UnopenedValue, is_sealed};

impl From<UnopenedValue> for LedgerError {
    fn from(error: UnopenedValue) -> Self {
        Self::Corrupt(error.to_string())
    }
}

/// Returns the value that the installation stores sealed under `name`. If there is none, seals and
/// stores `fresh`. A plain value of an earlier version is sealed.
///
/// # Errors
/// Returns an error where the database did not take the write, or the secret does not open the
/// value.
pub async fn sealed_value(
    installation: &Installation,
    secret: &InstallationSecret,
    name: &'static str,
    fresh: &[u8],
) -> Result<Vec<u8>, LedgerError> {
    let fresh = secret.seal(name, fresh).into_bytes();
    let stored = installation.value(name, fresh).await?;
    if is_sealed(&stored) {
        return Ok(secret.open(name, &stored)?);
    }
    let sealed = secret.seal(name, &stored).into_bytes();
    installation
        .seal_plain_value(name, stored.clone(), sealed)
        .await?;
    Ok(stored)
}

//! The signing keys, which are made once for the installation and are the same in all its
//! processes.

use fairgate_databases::{Installation, LedgerError};
use fairgate_pass::{Keyring, StoredKey, TokenKeyError};

/// The name of the installation's value that holds the keys, as a JSON list.
const NAME: &str = "signing_keys";

/// Why there is no key to sign with.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The ledger did not return or store the keys.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A stored key cannot be used.
    #[error(transparent)]
    Key(#[from] TokenKeyError),
}

/// Returns the installation's keys. If it has none yet, makes one at `now_ms` and stores it.
///
/// # Errors
/// [`SigningKeyError`].
pub async fn keyring(installation: &Installation, now_ms: i64) -> Result<Keyring, SigningKeyError> {
    let unreadable = |error: serde_json::Error| LedgerError::Corrupt(error.to_string());
    let first = StoredKey::generate(now_ms.div_euclid(1000))?;
    let fresh = serde_json::to_vec(&[first]).map_err(unreadable)?;
    let stored = installation.value(NAME, fresh).await?;
    let keys: Vec<StoredKey> = serde_json::from_slice(&stored).map_err(unreadable)?;
    Ok(Keyring::new(keys)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairgate_databases::SqliteDatabase;

    #[tokio::test]
    async fn the_first_key_stays_the_key() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = || {
            let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("it opens");
            Installation::File(writer)
        };
        let made = keyring(&open(), 1_000).await.expect("it is made");
        let read = keyring(&open(), 2_000).await.expect("it is there");
        assert_eq!(made.jwks(), read.jwks());
    }
}

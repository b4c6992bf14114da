//! The signing keys. The first start of the installation makes and stores a key, and all processes
//! read the stored keys.

use fairgate_databases::{Installation, LedgerError};
use fairgate_pass::{Keyring, StoredKey, TokenKeyError};

/// The name under which the installation stores the keys. The stored value is a JSON list.
const NAME: &str = "signing_keys";

/// Why the installation has no key to sign with.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The ledger did not return or store the keys.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No new key could be made, a stored key cannot be used, or every stored key is retired.
    #[error(transparent)]
    Key(#[from] TokenKeyError),
}

/// Reads the installation's keys. If there are none yet, stores a first key, dated `now_ms`. Every
/// call generates such a key, even if the key is not needed.
///
/// # Errors
/// Returns a [`SigningKeyError`].
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
    async fn a_second_start_reads_the_key_of_the_first_start() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = || {
            let writer = SqliteDatabase::open(&folder.path().join("ledger.db"))
                .expect("the ledger's file opens");
            Installation::File(writer)
        };
        let made = keyring(&open(), 1_000).await.expect("a key is made");
        let read = keyring(&open(), 2_000).await.expect("the key is read");
        assert_eq!(made.jwks(), read.jwks());
    }
}

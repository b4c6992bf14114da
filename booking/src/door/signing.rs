//! The signing keys. The first start of the installation makes and stores a key, and all processes
//! read the stored keys.

use fairgate_base::secret::{InstallationSecret, sealed_value};
use fairgate_databases::{Installation, LedgerError};
use fairgate_pass::{Keyring, StoredKey, TokenKeyError};

/// The name under which the installation stores the keys. The stored value is a sealed JSON
/// list.
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

/// Reads the installation's keys, which `secret` opens. If there are none yet, stores a first key,
/// dated `now_ms`. Every call generates such a key, even if the key is not needed.
///
/// # Errors
/// Returns a [`SigningKeyError`].
pub async fn keyring(
    installation: &Installation,
    secret: &InstallationSecret,
    now_ms: i64,
) -> Result<Keyring, SigningKeyError> {
    let unreadable = |error: serde_json::Error| LedgerError::Corrupt(error.to_string());
    let first = StoredKey::generate(now_ms.div_euclid(1000))?;
    let fresh = serde_json::to_vec(&[first]).map_err(unreadable)?;
    let stored = sealed_value(installation, secret, NAME, &fresh).await?;
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
        let secret = InstallationSecret::derive("a test's secret");
        let made = keyring(&open(), &secret, 1_000).await;
        let read = keyring(&open(), &secret, 2_000).await;
        let made = made.expect("a key is made");
        assert_eq!(made.jwks(), read.expect("the key is read").jwks());
        let other = InstallationSecret::derive("another secret");
        let refused = keyring(&open(), &other, 3_000).await;
        assert!(matches!(refused, Err(SigningKeyError::Ledger(_))));
    }
}

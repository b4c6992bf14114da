//! The keys that sign: made once for the installation, and the same in every process of it.

use fairgate_databases::{Installation, LedgerError};
use fairgate_pass::{Keyring, StoredKey, TokenKeyError};

/// The value of the installation that holds them, as a JSON list.
const NAME: &str = "signing_keys";

/// Why there is nothing to sign with.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The ledger did not give or take them.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// They cannot be used.
    #[error(transparent)]
    Key(#[from] TokenKeyError),
}

/// The installation's keys; where it has none yet, one is made at `now_ms` and stored.
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

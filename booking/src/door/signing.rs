//! The signing keys. The first start of the installation makes and stores a key, and all processes
//! read the stored keys. A process that serves reads them again every two seconds, so that it knows
//! a new key long before that key signs.

use std::convert::Infallible;
use std::time::Duration;

use fairgate_base::log_failed_try;
use fairgate_base::retry::BackgroundError;
use fairgate_base::secret::{InstallationSecret, sealed_value};
use fairgate_databases::{Installation, LedgerError};
use fairgate_pass::{Keyring, StoredKey, TokenKeyError};

/// The name under which the installation stores the keys. The stored value is a sealed JSON
/// list.
pub(super) const NAME: &str = "signing_keys";

/// How often a process reads the keys again.
const READ_EVERY: Duration = Duration::from_secs(2);

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

impl BackgroundError for SigningKeyError {
    fn is_temporary(&self) -> bool {
        matches!(self, Self::Ledger(error) if error.is_temporary())
    }
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
    let first = StoredKey::generate(now_ms.div_euclid(1000))?;
    let fresh = keys_text(&[first])?;
    let stored = sealed_value(installation, secret, NAME, &fresh).await?;
    Ok(Keyring::new(keys_of(&stored)?)?)
}

/// Returns the list of keys as it is stored, before it is sealed.
pub(super) fn keys_text(keys: &[StoredKey]) -> Result<Vec<u8>, LedgerError> {
    serde_json::to_vec(keys).map_err(|error| LedgerError::Corrupt(error.to_string()))
}

/// Reads the list of keys from its opened form.
pub(super) fn keys_of(text: &[u8]) -> Result<Vec<StoredKey>, LedgerError> {
    serde_json::from_slice(text).map_err(|error| LedgerError::Corrupt(error.to_string()))
}

/// Keeps a keyring up to date with the stored keys.
pub struct KeyFollower {
    installation: Installation,
    secret: InstallationSecret,
    keyring: Keyring,
    /// The sealed keys that the keyring has. Empty before the first reading.
    read: Vec<u8>,
}

impl KeyFollower {
    /// Makes a follower for a keyring, which has no effect before it runs.
    #[must_use]
    pub fn new(
        installation: &Installation,
        secret: &InstallationSecret,
        keyring: &Keyring,
    ) -> Self {
        Self {
            installation: installation.clone(),
            secret: secret.clone(),
            keyring: keyring.clone(),
            read: Vec::new(),
        }
    }

    /// Reads the stored keys now, and gives them to the keyring if they have changed.
    ///
    /// # Errors
    /// Returns a [`SigningKeyError`]. The keyring keeps the keys that it has.
    pub async fn read_keys(&mut self) -> Result<(), SigningKeyError> {
        let stored = self.installation.stored_value(NAME).await?;
        let stored = stored.unwrap_or_default();
        if stored == self.read {
            return Ok(());
        }
        let opened = self.secret.open(NAME, &stored).map_err(LedgerError::from)?;
        self.keyring.replace_keys(keys_of(&opened)?)?;
        self.read = stored;
        Ok(())
    }

    /// Reads the stored keys every two seconds, until the future is dropped.
    pub async fn run(mut self) -> Infallible {
        loop {
            tokio::time::sleep(READ_EVERY).await;
            if let Err(error) = self.read_keys().await {
                log_failed_try!(
                    error,
                    "the signing keys could not be read again; the known ones are used"
                );
            }
        }
    }
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

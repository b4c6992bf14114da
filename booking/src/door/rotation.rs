//! Replaces the signing key, while processes serve. The new key is published first and signs later,
//! so that every process and every reader of the published keys knows it by then.

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, LedgerError};
use fairgate_pass::{RotationUnderWay, StoredKey, TokenKeyError, rotate};
use serde::Serialize;

use super::signing::{NAME, keys_of, keys_text};

/// After how many seconds a new key signs, if nothing else is asked. Readers of the published keys
/// may keep them for 300 s, and nodes read the stored ones every 2 s.
pub const SIGNS_AFTER_S: u32 = 360;

/// The fewest seconds. Within this time every node that reaches the ledger has read the new key.
pub const SIGNS_AFTER_S_MIN: u32 = 10;

/// How often a rotation is tried while other processes replace the keys.
const TRIES_MAX: u32 = 5;

/// Why no new key was made. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyRotationError {
    /// The ledger cannot be read or written, or the secret does not open its keys.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No new key could be made.
    #[error(transparent)]
    Key(#[from] TokenKeyError),
    /// A new key is waiting already.
    #[error(transparent)]
    UnderWay(#[from] RotationUnderWay),
    /// No process has made a first key yet.
    #[error("the ledger has no signing key yet; nothing was changed. Start a gateway on it once")]
    NoKeys,
    /// Other processes replaced the keys again and again.
    #[error("other processes replaced the keys at the same time; nothing was changed. Try again")]
    Crowded,
}

/// What a rotation did. Times are unix seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyRotation {
    /// The name of the new key.
    pub kid: String,
    /// From when on the new key signs. Until then the old one does.
    pub signs_from: i64,
    /// The keys that were retired by this or an earlier rotation, the newest first.
    pub retired: Vec<RetiredKey>,
}

/// A key that signs nothing new. Its places, draws and tickets stay valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetiredKey {
    /// The key's name.
    pub kid: String,
    /// Until when it signs.
    pub signs_until: Option<i64>,
    /// Until when its passes are accepted.
    pub passes_until: Option<i64>,
}

/// Makes a new key, which signs `after_s` seconds from `now_ms` on, and retires the present one at
/// the same moment. Processes that serve need not be stopped.
///
/// # Errors
/// Returns a [`KeyRotationError`].
pub async fn rotate_keys(
    installation: &Installation,
    secret: &InstallationSecret,
    now_ms: i64,
    after_s: u32,
) -> Result<KeyRotation, KeyRotationError> {
    let now = now_ms.div_euclid(1000);
    let signs_from = now + i64::from(after_s);
    for _ in 0..TRIES_MAX {
        let stored = installation.stored_value(NAME).await?;
        let stored = stored.ok_or(KeyRotationError::NoKeys)?;
        let opened = secret.open(NAME, &stored).map_err(LedgerError::from)?;
        let mut keys = keys_of(&opened)?;
        rotate(&mut keys, StoredKey::generate(now)?, now, signs_from)?;
        let sealed = secret.seal(NAME, &keys_text(&keys)?).into_bytes();
        if installation.replace_value(NAME, stored, sealed).await? {
            return Ok(rotation_of(keys, signs_from));
        }
    }
    Err(KeyRotationError::Crowded)
}

fn rotation_of(keys: Vec<StoredKey>, signs_from: i64) -> KeyRotation {
    let mut rotation = KeyRotation {
        kid: String::new(),
        signs_from,
        retired: Vec::new(),
    };
    for key in keys.into_iter().rev() {
        if key.retired_at.is_none() {
            rotation.kid = key.kid;
        } else {
            rotation.retired.push(RetiredKey {
                kid: key.kid,
                signs_until: key.retired_at,
                passes_until: key.passes_until,
            });
        }
    }
    rotation
}

#[cfg(test)]
mod tests;

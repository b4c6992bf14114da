//! Decides how a new signing key takes the place of the present one.

use crate::StoredKey;

/// For how long passes of a retired key are accepted, in seconds: a pass is valid for at most a
/// day, and for another day its holder may finish what was begun with it.
pub const RETIRED_PASSES_S: i64 = 2 * 86_400;

/// There is already a new key that does not sign yet. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key {kid} is already to sign from {signs_from} on (unix seconds); nothing was changed"
)]
pub struct RotationUnderWay {
    /// The name of the new key.
    pub kid: String,
    /// From when on it signs, unix seconds.
    pub signs_from: i64,
}

/// Adds `fresh` to the keys. It signs from `signs_from` on (unix seconds), and every other key
/// signs nothing that is dated later. The others stay in the list and verify. `now` is the present,
/// in unix seconds.
///
/// # Errors
/// [`RotationUnderWay`] if a key of the list does not sign yet.
pub fn rotate(
    keys: &mut Vec<StoredKey>,
    fresh: StoredKey,
    now: i64,
    signs_from: i64,
) -> Result<(), RotationUnderWay> {
    if let Some(waiting) = keys.iter().find(|key| key.first_signs_at() > now) {
        return Err(RotationUnderWay {
            kid: waiting.kid.clone(),
            signs_from: waiting.first_signs_at(),
        });
    }
    for key in keys.iter_mut().filter(|key| key.retired_at.is_none()) {
        key.retired_at = Some(signs_from);
        key.passes_until = Some(signs_from.saturating_add(RETIRED_PASSES_S));
    }
    keys.push(StoredKey {
        signs_from: Some(signs_from),
        ..fresh
    });
    Ok(())
}

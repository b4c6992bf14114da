//! `gateway keys rotate`: replaces the signing key of a ledger that processes may be serving.

use anyhow::Context;
use booking::door::rotation::rotate_keys;
pub use booking::door::rotation::{KeyRotation, SIGNS_AFTER_S, SIGNS_AFTER_S_MIN};
use booking::open;
use fairgate_base::clock::rfc3339;
use fairgate_base::secret::require_secret;

use crate::config::GatewayConfig;

/// Makes a new signing key in the ledger that the settings name. It signs after `after_s` seconds.
///
/// # Errors
/// Fails if the ledger or its secret cannot be used, or a new key is waiting already. Nothing was
/// changed.
pub async fn rotate(config: &GatewayConfig, after_s: u32) -> anyhow::Result<KeyRotation> {
    let installation = open::open_beside(&config.stores, &config.data).await?;
    let secret = require_secret(&installation, &config.secret, &config.data).await?;
    let now_ms = installation
        .now_ms()
        .await
        .context("the ledger does not tell the time")?;
    let rotation = rotate_keys(&installation, &secret, now_ms, after_s).await?;
    open::close_installation(&installation).await;
    Ok(rotation)
}

/// Returns what a rotation did, in lines for people.
#[must_use]
pub fn lines(rotation: &KeyRotation) -> Vec<String> {
    let at = |seconds: i64| rfc3339(seconds.saturating_mul(1000));
    let mut lines = vec![format!(
        "new key {}: published now, signs from {} on",
        rotation.kid,
        at(rotation.signs_from)
    )];
    lines.extend(rotation.retired.iter().map(|key| {
        format!(
            "old key {}: signs until {}; its passes count until {}; its places, draws and tickets stay valid",
            key.kid,
            key.signs_until.map_or_else(String::new, at),
            key.passes_until.map_or_else(String::new, at),
        )
    }));
    lines
}

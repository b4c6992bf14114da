//! The key that gateways and booking processes share.

use super::keys::KEY_CHARS_ENOUGH;
use super::{SecretSetting, SettingReader};

/// The settings by which gateways and booking processes recognise each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InternalSettings {
    /// `FAIRGATE_INTERNAL_KEY`: the same key at every gateway and booking process. By default there
    /// is no key, which is safe only if all these processes run on one machine.
    pub key: Option<SecretSetting>,
}

impl InternalSettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 1] = ["internal_key"];

    /// Reads these settings.
    pub fn read(reader: &mut SettingReader) -> Self {
        Self {
            key: reader.secret_setting("internal_key"),
        }
    }

    /// Lists the warnings for `/readyz`.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let short = self.key.iter().filter(|key| key.0.len() < KEY_CHARS_ENOUGH);
        short
            .map(|_| {
                format!("FAIRGATE_INTERNAL_KEY is short enough to be guessed: give it {KEY_CHARS_ENOUGH} characters or more")
            })
            .collect()
    }
}

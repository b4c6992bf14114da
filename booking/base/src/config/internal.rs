//! The key between gateways and bookings.

use super::keys::KEY_CHARS_ENOUGH;
use super::{SecretSetting, SettingReader};

/// How gateways and bookings know each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InternalSettings {
    /// `FAIRGATE_INTERNAL_KEY`: the same at every gateway and booking. Default none, which only
    /// does on one machine.
    pub key: Option<SecretSetting>,
}

impl InternalSettings {
    /// The knobs of this concern.
    pub const KNOBS: [&'static str; 1] = ["internal_key"];

    /// Takes it from what was set.
    pub fn read(reader: &mut SettingReader) -> Self {
        Self {
            key: reader.secret_setting("internal_key"),
        }
    }

    /// What `/readyz` warns of.
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

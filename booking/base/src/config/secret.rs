//! The setting for the installation's secret.

use super::{SecretSetting, SettingReader};

/// The fewest characters of a secret. A text of this length from a random source cannot be guessed.
pub const SECRET_CHARS_MIN: usize = 32;

/// The secret with which the keys in the ledger are sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretSettings {
    /// `FAIRGATE_SECRET`: the same text of 32 or more visible characters at every process of a
    /// ledger. Default: the file `secret` in the data folder, which the first start makes.
    pub secret: Option<SecretSetting>,
}

impl SecretSettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 1] = ["secret"];

    /// Reads the secret. It is never shown.
    pub fn read(reader: &mut SettingReader) -> Self {
        let expected = format!(
            "a secret of {SECRET_CHARS_MIN} or more visible characters without spaces; make one with `openssl rand -base64 32`, or remove the setting to use the file \"secret\" in the data folder"
        );
        let secret = reader.parsed_or_default("secret", None, &expected, |text| {
            let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
            (is_visible && text.len() >= SECRET_CHARS_MIN)
                .then(|| Some(SecretSetting(text.to_owned())))
        });
        Self { secret }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SettingSources;

    #[test]
    fn a_short_secret_is_refused_with_a_way_to_make_one_and_is_not_shown() {
        let read = |value: &str| {
            let sources = SettingSources {
                env: [("FAIRGATE_SECRET".to_owned(), value.to_owned())].into(),
                ..SettingSources::default()
            };
            let mut reader = sources.read(&SecretSettings::KNOBS);
            let settings = SecretSettings::read(&mut reader);
            reader.finish(settings)
        };
        for bad in ["hunter2", "thirty-two characters and a space"] {
            let told = read(bad).expect_err("bad").to_string();
            assert!(told.contains("FAIRGATE_SECRET: the value is not"), "{told}");
            assert!(told.contains("openssl rand -base64 32"), "{told}");
            assert!(!told.contains(bad), "{told}");
        }
        let good = "0123456789abcdef0123456789abcdef";
        let settings = read(good).expect("good");
        assert_eq!(settings.secret, Some(SecretSetting(good.to_owned())));
        assert!(!format!("{settings:?}").contains(good));
    }
}

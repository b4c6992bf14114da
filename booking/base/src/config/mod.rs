//! Where settings come from.

mod sources;

pub use sources::{BadConfig, SecretSetting, SettingReader, SettingSources};

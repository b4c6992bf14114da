//! Where settings come from, and the settings that gateway and booking both read. Each group of
//! settings reads its own knobs.

mod drain;
mod internal;
mod keys;
mod ops;
mod secret;
mod sources;
mod stores;
mod variables;

pub use drain::DrainSettings;
pub use internal::InternalSettings;
pub use keys::RoleKeySettings;
pub use ops::OpsSettings;
pub use secret::{SECRET_CHARS_MIN, SecretSettings};
pub use sources::{BadConfig, SecretSetting, SettingReader, SettingSources};
pub use stores::StoreSettings;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_addresses_are_never_shown_because_they_contain_passwords() {
        let bad = SettingSources {
            env: [
                ("FAIRGATE_DATABASE_URL", "mysql://root:hunter2@db/x"),
                ("FAIRGATE_REDIS_URL", "redis+cluster://"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            ..SettingSources::default()
        };
        let mut reader = bad.read(&StoreSettings::KNOBS);
        let stores = StoreSettings::read(&mut reader);
        let told = reader.finish(stores).expect_err("both are bad").to_string();
        assert!(
            told.contains("FAIRGATE_DATABASE_URL: the value is not an address")
                && told.contains("FAIRGATE_REDIS_URL: the value is not an address"),
            "{told}"
        );
        assert!(!told.contains("hunter2"), "{told}");
        let good = StoreSettings {
            database_url: Some(SecretSetting(
                "postgres://fairgate:hunter2@db/fairgate".to_owned(),
            )),
            redis_url: None,
            counter_file: None,
        };
        assert!(!format!("{good:?}").contains("hunter2"), "{good:?}");
    }
}

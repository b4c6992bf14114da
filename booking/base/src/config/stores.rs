//! The addresses of shared state: the ledger's database, and the Redis that stores rooms and seats.
//! If they are not set, this process uses stores of its own.

use std::path::PathBuf;

use super::{SecretSetting, SettingReader};

/// The servers that several processes share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSettings {
    /// `FAIRGATE_DATABASE_URL`: `postgres://user:password@host/database`. Default: one SQLite file
    /// in the data folder.
    pub database_url: Option<SecretSetting>,
    /// `FAIRGATE_REDIS_URL`: `redis://`, `rediss://`, `redis+sentinel://` or `redis+cluster://`.
    /// Default: this process's own memory.
    pub redis_url: Option<SecretSetting>,
    /// `FAIRGATE_COUNTER_FILE`: the file that remembers how far the ledger got. Default: `counter`
    /// in the data folder for a SQLite file, and none for a database.
    pub counter_file: Option<PathBuf>,
}

impl StoreSettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 3] = ["database_url", "redis_url", "counter_file"];

    /// Reads the addresses. They may contain passwords, so they are never shown.
    pub fn read(reader: &mut SettingReader) -> Self {
        let mut address = |knob, expected: &str, schemes: &[&str]| {
            reader.parsed_or_default(knob, None, expected, |text| {
                let begins = schemes.iter().any(|scheme| {
                    text.strip_prefix(scheme)
                        .is_some_and(|rest| !rest.is_empty())
                });
                begins.then(|| Some(SecretSetting(text.to_owned())))
            })
        };
        Self {
            database_url: address(
                "database_url",
                "an address such as postgres://fairgate:password@host/fairgate",
                &["postgres://", "postgresql://"],
            ),
            redis_url: address(
                "redis_url",
                "an address such as redis://host:6379, redis+sentinel://host1,host2/name or redis+cluster://host1,host2",
                &[
                    "redis://",
                    "rediss://",
                    "redis+sentinel://",
                    "redis+cluster://",
                ],
            ),
            counter_file: reader.parsed_or_default("counter_file", None, "a file", |text| {
                Some(Some(text.into()))
            }),
        }
    }
}

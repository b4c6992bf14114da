//! The settings of booking when it runs as a separate process.

use std::net::SocketAddr;
use std::path::PathBuf;

use fairgate_base::config::{
    BadConfig, DrainSettings, InternalSettings, OpsSettings, RoleKeySettings, SecretSettings,
    SettingSources, StoreSettings,
};

use super::PaymentSettings;

/// The settings of `booking serve`. Each field names its variable, unit and default. The settings
/// file has the same names, in lower case and without `FAIRGATE_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookingConfig {
    /// `FAIRGATE_LISTEN`: address and port. Default `127.0.0.1:8090`.
    pub listen: SocketAddr,
    /// `FAIRGATE_DATA`: the folder of the ledger file, which is used if no database is set. Default
    /// `fairgate-data`.
    pub data: PathBuf,
    /// The database and the Redis that gateways and bookings share.
    pub stores: StoreSettings,
    /// The secret that the ledger's keys are sealed with.
    pub secret: SecretSettings,
    /// The payment provider.
    pub payments: PaymentSettings,
    /// The keys of promoters and doors.
    pub keys: RoleKeySettings,
    /// The key by which gateways prove who they are.
    pub internal: InternalSettings,
    /// The separate address for operators.
    pub ops: OpsSettings,
    /// How long this process may take to end.
    pub drain: DrainSettings,
}

impl BookingConfig {
    /// Reads and checks every setting.
    ///
    /// # Errors
    /// Returns all bad values at once.
    pub fn resolve(sources: &SettingSources) -> Result<Self, BadConfig> {
        let knobs: Vec<&str> = ["listen", "data"]
            .into_iter()
            .chain(StoreSettings::KNOBS)
            .chain(SecretSettings::KNOBS)
            .chain(PaymentSettings::KNOBS)
            .chain(RoleKeySettings::KNOBS)
            .chain(InternalSettings::KNOBS)
            .chain(OpsSettings::KNOBS)
            .chain(DrainSettings::KNOBS)
            .collect();
        let mut reader = sources.read(&knobs);
        let listen = reader.parsed_or_default(
            "listen",
            SocketAddr::from(([127, 0, 0, 1], 8090)),
            "an address and port such as 0.0.0.0:8090",
            |text| text.parse().ok(),
        );
        let config = Self {
            listen,
            data: reader.parsed_or_default(
                "data",
                PathBuf::from("fairgate-data"),
                "a folder",
                |text| Some(text.into()),
            ),
            stores: StoreSettings::read(&mut reader),
            secret: SecretSettings::read(&mut reader),
            payments: PaymentSettings::read(&mut reader),
            keys: RoleKeySettings::read(&mut reader),
            internal: InternalSettings::read(&mut reader),
            ops: OpsSettings::read(&mut reader, listen),
            drain: DrainSettings::read(&mut reader),
        };
        if !config.listen.ip().is_loopback() && config.internal.key.is_none() {
            reader.fault(format!(
                "FAIRGATE_LISTEN: {} can be reached from other machines, so gateways must show a key: set FAIRGATE_INTERNAL_KEY for this process and for every gateway, or listen on 127.0.0.1",
                config.listen
            ));
        }
        match (&config.stores.database_url, &config.stores.redis_url) {
            (None, Some(_)) => reader.fault(
                "FAIRGATE_REDIS_URL: seats in Redis are shared by several processes, and a SQLite file is not: set FAIRGATE_DATABASE_URL too, or remove FAIRGATE_REDIS_URL",
            ),
            (Some(_), None) => reader.fault(
                "FAIRGATE_DATABASE_URL: several processes over one database share their seats in Redis: set FAIRGATE_REDIS_URL too, or let one gateway host booking itself",
            ),
            _ => {}
        }
        reader.finish(config)
    }

    /// Returns the warnings for `/readyz`.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.payments.warnings();
        warnings.extend(self.keys.warnings());
        warnings.extend(self.internal.warnings());
        if self.stores.database_url.is_none() {
            warnings.push(
                "the ledger is a SQLite file of this process alone, so no gateway can stand in front of it: set FAIRGATE_DATABASE_URL for this process and for every gateway, or let one gateway host booking itself".to_owned(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(env: &[(&str, &str)]) -> SettingSources {
        SettingSources {
            env: env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..SettingSources::default()
        }
    }

    #[test]
    fn without_settings_booking_listens_on_this_machine_only() {
        let config = BookingConfig::resolve(&sources(&[])).expect("defaults are good");
        assert_eq!(config.listen.to_string(), "127.0.0.1:8090");
        let warned = config.warnings().join("\n");
        assert!(warned.contains("FAIRGATE_DATABASE_URL"), "{warned}");
    }

    #[test]
    fn an_address_open_to_other_machines_needs_an_internal_key() {
        let open = [("FAIRGATE_LISTEN", "0.0.0.0:8090")];
        let told = BookingConfig::resolve(&sources(&open))
            .expect_err("no key")
            .to_string();
        assert!(told.contains("FAIRGATE_INTERNAL_KEY"), "{told}");
        let keyed = [
            open[0],
            ("FAIRGATE_INTERNAL_KEY", "sixteen-or-more-of-them"),
        ];
        assert!(BookingConfig::resolve(&sources(&keyed)).is_ok());
    }

    #[test]
    fn redis_without_a_database_and_a_database_without_redis_are_refused() {
        let redis = ("FAIRGATE_REDIS_URL", "redis://127.0.0.1:6379");
        let database = (
            "FAIRGATE_DATABASE_URL",
            "postgres://fairgate@127.0.0.1/fairgate",
        );
        for (set, lacking) in [(redis, database), (database, redis)] {
            let told =
                BookingConfig::resolve(&sources(&[set])).expect_err("the other setting is missing");
            assert!(told.to_string().contains(lacking.0), "{told}");
        }
        let config = BookingConfig::resolve(&sources(&[redis, database])).expect("both");
        let warned = config.warnings().join("\n");
        assert!(!warned.contains("FAIRGATE_DATABASE_URL"), "{warned}");
    }
}

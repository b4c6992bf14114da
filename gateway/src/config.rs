//! Reads the settings from the command line, the environment and a file, in this order of
//! precedence, and reports all bad values at once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use fairgate_base::config::{
    BadConfig, DrainSettings, OpsSettings, RoleKeySettings, SecretSettings, SettingReader,
    SettingSources, StoreSettings,
};

use crate::challenge::ProvidersSettings;
use crate::guard::ApiKey;
use crate::reverse_proxy::GuardSettings;
use crate::upstream::{PaymentSettings, UpstreamSettings};
use crate::web::{ForwardingHeader, ShopLink, WebSettings};

/// The settings of one gateway. Each field names its variable, unit and default. In the file the
/// names are in lower case and without the prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// `FAIRGATE_LISTEN`: address and port. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// `FAIRGATE_DATA`: the folder with everything durable, if no database is set. Default
    /// `fairgate-data`.
    pub data: PathBuf,
    /// `FAIRGATE_DATABASE_URL`, `FAIRGATE_REDIS_URL`: the database and the Redis that many
    /// processes share. Default: this process's own.
    pub stores: StoreSettings,
    /// `FAIRGATE_SECRET`: the secret that the ledger's keys are sealed with. Default: the file
    /// `secret` in the data folder.
    pub secret: SecretSettings,
    /// `FAIRGATE_PUBLIC_URL`: the address by which the public reaches this installation, such as
    /// `https://sale.example`. Default: the request's host.
    pub public_url: Option<String>,
    /// `FAIRGATE_ORIGINS`: further origins whose pages may send requests with a visitor's cookies,
    /// separated by commas. Default none.
    pub origins: Vec<String>,
    /// `FAIRGATE_TRUSTED_HOPS`: how many trusted proxies are in front of this process. Default 0:
    /// the client's address is the peer's.
    pub trusted_hops: usize,
    /// `FAIRGATE_FORWARDING_HEADER`: the one header that the client's address is read from, such as
    /// `Forwarded` or `X-Real-IP`. Default `X-Forwarded-For`.
    pub forwarding_header: ForwardingHeader,
    /// `FAIRGATE_JOINS_PER_S`: joins a second for one network. Default 100.
    pub joins_per_s: NonZeroU32,
    /// `FAIRGATE_JOINS_BURST`: joins at once for one network. Default 2000.
    pub joins_burst: NonZeroU32,
    /// `FAIRGATE_SEARCHES_PER_S`: ordinary searches a second for one network, which may be a whole
    /// carrier's. A list without a filter counts as a tenth of a search. Default 100.
    pub searches_per_s: NonZeroU32,
    /// `FAIRGATE_SEARCHES_BURST`: ordinary searches at once for one network. Default 1000.
    pub searches_burst: NonZeroU32,
    /// `FAIRGATE_API_KEYS`: partners' keys with their own quotas of searches, as
    /// `name:key:per_s:burst` separated by commas. Default none.
    pub api_keys: Vec<ApiKey>,
    /// The accounts of the services that tell people from bots.
    pub providers: ProvidersSettings,
    /// `FAIRGATE_SOCKETS`: live sockets at once, at most three quarters of the files this process
    /// may open. Default 15000.
    pub sockets: usize,
    /// `FAIRGATE_PAYMENTS`: the provider that takes the money. Default `none`, in the demo
    /// `sandbox`.
    pub payments: PaymentSettings,
    /// Where booking runs: in this process, or at other addresses.
    pub upstream: UpstreamSettings,
    /// The shop that a room guards and that is not Fairgate's.
    pub guard: Option<GuardSettings>,
    /// `FAIRGATE_PROMOTER_KEY`, `FAIRGATE_VIEWER_KEY`, `FAIRGATE_DOOR_KEY`. Default none; the demo
    /// makes a promoter key.
    pub keys: RoleKeySettings,
    /// `FAIRGATE_OPS_LISTEN`: the operators' own address. Default none.
    pub ops: OpsSettings,
    /// The settings for shutting this process down.
    pub drain: DrainSettings,
}

const KNOBS: &[&str] = &[
    "listen",
    "data",
    "public_url",
    "origins",
    "trusted_hops",
    "forwarding_header",
    "joins_per_s",
    "joins_burst",
    "searches_per_s",
    "searches_burst",
    "api_keys",
    "turnstile_site_key",
    "turnstile_secret",
    "turnstile_url",
    "hcaptcha_site_key",
    "hcaptcha_secret",
    "hcaptcha_url",
    "sockets",
    "payments",
    "stripe_secret_key",
    "stripe_webhook_secret",
    "stripe_publishable_key",
    "stripe_url",
    "stripe_read_back_s",
    "promoter_key",
    "viewer_key",
    "door_key",
    "redis_url",
    "database_url",
    "secret",
    "counter_file",
    "booking_url",
    "internal_key",
    "guard_room",
    "guard_url",
    "guard_origin",
    "guard_listen",
    "guard_fail",
    "ops_listen",
    "drain_notice_s",
    "drain_s",
];

impl GatewayConfig {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// Returns every bad value at once.
    pub fn resolve(sources: &SettingSources) -> Result<Self, BadConfig> {
        let mut reader = sources.read(KNOBS);
        let origin = |text: &str| is_origin(text).then(|| text.to_owned());
        let listen = reader.parsed_or_default(
            "listen",
            SocketAddr::from(([127, 0, 0, 1], 8080)),
            "an address and port such as 0.0.0.0:8080",
            |text| text.parse().ok(),
        );
        let mut config = GatewayConfig {
            listen,
            data: reader.parsed_or_default("data", PathBuf::from("fairgate-data"), "a folder", |text| {
                Some(text.into())
            }),
            stores: StoreSettings::read(&mut reader),
            secret: SecretSettings::read(&mut reader),
            public_url: reader.parsed_or_default(
                "public_url",
                None,
                "an address such as https://sale.example, without a path",
                |text| origin(text.trim_end_matches('/')).map(Some),
            ),
            origins: reader.parsed_or_default(
                "origins",
                Vec::new(),
                "a list of origins such as https://app.example, separated by commas",
                |text| text.split(',').map(|part| origin(part.trim())).collect(),
            ),
            trusted_hops: reader.parsed_or_default(
                "trusted_hops",
                0,
                "a count of proxies between 0 and 10",
                |text| text.parse().ok().filter(|hops| *hops <= 10),
            ),
            forwarding_header: reader.parsed_or_default(
                "forwarding_header",
                ForwardingHeader::default(),
                "the name of a header with the client's address, such as X-Forwarded-For, Forwarded or X-Real-IP",
                ForwardingHeader::parse,
            ),
            joins_per_s: rate_setting(&mut reader, "joins_per_s", 100),
            joins_burst: rate_setting(&mut reader, "joins_burst", 2000),
            searches_per_s: rate_setting(&mut reader, "searches_per_s", 100),
            searches_burst: rate_setting(&mut reader, "searches_burst", 1_000),
            api_keys: reader.parsed_or_default(
                "api_keys",
                Vec::new(),
                "a list of name:key:per_s:burst separated by commas, each key 16 to 200 of A-Z, a-z, 0-9, - and _",
                |text| text.split(',').map(|part| ApiKey::parse(part.trim())).collect(),
            ),
            providers: ProvidersSettings::read(&mut reader),
            sockets: reader.parsed_or_default("sockets", 15_000, "a whole number above 0", |text| {
                text.parse().ok().filter(|sockets| *sockets > 0)
            }),
            payments: PaymentSettings::read(&mut reader),
            keys: RoleKeySettings::read(&mut reader),
            upstream: UpstreamSettings::read(&mut reader),
            guard: None,
            ops: OpsSettings::read(&mut reader, listen),
            drain: DrainSettings::read(&mut reader),
        };
        let public_url = config.public_url.as_deref();
        config.guard = GuardSettings::read(&mut reader, public_url, config.listen);
        config.check_together(&mut reader);
        reader.finish(config)
    }

    /// Reports values that do not work together.
    fn check_together(&self, reader: &mut SettingReader) {
        let names: BTreeSet<&str> = self.api_keys.iter().map(|key| key.name.as_str()).collect();
        let secrets: BTreeSet<&str> = self.api_keys.iter().map(|key| key.key.0.as_str()).collect();
        if names.len().min(secrets.len()) < self.api_keys.len() {
            reader.fault("two API keys have the same name or are the same; give each its own");
        }
        if self.trusted_hops == 0 && reader.setting_source("forwarding_header").is_some() {
            reader.fault(
                "FAIRGATE_FORWARDING_HEADER: no header is read while FAIRGATE_TRUSTED_HOPS is 0: set it to the number of proxies in front, or remove FAIRGATE_FORWARDING_HEADER",
            );
        }
        if self.stores.redis_url.is_some() && self.stores.database_url.is_none() {
            reader.fault(
                "places and seats in Redis are shared by several processes, and a SQLite file is not: set FAIRGATE_DATABASE_URL too, or remove FAIRGATE_REDIS_URL",
            );
        }
    }

    /// Returns the settings by which browsers' requests are judged.
    #[must_use]
    pub fn web_settings(&self) -> WebSettings {
        WebSettings {
            public_url: self.public_url.clone(),
            origins: self.origins.clone(),
            trusted_hops: self.trusted_hops,
            forwarding_header: self.forwarding_header.clone(),
            shop: self.guard.as_ref().map(|guard| ShopLink {
                room: guard.room.clone(),
                url: guard.url.to_string(),
            }),
        }
    }

    /// Returns the warnings that `/readyz` shows about the settings.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.payments.warnings();
        warnings.extend(self.keys.warnings());
        warnings.extend(self.upstream.internal.warnings());
        warnings
    }
}

/// Reads a rate per second or a burst, which must not be 0.
fn rate_setting(reader: &mut SettingReader, knob: &str, default: u32) -> NonZeroU32 {
    let default = NonZeroU32::new(default).unwrap_or(NonZeroU32::MIN);
    reader.parsed_or_default(knob, default, "a whole number above 0", |text| {
        text.parse().ok()
    })
}

fn is_origin(text: &str) -> bool {
    text.strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .is_some_and(|host| {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(env: &[(&str, &str)]) -> SettingSources {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        SettingSources {
            env,
            ..SettingSources::default()
        }
    }

    #[test]
    fn without_settings_the_defaults_are_used() {
        let config = GatewayConfig::resolve(&sources(&[])).expect("defaults are good");
        assert_eq!(
            (config.listen.to_string(), config.joins_burst.get()),
            ("127.0.0.1:8080".to_owned(), 2000)
        );
    }

    #[test]
    fn all_bad_values_are_reported_at_once_and_no_key_is_shown() {
        let bad = sources(&[
            ("FAIRGATE_LISTEN", "here"),
            ("FAIRGATE_JOINS_PER_S", "0"),
            ("FAIRGATE_PROMOTER_KEY", "hunter 2"),
            ("FAIRGATE_API_KEYS", "agency:secret-without-quota"),
            ("FAIRGATE_PAYMENTS", "cash"),
            ("FAIRGATE_REDIS_URL", "http://x"),
            ("FAIRGATE_BOOKING_URL", "http://x/path"),
            ("FAIRGATE_PUBLIC_URL", "https://a/b"),
            ("FAIRGATE_DRAIN_S", "601"),
            ("FAIRGATE_TRUSTED_HOPS", "1"),
            ("FAIRGATE_FORWARDING_HEADER", "X-Forwarded-Host"),
        ]);
        let told = GatewayConfig::resolve(&bad).expect_err("bad").to_string();
        for name in [
            "LISTEN",
            "JOINS_PER_S",
            "PROMOTER_KEY",
            "API_KEYS",
            "PAYMENTS",
            "REDIS_URL",
            "BOOKING_URL",
            "PUBLIC_URL",
            "DRAIN_S",
            "FORWARDING_HEADER",
        ] {
            assert!(told.contains(name), "{name} in {told}");
        }
        assert!(
            told.contains("\"cash\" is not one of") || told.contains("cash is not one of"),
            "{told}"
        );
        assert!(!told.contains("hunter 2"), "{told}");
        assert!(!told.contains("secret-without-quota"), "{told}");
    }

    #[test]
    fn settings_that_cannot_work_together_are_refused_with_advice() {
        let database = ("FAIRGATE_DATABASE_URL", "postgres://fairgate@db/fairgate");
        let near = (
            "FAIRGATE_BOOKING_URL",
            "http://127.0.0.1:8090, http://[::1]:8091",
        );
        let far = ("FAIRGATE_BOOKING_URL", "http://10.0.0.5:8090");
        let key = ("FAIRGATE_INTERNAL_KEY", "sixteen-or-more-of-them");
        let redis = ("FAIRGATE_REDIS_URL", "redis://redis");
        let header = ("FAIRGATE_FORWARDING_HEADER", "X-Real-IP");
        for (set, lacking) in [
            (vec![near], "set FAIRGATE_DATABASE_URL"),
            (vec![far, database], "set FAIRGATE_INTERNAL_KEY"),
            (vec![redis], "set FAIRGATE_DATABASE_URL"),
            (vec![header], "FAIRGATE_TRUSTED_HOPS is 0"),
        ] {
            let told = GatewayConfig::resolve(&sources(&set)).expect_err("it cannot work");
            assert!(told.to_string().contains(lacking), "{told}");
        }
        for set in [
            vec![near, database],
            vec![far, database, key],
            vec![redis, database],
        ] {
            let config = GatewayConfig::resolve(&sources(&set)).expect("it works");
            assert!(config.stores.database_url.is_some());
        }
    }

    #[test]
    fn two_partners_with_the_same_name_or_key_are_refused() {
        let one = "a:one-key-for-two-of-them:1:1";
        for other in [
            "b:one-key-for-two-of-them:1:1",
            "a:another-key-of-the-same:1:1",
        ] {
            let keys = format!("{one},{other}");
            let told = GatewayConfig::resolve(&sources(&[("FAIRGATE_API_KEYS", &keys)]));
            assert!(told.expect_err("twice").to_string().contains("API keys"));
        }
        let keys = format!("{one}, b:another-key-of-another:2:30");
        let config =
            GatewayConfig::resolve(&sources(&[("FAIRGATE_API_KEYS", &keys)])).expect("good");
        assert_eq!(config.api_keys.len(), 2);
    }

    #[test]
    fn a_short_promoter_key_is_accepted_with_a_warning() {
        let config = GatewayConfig::resolve(&sources(&[("FAIRGATE_PROMOTER_KEY", "hunter2")]))
            .expect("good");
        let warnings = config.warnings();
        assert!(
            warnings
                .iter()
                .any(|told| told.starts_with("FAIRGATE_PROMOTER_KEY is short")),
            "{warnings:?}"
        );
    }

    #[test]
    fn the_command_line_overrides_the_environment_which_overrides_the_file() {
        let mut sources = sources(&[("FAIRGATE_DATA", "/env"), ("FAIRGATE_TRUSTED_HOPS", "2")]);
        sources.file = Some((
            "data = \"/file\"\ntrusted_hops = 1\norigins = [\"https://a\"]\ncolour = 1".into(),
            "f.toml".into(),
        ));
        let told = GatewayConfig::resolve(&sources)
            .expect_err("an unknown setting")
            .to_string();
        assert!(told.contains("colour"), "{told}");
        sources.file = Some((
            "data = \"/file\"\ntrusted_hops = 1\norigins = [\"https://a\"]".into(),
            "f.toml".into(),
        ));
        sources.flags.insert("data", "/flag".into());
        let config = GatewayConfig::resolve(&sources).expect("good");
        assert_eq!(
            (config.data, config.trusted_hops, config.origins),
            (PathBuf::from("/flag"), 2, vec!["https://a".to_owned()])
        );
    }
}

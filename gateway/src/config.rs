//! Settings: from the command line, the environment, a file, in this order; every bad value told at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::web;

/// Who takes the money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payments {
    /// Nobody: orders are refused until a provider is set.
    None,
    /// The built-in test provider; pages and tickets carry TEST.
    Sandbox,
}

/// A key of a role; `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The settings of one gateway. Each field names its variable, unit and default; the file has the same names in
/// lower case and without the prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `FAIRGATE_LISTEN`: address and port. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// `FAIRGATE_DATA`: the folder that everything durable lives in. Default `fairgate-data`.
    pub data: PathBuf,
    /// `FAIRGATE_PUBLIC_URL`: where the public reaches this, such as `https://sale.example`. Default: the request's host.
    pub public_url: Option<String>,
    /// `FAIRGATE_ORIGINS`: further origins that may act for their visitors, by commas. Default none.
    pub origins: Vec<String>,
    /// `FAIRGATE_TRUSTED_HOPS`: proxies in front, counted from the right of `X-Forwarded-For`. Default 0.
    pub trusted_hops: usize,
    /// `FAIRGATE_JOINS_PER_S`: joins a second for one network. Default 100.
    pub joins_per_s: NonZeroU32,
    /// `FAIRGATE_JOINS_BURST`: joins at once for one network. Default 2000.
    pub joins_burst: NonZeroU32,
    /// `FAIRGATE_SOCKETS`: live sockets at once, at most three quarters of the files this process may open. Default 15000.
    pub sockets: usize,
    /// `FAIRGATE_PAYMENTS`: `none` or `sandbox`. Default `none`, in the demo `sandbox`.
    pub payments: Payments,
    /// `FAIRGATE_PROMOTER_KEY`: changes everything. Default none; the demo makes one.
    pub promoter_key: Option<Key>,
    /// `FAIRGATE_VIEWER_KEY`: reads reports. Default none.
    pub viewer_key: Option<Key>,
    /// `FAIRGATE_DOOR_KEY`: scans tickets. Default none.
    pub door_key: Option<Key>,
}

/// Every bad value, each with what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadConfig(pub Vec<String>);

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the settings cannot be used; nothing was started:")?;
        self.0
            .iter()
            .try_for_each(|fault| writeln!(f, "  - {fault}"))
    }
}

impl std::error::Error for BadConfig {}

/// Where values come from, the first that has one wins.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// From the command line, by knob.
    pub flags: BTreeMap<&'static str, String>,
    /// From the environment, by variable.
    pub env: BTreeMap<String, String>,
    /// The file's text and name.
    pub file: Option<(String, String)>,
}

const KNOBS: &[&str] = &[
    "listen",
    "data",
    "public_url",
    "origins",
    "trusted_hops",
    "joins_per_s",
    "joins_burst",
    "sockets",
    "payments",
    "promoter_key",
    "viewer_key",
    "door_key",
    "redis_url",
    "database_url",
    "booking_url",
];

/// A key that can be guessed opens everything: shorter ones are warned of.
const KEY_CHARS_ENOUGH: usize = 16;

impl Sources {
    /// The process's own environment.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        self.env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("FAIRGATE_"))
            .collect();
        self
    }

    /// Resolves every knob.
    ///
    /// # Errors
    /// Every bad value at once.
    pub fn resolve(self) -> Result<Config, BadConfig> {
        let mut reader = Reader {
            faults: Vec::new(),
            values: BTreeMap::new(),
        };
        reader.read_file(self.file.as_ref());
        for (name, value) in &self.env {
            let knob = name.trim_start_matches("FAIRGATE_").to_lowercase();
            if KNOBS.contains(&knob.as_str()) && !value.is_empty() {
                reader.values.insert(knob, (name.clone(), value.clone()));
            }
        }
        for (knob, value) in &self.flags {
            reader
                .values
                .insert((*knob).to_owned(), (format!("--{knob}"), value.clone()));
        }
        reader.finish()
    }
}

struct Reader {
    faults: Vec<String>,
    /// By knob: where it was set, and to what.
    values: BTreeMap<String, (String, String)>,
}

impl Reader {
    fn read_file(&mut self, file: Option<&(String, String)>) {
        let Some((text, name)) = file else {
            return;
        };
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(error) => return self.faults.push(format!("{name}: {error}")),
        };
        for (knob, value) in table {
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Array(parts) => parts
                    .iter()
                    .filter_map(toml::Value::as_str)
                    .collect::<Vec<_>>()
                    .join(","),
                _ => {
                    self.faults
                        .push(format!("{name}: {knob} has a value of the wrong kind"));
                    continue;
                }
            };
            if KNOBS.contains(&knob.as_str()) {
                self.values
                    .insert(knob.clone(), (format!("{name}: {knob}"), text));
            } else {
                self.faults.push(format!(
                    "{name}: {knob} is not a setting; there are {}",
                    KNOBS.join(", ")
                ));
            }
        }
    }

    /// The knob's value, parsed, or the default; a value that cannot be parsed is a fault.
    fn take<T>(
        &mut self,
        knob: &str,
        default: T,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some((at, value)) = self.values.get(knob) else {
            return default;
        };
        parse(value).unwrap_or_else(|| {
            // Keys are told apart by their name only: a log is no place for them.
            let shown = if knob.ends_with("key") {
                "the value"
            } else {
                value
            };
            self.faults.push(format!("{at}: {shown} is not {what}"));
            default
        })
    }

    fn refuse_unbuilt(&mut self, knob: &str, why: &str) {
        if let Some((at, _)) = self.values.get(knob) {
            self.faults
                .push(format!("{at}: not built yet: {why} Take it out."));
        }
    }

    fn finish(mut self) -> Result<Config, BadConfig> {
        self.refuse_unbuilt(
            "redis_url",
            "this version keeps rooms and seats in its own memory.",
        );
        self.refuse_unbuilt(
            "database_url",
            "this version keeps its ledger in one SQLite file in the data folder.",
        );
        self.refuse_unbuilt("booking_url", "this version hosts booking itself.");
        let origin = |text: &str| is_origin(text).then(|| text.to_owned());
        let config = Config {
            listen: self.take(
                "listen",
                SocketAddr::from(([127, 0, 0, 1], 8080)),
                "an address and port such as 0.0.0.0:8080",
                |text| text.parse().ok(),
            ),
            data: self.take("data", PathBuf::from("fairgate-data"), "a folder", |text| {
                Some(text.into())
            }),
            public_url: self.take(
                "public_url",
                None,
                "an address such as https://sale.example, without a path",
                |text| origin(text.trim_end_matches('/')).map(Some),
            ),
            origins: self.take(
                "origins",
                Vec::new(),
                "a list of origins such as https://app.example, by commas",
                |text| text.split(',').map(|part| origin(part.trim())).collect(),
            ),
            trusted_hops: self.take(
                "trusted_hops",
                0,
                "a count of proxies between 0 and 10",
                |text| text.parse().ok().filter(|hops| *hops <= 10),
            ),
            joins_per_s: self.take(
                "joins_per_s",
                NonZeroU32::new(100).unwrap_or(NonZeroU32::MIN),
                "a whole number above 0",
                |text| text.parse().ok(),
            ),
            joins_burst: self.take(
                "joins_burst",
                NonZeroU32::new(2000).unwrap_or(NonZeroU32::MIN),
                "a whole number above 0",
                |text| text.parse().ok(),
            ),
            sockets: self.take("sockets", 15_000, "a whole number above 0", |text| {
                text.parse().ok().filter(|sockets| *sockets > 0)
            }),
            payments: self.take(
                "payments",
                Payments::None,
                "one of the payment settings: none, sandbox",
                |text| match text {
                    "none" => Some(Payments::None),
                    "sandbox" => Some(Payments::Sandbox),
                    _ => None,
                },
            ),
            promoter_key: self.key("promoter_key"),
            viewer_key: self.key("viewer_key"),
            door_key: self.key("door_key"),
        };
        let keys = [&config.promoter_key, &config.viewer_key, &config.door_key];
        let set: Vec<&str> = keys
            .into_iter()
            .flatten()
            .map(|key| key.0.as_str())
            .collect();
        if set.iter().collect::<BTreeSet<_>>().len() < set.len() {
            self.faults
                .push("two roles have the same key; give each its own".to_owned());
        }
        if self.faults.is_empty() {
            Ok(config)
        } else {
            Err(BadConfig(self.faults))
        }
    }

    fn key(&mut self, knob: &str) -> Option<Key> {
        let what = "a key: visible characters without spaces";
        self.take(knob, None, what, |text| {
            let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
            good.then(|| Some(Key(text.to_owned())))
        })
    }
}

impl Config {
    /// What judging browsers' requests needs.
    #[must_use]
    pub fn web(&self) -> web::Settings {
        web::Settings {
            public_url: self.public_url.clone(),
            origins: self.origins.clone(),
            trusted_hops: self.trusted_hops,
        }
    }

    /// What `/readyz` warns of.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.payments == Payments::Sandbox {
            warnings.push(
                "payments are the sandbox's: no money moves, and tickets carry TEST".to_owned(),
            );
        }
        if self.payments == Payments::None {
            warnings.push(
                "no payment provider is set, so orders are refused: set FAIRGATE_PAYMENTS"
                    .to_owned(),
            );
        }
        if self.promoter_key.is_none() {
            warnings.push(
                "no promoter key is set, so nothing can be changed: set FAIRGATE_PROMOTER_KEY"
                    .to_owned(),
            );
        }
        let keys = [
            ("FAIRGATE_PROMOTER_KEY", &self.promoter_key),
            ("FAIRGATE_VIEWER_KEY", &self.viewer_key),
            ("FAIRGATE_DOOR_KEY", &self.door_key),
        ];
        for (name, key) in keys {
            if key
                .as_ref()
                .is_some_and(|key| key.0.len() < KEY_CHARS_ENOUGH)
            {
                warnings.push(format!(
                    "{name} is short enough to be guessed: give it {KEY_CHARS_ENOUGH} characters or more"
                ));
            }
        }
        warnings
    }
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

    fn sources(env: &[(&str, &str)]) -> Sources {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Sources {
            env,
            ..Sources::default()
        }
    }

    #[test]
    fn without_settings_every_default_holds() {
        let config = sources(&[]).resolve().expect("defaults are good");
        assert_eq!(
            (config.listen.to_string(), config.joins_burst.get()),
            ("127.0.0.1:8080".to_owned(), 2000)
        );
    }

    #[test]
    fn every_bad_value_is_told_at_once_and_no_key_is_shown() {
        let bad = sources(&[
            ("FAIRGATE_LISTEN", "here"),
            ("FAIRGATE_JOINS_PER_S", "0"),
            ("FAIRGATE_PROMOTER_KEY", "hunter 2"),
            ("FAIRGATE_PAYMENTS", "cash"),
            ("FAIRGATE_REDIS_URL", "redis://x"),
            ("FAIRGATE_PUBLIC_URL", "https://a/b"),
        ]);
        let told = bad.resolve().expect_err("bad").to_string();
        for name in [
            "LISTEN",
            "JOINS_PER_S",
            "PROMOTER_KEY",
            "PAYMENTS",
            "REDIS_URL",
            "PUBLIC_URL",
        ] {
            assert!(told.contains(name), "{name} in {told}");
        }
        assert!(
            told.contains("\"cash\" is not one of") || told.contains("cash is not one of"),
            "{told}"
        );
        assert!(!told.contains("hunter 2"), "{told}");
    }

    #[test]
    fn a_key_that_can_be_guessed_is_taken_and_warned_of() {
        let config = sources(&[("FAIRGATE_PROMOTER_KEY", "hunter2")])
            .resolve()
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
    fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
        let mut sources = sources(&[("FAIRGATE_DATA", "/env"), ("FAIRGATE_TRUSTED_HOPS", "2")]);
        sources.file = Some((
            "data = \"/file\"\ntrusted_hops = 1\norigins = [\"https://a\"]\ncolour = 1".into(),
            "f.toml".into(),
        ));
        let told = sources
            .clone()
            .resolve()
            .expect_err("an unknown setting")
            .to_string();
        assert!(told.contains("colour"), "{told}");
        sources.file = Some((
            "data = \"/file\"\ntrusted_hops = 1\norigins = [\"https://a\"]".into(),
            "f.toml".into(),
        ));
        sources.flags.insert("data", "/flag".into());
        let config = sources.resolve().expect("good");
        assert_eq!(
            (config.data, config.trusted_hops, config.origins),
            (PathBuf::from("/flag"), 2, vec!["https://a".to_owned()])
        );
    }
}

//! Where settings come from: the command line, the environment and a file, in this order. All bad
//! values are reported at once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::variables::variable_fault;

/// A secret setting. Its `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretSetting(pub String);

impl fmt::Debug for SecretSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// All faults of the settings, one message each.
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

/// The sources of values, in the order of the fields. The first source that has a value wins.
#[derive(Debug, Clone, Default)]
pub struct SettingSources {
    /// Values from the command line, by knob.
    pub flags: BTreeMap<&'static str, String>,
    /// Values from the environment, by variable.
    pub env: BTreeMap<String, String>,
    /// The file's text and its name.
    pub file: Option<(String, String)>,
}

impl SettingSources {
    /// Collects the flags, the process's environment, and the file if one is named.
    ///
    /// # Errors
    /// If the file or a variable cannot be read.
    pub fn gather(
        flags: BTreeMap<&'static str, String>,
        file: Option<&Path>,
    ) -> Result<Self, BadConfig> {
        let file = match file {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    BadConfig(vec![format!(
                        "--config: {} cannot be read: {error}; correct the path, or let this user read the file",
                        path.display()
                    )])
                })?;
                Some((text, path.display().to_string()))
            }
        };
        let mut env = BTreeMap::new();
        let mut unreadable = Vec::new();
        let names = std::env::vars_os();
        let names = names.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        for (name, value) in names.filter(|(name, _)| name.starts_with("FAIRGATE_")) {
            match value.into_string() {
                Ok(value) => {
                    env.insert(name, value);
                }
                Err(_) => unreadable.push(format!("{name} is not UTF-8; correct or unset it")),
            }
        }
        if !unreadable.is_empty() {
            return Err(BadConfig(unreadable));
        }
        Ok(Self { flags, env, file })
    }

    /// Returns whether the command line or the environment sets a knob.
    #[must_use]
    pub fn is_overridden(&self, knob: &str) -> bool {
        let variable = format!("FAIRGATE_{}", knob.to_uppercase());
        self.flags.contains_key(knob) || self.env.contains_key(&variable)
    }

    /// Looks up the values of these knobs. Other knobs in the file are faults, and so are variables
    /// with the prefix `FAIRGATE_` that no program of this project reads.
    #[must_use]
    pub fn read(&self, knobs: &[&str]) -> SettingReader {
        let mut reader = SettingReader {
            faults: Vec::new(),
            values: BTreeMap::new(),
        };
        reader.read_file(self.file.as_ref(), knobs);
        for (name, value) in self.env.iter().filter(|(_, value)| !value.is_empty()) {
            reader.faults.extend(variable_fault(name));
            let knob = name.trim_start_matches("FAIRGATE_").to_lowercase();
            if knobs.contains(&knob.as_str()) {
                reader.values.insert(knob, (name.clone(), value.clone()));
            }
        }
        for (knob, value) in &self.flags {
            reader
                .values
                .insert((*knob).to_owned(), (format!("--{knob}"), value.clone()));
        }
        reader
    }
}

/// The values that were set, and what is wrong with them.
#[derive(Debug)]
pub struct SettingReader {
    faults: Vec<String>,
    /// For each knob, where it was set and its value.
    values: BTreeMap<String, (String, String)>,
}

impl SettingReader {
    fn read_file(&mut self, file: Option<&(String, String)>, knobs: &[&str]) {
        let Some((text, name)) = file else {
            return;
        };
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(error) => return self.faults.push(file_fault(name, text, &error)),
        };
        for (knob, value) in table {
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Array(parts) if parts.iter().all(toml::Value::is_str) => {
                    let texts: Vec<&str> = parts.iter().filter_map(toml::Value::as_str).collect();
                    texts.join(",")
                }
                _ => {
                    self.faults
                        .push(format!("{name}: {knob} has a value of the wrong kind"));
                    continue;
                }
            };
            if knobs.contains(&knob.as_str()) {
                self.values
                    .insert(knob.clone(), (format!("{name}: {knob}"), text));
            } else {
                self.faults.push(format!(
                    "{name}: {knob} is not a setting; the settings are {}",
                    knobs.join(", ")
                ));
            }
        }
    }

    /// Returns the knob's parsed value, or the default if the knob is not set. A value that cannot
    /// be parsed is a fault. Its message says that the value is not `expected`.
    pub fn parsed_or_default<T>(
        &mut self,
        knob: &str,
        default: T,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some((source, value)) = self.values.get(knob) else {
            return default;
        };
        parse(value).unwrap_or_else(|| {
            // Keys must not get into a log, and server addresses contain passwords.
            let shown = if is_secret(knob) { "the value" } else { value };
            self.faults
                .push(format!("{source}: {shown} is not {expected}"));
            default
        })
    }

    /// Returns a secret of visible characters, if it is set.
    pub fn secret_setting(&mut self, knob: &str) -> Option<SecretSetting> {
        let expected = "a key: visible characters without spaces";
        self.parsed_or_default(knob, None, expected, |text| {
            let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
            good.then(|| Some(SecretSetting(text.to_owned())))
        })
    }

    /// Returns where a knob was set, if it was.
    #[must_use]
    pub fn setting_source(&self, knob: &str) -> Option<&str> {
        self.values.get(knob).map(|(at, _)| at.as_str())
    }

    /// Adds a fault that concerns several values together.
    pub fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(message.into());
    }

    /// Returns the settings if there are no faults.
    ///
    /// # Errors
    /// All bad values at once.
    pub fn finish<C>(self, config: C) -> Result<C, BadConfig> {
        if self.faults.is_empty() {
            Ok(config)
        } else {
            Err(BadConfig(self.faults))
        }
    }
}

/// Says in which line a file is not valid TOML. The message of the `toml` package would also show
/// the line itself, which may contain a key.
fn file_fault(name: &str, text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let why = error.message().lines().next().unwrap_or_default();
    format!("{name}, line {line}: this is not TOML ({why}); write a setting as name = \"value\"")
}

fn is_secret(knob: &str) -> bool {
    ["key", "keys", "secret", "redis_url", "database_url"]
        .iter()
        .any(|end| knob.ends_with(end))
}

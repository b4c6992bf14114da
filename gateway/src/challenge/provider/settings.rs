//! The settings of the services that tell people from bots.

use fairgate_base::config::{SecretSetting, SettingReader};

/// The account of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The public key that a page gives to the provider's script.
    pub site_key: String,
    /// The key with which this server asks the provider.
    pub secret: SecretSetting,
    /// The address of the provider's interface and script. `None` stands for the provider's own
    /// addresses.
    pub url: Option<String>,
}

/// The accounts of all providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProvidersSettings {
    /// `FAIRGATE_TURNSTILE_SITE_KEY`, `FAIRGATE_TURNSTILE_SECRET`, `FAIRGATE_TURNSTILE_URL`: the
    /// account of Turnstile. Default none.
    pub turnstile: Option<ProviderSettings>,
    /// `FAIRGATE_HCAPTCHA_SITE_KEY`, `FAIRGATE_HCAPTCHA_SECRET`, `FAIRGATE_HCAPTCHA_URL`: the
    /// account of hCaptcha. Default none.
    pub hcaptcha: Option<ProviderSettings>,
}

/// The names of one provider's settings: site key, secret, address.
type ProviderKnobs = [&'static str; 3];

const TURNSTILE: ProviderKnobs = ["turnstile_site_key", "turnstile_secret", "turnstile_url"];
const HCAPTCHA: ProviderKnobs = ["hcaptcha_site_key", "hcaptcha_secret", "hcaptcha_url"];

impl ProvidersSettings {
    /// Reads the accounts. A site key without a secret is a fault, and so is a secret without a
    /// site key.
    pub fn read(reader: &mut SettingReader) -> Self {
        Self {
            turnstile: read_provider(reader, TURNSTILE),
            hcaptcha: read_provider(reader, HCAPTCHA),
        }
    }
}

fn read_provider(
    reader: &mut SettingReader,
    [site_key, secret, url]: ProviderKnobs,
) -> Option<ProviderSettings> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let expected = "a site key: letters, digits, \"-\", \"_\" and \".\"";
    let site_key_value = reader.parsed_or_default(site_key, None, expected, |text| {
        text.bytes().all(is_plain).then(|| Some(text.to_owned()))
    });
    let address = reader.parsed_or_default(
        url,
        None,
        "an https address without a path, or an http one of this machine",
        |text| {
            let text = text.trim_end_matches('/');
            is_origin(text).then(|| Some(text.to_owned()))
        },
    );
    let secret_value = reader.secret_setting(secret);
    let variable = |knob: &str| format!("FAIRGATE_{}", knob.to_uppercase());
    for (set, missing) in [
        (site_key, secret),
        (secret, site_key),
        (url, site_key),
        (url, secret),
    ] {
        if reader.setting_source(set).is_some() && reader.setting_source(missing).is_none() {
            reader.fault(format!(
                "{} is set, and {} is not; a provider needs its site key and its secret",
                variable(set),
                variable(missing)
            ));
        }
    }
    Some(ProviderSettings {
        site_key: site_key_value?,
        secret: secret_value?,
        url: address,
    })
}

/// Returns whether a text is an origin to which a secret may be sent: over TLS, or on this machine.
fn is_origin(text: &str) -> bool {
    let local = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];
    let host = text.strip_prefix("https://");
    let host = host.or_else(|| local.iter().find_map(|begin| text.strip_prefix(begin)));
    let is_host_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_host_part))
}

#[cfg(test)]
mod tests {
    use fairgate_base::config::SettingSources;

    use super::*;

    fn read(env: &[(&str, &str)]) -> Result<ProvidersSettings, String> {
        let sources = SettingSources {
            env: env
                .iter()
                .map(|(name, value)| (format!("FAIRGATE_{name}"), (*value).to_owned()))
                .collect(),
            ..SettingSources::default()
        };
        let mut reader = sources.read(&[TURNSTILE, HCAPTCHA].concat());
        let settings = ProvidersSettings::read(&mut reader);
        reader.finish(settings).map_err(|bad| bad.to_string())
    }

    #[test]
    fn an_account_needs_both_keys_and_its_secret_is_not_shown() {
        assert_eq!(read(&[]), Ok(ProvidersSettings::default()));
        let half = read(&[
            ("TURNSTILE_SITE_KEY", "0x4A"),
            ("HCAPTCHA_SECRET", "hunter2"),
        ]);
        let told = half.expect_err("half an account");
        assert!(told.contains("FAIRGATE_TURNSTILE_SECRET is not"), "{told}");
        assert!(told.contains("FAIRGATE_HCAPTCHA_SITE_KEY is not"), "{told}");
        let good = read(&[
            ("TURNSTILE_SITE_KEY", "0x4A"),
            ("TURNSTILE_SECRET", "hunter2"),
            ("TURNSTILE_URL", "http://127.0.0.1:9/"),
        ]);
        let good = good.expect("an account");
        assert!(!format!("{good:?}").contains("hunter"), "{good:?}");
        let url = good.turnstile.and_then(|account| account.url);
        assert_eq!(url.as_deref(), Some("http://127.0.0.1:9"));
    }

    #[test]
    fn a_secret_is_never_sent_in_the_clear_or_to_an_address_with_a_path() {
        for url in [
            "http://elsewhere.example",
            "https://a.example/b",
            "https://",
        ] {
            let told = read(&[
                ("HCAPTCHA_SITE_KEY", "a"),
                ("HCAPTCHA_SECRET", "hunter2"),
                ("HCAPTCHA_URL", url),
            ]);
            let told = told.expect_err(url);
            assert!(told.contains("FAIRGATE_HCAPTCHA_URL"), "{told}");
            assert!(!told.contains("hunter"), "{told}");
        }
    }
}

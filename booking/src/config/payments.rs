//! The settings that name the payment provider.

use std::time::Duration;

use fairgate_base::config::SettingReader;
use fairgate_model::payments::kind::ProviderKind;

use crate::payments::READ_BACK_AFTER;
use crate::payments::stripe::{PUBLIC_URL, StripeSettings};

/// The largest value of `FAIRGATE_STRIPE_READ_BACK_S`, in seconds.
const READ_BACK_S_MAX: u64 = 3_600;

/// `FAIRGATE_PAYMENTS`: `none`, `sandbox` or `stripe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentSettings {
    /// No provider. Only free seats can be ordered.
    None,
    /// The built-in test provider. Pages, and the tickets that it sells, carry TEST.
    Sandbox,
    /// Stripe, with the account's keys.
    Stripe(StripeSettings),
}

impl PaymentSettings {
    /// Returns the kind of provider.
    #[must_use]
    pub const fn provider_kind(&self) -> ProviderKind {
        match self {
            Self::None => ProviderKind::None,
            Self::Sandbox => ProviderKind::Sandbox,
            Self::Stripe(_) => ProviderKind::Stripe,
        }
    }

    /// The names of these settings.
    pub const KNOBS: [&'static str; 6] = [
        "payments",
        "stripe_secret_key",
        "stripe_webhook_secret",
        "stripe_publishable_key",
        "stripe_url",
        "stripe_read_back_s",
    ];

    /// Reads the settings. The default provider is `none`. With `stripe`,
    /// `FAIRGATE_STRIPE_SECRET_KEY`, `FAIRGATE_STRIPE_WEBHOOK_SECRET` and
    /// `FAIRGATE_STRIPE_PUBLISHABLE_KEY` are needed. The default of `FAIRGATE_STRIPE_URL` is
    /// Stripe's public API. The default of `FAIRGATE_STRIPE_READ_BACK_S` (seconds, 1 to 3600) is
    /// 15.
    pub fn read(reader: &mut SettingReader) -> Self {
        let expected = "one of the payment settings: none, sandbox, stripe";
        let provider = reader.parsed_or_default("payments", ProviderKind::None, expected, |text| {
            text.parse().ok()
        });
        if provider == ProviderKind::Stripe {
            return Self::Stripe(stripe(reader));
        }
        let unused = Self::KNOBS[1..]
            .iter()
            .filter_map(|knob| reader.setting_source(knob).map(str::to_owned));
        for place in unused.collect::<Vec<_>>() {
            reader.fault(format!(
                "{place} is a Stripe setting, but FAIRGATE_PAYMENTS is not stripe; set FAIRGATE_PAYMENTS=stripe, or remove this setting"
            ));
        }
        match provider {
            ProviderKind::Sandbox => Self::Sandbox,
            _ => Self::None,
        }
    }

    /// Returns whether the settings show that payments move no real money. Returns false without a
    /// provider.
    #[must_use]
    pub fn is_test(&self) -> bool {
        match self {
            Self::None => false,
            Self::Sandbox => true,
            Self::Stripe(settings) => settings.is_test(),
        }
    }

    /// Returns the origins that a payment page calls and loads from, as a content security policy
    /// lists them.
    #[must_use]
    pub fn form_origins(&self) -> Vec<String> {
        match self {
            Self::None | Self::Sandbox => Vec::new(),
            Self::Stripe(settings) => settings.form_origins(),
        }
    }

    /// Returns the warnings for `/readyz`.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warning = match self {
            Self::None => {
                "no payment provider is set, so only free seats can be ordered: set FAIRGATE_PAYMENTS"
            }
            Self::Sandbox => "payments are the sandbox's: no money moves, and tickets carry TEST",
            Self::Stripe(settings) if settings.is_test() => {
                "Stripe's keys are test keys: no money moves, and tickets carry TEST"
            }
            Self::Stripe(_) => return Vec::new(),
        };
        vec![warning.to_owned()]
    }
}

fn stripe(reader: &mut SettingReader) -> StripeSettings {
    let mut key = |knob: &str, expected: &str, prefixes: &[&str]| {
        let missing = reader.setting_source(knob).is_none();
        if missing {
            reader.fault(format!(
                "FAIRGATE_{} is not set: payments by Stripe need {expected}",
                knob.to_uppercase()
            ));
        }
        let is_valid = |text: &str| {
            prefixes.iter().any(|prefix| text.starts_with(prefix))
                && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        reader.parsed_or_default(knob, String::new(), expected, |text| {
            is_valid(text).then(|| text.to_owned())
        })
    };
    StripeSettings {
        secret_key: key(
            "stripe_secret_key",
            "the account's secret key, sk_… or a restricted one, rk_…",
            &["sk_", "rk_"],
        ),
        webhook_secret: key(
            "stripe_webhook_secret",
            "the webhook's signing secret, whsec_…",
            &["whsec_"],
        ),
        publishable_key: key(
            "stripe_publishable_key",
            "the account's publishable key, pk_…",
            &["pk_"],
        ),
        url: reader.parsed_or_default(
            "stripe_url",
            PUBLIC_URL.to_owned(),
            "an https address, or an http one of this machine",
            |text| {
                // The secret key is sent to this address, so it must never go over a network
                // without TLS.
                let local = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];
                let is_valid = text.starts_with("https://")
                    || local.iter().any(|begin| text.starts_with(begin));
                (is_valid && !text.contains(char::is_whitespace)).then(|| text.to_owned())
            },
        ),
        read_back_after: reader.parsed_or_default(
            "stripe_read_back_s",
            READ_BACK_AFTER,
            "whole seconds from 1 to 3600",
            |text| {
                let seconds = text.parse().ok();
                seconds
                    .filter(|seconds| (1..=READ_BACK_S_MAX).contains(seconds))
                    .map(Duration::from_secs)
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairgate_base::config::SettingSources;

    fn read(env: &[(&str, &str)]) -> Result<PaymentSettings, String> {
        let sources = SettingSources {
            env: env
                .iter()
                .map(|(name, value)| (format!("FAIRGATE_{name}"), (*value).to_owned()))
                .collect(),
            ..SettingSources::default()
        };
        let mut reader = sources.read(&PaymentSettings::KNOBS);
        let payments = PaymentSettings::read(&mut reader);
        reader.finish(payments).map_err(|bad| bad.to_string())
    }

    #[test]
    fn stripe_without_keys_reports_each_missing_key() {
        let told = read(&[("PAYMENTS", "stripe")]).expect_err("keys are missing");
        for knob in ["SECRET_KEY", "WEBHOOK_SECRET", "PUBLISHABLE_KEY"] {
            assert!(
                told.contains(&format!("FAIRGATE_STRIPE_{knob} is not set")),
                "{told}"
            );
        }
    }

    #[test]
    fn a_bad_key_is_reported_without_its_text() {
        let told = read(&[
            ("PAYMENTS", "stripe"),
            ("STRIPE_SECRET_KEY", "hunter2"),
            ("STRIPE_WEBHOOK_SECRET", "hunter3"),
            ("STRIPE_PUBLISHABLE_KEY", "sk_live_hunter4"),
            ("STRIPE_URL", "http://elsewhere.example"),
            ("STRIPE_READ_BACK_S", "0"),
        ]);
        let told = told.expect_err("all are bad");
        assert!(!told.contains("hunter"), "{told}");
        assert_eq!(told.matches("  - ").count(), 5, "{told}");
    }

    #[test]
    fn good_keys_are_accepted_and_debug_shows_no_key() {
        let env = [
            ("PAYMENTS", "stripe"),
            ("STRIPE_SECRET_KEY", "rk_test_hunter2"),
            ("STRIPE_WEBHOOK_SECRET", "whsec_hunter3"),
            ("STRIPE_PUBLISHABLE_KEY", "pk_test_1"),
            ("STRIPE_READ_BACK_S", "2"),
        ];
        let payments = read(&env).expect("good");
        assert!(payments.is_test());
        assert!(!format!("{payments:?}").contains("hunter"));
        let PaymentSettings::Stripe(settings) = payments else {
            panic!("not Stripe");
        };
        assert_eq!(settings.url, PUBLIC_URL);
        let origins = settings.form_origins();
        assert!(origins.contains(&"https://*.js.stripe.com".to_owned()));
        let elsewhere = StripeSettings {
            url: "http://127.0.0.1:9/v1?a;b".to_owned(),
            ..settings.clone()
        };
        assert_eq!(elsewhere.form_origins(), ["http://127.0.0.1:9"]);
        assert_eq!(settings.read_back_after, Duration::from_secs(2));
        let idle = read(&[("PAYMENTS", "sandbox"), ("STRIPE_SECRET_KEY", "sk_live_1")]);
        assert!(
            idle.expect_err("a Stripe key without Stripe")
                .contains("FAIRGATE_PAYMENTS is not stripe")
        );
    }
}

//! Asks one provider whether a visitor's answer is good, by its `siteverify` interface. The
//! interface has the same form at Turnstile and hCaptcha.

use parking_lot::Mutex;
use std::sync::Weak;
use std::time::{Duration, Instant};

use fairgate_rules::room_document::ChallengeProvider;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::ProviderSettings;
use super::health::ProviderHealth;
use super::stand_ins::StandIns;

/// How long to wait for the provider's answer.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// How long a visitor waits until fewer than [`CALLS_MAX`] calls to the provider are running.
const TURN_WITHIN: Duration = Duration::from_secs(4);
/// How many calls to the provider run at once, at most.
const CALLS_MAX: usize = 256;
/// How often a provider that does not answer is asked again.
const RETRY_EVERY: Duration = Duration::from_secs(2);
/// How long (bytes) a visitor's answer may be. A longer one is not sent on to the provider.
const ANSWER_BYTES_MAX: usize = 4_096;
/// Sent to the provider as if it were a visitor's answer, to see whether the provider responds.
const PROBE: &str = "fairgate-probe";

/// What the provider says about an answer.
#[derive(Debug, Deserialize)]
pub(super) struct SiteverifyAnswer {
    pub success: bool,
    #[serde(default, rename = "error-codes")]
    pub error_codes: Vec<String>,
    #[serde(default)]
    pub cdata: Option<String>,
}

/// Why the provider said nothing about an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SiteverifyFault {
    /// The provider was not asked, because too many calls were running.
    #[error("too many visitors are checked at once")]
    Crowded,
    /// No usable answer came.
    #[error("it does not answer ({0})")]
    Silent(String),
    /// The provider does not know the installation's keys.
    #[error("it refuses the keys ({0}); check its SITE_KEY and SECRET in the settings")]
    Keys(String),
}

/// Returns whether a text can be an answer of a provider. Other texts are not sent on.
pub(super) fn is_answer(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.=:/+".contains(&byte);
    !text.is_empty() && text.len() <= ANSWER_BYTES_MAX && text.bytes().all(is_part)
}

/// A client of one provider.
pub(super) struct ProviderClient {
    provider: ChallengeProvider,
    account: ProviderSettings,
    address: String,
    script: String,
    origins: String,
    http: reqwest::Client,
    turns: Semaphore,
    health: Mutex<ProviderHealth>,
    pub(super) stand_ins: Mutex<StandIns>,
}

impl ProviderClient {
    pub(super) fn new(
        provider: ChallengeProvider,
        account: &ProviderSettings,
    ) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            // A redirect could send the secret to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let custom_url = account.url.as_deref();
        let (interface, scripts, origins) = match provider {
            ChallengeProvider::Turnstile => {
                let url = "https://challenges.cloudflare.com";
                (url, url, url)
            }
            ChallengeProvider::Hcaptcha => (
                "https://api.hcaptcha.com",
                "https://js.hcaptcha.com",
                "https://hcaptcha.com https://*.hcaptcha.com",
            ),
        };
        let (siteverify, script) = match provider {
            ChallengeProvider::Turnstile => ("/turnstile/v0/siteverify", "/turnstile/v0/api.js"),
            ChallengeProvider::Hcaptcha => ("/siteverify", "/1/api.js"),
        };
        Ok(Self {
            provider,
            account: account.clone(),
            address: format!("{}{siteverify}", custom_url.unwrap_or(interface)),
            script: format!("{}{script}?render=explicit", custom_url.unwrap_or(scripts)),
            origins: custom_url.unwrap_or(origins).to_owned(),
            http,
            turns: Semaphore::new(CALLS_MAX),
            health: Mutex::default(),
            stand_ins: Mutex::default(),
        })
    }

    pub(super) fn site_key(&self) -> &str {
        &self.account.site_key
    }

    pub(super) fn script(&self) -> &str {
        &self.script
    }

    pub(super) fn page_origins(&self) -> &str {
        &self.origins
    }

    /// Returns why the provider is away, if it is.
    pub(super) fn outage(&self) -> Option<SiteverifyFault> {
        self.health.lock().outage().cloned()
    }

    /// Notes that a call failed. Returns whether an outage begins with it.
    pub(super) fn note_failure(&self, fault: &SiteverifyFault) -> bool {
        let provider = self.provider.name();
        let begins = self
            .health
            .lock()
            .note_failure(fault.clone(), Instant::now());
        // The log of warnings says once that the provider is away.
        tracing::debug!(provider, %fault, begins, "the provider could not be asked about a visitor's check");
        begins
    }

    /// Asks the provider about a visitor's answer.
    pub(super) async fn ask(
        &self,
        answer: &str,
        within: Duration,
    ) -> Result<SiteverifyAnswer, SiteverifyFault> {
        let turn = timeout(TURN_WITHIN, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| SiteverifyFault::Crowded)?;
        let silent = |error: reqwest::Error| {
            // The text of the error contains the provider's address, and no secret.
            SiteverifyFault::Silent(error.to_string())
        };
        let form = [
            ("secret", &*self.account.secret.0),
            ("response", answer),
            ("sitekey", &*self.account.site_key),
        ];
        let body = form.map(|(name, value)| format!("{name}={}", percent_encoded(value)));
        let request = self
            .http
            .post(&self.address)
            .timeout(within)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&"));
        let response = request.send().await.map_err(silent)?;
        let status = response.status();
        let body = response.bytes().await.map_err(silent)?;
        let answer: SiteverifyAnswer = serde_json::from_slice(&body)
            .map_err(|_| SiteverifyFault::Silent(format!("status {status}")))?;
        match answer
            .error_codes
            .iter()
            .find_map(|code| fault_of_code(code))
        {
            Some(fault) if !answer.success => Err(fault),
            _ => {
                self.health.lock().note_answer();
                Ok(answer)
            }
        }
    }
}

/// Returns the fault that an error code reports. Returns `None` for all other codes, which may be
/// about the visitor's answer.
fn fault_of_code(code: &str) -> Option<SiteverifyFault> {
    match code {
        "missing-input-secret"
        | "invalid-input-secret"
        | "sitekey-secret-mismatch"
        | "not-using-dummy-secret"
        | "invalid-sitekey" => Some(SiteverifyFault::Keys(code.to_owned())),
        "internal-error" => Some(SiteverifyFault::Silent(code.to_owned())),
        _ => None,
    }
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Asks a provider again and again until it answers, so that no visitor has to try it. Then ends
/// the outage. Also returns when the client is dropped.
pub(super) async fn ask_until_answered(client: Weak<ProviderClient>) {
    loop {
        tokio::time::sleep(RETRY_EVERY).await;
        let Some(client) = client.upgrade() else {
            return;
        };
        match client.ask(PROBE, ANSWER_WITHIN).await {
            Ok(_) => {
                client.health.lock().end_outage();
                return;
            }
            // The warning about the outage then shows the newest fault. No second outage begins.
            Err(fault) => {
                client.note_failure(&fault);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_is_no_answer() {
        for rubbish in [
            "",
            "a b",
            "a&b",
            "\u{0}",
            "ä",
            &"a".repeat(ANSWER_BYTES_MAX + 1),
        ] {
            assert!(!is_answer(rubbish), "{rubbish:?}");
        }
        for good in [
            "0.AbC-_d.e",
            "P1_eyJ0",
            "10000000-aaaa-bbbb-cccc-000000000001",
        ] {
            assert!(is_answer(good), "{good}");
        }
    }

    #[test]
    fn only_codes_about_the_account_or_the_provider_are_faults() {
        for (code, is_fault) in [
            ("invalid-input-secret", true),
            ("sitekey-secret-mismatch", true),
            ("internal-error", true),
            ("invalid-input-response", false),
            ("timeout-or-duplicate", false),
            ("already-seen-response", false),
        ] {
            assert_eq!(fault_of_code(code).is_some(), is_fault, "{code}");
        }
    }
}

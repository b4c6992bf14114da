//! The content policy of pages. It says what pages may load and call. Everything comes from this
//! installation, except payment forms and challenge checks. Those come from their providers.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use fairgate_rules::room_document::ChallengeProvider;

use crate::challenge::ChallengeProviders;

/// Tells browsers to use only TLS for this site, for a year.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Marks an answer whose page has a part from another site.
#[derive(Debug, Clone, Copy)]
pub enum ForeignPart {
    /// The payment form.
    Payment,
    /// The check of a challenge's provider.
    Check(ChallengeProvider),
}

/// Writes the policies of one installation; a cheap handle.
#[derive(Clone)]
pub struct PagePolicy {
    inner: Arc<PolicySettings>,
}

struct PolicySettings {
    public_url: Option<String>,
    form_origins: String,
    providers: ChallengeProviders,
}

impl PagePolicy {
    /// Makes a handle from the public address, if it is set, and the origins that the payment form
    /// and the providers' checks come from.
    #[must_use]
    pub fn new(
        public_url: Option<String>,
        form_origins: &[String],
        providers: ChallengeProviders,
    ) -> Self {
        Self {
            inner: Arc::new(PolicySettings {
                public_url,
                form_origins: form_origins.join(" "),
                providers,
            }),
        }
    }

    /// Sets the security headers of an answer. `host` is the host that the request named. Only a
    /// page that has a `part` from another site may load from that site.
    pub fn secure(&self, headers: &mut HeaderMap, host: Option<&str>, part: Option<ForeignPart>) {
        let policy = self.content_policy(host, part);
        // The hosts are checked, so the policy is always valid in a header.
        if let Ok(policy) = HeaderValue::try_from(policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        let public_url = self.inner.public_url.as_deref().unwrap_or_default();
        if public_url.starts_with("https://") {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, ONLY_TLS);
        }
    }

    fn content_policy(&self, host: Option<&str>, part: Option<ForeignPart>) -> String {
        let sockets = self.socket_origins(host);
        let (part_origins, styles) = match part {
            None => ("", ""),
            Some(ForeignPart::Payment) => (&*self.inner.form_origins, ""),
            Some(ForeignPart::Check(provider)) => {
                let part_origins = self.inner.providers.page_origins(provider);
                (part_origins, part_origins)
            }
        };
        let frames = if part_origins.is_empty() {
            "'none'"
        } else {
            part_origins
        };
        format!(
            "default-src 'self'; base-uri 'none'; form-action 'self'; img-src 'self' data: blob: {part_origins}; style-src 'self' {styles}; script-src 'self' {part_origins}; worker-src 'self'; connect-src 'self' {sockets} {part_origins}; frame-src {frames}; frame-ancestors 'none'"
        )
    }

    /// Returns the origins of the live socket: the public address's origin, or else the origins of
    /// the host that the request named.
    fn socket_origins(&self, host: Option<&str>) -> String {
        if let Some(public_url) = &self.inner.public_url {
            return public_url.replacen("http", "ws", 1);
        }
        let is_host_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        match host.filter(|host| host.bytes().all(is_host_part)) {
            Some(host) => format!("ws://{host} wss://{host}"),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairgate_base::config::SecretSetting;

    use super::*;
    use crate::challenge::{ProviderSettings, ProvidersSettings};

    fn policy(public_url: Option<&str>, form_origins: &[String]) -> PagePolicy {
        let account = ProviderSettings {
            site_key: "a".to_owned(),
            secret: SecretSetting("b".to_owned()),
            url: None,
        };
        let settings = ProvidersSettings {
            turnstile: None,
            hcaptcha: Some(account),
        };
        let providers = ChallengeProviders::new(&settings, [1; 32]).expect("TLS");
        PagePolicy::new(public_url.map(str::to_owned), form_origins, providers)
    }

    fn headers(policy: &PagePolicy, host: &str, part: Option<ForeignPart>) -> (String, bool) {
        let mut headers = HeaderMap::new();
        policy.secure(&mut headers, Some(host), part);
        let text = headers[header::CONTENT_SECURITY_POLICY].to_str();
        (
            text.expect("text").to_owned(),
            headers.contains_key(header::STRICT_TRANSPORT_SECURITY),
        )
    }

    #[test]
    fn only_the_payment_page_may_load_from_the_origins_of_the_provider() {
        let policy = self::policy(None, &["https://js.example".to_owned()]);
        let (plain, _) = headers(&policy, "sale.example", None);
        assert!(!plain.contains("js.example"), "{plain}");
        let (paying, _) = headers(&policy, "sale.example", Some(ForeignPart::Payment));
        assert!(
            paying.contains("script-src 'self' https://js.example;")
                && paying.contains("frame-src https://js.example;")
                && paying.contains("base-uri 'none'; form-action 'self'")
                && paying.contains("frame-ancestors 'none'"),
            "{paying}"
        );
    }

    #[test]
    fn only_a_page_with_a_check_may_load_from_its_provider() {
        let policy = self::policy(None, &[]);
        let check = |provider| headers(&policy, "a.example", Some(ForeignPart::Check(provider))).0;
        let hcaptcha = check(ChallengeProvider::Hcaptcha);
        for part in ["script-src", "style-src", "frame-src"] {
            let own = if part == "frame-src" { "" } else { " 'self'" };
            let expected = format!("{part}{own} https://hcaptcha.com https://*.hcaptcha.com;");
            assert!(hcaptcha.contains(&expected), "{hcaptcha}");
        }
        // A provider that is not set up adds nothing.
        let turnstile = check(ChallengeProvider::Turnstile);
        assert_eq!(turnstile, headers(&policy, "a.example", None).0);
    }

    #[test]
    fn a_page_may_open_sockets_only_to_its_own_site() {
        let open = policy(None, &[]);
        let (policy, only_tls) = headers(&open, "127.0.0.1:8080", None);
        assert!(
            policy.contains("connect-src 'self' ws://127.0.0.1:8080 wss://127.0.0.1:8080 ;"),
            "{policy}"
        );
        assert!(!only_tls);
        let (policy, _) = headers(&open, "a; script-src *", None);
        assert!(policy.contains("connect-src 'self'  ;"), "{policy}");
        let public = self::policy(Some("https://sale.example"), &[]);
        let (policy, only_tls) = headers(&public, "other.example", None);
        assert!(
            policy.contains("connect-src 'self' wss://sale.example ;"),
            "{policy}"
        );
        assert!(only_tls);
    }
}

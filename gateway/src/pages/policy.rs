//! The content policy of pages: what they may load and call. Everything comes from this
//! installation, except a payment form, which comes from its provider.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};

/// Browsers remember for a year that this site is reached only by TLS.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Marks the answer with the page that has the payment form.
#[derive(Debug, Clone, Copy)]
pub struct PayingPage;

/// Writes the policies of one installation; a cheap handle.
#[derive(Debug, Clone)]
pub struct PagePolicy {
    inner: Arc<PolicySettings>,
}

#[derive(Debug)]
struct PolicySettings {
    public_url: Option<String>,
    form_origins: String,
}

impl PagePolicy {
    /// Makes a handle from the public address, if it is set, and the origins that the payment form
    /// comes from.
    #[must_use]
    pub fn new(public_url: Option<String>, form_origins: &[String]) -> Self {
        Self {
            inner: Arc::new(PolicySettings {
                public_url,
                form_origins: form_origins.join(" "),
            }),
        }
    }

    /// Sets the headers of an answer to a request that named this host. Only the page with the
    /// payment form may load from the provider.
    pub fn secure(&self, headers: &mut HeaderMap, host: Option<&str>, is_paying: bool) {
        let policy = self.content_policy(host, is_paying);
        // The hosts are checked, so the policy is always valid in a header.
        if let Ok(policy) = HeaderValue::try_from(policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        let public = self.inner.public_url.as_deref().unwrap_or_default();
        if public.starts_with("https://") {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, ONLY_TLS);
        }
    }

    fn content_policy(&self, host: Option<&str>, is_paying: bool) -> String {
        let sockets = self.socket_origins(host);
        let from = if is_paying {
            &*self.inner.form_origins
        } else {
            ""
        };
        let frames = if from.is_empty() { "'none'" } else { from };
        format!(
            "default-src 'self'; base-uri 'none'; form-action 'self'; img-src 'self' data: blob: {from}; style-src 'self'; script-src 'self' {from}; connect-src 'self' {sockets} {from}; frame-src {frames}; frame-ancestors 'none'"
        )
    }

    /// Returns the origins of the live socket: that of the public address, or else those of the
    /// host that the request named.
    fn socket_origins(&self, host: Option<&str>) -> String {
        if let Some(public) = &self.inner.public_url {
            return public.replacen("http", "ws", 1);
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
    use super::*;

    fn headers(policy: &PagePolicy, host: &str, is_paying: bool) -> (String, bool) {
        let mut headers = HeaderMap::new();
        policy.secure(&mut headers, Some(host), is_paying);
        let text = headers[header::CONTENT_SECURITY_POLICY].to_str();
        (
            text.expect("text").to_owned(),
            headers.contains_key(header::STRICT_TRANSPORT_SECURITY),
        )
    }

    #[test]
    fn only_the_payment_page_may_load_from_the_origins_of_the_provider() {
        let policy = PagePolicy::new(None, &["https://js.example".to_owned()]);
        let (plain, _) = headers(&policy, "sale.example", false);
        assert!(!plain.contains("js.example"), "{plain}");
        let (paying, _) = headers(&policy, "sale.example", true);
        assert!(
            paying.contains("script-src 'self' https://js.example;")
                && paying.contains("frame-src https://js.example;")
                && paying.contains("base-uri 'none'; form-action 'self'")
                && paying.contains("frame-ancestors 'none'"),
            "{paying}"
        );
    }

    #[test]
    fn a_page_may_open_sockets_only_to_its_own_site() {
        let open = PagePolicy::new(None, &[]);
        let (policy, only_tls) = headers(&open, "127.0.0.1:8080", false);
        assert!(
            policy.contains("connect-src 'self' ws://127.0.0.1:8080 wss://127.0.0.1:8080 ;"),
            "{policy}"
        );
        assert!(!only_tls);
        let (policy, _) = headers(&open, "a; script-src *", false);
        assert!(policy.contains("connect-src 'self'  ;"), "{policy}");
        let public = PagePolicy::new(Some("https://sale.example".into()), &[]);
        let (policy, only_tls) = headers(&public, "other.example", false);
        assert!(
            policy.contains("connect-src 'self' wss://sale.example ;"),
            "{policy}"
        );
        assert!(only_tls);
    }
}

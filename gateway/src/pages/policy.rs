//! The content policy of pages: what they may load and call. Everything comes from this
//! installation, except a payment form, which comes from its provider.

use axum::http::{HeaderMap, HeaderValue, header};

const PLAIN: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'",
);

/// Sets the plain policy on an answer that has no policy of its own.
pub fn secure(headers: &mut HeaderMap) {
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(PLAIN);
}

/// Builds the policy of the page whose payment form comes from these origins.
#[must_use]
pub fn paying(origins: &[String]) -> HeaderValue {
    if origins.is_empty() {
        return PLAIN;
    }
    let from = origins.join(" ");
    let policy = format!(
        "default-src 'self'; img-src 'self' data: blob: {from}; style-src 'self'; script-src 'self' {from}; connect-src 'self' ws: wss: {from}; frame-src {from}; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or(PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_payment_page_may_load_from_the_origins_of_the_provider() {
        let mut plain = HeaderMap::new();
        secure(&mut plain);
        assert_eq!(plain[header::CONTENT_SECURITY_POLICY], PLAIN);
        assert_eq!(paying(&[]), PLAIN);
        let policy = paying(&["https://js.example".to_owned()]);
        let mut page = HeaderMap::from_iter([(header::CONTENT_SECURITY_POLICY, policy.clone())]);
        secure(&mut page);
        assert_eq!(page[header::CONTENT_SECURITY_POLICY], policy);
        let policy = policy.to_str().expect("text");
        assert!(
            policy.contains("script-src 'self' https://js.example;"),
            "{policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    }
}

//! Decides who may make the internal calls. If the gateways' key is set, the caller must send it.

use axum::http::HeaderMap;
use fairgate_base::config::SecretSetting;
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{Problem, ProblemCode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::internal::PREFIX;

/// The key that gateways show. It is compared by its digest in constant time.
#[derive(Clone)]
pub struct InternalKey {
    digest: Option<[u8; 32]>,
}

impl InternalKey {
    /// Stores the digest of the configured key. Without a key every caller is admitted, so the
    /// process must listen on this machine only.
    #[must_use]
    pub fn new(key: Option<&SecretSetting>) -> Self {
        Self {
            digest: key.map(|key| Sha256::digest(&key.0).into()),
        }
    }

    /// Admits a gateway.
    ///
    /// # Errors
    /// 401 `internal_key_required` for a caller without the key. 404 for a call that was forwarded
    /// for a visitor.
    pub fn admit(&self, headers: &HeaderMap) -> Result<(), Problem> {
        // A visitor might trick a gateway into forwarding a call to this address. Such a call must
        // not reach the internal routes.
        if headers.contains_key("x-forwarded-for") {
            return Err(Problem::not_found("page", PREFIX));
        }
        let Some(known) = self.digest else {
            return Ok(());
        };
        let shown: [u8; 32] = Sha256::digest(bearer(headers).unwrap_or_default()).into();
        if bool::from(shown.ct_eq(&known)) {
            return Ok(());
        }
        Err(Problem::new(
            ProblemCode::InternalKeyRequired,
            "Gateways must send the key that booking has in FAIRGATE_INTERNAL_KEY. Nothing was changed. Set the same FAIRGATE_INTERNAL_KEY in both.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn check(key: Option<&str>, headers: &[(&'static str, &str)], status: Option<u16>) {
        let key = key.map(|key| SecretSetting(key.to_owned()));
        let headers = headers
            .iter()
            .map(|(name, value)| {
                let name = axum::http::HeaderName::from_static(name);
                (name, HeaderValue::from_str(value).expect("a header"))
            })
            .collect();
        let refused = InternalKey::new(key.as_ref()).admit(&headers).err();
        assert_eq!(refused.map(|problem| problem.status.as_u16()), status);
    }

    #[test]
    fn a_configured_key_is_required_and_forwarded_calls_are_refused() {
        check(Some("secret"), &[("authorization", "Bearer secret")], None);
        check(
            Some("secret"),
            &[("authorization", "Bearer other")],
            Some(401),
        );
        check(Some("secret"), &[], Some(401));
        check(None, &[], None);
        let forwarded = [
            ("authorization", "Bearer secret"),
            ("x-forwarded-for", "192.0.2.1"),
        ];
        check(Some("secret"), &forwarded, Some(404));
        check(None, &forwarded[1..], Some(404));
    }
}

//! The answer of `/readyz`. Everybody learns whether visitors can be served. Only operators read
//! the reasons and the warnings, because these name addresses and settings.

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::Problem;
use super::keys::{Role, RoleKeys, bearer};

/// The number of seconds after which a caller should ask again whether this process is ready.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("2");

/// Whether a process can serve visitors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Why no visitor can be served. Empty if visitors can be served.
    pub reasons: Vec<String>,
    /// Faults that an operator should correct, although they keep no visitor out at the moment.
    pub warnings: Vec<String>,
}

/// The body of `/readyz`.
#[derive(Debug, Serialize)]
struct ReadinessDocument {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<String>>,
}

impl Readiness {
    /// Builds the short answer for a caller without a key, and the whole answer for a caller who
    /// shows a viewer's or a promoter's key.
    ///
    /// # Errors
    /// The errors of [`RoleKeys::require_role`] for a caller who shows any other key.
    pub fn public_answer(self, keys: &RoleKeys, headers: &HeaderMap) -> Result<Response, Problem> {
        let is_operator = match bearer(headers) {
            None => false,
            Some(_) => keys.require_role(headers, Role::Viewer).map(|_| true)?,
        };
        Ok(self.answer(is_operator))
    }

    /// Builds the whole answer, for operators.
    #[must_use]
    pub fn whole_answer(self) -> Response {
        self.answer(true)
    }

    fn answer(self, is_whole: bool) -> Response {
        let ready = self.reasons.is_empty();
        let document = Json(ReadinessDocument {
            ready,
            reasons: is_whole.then_some(self.reasons),
            warnings: is_whole.then_some(self.warnings),
        });
        let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        if ready {
            (no_store, document).into_response()
        } else {
            let retry_after = [(header::RETRY_AFTER, RETRY_AFTER_S)];
            let status = StatusCode::SERVICE_UNAVAILABLE;
            (status, no_store, retry_after, document).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn status_and_body(response: Response) -> (u16, serde_json::Value) {
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await;
        let document = serde_json::from_slice(&body.expect("a body"));
        (status, document.expect("JSON"))
    }

    fn shown(key: &str) -> HeaderMap {
        let value = HeaderValue::try_from(format!("Bearer {key}")).expect("a header");
        [(header::AUTHORIZATION, value)].into_iter().collect()
    }

    #[tokio::test]
    async fn only_operators_read_reasons_and_warnings() {
        let mut keys = RoleKeys::default();
        keys.add(Role::Viewer, "viewer");
        keys.add(Role::Door, "door");
        let readiness = || Readiness {
            reasons: vec!["draining".to_owned()],
            warnings: vec!["10.0.0.5 is silent".to_owned()],
        };
        let whole = serde_json::json!({
            "ready": false, "reasons": ["draining"], "warnings": ["10.0.0.5 is silent"],
        });
        let public = readiness().public_answer(&keys, &HeaderMap::new());
        let short = serde_json::json!({"ready": false});
        assert_eq!(
            status_and_body(public.expect("an answer")).await,
            (503, short)
        );
        let viewed = readiness().public_answer(&keys, &shown("viewer"));
        assert_eq!(
            status_and_body(viewed.expect("an answer")).await,
            (503, whole.clone())
        );
        assert_eq!(
            status_and_body(readiness().whole_answer()).await,
            (503, whole)
        );
        for (key, status) in [("door", 403), ("guess", 401)] {
            let refused = readiness().public_answer(&keys, &shown(key));
            assert_eq!(refused.expect_err("no viewer").status, status, "{key}");
        }
        let well = Readiness::default().public_answer(&keys, &HeaderMap::new());
        let short = serde_json::json!({"ready": true});
        assert_eq!(
            status_and_body(well.expect("an answer")).await,
            (200, short)
        );
    }
}

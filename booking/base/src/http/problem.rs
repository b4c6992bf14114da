//! `application/problem+json` (RFC 9457): what happened, what was not changed, what to do.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use crate::retry::BackgroundError;

use super::{ProblemCode, refusal_log, request_id};

/// The maximum number of characters of a name that an answer repeats.
const NAME_SHOWN_MAX: usize = 80;

/// The header that repeats the code, for programs that forward an answer without reading its body.
pub const CODE: HeaderName = HeaderName::from_static("x-fairgate-problem");

/// An error answer. `code` is stable and meant for programs, `detail` is meant for people.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status: the code's own, unless [`Problem::with_status`] set another.
    pub status: StatusCode,
    /// What happened, for programs.
    pub code: ProblemCode,
    /// A short summary: the code's own, unless [`Problem::with_title`] set another.
    pub title: &'static str,
    /// What happened here, what was not changed, what to do.
    pub detail: String,
    /// Further members of the answer that help the caller to act.
    pub extra: Map<String, Value>,
    retry_after_s: Option<u64>,
}

impl Problem {
    /// Makes a problem with the status and the title of its code.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            status: code.status(),
            code,
            title: code.title(),
            detail: detail.into(),
            extra: Map::new(),
            retry_after_s: None,
        }
    }

    /// Makes a 422 `invalid_field`: one field of the input is wrong.
    pub fn invalid_field(field: &str, detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::InvalidField, detail).with_member("field", field)
    }

    /// Makes a 422 `not_available`: the contract has this setting, but this program does not
    /// support it, or it is not configured here.
    pub fn not_available(field: &str, detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::NotAvailable, detail).with_member("field", field)
    }

    /// Makes a 404 `not_found`: there is no `kind` with this name.
    pub fn not_found(kind: &str, name: &str) -> Self {
        let name: String = name.chars().take(NAME_SHOWN_MAX).collect();
        Self::new(
            ProblemCode::NotFound,
            format!("There is no {kind} \"{name}\" here. Nothing was changed. Check the address."),
        )
    }

    /// Makes a 503 `ledger_unavailable`, which says that nothing was changed. Also logs the error.
    /// The log line is at debug level if this outage is in the log already, or if the same fault
    /// was logged within the last minute.
    pub fn ledger_unavailable(error: &impl BackgroundError) -> Self {
        refusal_log::log_refusal(error);
        Self::new(
            ProblemCode::LedgerUnavailable,
            "Your request could not be recorded, so nothing was changed. Try again in a few seconds; your place and your paid orders are kept.",
        )
        .retry_after(2)
    }

    /// Sets another title than the code's own. People can then tell this case from the usual one.
    /// For programs, both cases are the same.
    #[must_use]
    pub fn with_title(mut self, title: &'static str) -> Self {
        self.title = title;
        self
    }

    /// Sets another status than the code's own, for calls that answer with this code but another
    /// status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a member to the answer. A value that cannot be JSON is left out.
    #[must_use]
    pub fn with_member(mut self, key: &str, value: impl serde::Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.extra.insert(key.to_owned(), value);
        }
        self
    }

    /// Adds `Retry-After`, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Returns the JSON document as it is sent.
    #[must_use]
    pub fn json_document(&self) -> Value {
        let mut members = self.extra.clone();
        members.insert(
            "type".into(),
            format!("urn:fairgate:problem:{}", self.code.as_str()).into(),
        );
        members.insert("title".into(), self.title.into());
        members.insert("status".into(), self.status.as_u16().into());
        members.insert("detail".into(), self.detail.clone().into());
        members.insert("code".into(), self.code.as_str().into());
        members.insert("request_id".into(), request_id::current().into());
        if let Some(seconds) = self.retry_after_s {
            members.insert("retry_after_s".into(), seconds.into());
        }
        Value::Object(members)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.json_document().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CODE, HeaderValue::from_static(self.code.as_str()));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<fairgate_databases::LedgerError> for Problem {
    fn from(error: fairgate_databases::LedgerError) -> Self {
        match &error {
            fairgate_databases::LedgerError::Unknown(_) => {
                refusal_log::log_refusal(&error);
                Self::new(
                    ProblemCode::LedgerUnavailable,
                    "Your request was recorded whole or not at all, and the ledger cannot say which at the moment. Send the same request again in a few seconds: it finds what the first one did.",
                )
                .retry_after(2)
            }
            fairgate_databases::LedgerError::Overtaken(change) => {
                tracing::debug!(
                    change,
                    "a request was refused, because of a change that this process reads within a second"
                );
                let detail = format!(
                    "{change}. Nothing was changed by your request. Try again in a second."
                );
                Self::new(ProblemCode::SeatsNotReady, detail).retry_after(1)
            }
            fairgate_databases::LedgerError::SetBack(since) => {
                let detail = format!(
                    "{since}. No seat is sold until that is checked. Nothing was changed by your request, and you have paid nothing for it. What you bought stays yours. Try again later."
                );
                Self::new(ProblemCode::SaleClosedAfterRestore, detail).retry_after(60)
            }
            _ => Self::ledger_unavailable(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(problem: &Problem, expected: (u16, &str, &str)) {
        let sent = problem.json_document();
        let (status, code, title) = expected;
        assert_eq!(
            (&sent["status"], &sent["code"], &sent["title"]),
            (&status.into(), &code.into(), &title.into())
        );
        assert_eq!(sent["type"], format!("urn:fairgate:problem:{code}"));
    }

    #[test]
    fn a_call_that_meets_a_change_is_told_of_the_change_and_not_of_an_outage() {
        let change = "The train has just got other stops".to_owned();
        let problem = Problem::from(fairgate_databases::LedgerError::Overtaken(change));
        let sent = problem.json_document();
        check(
            &problem,
            (503, "seats_not_ready", "The seats are being read"),
        );
        assert_eq!(
            sent["detail"],
            "The train has just got other stops. Nothing was changed by your request. Try again in a second."
        );
        assert_eq!(sent["retry_after_s"], 1);
    }

    #[test]
    fn a_problem_has_the_status_and_title_of_its_code_unless_others_are_set() {
        let usual = Problem::new(ProblemCode::RoomClosed, "It is over.");
        check(&usual, (410, "room_closed", "The room is closed"));
        let other = usual
            .with_status(StatusCode::CONFLICT)
            .with_title("It stays so");
        check(&other, (409, "room_closed", "It stays so"));
    }
}

//! An answer, and what may be expected of it.

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::Value;

/// A whole answer, read.
#[derive(Debug, Clone)]
pub struct TestAnswer {
    /// What was asked, for messages.
    pub asked: String,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl TestAnswer {
    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// When the server did not answer in full, as when it was killed.
    pub async fn of(request: reqwest::RequestBuilder) -> Result<Self, reqwest::Error> {
        let (client, request) = request.build_split();
        let request = request?;
        let asked = format!("{} {}", request.method(), request.url().path());
        let answer = client.execute(request).await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Self {
            asked,
            status,
            headers,
            body: answer.bytes().await?,
        })
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's value; empty where it is not there.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let text = value.and_then(|value| value.to_str().ok());
        text.unwrap_or_default()
    }

    /// The media type of the body.
    #[must_use]
    pub fn media(&self) -> &str {
        self.header("content-type")
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: no JSON ({error}): {}", self.asked, self.text()))
    }

    /// The document of an answer that must have this status; null where it has no document.
    ///
    /// # Panics
    /// When the status is another.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        let told = self.text();
        assert_eq!(self.status, status, "{} answered: {told}", self.asked);
        if self.media().contains("json") && !self.body.is_empty() {
            self.json()
        } else {
            Value::Null
        }
    }

    /// The problem that a refusal must be: whole, with this status and this code.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        if let Some(fault) = self.fault(status, code) {
            panic!("{}: {fault}", self.asked);
        }
        self.json()
    }

    /// The status and the code of a refusal, which must be a whole problem.
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    #[track_caller]
    pub fn refusal(&self) -> (u16, String) {
        let problem = self.json();
        let code = problem["code"].as_str().unwrap_or_default();
        self.problem(self.status, code);
        (self.status, code.to_owned())
    }

    /// What is wrong with the answer as a refusal, if anything.
    #[must_use]
    pub fn fault(&self, status: u16, code: &str) -> Option<String> {
        let shown = format!("{} {}", self.status, self.text());
        if self.status != status {
            return Some(format!("expected {status} {code}, got {shown}"));
        }
        if self.media() != "application/problem+json" {
            return Some(format!("content type {:?} of {shown}", self.media()));
        }
        let problem = self.json();
        if problem["code"] != code || code.is_empty() {
            return Some(format!("expected {status} {code}, got {shown}"));
        }
        if problem["type"] != format!("urn:fairgate:problem:{code}") {
            return Some(format!("the member type differs: {shown}"));
        }
        if problem["status"] != status {
            return Some(format!("the member status differs: {shown}"));
        }
        let members = ["title", "detail", "request_id"];
        let empty = |name: &&&str| problem[**name].as_str().is_none_or(str::is_empty);
        if let Some(name) = members.iter().find(empty) {
            return Some(format!("no member {name}: {shown}"));
        }
        // A person has to act on it: a bare phrase tells neither what was not changed nor what to
        // do.
        let detail = problem["detail"].as_str().unwrap_or_default();
        (detail.split_whitespace().count() < 6)
            .then(|| format!("the detail does not help: {shown}"))
    }
}

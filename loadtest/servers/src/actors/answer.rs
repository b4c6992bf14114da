//! The answer to a call, and what a test can check in it.

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::Value;

/// An answer that was read in full.
#[derive(Debug, Clone)]
pub struct TestAnswer {
    /// The method and the path of the call, for messages.
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
    /// Where the server does not answer in full, for instance because it was killed.
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

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the value of a header, or an empty text if the header is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let text = value.and_then(|value| value.to_str().ok());
        text.unwrap_or_default()
    }

    /// Returns the media type of the body.
    #[must_use]
    pub fn media(&self) -> &str {
        self.header("content-type")
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    /// Where the body is not JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: no JSON ({error}): {}", self.asked, self.text()))
    }

    /// Checks the status. Returns the JSON document of the answer, or null if the answer has none.
    ///
    /// # Panics
    /// Where the answer has another status.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        let body = self.text();
        assert_eq!(self.status, status, "{} answered: {body}", self.asked);
        if self.media().contains("json") && !self.body.is_empty() {
            self.json()
        } else {
            Value::Null
        }
    }

    /// Checks that the answer is a complete problem with this status and code, and returns it.
    ///
    /// # Panics
    /// Where the answer is not such a problem.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        if let Some(fault) = self.fault(status, code) {
            panic!("{}: {fault}", self.asked);
        }
        self.json()
    }

    /// Checks that the answer is a complete problem, and returns its status and code.
    ///
    /// # Panics
    /// Where the answer is not a complete problem.
    #[must_use]
    #[track_caller]
    pub fn refusal(&self) -> (u16, String) {
        let problem = self.json();
        let code = problem["code"].as_str().unwrap_or_default();
        self.problem(self.status, code);
        (self.status, code.to_owned())
    }

    /// Checks whether the answer is a complete problem with this status and code. Returns what is
    /// wrong, or `None` if nothing is wrong.
    #[must_use]
    pub fn fault(&self, status: u16, code: &str) -> Option<String> {
        let summary = format!("{} {}", self.status, self.text());
        if self.status != status {
            return Some(format!("expected {status} {code}, got {summary}"));
        }
        if self.media() != "application/problem+json" {
            return Some(format!("content type {:?} of {summary}", self.media()));
        }
        let problem = self.json();
        if problem["code"] != code || code.is_empty() {
            return Some(format!("expected {status} {code}, got {summary}"));
        }
        if problem["type"] != format!("urn:fairgate:problem:{code}") {
            return Some(format!("the member type differs: {summary}"));
        }
        if problem["status"] != status {
            return Some(format!("the member status differs: {summary}"));
        }
        let members = ["title", "detail", "request_id"];
        let empty = |name: &&&str| problem[**name].as_str().is_none_or(str::is_empty);
        if let Some(name) = members.iter().find(empty) {
            return Some(format!("no member {name}: {summary}"));
        }
        // The detail must tell a person what was not changed and what to do. Fewer than six words
        // cannot say this.
        let detail = problem["detail"].as_str().unwrap_or_default();
        (detail.split_whitespace().count() < 6)
            .then(|| format!("the detail does not help: {summary}"))
    }
}

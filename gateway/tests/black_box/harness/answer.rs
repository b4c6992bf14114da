//! An answer of the server, and what may be expected of it.

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// A whole answer, read.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked, for messages.
    pub asked: String,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
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
            body: answer.bytes().await?.to_vec(),
        })
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: no JSON ({error}): {}", self.asked, self.text()))
    }

    /// The JSON of an answer with this status.
    ///
    /// # Panics
    /// When the status is another.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(
            self.status,
            status,
            "{} answered: {}",
            self.asked,
            self.text()
        );
        if self.body.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// The problem that a refusal must be: its status, its code, and every member that helps.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let fault = self.fault(status, code);
        assert!(
            fault.is_none(),
            "{}: {}",
            self.asked,
            fault.unwrap_or_default()
        );
        self.json()
    }

    /// What is wrong with the answer as a refusal, if anything.
    pub fn fault(&self, status: u16, code: &str) -> Option<String> {
        let shown = format!("{} {}", self.status, self.text());
        if self.status != status {
            return Some(format!("expected {status} {code}, got {shown}"));
        }
        if self.header("content-type") != "application/problem+json" {
            return Some(format!(
                "content type {:?} of {shown}",
                self.header("content-type")
            ));
        }
        let problem = self.json();
        if problem["code"] != code {
            return Some(format!("expected {status} {code}, got {shown}"));
        }
        if problem["status"] != status {
            return Some(format!("the member status differs: {shown}"));
        }
        let members = ["type", "title", "detail", "request_id"];
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

    /// Whether the server asks to come again later, having done nothing.
    pub fn is_put_off(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
            || self.status == StatusCode::TOO_MANY_REQUESTS
            || (self.status == StatusCode::CONFLICT
                && !self.body.is_empty()
                && self.json()["code"] == "idempotency_in_flight")
    }
}

//! Builds the calls that tests send.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;

/// A call: its method, its path, its headers and its body.
#[derive(Debug, Clone)]
pub struct TestCall {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Builds a call without a body.
///
/// # Panics
/// Where `method` is not the name of a method.
#[must_use]
pub fn call(method: &str, path: &str) -> TestCall {
    TestCall {
        method: method.parse().expect("a method"),
        path: path.to_owned(),
        headers: HeaderMap::new(),
        body: Vec::new(),
    }
}

/// Builds a `GET` call.
#[must_use]
pub fn get(path: &str) -> TestCall {
    call("GET", path)
}

/// Builds a `DELETE` call.
#[must_use]
pub fn delete(path: &str) -> TestCall {
    call("DELETE", path)
}

/// Builds a `POST` call with a JSON document.
#[must_use]
pub fn post(path: &str, body: &Value) -> TestCall {
    call("POST", path).json(body)
}

/// Builds a `PATCH` call with a JSON document.
#[must_use]
pub fn patch(path: &str, body: &Value) -> TestCall {
    call("PATCH", path).json(body)
}

/// Builds a `PUT` call with a JSON document.
#[must_use]
pub fn put(path: &str, body: &Value) -> TestCall {
    call("PUT", path).json(body)
}

impl TestCall {
    /// Sets the body to a JSON document.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        let mut call = self.raw(body.to_string());
        let media = HeaderValue::from_static("application/json");
        call.headers.insert(header::CONTENT_TYPE, media);
        call
    }

    /// Sets the body to these bytes, and removes the content type.
    #[must_use]
    pub fn raw(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.headers.remove(header::CONTENT_TYPE);
        let body = body.into();
        Self { body, ..self }
    }

    /// Adds a header.
    ///
    /// # Panics
    /// Where the name or the value is not allowed in a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header's name");
        let value = value.parse().expect("a header's value");
        self.headers.append(name, value);
        self
    }

    /// Adds a pass or a key as the bearer token of the call.
    #[must_use]
    pub fn by(self, who: &(impl AsRef<str> + ?Sized)) -> Self {
        self.header("authorization", &format!("Bearer {}", who.as_ref()))
    }

    /// Adds an `Idempotency-Key`.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }
}

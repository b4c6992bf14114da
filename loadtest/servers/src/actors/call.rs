//! A call in the making.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;

/// A call: its verb, its path, its headers and its body.
#[derive(Debug, Clone)]
pub struct TestCall {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// A call without a body.
///
/// # Panics
/// Where the method is none.
#[must_use]
pub fn call(method: &str, path: &str) -> TestCall {
    TestCall {
        method: method.parse().expect("a method"),
        path: path.to_owned(),
        headers: HeaderMap::new(),
        body: Vec::new(),
    }
}

/// `GET`
#[must_use]
pub fn get(path: &str) -> TestCall {
    call("GET", path)
}

/// `DELETE`
#[must_use]
pub fn delete(path: &str) -> TestCall {
    call("DELETE", path)
}

/// `POST` with a document.
#[must_use]
pub fn post(path: &str, body: &Value) -> TestCall {
    call("POST", path).json(body)
}

/// `PATCH` with a document.
#[must_use]
pub fn patch(path: &str, body: &Value) -> TestCall {
    call("PATCH", path).json(body)
}

/// `PUT` with a document.
#[must_use]
pub fn put(path: &str, body: &Value) -> TestCall {
    call("PUT", path).json(body)
}

impl TestCall {
    /// With a document.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        let mut call = self.raw(body.to_string());
        let media = HeaderValue::from_static("application/json");
        call.headers.insert(header::CONTENT_TYPE, media);
        call
    }

    /// With whatever bytes instead of a document.
    #[must_use]
    pub fn raw(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.headers.remove(header::CONTENT_TYPE);
        let body = body.into();
        Self { body, ..self }
    }

    /// With one header more.
    ///
    /// # Panics
    /// Where it is none.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header's name");
        let value = value.parse().expect("a header's value");
        self.headers.append(name, value);
        self
    }

    /// With a pass or a key.
    #[must_use]
    pub fn by(self, who: &(impl AsRef<str> + ?Sized)) -> Self {
        self.header("authorization", &format!("Bearer {}", who.as_ref()))
    }

    /// With an `Idempotency-Key`.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }
}

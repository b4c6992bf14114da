//! Reads bodies, paths and queries. A wrong field refuses the whole request, and the refusal names
//! the field.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::{Problem, ProblemCode};

/// A JSON body. The refusal of an unknown field or a wrong type names the field, the line and the
/// column. The refusal of bad syntax names the line and the column.
#[derive(Debug, Clone)]
pub struct JsonBody<T>(pub T);

/// A body as text (UTF-8), for formats that are not JSON documents of the contract.
#[derive(Debug, Clone)]
pub struct BodyText(pub String);

/// An unchanged body, for handlers that need its exact bytes.
#[derive(Debug, Clone)]
pub struct BodyBytes(pub Bytes);

/// Parameters of the path. If they cannot be read, the answer is 404 `not_found`.
#[derive(Debug, Clone)]
pub struct PathParams<T>(pub T);

/// Query parameters. A wrong parameter refuses the whole request.
#[derive(Debug, Clone)]
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = read_body(request, state).await?;
        parse_json(&bytes).map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for BodyText {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = read_body(request, state).await?;
        String::from_utf8(bytes.into()).map(Self).map_err(|_| {
            Problem::new(
                ProblemCode::InvalidText,
                "The body must be UTF-8 text. Nothing was changed.",
            )
        })
    }
}

impl<S: Send + Sync> FromRequest<S> for BodyBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        read_body(request, state).await.map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::<T>::from_request_parts(parts, state)
            .await
            .map(|path| Self(path.0))
            .map_err(|_| Problem::not_found("page at", parts.uri.path()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        axum::extract::Query::<T>::try_from_uri(&parts.uri)
            .map(|query| Self(query.0))
            .map_err(|error| {
                Problem::new(
                    ProblemCode::InvalidQuery,
                    format!(
                        "{}. Nothing was changed. Mend the part after \"?\" in the address.",
                        error.body_text()
                    ),
                )
            })
    }
}

async fn read_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Problem::new(
                ProblemCode::BodyTooLarge,
                "The body is larger than this address accepts. Nothing was changed. Send less at once.",
            )
        } else {
            Problem::new(
                ProblemCode::BodyUnreadable,
                "The connection broke or the body's framing is wrong. Nothing was changed. Send it again.",
            )
        }
    })
}

/// Parses a JSON document of the contract.
///
/// # Errors
/// 400 `invalid_json` with line and column for bad syntax; 422 `unknown_field` or `invalid_field`
/// with the field's path.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let empty_object: &[u8] = b"{}";
    let bytes = if bytes.is_empty() {
        empty_object
    } else {
        bytes
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        explain(&path, error.inner())
    })?;
    deserializer.end().map_err(|error| explain(".", &error))?;
    Ok(value)
}

/// A refusal repeats at most this many characters of a field's path and of a message, because both
/// may contain a very long name from the request.
const TOLD_CHARS_MAX: usize = 300;

fn explain(path: &str, error: &serde_json::Error) -> Problem {
    let (line, column) = (error.line(), error.column());
    if !error.is_data() {
        return Problem::new(
            ProblemCode::InvalidJson,
            format!("{error}. Nothing was changed. Send one well-formed JSON document."),
        )
        .with_member("line", line)
        .with_member("column", column);
    }
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let unknown = message
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split('`').next());
    let missing = message
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split('`').next());
    let field = match (unknown.or(missing), path) {
        (Some(name), "." | "?") => name.to_owned(),
        // For an unknown field, the path already ends in its name. For a missing field, it does
        // not.
        (Some(name), path) if path == name || path.ends_with(&format!(".{name}")) => {
            path.to_owned()
        }
        (Some(name), path) => format!("{path}.{name}"),
        (None, "." | "?") => "(the whole body)".to_owned(),
        (None, path) => path.to_owned(),
    };
    let shortened = |text: &str| text.chars().take(TOLD_CHARS_MAX).collect::<String>();
    let (field, message) = (shortened(&field), shortened(message));
    let code = if unknown.is_some() {
        ProblemCode::UnknownField
    } else {
        ProblemCode::InvalidField
    };
    Problem::new(
        code,
        format!("{field}: {message} (line {line}, column {column}). Nothing was changed."),
    )
    .with_member("field", field)
}

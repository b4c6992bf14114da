//! Reads bodies, paths and queries. If one field is wrong, the whole request is refused, and the
//! refusal names the field. The type and the declared length of a body are checked before the body
//! is read.

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::slow_body::is_slow_body;
use super::{Problem, ProblemCode};

/// The longest body, in bytes, that a route takes if it sets no [`BodyBytesMax`].
const BODY_BYTES_MAX: usize = 64 << 10;

/// The longest body, in bytes, that a route takes. A layer of `Extension(BodyBytesMax(…))` sets
/// it for the routes below that layer. The innermost layer wins.
#[derive(Debug, Clone, Copy)]
pub struct BodyBytesMax(pub usize);

/// A JSON body. The refusal of an unknown field or a wrong type names the field, the line and the
/// column. The refusal of bad syntax names the line and the column.
#[derive(Debug, Clone)]
pub struct JsonBody<T>(pub T);

/// The exact bytes of a JSON body, for handlers that compare them with those of an earlier call.
#[derive(Debug, Clone)]
pub struct JsonBytes(pub Bytes);

/// The type of a body or a query that has no fields. Each field of such a body or query is refused.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}

/// A JSON body as text (UTF-8), for documents whose format depends on the query.
#[derive(Debug, Clone)]
pub struct JsonText(pub String);

/// A body as text (UTF-8). The body's type is not checked.
#[derive(Debug, Clone)]
pub struct BodyText(pub String);

/// An unchanged body, for handlers that need its exact bytes.
#[derive(Debug, Clone)]
pub struct BodyBytes(pub Bytes);

/// Parameters of the path. If they cannot be read, the answer is 404 `not_found`.
#[derive(Debug, Clone)]
pub struct PathParams<T>(pub T);

/// Query parameters. If one parameter is wrong, the whole request is refused.
#[derive(Debug, Clone)]
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let JsonBytes(bytes) = JsonBytes::from_request(request, state).await?;
        parse_json(&bytes).map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        check_json_type(&request)?;
        read_body(request).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        check_json_type(&request)?;
        let BodyText(text) = BodyText::from_request(request, state).await?;
        Ok(Self(text))
    }
}

impl<S: Send + Sync> FromRequest<S> for BodyText {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let bytes = read_body(request).await?;
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

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        read_body(request).await.map(Self)
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
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        let deserializer = serde_urlencoded::Deserializer::new(pairs);
        serde_path_to_error::deserialize(deserializer)
            .map(Self)
            .map_err(|error| explain_query(&error.path().to_string(), &error.inner().to_string()))
    }
}

/// Builds the problem for a query that cannot be read. If the value of a known parameter is wrong,
/// the problem names the parameter as its field.
fn explain_query(path: &str, message: &str) -> Problem {
    let is_of_form = ["unknown field", "duplicate field", "missing field"]
        .iter()
        .any(|form| message.starts_with(form));
    let mend = "Nothing was changed. Mend the part after \"?\" in the address.";
    let message = shortened(message);
    if is_of_form || path == "." || path == "?" {
        return Problem::new(ProblemCode::InvalidQuery, format!("{message}. {mend}"));
    }
    let field = shortened(path);
    let detail = format!("{field}: {message}. {mend}");
    Problem::new(ProblemCode::InvalidField, detail).with_member("field", field)
}

fn shortened(text: &str) -> String {
    text.chars().take(REPEATED_CHARS_MAX).collect()
}

/// Refuses a body whose `Content-Type` is not JSON. A page of another site can make a browser send
/// such a body, and the browser does not ask this server first. A body without a type is accepted
/// as JSON.
fn check_json_type(request: &Request) -> Result<(), Problem> {
    let types = request.headers().get_all(header::CONTENT_TYPE);
    if request.body().is_end_stream() || types.iter().all(is_json) {
        return Ok(());
    }
    Err(Problem::new(
        ProblemCode::UnsupportedMediaType,
        "This address takes JSON, but the Content-Type names something else. Nothing was read or changed. Send the body as application/json (curl: -H 'Content-Type: application/json').",
    ))
}

fn is_json(media_type: &HeaderValue) -> bool {
    let text = media_type.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Reads a body. A body that is declared too long is refused before it is read.
async fn read_body(request: Request) -> Result<Bytes, Problem> {
    let limit = request.extensions().get::<BodyBytesMax>();
    let bytes_max = limit.map_or(BODY_BYTES_MAX, |limit| limit.0);
    let declared = declared_length(request.headers());
    if declared.is_some_and(|declared| declared > bytes_max as u64) {
        return Err(body_too_large(bytes_max));
    }
    let read = Limited::new(request.into_body(), bytes_max).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            body_too_large(bytes_max)
        } else if is_slow_body(&*error) {
            Problem::new(
                ProblemCode::TooSlow,
                "The body came so slowly that reading it was given up. Nothing was changed. Send it again over a better connection.",
            )
        } else {
            Problem::new(
                ProblemCode::BodyUnreadable,
                "The connection broke or the body's framing is wrong. Nothing was changed. Send it again.",
            )
        }
    })
}

fn body_too_large(bytes_max: usize) -> Problem {
    Problem::new(
        ProblemCode::BodyTooLarge,
        "The body is larger than this address accepts. Nothing was changed. Send less at once.",
    )
    .with_member("bytes_max", bytes_max)
}

/// Parses a JSON document of the contract.
///
/// # Errors
/// 400 `invalid_json` with line and column for bad syntax. Otherwise 422 `unknown_field` or
/// `invalid_field` with the field's path.
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
const REPEATED_CHARS_MAX: usize = 300;

fn explain(path: &str, error: &serde_json::Error) -> Problem {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    // The parser counts a number that is too large for any type, such as 1e999, as bad syntax.
    if !error.is_data() && message != "number out of range" {
        return Problem::new(
            ProblemCode::InvalidJson,
            format!("{error}. Nothing was changed. Send one well-formed JSON document."),
        )
        .with_member("line", line)
        .with_member("column", column);
    }
    let unknown = message
        .strip_prefix("unknown field `")
        .and_then(|name| name.split('`').next());
    let missing = message
        .strip_prefix("missing field `")
        .and_then(|name| name.split('`').next());
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

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    async fn read(content_type: Option<&str>, body: &'static str) -> Result<String, ProblemCode> {
        let request = Request::builder().extension(BodyBytesMax(4));
        let request = match content_type {
            Some(media_type) => request.header(header::CONTENT_TYPE, media_type),
            None => request,
        };
        let request = request.body(Body::from(body)).expect("a request");
        let read = JsonText::from_request(request, &()).await;
        read.map(|text| text.0).map_err(|problem| problem.code)
    }

    #[tokio::test]
    async fn a_body_is_json_or_says_nothing_of_its_type() {
        for media_type in [
            None,
            Some("application/json"),
            Some("Application/JSON; charset=utf-8"),
            Some("application/geo+json"),
        ] {
            assert_eq!(read(media_type, "{}").await.as_deref(), Ok("{}"));
        }
        for media_type in [
            "application/x-www-form-urlencoded",
            "text/plain",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "",
        ] {
            let refused = Err(ProblemCode::UnsupportedMediaType);
            assert_eq!(read(Some(media_type), "{}").await, refused, "{media_type}");
            assert_eq!(read(Some(media_type), "").await.as_deref(), Ok(""));
        }
    }

    #[test]
    fn a_number_that_no_type_holds_is_refused_by_its_field() {
        #[derive(Debug, serde::Deserialize)]
        struct Pace {
            #[expect(dead_code, reason = "only the refusal matters")]
            per_s: Option<f64>,
        }
        for text in [r#"{"per_s": 1e999}"#, r#"{"per_s": -1e999}"#] {
            let refused = parse_json::<Pace>(text.as_bytes()).expect_err("too large");
            assert_eq!(refused.code, ProblemCode::InvalidField, "{text}");
            assert_eq!(refused.json_document()["field"], "per_s");
        }
        for text in [r#"{"per_s": NaN}"#, r#"{"per_s": Infinity}"#] {
            let refused = parse_json::<Pace>(text.as_bytes()).expect_err("no JSON");
            assert_eq!(refused.code, ProblemCode::InvalidJson, "{text}");
        }
    }

    #[tokio::test]
    async fn a_wrong_value_of_a_parameter_is_refused_by_its_name() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Page {
            #[expect(dead_code, reason = "only the refusal matters")]
            page: Option<u32>,
        }
        let read = async |query: &str| {
            let request = Request::get(format!("/?{query}")).body(Body::empty());
            let (mut parts, _) = request.expect("a request").into_parts();
            let read = QueryParams::<Page>::from_request_parts(&mut parts, &()).await;
            read.map_err(|problem| (problem.code, problem.json_document()["field"].clone()))
        };
        for wrong in ["-1", "1.5", "nan", "inf", "99999999999", ""] {
            let refused = read(&format!("page={wrong}")).await.expect_err("wrong");
            assert_eq!(
                refused,
                (ProblemCode::InvalidField, "page".into()),
                "{wrong}"
            );
        }
        for form in ["colour=red", "page=1&page=2"] {
            let (code, _) = read(form).await.expect_err("wrong");
            assert_eq!(code, ProblemCode::InvalidQuery, "{form}");
        }
        assert!(read("page=2").await.is_ok() && read("").await.is_ok());
    }

    #[tokio::test]
    async fn a_body_that_is_declared_too_long_is_refused_unread() {
        let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let request = Request::builder()
            .header(header::CONTENT_LENGTH, "5")
            .extension(BodyBytesMax(4));
        let request = request.body(Body::from_stream(never)).expect("a request");
        let refused = BodyBytes::from_request(request, &()).await;
        assert_eq!(
            refused.expect_err("too long").code,
            ProblemCode::BodyTooLarge
        );
        assert_eq!(read(None, "12345").await, Err(ProblemCode::BodyTooLarge));
    }
}

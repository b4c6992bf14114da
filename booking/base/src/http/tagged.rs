//! Large answers with tags. While a tag stays the same, its answer stays the same. Each answer is
//! encoded once and compressed once, on a thread for blocking work, and all clients share the
//! bytes.

use std::io::Write;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::shared_bodies::SharedBodies;

/// Shorter bodies are not compressed.
const BYTES_MIN: u64 = 1 << 10;
/// Longer bodies are not compressed.
const BYTES_MAX: u64 = 32 << 20;
/// The maximum number of bytes of compressed answers that are kept.
const KEPT_BYTES_MAX: u64 = 64 << 20;
/// The end of a compressed answer's tag. The tag differs from the plain answer's, because the bytes
/// differ.
const ZIPPED: &str = "-gz\"";

/// An extension of a response. It marks a tagged answer that the next change will replace. Such an
/// answer is compressed quickly, because few clients ask for each version.
#[derive(Debug, Clone, Copy)]
pub struct SoonReplaced;

/// An answer that stays the same as long as its tag stays the same.
#[derive(Debug, Clone)]
pub struct TaggedAnswer {
    /// The media type.
    pub media_type: &'static str,
    /// The strong tag, with its quotes.
    pub etag: String,
    /// How long clients and proxies may keep the answer.
    pub cache_control: &'static str,
    /// The whole body.
    pub body: Bytes,
}

impl TaggedAnswer {
    /// Answers a request. The answer is 304 if the client has this body already.
    #[must_use]
    pub fn respond(self, request: &HeaderMap) -> Response {
        let known = request.get_all(header::IF_NONE_MATCH).iter();
        let is_known = known
            .filter_map(|tags| tags.to_str().ok())
            .flat_map(|tags| tags.split(','))
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == self.etag || tag == "*");
        let etag = HeaderValue::from_str(&self.etag);
        let headers = [
            (
                header::ETAG,
                etag.unwrap_or(HeaderValue::from_static("\"\"")),
            ),
            (
                header::CACHE_CONTROL,
                HeaderValue::from_static(self.cache_control),
            ),
        ];
        if is_known {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let media_type = [(header::CONTENT_TYPE, self.media_type)];
        (headers, media_type, self.body).into_response()
    }
}

/// Encodes a description of all calls, and returns it as a tagged answer.
#[must_use]
pub fn api_document(document: &impl serde::Serialize) -> TaggedAnswer {
    let body = serde_json::to_vec(document).unwrap_or_default();
    TaggedAnswer {
        media_type: "application/json",
        etag: format!("\"{}\"", hex::encode(&Sha256::digest(&body)[..12])),
        cache_control: "no-cache",
        body: body.into(),
    }
}

/// Returns whether an answer may be compressed each time it is sent. The answer must have no tag
/// (an answer with a tag is compressed once for all clients), and its type must be compressible.
pub fn is_compressed_each_time(
    _status: StatusCode,
    _version: Version,
    headers: &HeaderMap,
    _extensions: &axum::http::Extensions,
) -> bool {
    !headers.contains_key(header::ETAG) && is_compressible(headers)
}

/// Returns whether bodies of this type are compressed. Pictures, except SVG, and binary data are
/// sent as they are.
fn is_compressible(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE);
    media_type
        .and_then(|media_type| media_type.to_str().ok())
        .is_some_and(|media_type| {
            !media_type.starts_with("application/octet-stream")
                && (!media_type.starts_with("image/") || media_type.starts_with("image/svg"))
        })
}

/// The compressed bodies of tagged answers, up to [`KEPT_BYTES_MAX`]. Cheap to clone.
#[derive(Clone)]
pub struct CompressedAnswers {
    bodies: SharedBodies,
}

impl Default for CompressedAnswers {
    fn default() -> Self {
        Self {
            bodies: SharedBodies::up_to(KEPT_BYTES_MAX),
        }
    }
}

/// Returns the bytes as gzip, or `None` if that is no shorter.
fn gzip(plain: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(plain).ok()?;
    let zipped = encoder.finish().ok()?;
    (zipped.len() < plain.len()).then_some(zipped)
}

/// Sends tagged answers compressed to clients that take gzip. Each is compressed once.
pub async fn compress_tagged_answers(
    State(answers): State<CompressedAnswers>,
    mut request: Request,
    next: Next,
) -> Response {
    let wants_gzip = request.method() == Method::GET && takes_gzip(request.headers());
    let known = replace_zipped_tags(request.headers_mut());
    let mut response = next.run(request).await;
    let Some(etag) = response.headers().get(header::ETAG).cloned() else {
        return response;
    };
    vary_by_encoding(response.headers_mut());
    let Some(zipped_etag) = zipped_tag(&etag) else {
        return response;
    };
    if response.status() == StatusCode::NOT_MODIFIED {
        if known.is_some_and(|known| known.contains(zipped_etag.to_str().unwrap_or_default())) {
            response.headers_mut().insert(header::ETAG, zipped_etag);
        }
        return response;
    }
    let length = response.body().size_hint().exact();
    let is_suitable = response.status() == StatusCode::OK
        && !response.headers().contains_key(header::CONTENT_ENCODING)
        && is_compressible(response.headers())
        && length.is_some_and(|length| (BYTES_MIN..=BYTES_MAX).contains(&length));
    if !wants_gzip || !is_suitable {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let is_soon_replaced = parts.extensions.get::<SoonReplaced>().is_some();
    let level = if is_soon_replaced {
        Compression::fast()
    } else {
        Compression::best()
    };
    let Ok(plain) = to_bytes(body, BYTES_MAX as usize).await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    // Answers with the same tag have the same body, so two spellings of one address share one
    // entry.
    let key = etag.to_str().unwrap_or_default().to_owned();
    let shared = plain.clone();
    let zip = move || gzip(&shared, level);
    let Some(zipped) = answers.bodies.find_or_make(key, zip).await else {
        return Response::from_parts(parts, Body::from(plain));
    };
    let gzip = HeaderValue::from_static("gzip");
    parts.headers.insert(header::CONTENT_ENCODING, gzip);
    parts.headers.insert(header::ETAG, zipped_etag);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(zipped))
}

/// Returns whether a client takes gzip. `*` counts only if the header does not name gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::ACCEPT_ENCODING).iter();
    let (mut gzip, mut any) = (None, None);
    for coding in codings
        .filter_map(|codings| codings.to_str().ok())
        .flat_map(|codings| codings.split(','))
    {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches("q=").parse();
        let is_taken = weight.is_ok_and(|weight: f32| weight > 0.0);
        match name.trim() {
            "*" => any = Some(is_taken),
            name if name.eq_ignore_ascii_case("gzip") => gzip = Some(is_taken),
            _ => {}
        }
    }
    gzip.or(any).unwrap_or(false)
}

/// Replaces the tags of compressed answers by the tags of the plain answers, because handlers know
/// only the plain ones. Returns the tags as the client sent them.
fn replace_zipped_tags(headers: &mut HeaderMap) -> Option<String> {
    let known = headers
        .get(header::IF_NONE_MATCH)?
        .to_str()
        .ok()?
        .to_owned();
    let plain = HeaderValue::from_str(&known.replace(ZIPPED, "\"")).ok()?;
    headers.insert(header::IF_NONE_MATCH, plain);
    Some(known)
}

/// Returns the tag of the compressed answer. Returns `None` if the tag is weak or already belongs
/// to a compressed answer.
fn zipped_tag(etag: &HeaderValue) -> Option<HeaderValue> {
    let text = etag.to_str().ok()?;
    let plain = text.strip_prefix('"')?.strip_suffix('"')?;
    if text.ends_with(ZIPPED) {
        return None;
    }
    HeaderValue::from_str(&format!("\"{plain}{ZIPPED}")).ok()
}

fn vary_by_encoding(headers: &mut HeaderMap) {
    let mut named = headers.get_all(header::VARY).iter();
    let is_named = named.any(|name| {
        name.to_str()
            .is_ok_and(|name| name.to_ascii_lowercase().contains("accept-encoding"))
    });
    if !is_named {
        let encoding = HeaderValue::from_static("accept-encoding");
        headers.append(header::VARY, encoding);
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    fn large(etag: &str) -> TaggedAnswer {
        TaggedAnswer {
            media_type: "application/json",
            etag: etag.to_owned(),
            cache_control: "public",
            body: vec![b'1'; 5_000].into(),
        }
    }

    async fn ask(answers: &CompressedAnswers, headers: &[(&str, &str)]) -> Response {
        let router = Router::new()
            .route(
                "/large",
                get(async |headers: HeaderMap| large("\"one\"").respond(&headers)),
            )
            .layer(from_fn_with_state(answers.clone(), compress_tagged_answers));
        let request = Request::builder().uri("/large");
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let request = request.body(Body::empty()).expect("a request");
        router.oneshot(request).await.expect("an answer")
    }

    fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
        let value = answer.headers().get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }

    #[tokio::test]
    async fn a_large_answer_is_compressed_once_for_clients_that_take_it() {
        let answers = CompressedAnswers::default();
        for coding in ["gzip", "br, GZIP;q=0.5", "*"] {
            let zipped = ask(&answers, &[("accept-encoding", coding)]).await;
            assert_eq!(header(&zipped, "content-encoding"), "gzip", "{coding}");
            assert_eq!(header(&zipped, "etag"), "\"one-gz\"");
            assert_eq!(header(&zipped, "vary"), "accept-encoding");
            let length = zipped.body().size_hint().exact();
            assert!(length.is_some_and(|length| length < 100), "{length:?}");
        }
        for coding in ["br", "gzip;q=0", "gzip;q=0, *", "*, gzip;q=0", ""] {
            let plain = ask(&answers, &[("accept-encoding", coding)]).await;
            assert_eq!(header(&plain, "content-encoding"), "", "{coding}");
            assert_eq!(header(&plain, "etag"), "\"one\"");
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_soon_replaced_is_compressed_quickly() {
        let numbers: Vec<u8> = (0..40_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_string().into_bytes())
            .collect();
        let lengths = [Compression::fast(), Compression::best()]
            .map(|level| gzip(&numbers, level).expect("it becomes shorter").len() as u64);
        assert!(lengths[0] > lengths[1], "{lengths:?}");
        for (is_soon_replaced, expected) in [(true, lengths[0]), (false, lengths[1])] {
            let numbers = Bytes::from(numbers.clone());
            let answer = async move || {
                let mut answer = large("\"numbers\"");
                answer.body = numbers;
                let mut answer = answer.respond(&HeaderMap::new());
                if is_soon_replaced {
                    answer.extensions_mut().insert(SoonReplaced);
                }
                answer
            };
            let compress =
                from_fn_with_state(CompressedAnswers::default(), compress_tagged_answers);
            let router = Router::new().route("/numbers", get(answer)).layer(compress);
            let request = Request::builder()
                .uri("/numbers")
                .header("accept-encoding", "gzip");
            let request = request.body(Body::empty()).expect("a request");
            let answer = router.oneshot(request).await.expect("an answer");
            assert_eq!(answer.body().size_hint().exact(), Some(expected));
        }
    }

    #[tokio::test]
    async fn a_client_that_has_the_answer_is_told_so_under_the_tag_that_it_has() {
        let answers = CompressedAnswers::default();
        for (known, told) in [
            ("\"one\"", "\"one\""),
            ("\"one-gz\"", "\"one-gz\""),
            ("\"old\", W/\"one\"", "\"one\""),
        ] {
            let same = ask(&answers, &[("if-none-match", known)]).await;
            assert_eq!(same.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(header(&same, "etag"), told);
        }
        let other = ask(&answers, &[("if-none-match", "\"other\"")]).await;
        assert_eq!(other.status(), StatusCode::OK);
    }
}

//! Answers that many clients share. Each is made once, compressed once, and kept for as long as
//! there is room. The key of an answer names everything that the answer depends on, so a kept
//! answer is never out of date.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use quick_cache::Weighter;
use sha2::{Digest, Sha256};

use super::byte_cache::{ByteCache, byte_cache};
use super::tagged::{SoonReplaced, TaggedAnswer};
use super::{Problem, ProblemCode};

/// The expected mean length of an answer, in bytes. It determines for how many answers space is
/// reserved at first.
const BYTES_MEAN: u64 = 32 << 10;

/// An answer for every client who asks for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedAnswer {
    media_type: &'static str,
    cache_control: &'static str,
    etag: String,
    body: Bytes,
}

impl SharedAnswer {
    /// Makes an answer whose tag is a digest of its body. `cache_control` says how long clients may
    /// use it without asking again.
    #[must_use]
    pub fn new(media_type: &'static str, cache_control: &'static str, body: Vec<u8>) -> Self {
        let digest = Sha256::digest(&body);
        Self {
            media_type,
            cache_control,
            etag: format!("\"{}\"", hex::encode(&digest[..12])),
            body: body.into(),
        }
    }

    /// Makes an answer of a document, as JSON.
    ///
    /// # Errors
    /// 500 if the document cannot be written.
    pub fn json(
        document: &impl serde::Serialize,
        cache_control: &'static str,
    ) -> Result<Self, Problem> {
        let body = serde_json::to_vec(document).map_err(|error| {
            tracing::error!(%error, "a list could not be written as JSON");
            Problem::new(
                ProblemCode::Internal,
                "The list could not be written. Nothing was changed. Ask again.",
            )
            .with_title("Something broke here")
        })?;
        Ok(Self::new("application/json", cache_control, body))
    }

    /// Makes an answer of an HTML page. A browser asks whether the page has changed each time.
    #[must_use]
    pub fn page(html: String) -> Self {
        Self::new("text/html; charset=utf-8", "no-cache", html.into_bytes())
    }

    /// Answers a request, with 304 if the client has this answer already.
    #[must_use]
    pub fn respond(&self, request: &HeaderMap) -> Response {
        let answer = TaggedAnswer {
            media_type: self.media_type,
            etag: self.etag.clone(),
            cache_control: self.cache_control,
            body: self.body.clone(),
        };
        let mut response = answer.respond(request);
        response.extensions_mut().insert(SoonReplaced);
        response
    }
}

/// Answers by key. Cheap to clone. The sum of their lengths has a limit.
#[derive(Clone)]
pub struct SharedAnswers {
    cache: ByteCache<Arc<SharedAnswer>, AnswerLength>,
}

/// Counts the bytes of an answer and its key.
#[derive(Debug, Clone, Copy)]
struct AnswerLength;

impl Weighter<String, Arc<SharedAnswer>> for AnswerLength {
    fn weight(&self, key: &String, answer: &Arc<SharedAnswer>) -> u64 {
        (key.len() + answer.body.len()) as u64
    }
}

impl SharedAnswers {
    /// Makes an empty set of answers that keeps at most this many bytes.
    #[must_use]
    pub fn up_to(bytes: u64) -> Self {
        Self {
            cache: byte_cache(bytes, BYTES_MEAN, AnswerLength),
        }
    }

    /// Returns the answer of this key. If there is none yet, `make` makes it. If several clients
    /// ask at once, only one `make` runs at a time, and the others wait for its answer.
    ///
    /// # Errors
    /// The error of `make`. Nothing is kept then.
    pub async fn find_or_make<E>(
        &self,
        key: String,
        make: impl Future<Output = Result<SharedAnswer, E>>,
    ) -> Result<Arc<SharedAnswer>, E> {
        if let Some(answer) = self.cache.get(&key) {
            return Ok(answer);
        }
        let make = async { make.await.map(Arc::new) };
        self.cache.get_or_insert_async(&key, make).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::{StatusCode, header};
    use futures_util::future::join_all;

    use super::*;

    fn answer(body: &[u8]) -> SharedAnswer {
        SharedAnswer::new("application/json", "no-cache", body.to_vec())
    }

    #[tokio::test]
    async fn clients_who_ask_at_once_share_one_answer_and_an_error_is_not_kept() {
        let (answers, made) = (SharedAnswers::up_to(1 << 20), AtomicUsize::new(0));
        let failed = answers.find_or_make("one".to_owned(), async { Err("away") });
        assert_eq!(failed.await, Err("away"));
        let ask = |_| {
            answers.find_or_make("one".to_owned(), async {
                tokio::task::yield_now().await;
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, &str>(answer(b"{}"))
            })
        };
        let all = join_all((0..20).map(ask)).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_client_that_has_the_answer_gets_304_and_another_body_has_another_tag() {
        let first = answer(b"one").respond(&HeaderMap::new());
        let tag = first.headers()[header::ETAG].clone();
        let known: HeaderMap = [(header::IF_NONE_MATCH, tag)].into_iter().collect();
        let status = |body: &[u8]| answer(body).respond(&known).status();
        assert_eq!(status(b"one"), StatusCode::NOT_MODIFIED);
        assert_eq!(status(b"two"), StatusCode::OK);
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_kept() {
        let answers = SharedAnswers::up_to(10_000);
        for n in 0..50_u32 {
            let made = answers.find_or_make(format!("{n}"), async {
                Ok::<_, &str>(answer(&[b' '; 1_000]))
            });
            made.await.expect("it is made");
        }
        assert!(answers.cache.weight() <= 10_000);
    }
}

//! Bodies that all clients share. Each body is made once, on a thread for blocking work. The bodies
//! that are used most often are kept.

use std::sync::Arc;

use axum::body::Bytes;
use quick_cache::Weighter;

use super::byte_cache::{ByteCache, byte_cache};

/// The expected mean length of a body, in bytes. It determines for how many bodies space is
/// reserved at first.
const BYTES_MEAN: u64 = 64 << 10;

/// Bodies by key. Cheap to clone. The sum of the bodies' lengths has a limit. A body longer than
/// the limit is made again for each client.
#[derive(Clone)]
pub struct SharedBodies {
    cache: ByteCache<Option<Bytes>, BodyLength>,
}

/// Counts the bytes of a body and its key.
#[derive(Debug, Clone, Copy)]
struct BodyLength;

impl Weighter<String, Option<Bytes>> for BodyLength {
    fn weight(&self, key: &String, body: &Option<Bytes>) -> u64 {
        (key.len() + body.as_ref().map_or(0, Bytes::len)) as u64
    }
}

impl SharedBodies {
    /// Makes an empty set of bodies that keeps at most this many bytes.
    #[must_use]
    pub fn up_to(bytes: u64) -> Self {
        Self {
            cache: byte_cache(bytes, BYTES_MEAN, BodyLength),
        }
    }

    /// Returns the body of this key. If there is no body yet, `make` makes one, which is kept. If
    /// several clients ask at once, only the first client's `make` runs, and the others wait for
    /// its body. `make` runs to its end even if that client hangs up. Otherwise clients who hang up
    /// would make the same body again and again.
    pub async fn find_or_make(
        &self,
        key: String,
        make: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) -> Option<Bytes> {
        if let Some(body) = self.cache.get(&key) {
            return body;
        }
        let cache = Arc::clone(&self.cache);
        let finish = tokio::spawn(async move {
            let made = async {
                let made = tokio::task::spawn_blocking(make).await?;
                Ok::<_, tokio::task::JoinError>(made.map(Bytes::from))
            };
            cache.get_or_insert_async(&key, made).await.ok().flatten()
        });
        finish.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn clients_who_ask_at_once_share_one_body() {
        let (bodies, made) = (SharedBodies::up_to(1 << 20), Arc::new(AtomicUsize::new(0)));
        let ask = |_| {
            let made = Arc::clone(&made);
            bodies.find_or_make("one".to_owned(), move || {
                made.fetch_add(1, Ordering::Relaxed);
                Some(b"body".to_vec())
            })
        };
        let answers = futures_util::future::join_all((0..20).map(ask)).await;
        assert!(answers.iter().all(|body| body.as_deref() == Some(b"body")));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_body_is_finished_and_kept_if_its_client_hangs_up() {
        let bodies = SharedBodies::up_to(1 << 20);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (finish, finishes) = mpsc::channel::<()>();
        let first = bodies.clone();
        let client = tokio::spawn(async move {
            let make = move || {
                begun.send(()).ok()?;
                finishes.recv().ok()?;
                Some(b"first".to_vec())
            };
            first.find_or_make("one".to_owned(), make).await
        });
        begins.await.expect("the body is begun");
        client.abort();
        assert!(client.await.expect_err("it hung up").is_cancelled());
        finish.send(()).expect("it is still being made");
        let second = bodies.find_or_make("one".to_owned(), || Some(b"second".to_vec()));
        assert_eq!(second.await.as_deref(), Some(b"first".as_slice()));
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_kept() {
        let bodies = SharedBodies::up_to(10_000);
        for n in 0..50 {
            let body = bodies.find_or_make(format!("{n}"), || Some(vec![0; 1_000]));
            assert_eq!(body.await.map(|body| body.len()), Some(1_000));
        }
        assert!(bodies.cache.weight() <= 10_000, "{}", bodies.cache.weight());
        assert!(bodies.cache.len() >= 5, "{}", bodies.cache.len());
    }
}

//! Threads for searches. A search may take some milliseconds, so it runs on a thread for blocking
//! work. Only a few searches run at once, so that they never take all processors from other work.
//! A [`SearchQueue`] also limits how many callers wait.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Runs searches, at most on half of the processors. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SearchThreads {
    permits: Arc<Semaphore>,
}

impl Default for SearchThreads {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self {
            permits: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }
}

impl SearchThreads {
    /// Runs a search as soon as a thread is free. If the caller hangs up before that, the search
    /// does not run.
    ///
    /// # Panics
    /// Panics if the search panics.
    pub async fn run<T: Send + 'static>(&self, search: impl FnOnce() -> T + Send + 'static) -> T {
        let permit = self.permit().await;
        run_with(permit, search).await
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        let permits = Arc::clone(&self.permits);
        permits.acquire_owned().await.expect("it is never closed")
    }
}

/// Runs a search on a thread for blocking work, and gives back what it holds when it has ended.
async fn run_with<T: Send + 'static>(
    held: impl Send + 'static,
    search: impl FnOnce() -> T + Send + 'static,
) -> T {
    let run = move || {
        let found = search();
        drop(held);
        found
    };
    match tokio::task::spawn_blocking(run).await {
        Ok(found) => found,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The callers that wait for search threads. If too many wait, further callers are refused at once.
/// Several queues may lead to the same threads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SearchQueue {
    threads: SearchThreads,
    places: Arc<Semaphore>,
}

/// As many callers wait for a search thread as may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many callers wait for a search thread")]
pub struct SearchQueueFull;

/// A search thread that is free for one search.
#[derive(Debug)]
pub struct SearchTurn {
    held: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl SearchQueue {
    /// Makes a queue for these threads. At most `callers_max` callers wait in it or search.
    #[must_use]
    pub fn new(threads: SearchThreads, callers_max: usize) -> Self {
        Self {
            threads,
            places: Arc::new(Semaphore::new(callers_max)),
        }
    }

    /// Waits until a thread is free. Callers take turns in the order in which they came.
    ///
    /// # Errors
    /// [`SearchQueueFull`] if too many callers wait. This is known at once.
    pub async fn turn(&self) -> Result<SearchTurn, SearchQueueFull> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| SearchQueueFull)?;
        Ok(SearchTurn {
            held: (place, self.threads.permit().await),
        })
    }
}

impl SearchTurn {
    /// Runs the search.
    ///
    /// # Panics
    /// Panics if the search panics.
    pub async fn run<T: Send + 'static>(self, search: impl FnOnce() -> T + Send + 'static) -> T {
        run_with(self.held, search).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn searches_never_take_more_than_half_of_the_processors() {
        let threads = SearchThreads::default();
        let most = threads.permits.available_permits();
        let running = Arc::new(AtomicUsize::new(0));
        let search = |_| {
            let running = Arc::clone(&running);
            threads.run(move || {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                std::thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                now
            })
        };
        let at_once = join_all((0..200).map(search)).await;
        assert!(at_once.iter().all(|now| *now <= most), "{at_once:?}");
        assert_eq!(threads.permits.available_permits(), most);
    }
    #[tokio::test]
    async fn a_queue_refuses_at_once_whoever_comes_when_too_many_wait() {
        let one_thread = SearchThreads {
            permits: Arc::new(Semaphore::new(1)),
        };
        let queue = SearchQueue::new(one_thread, 3);
        let first = queue.turn().await.expect("nobody waits");
        let mut second = Box::pin(queue.turn());
        let mut third = Box::pin(queue.turn());
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut third).is_pending());
        assert_eq!(queue.turn().await.err(), Some(SearchQueueFull));
        assert_eq!(first.run(|| 7).await, 7);
        let second = second.await.expect("it has waited");
        drop(third);
        assert_eq!(second.run(|| 8).await, 8);
        queue.turn().await.expect("a place is free again");
    }
}

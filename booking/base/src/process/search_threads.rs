//! Threads for searches. A search may take some milliseconds, so it runs on a thread for blocking
//! work. Only a few searches run at once, so that they never take all processors from other work.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

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
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let run = move || {
            let found = search();
            drop(permit);
            found
        };
        match tokio::task::spawn_blocking(run).await {
            Ok(found) => found,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
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
}

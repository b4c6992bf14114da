//! Limits how many sockets this process has open at once. The limit is below the number of files
//! that the process may open, so that some are left for HTTP calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairgate_base::process::connections::open_files_max;
use rand::RngExt;

/// The count of open sockets; a cheap handle.
#[derive(Clone, Debug)]
pub struct SocketLimit {
    inner: Arc<SocketLimitState>,
}

#[derive(Debug)]
struct SocketLimitState {
    max: usize,
    open: AtomicUsize,
}

/// The refusal of a socket because this process already has as many as are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this process has as many open sockets as it may have; try again in {wait_s} s")]
pub struct TooManySockets {
    /// Seconds until the client should try again. They are random, so that clients do not come back
    /// at the same time.
    pub wait_s: u64,
}

/// The right to keep one socket open. Dropping it gives the right back.
#[derive(Debug)]
pub struct SocketPermit {
    inner: Arc<SocketLimitState>,
}

impl SocketLimit {
    /// Allows at most `wanted` sockets, and at most three quarters of the files that the public
    /// port of this process may use. The port may use all files that the process may open, or half
    /// of them if the process also guards a shop.
    #[must_use]
    pub fn new(wanted: usize, guards_shop: bool) -> Self {
        let ports = if guards_shop { 2 } else { 1 };
        let max = open_files_max().map_or(wanted, |files| wanted.min(files / ports / 4 * 3));
        if max < wanted {
            tracing::warn!(
                wanted,
                max,
                "this process may not open enough files for so many sockets; raise its limit (ulimit -n)"
            );
        }
        Self {
            inner: Arc::new(SocketLimitState {
                max,
                open: AtomicUsize::new(0),
            }),
        }
    }

    /// Takes the right to one socket.
    ///
    /// # Errors
    /// Returns [`TooManySockets`] if as many sockets are open as are allowed.
    pub fn acquire(&self) -> Result<SocketPermit, TooManySockets> {
        let reserved = self
            .inner
            .open
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |open| {
                (open < self.inner.max).then_some(open + 1)
            });
        if reserved.is_ok() {
            return Ok(SocketPermit {
                inner: Arc::clone(&self.inner),
            });
        }
        metrics::counter!("fairgate_shed_total", "what" => "sockets").increment(1);
        let wait_s = rand::rng().random_range(15..45);
        Err(TooManySockets { wait_s })
    }
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        self.inner.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_over_the_limit_is_refused_until_another_one_closes() {
        let limit = SocketLimit::new(2, false);
        let (one, _other) = (
            limit.acquire().expect("free"),
            limit.acquire().expect("free"),
        );
        let refusal = limit.acquire().expect_err("full");
        assert!(refusal.wait_s >= 15, "{refusal:?}");
        drop(one);
        assert!(limit.acquire().is_ok());
    }
}

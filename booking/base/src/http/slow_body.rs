//! Gives up a body that comes too slowly, and notes when a body last made progress. An upload that
//! makes steady progress is never cut, however long it takes.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use rand::RngExt;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// A body makes progress each time this many more bytes of it have come. A client that sends single
/// bytes is too slow to make progress.
const STEP_BYTES: usize = 4 << 10;
/// A reader waits at least this long for a client before it gives up a body without progress.
const WAIT_MAX: Duration = Duration::from_secs(15);
/// A random time of up to this many milliseconds is added to [`WAIT_MAX`]. Without it, many slow
/// bodies that began together would all end in one moment, which would delay everybody else.
const WAIT_SPREAD_MS: u64 = 5_000;

/// A body was given up because it made no progress for too long.
#[derive(Debug, thiserror::Error)]
#[error("the body came too slowly")]
struct SlowBody;

/// Returns whether a body could not be read because it came too slowly.
pub(super) fn is_slow_body(mut error: &(dyn Error + 'static)) -> bool {
    loop {
        if error.is::<SlowBody>() {
            return true;
        }
        match error.source() {
            Some(source) => error = source,
            None => return false,
        }
    }
}

/// Knows when the body of a request last made progress. Cheap to clone. Each request has one among
/// its extensions.
#[derive(Debug, Clone)]
pub struct BodyProgress {
    began: Instant,
    /// Milliseconds after `began`.
    progress_ms: Arc<AtomicU64>,
}

impl BodyProgress {
    /// Begins to count now.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            progress_ms: Arc::default(),
        }
    }

    /// Returns the moment of the last progress.
    pub(super) fn last(&self) -> Instant {
        self.began + Duration::from_millis(self.progress_ms.load(Ordering::Relaxed))
    }

    /// Waits until the body has made no progress for the time `max`.
    pub async fn stopped_for(&self, max: Duration) {
        loop {
            let until = self.last() + max;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }

    /// Notes that the body makes progress now.
    pub fn mark(&self) {
        let elapsed_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress_ms.store(elapsed_ms, Ordering::Relaxed);
    }
}

/// How much longer a reader waits for a client. This type reads no clock.
#[derive(Debug)]
struct WaitBudget {
    max: Duration,
    remaining: Duration,
    /// Bytes since the last progress.
    bytes: usize,
}

impl WaitBudget {
    fn new(max: Duration) -> Self {
        Self {
            max,
            remaining: max,
            bytes: 0,
        }
    }

    /// Notes that bytes arrived after a wait. Returns whether that is progress.
    fn note_arrival(&mut self, waited: Duration, bytes: usize) -> bool {
        self.remaining = self.remaining.saturating_sub(waited);
        self.bytes += bytes;
        let is_progress = self.bytes >= STEP_BYTES;
        if is_progress {
            (self.bytes, self.remaining) = (0, self.max);
        }
        is_progress
    }
}

/// A request's body that fails if its client is too slow. Only the time in which the reader waits
/// for the client counts.
pub(super) struct TimedBody {
    body: Body,
    progress: BodyProgress,
    budget: WaitBudget,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl TimedBody {
    pub(super) fn new(body: Body, progress: BodyProgress) -> Self {
        let spread = Duration::from_millis(rand::rng().random_range(0..WAIT_SPREAD_MS));
        Self::with_wait(body, progress, WAIT_MAX + spread)
    }

    fn with_wait(body: Body, progress: BodyProgress, wait_max: Duration) -> Self {
        Self {
            body,
            progress,
            budget: WaitBudget::new(wait_max),
            waiting: None,
        }
    }

    fn note_arrival(&mut self, bytes: usize) {
        let waited = self.waiting.take();
        let waited = waited.map_or(Duration::ZERO, |(since, _)| since.elapsed());
        if self.budget.note_arrival(waited, bytes) {
            self.progress.mark();
        }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(arrived) = Pin::new(&mut this.body).poll_frame(cx) {
            match &arrived {
                Some(Ok(frame)) => this.note_arrival(frame.data_ref().map_or(0, Bytes::len)),
                None | Some(Err(_)) => this.progress.mark(),
            }
            return Poll::Ready(arrived);
        }
        let remaining = this.budget.remaining;
        let (_, wait) = this
            .waiting
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(remaining))));
        ready!(wait.as_mut().poll(cx));
        Poll::Ready(Some(Err(axum::Error::new(SlowBody))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_byte_a_second_runs_out_of_time_and_a_steady_upload_never_does() {
        let mut single = WaitBudget::new(WAIT_MAX);
        for _ in 0..15 {
            assert!(single.remaining > Duration::ZERO);
            assert!(!single.note_arrival(SECOND, 1));
        }
        assert_eq!(single.remaining, Duration::ZERO);
        let mut steady = WaitBudget::new(WAIT_MAX);
        for _ in 0..10_000 {
            steady.note_arrival(SECOND, 400);
            assert!(steady.remaining > Duration::ZERO);
        }
    }

    #[tokio::test]
    async fn a_body_that_stops_is_given_up_with_the_reason() {
        let first = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
        let never = futures_util::stream::pending();
        let body = Body::from_stream(futures_util::StreamExt::chain(first, never));
        let body = TimedBody::with_wait(body, BodyProgress::begin(), Duration::from_millis(1));
        let error = Body::new(body).collect().await.expect_err("it never ends");
        assert!(is_slow_body(&error), "{error}");
        assert!(!is_slow_body(&std::io::Error::other("broken")));
    }
}

//! The source of `now`: the ledger's clock if several processes share a ledger, otherwise the
//! system's clock. Tests use a clock that they set by hand.

mod follow;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use follow::FollowedClock;
pub use follow::follow_clock;

/// A handle on the time, cheap to clone. Code that makes decisions does not read a clock. It takes
/// `now` as an argument.
#[derive(Clone, Default)]
pub struct Clock {
    source: ClockSource,
}

#[derive(Clone, Default)]
enum ClockSource {
    #[default]
    System,
    Set(Arc<AtomicI64>),
    Followed(Arc<FollowedClock>),
}

impl Clock {
    /// Returns the system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Makes a clock that stands still until it is moved.
    #[must_use]
    pub fn standing_at(now: Timestamp) -> Self {
        Self {
            source: ClockSource::Set(Arc::new(AtomicI64::new(now.as_millisecond()))),
        }
    }

    /// Makes a clock that shows `now_ms` and runs on by itself. [`follow_clock()`] sets it to
    /// another clock's time.
    #[must_use]
    pub fn following(now_ms: i64) -> Self {
        Self {
            source: ClockSource::Followed(Arc::new(FollowedClock::new(now_ms))),
        }
    }

    /// Moves a standing clock forward. Other clocks do not move.
    pub fn advance_ms(&self, ms: i64) {
        if let ClockSource::Set(set) = &self.source {
            set.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// Returns the milliseconds since the epoch, which is the unit of every stored time.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        match &self.source {
            ClockSource::System => Timestamp::now().as_millisecond(),
            ClockSource::Set(set) => set.load(Ordering::SeqCst),
            ClockSource::Followed(followed) => followed.now_ms(),
        }
    }
}

/// Writes a time as RFC 3339 in UTC, which is the form in all answers. A time out of range is
/// written as the epoch.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

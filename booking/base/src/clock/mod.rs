//! Where `now` comes from: the ledger's clock where many processes share one, else the system's; in
//! tests a hand-set one.

mod follow;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use follow::FollowedClock;
pub use follow::follow_clock;

/// A cheap handle on the time; everything that decides takes `now` as an argument instead.
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
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands still until it is moved.
    #[must_use]
    pub fn standing_at(now: Timestamp) -> Self {
        Self {
            source: ClockSource::Set(Arc::new(AtomicI64::new(now.as_millisecond()))),
        }
    }

    /// A clock that shows `now_ms` and goes on by itself; [`follow_clock()`] keeps it by another
    /// one.
    #[must_use]
    pub fn following(now_ms: i64) -> Self {
        Self {
            source: ClockSource::Followed(Arc::new(FollowedClock::new(now_ms))),
        }
    }

    /// Moves a standing clock forward; no other can be moved.
    pub fn advance_ms(&self, ms: i64) {
        if let ClockSource::Set(set) = &self.source {
            set.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// Milliseconds since the epoch: the unit of every stored time.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        match &self.source {
            ClockSource::System => Timestamp::now().as_millisecond(),
            ClockSource::Set(set) => set.load(Ordering::SeqCst),
            ClockSource::Followed(followed) => followed.now_ms(),
        }
    }
}

/// RFC 3339 UTC, as every answer shows times; a time out of range shows as the epoch.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

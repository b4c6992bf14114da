//! Where `now` comes from: the ledger's clock where many processes share one, else the system's; in
//! tests a hand-set one.

mod follow;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use follow::Followed;
pub use follow::follow;

/// A cheap handle on the time; everything that decides takes `now` as an argument instead.
#[derive(Clone, Default)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Default)]
enum Source {
    #[default]
    System,
    Set(Arc<AtomicI64>),
    Followed(Arc<Followed>),
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
            source: Source::Set(Arc::new(AtomicI64::new(now.as_millisecond()))),
        }
    }

    /// A clock that shows `now_ms` and goes on by itself; [`follow()`] keeps it by another one.
    #[must_use]
    pub fn following(now_ms: i64) -> Self {
        Self {
            source: Source::Followed(Arc::new(Followed::new(now_ms))),
        }
    }

    /// Moves a standing clock forward; no other can be moved.
    pub fn advance_ms(&self, ms: i64) {
        if let Source::Set(set) = &self.source {
            set.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// Milliseconds since the epoch: the unit of every stored time.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        match &self.source {
            Source::System => Timestamp::now().as_millisecond(),
            Source::Set(set) => set.load(Ordering::SeqCst),
            Source::Followed(followed) => followed.now_ms(),
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

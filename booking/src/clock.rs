//! Where `now` comes from: the system's clock in the product, a hand-set one in tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// A cheap handle on the time; everything that decides takes `now` as an argument instead.
#[derive(Clone, Default)]
pub struct Clock {
    set_ms: Option<Arc<AtomicI64>>,
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
            set_ms: Some(Arc::new(AtomicI64::new(now.as_millisecond()))),
        }
    }

    /// Moves a standing clock forward; the system's clock cannot be moved.
    pub fn advance_ms(&self, ms: i64) {
        if let Some(set) = &self.set_ms {
            set.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// Milliseconds since the epoch: the unit of every stored time.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.set_ms.as_ref().map_or_else(
            || Timestamp::now().as_millisecond(),
            |set| set.load(Ordering::SeqCst),
        )
    }
}

/// RFC 3339 UTC, as every answer shows times; a time out of range shows as the epoch.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

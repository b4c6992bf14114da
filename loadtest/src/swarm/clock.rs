//! Provides one clock for a whole run. It reads the wall clock once at its start. After that it
//! counts with the monotonic clock, so a jump of the wall clock during the run changes no interval.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The run's clock. It is cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SwarmClock {
    base: Instant,
    base_ms: f64,
}

impl SwarmClock {
    /// Starts a clock now.
    pub fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            base: Instant::now(),
            base_ms: wall.as_secs_f64() * 1e3,
        }
    }

    /// Returns the clock of a run that another process of this machine started at `start_ms`, in
    /// milliseconds since the epoch.
    pub fn joining(start_ms: f64) -> Self {
        let now = Self::start();
        let since = Duration::from_secs_f64(((now.base_ms - start_ms) / 1e3).max(0.0));
        match now.base.checked_sub(since) {
            Some(base) => Self {
                base,
                base_ms: start_ms,
            },
            None => now,
        }
    }

    /// Returns the time now, in milliseconds since the epoch.
    pub fn now_ms(self) -> f64 {
        self.base_ms + self.base.elapsed().as_secs_f64() * 1e3
    }

    /// Returns the start, in milliseconds since the epoch.
    pub fn start_ms(self) -> f64 {
        self.base_ms
    }

    /// Returns the seconds since the start.
    pub fn elapsed_s(self) -> f64 {
        self.base.elapsed().as_secs_f64()
    }

    /// Returns the instant of a time in milliseconds since the epoch. For a time before the start
    /// it returns the start.
    pub fn instant(self, at_ms: f64) -> Instant {
        self.base + Duration::from_secs_f64(((at_ms - self.base_ms) / 1e3).max(0.0))
    }

    /// Returns the start as a timestamp.
    pub fn started(self) -> Timestamp {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "milliseconds since the epoch fit for 290 million years"
        )]
        let start_ms = self.base_ms as i64;
        Timestamp::from_millisecond(start_ms).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// Reads a time as the gateway writes it, and returns it in milliseconds since the epoch.
pub fn rfc3339_ms(text: &str) -> Option<f64> {
    let at: Timestamp = text.parse().ok()?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds since the epoch are far below 2^52"
    )]
    Some(at.as_millisecond() as f64)
}

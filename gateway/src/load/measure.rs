//! Stores the samples of the last few seconds, and computes their 99th percentile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a sample is used.
const KEEP: Duration = Duration::from_secs(3);

/// A sliding window of samples.
#[derive(Debug, Default)]
pub struct LoadSampleWindow {
    samples: VecDeque<(Instant, u64)>,
}

impl LoadSampleWindow {
    /// Adds a sample, and forgets those that are too old.
    pub fn add_sample(&mut self, now: Instant, value: u64) {
        self.samples.push_back((now, value));
        let stale = |at: Instant| now.saturating_duration_since(at) > KEEP;
        while self.samples.front().is_some_and(|(at, _)| stale(*at)) {
            self.samples.pop_front();
        }
    }

    /// Returns the value that 99 of a hundred samples do not exceed; 0 without samples. Of several
    /// samples it is never the largest: a window with a long stall has fewer than a hundred, and
    /// one stall is no overload.
    #[must_use]
    pub fn p99(&self) -> u64 {
        let mut values: Vec<u64> = self.samples.iter().map(|(_, value)| *value).collect();
        let Some(last) = values.len().checked_sub(1) else {
            return 0;
        };
        let at = (values.len() * 99)
            .div_ceil(100)
            .saturating_sub(1)
            .min(last.saturating_sub(1));
        *values.select_nth_unstable(at).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p99_ignores_one_sample_in_a_hundred_and_forgets_old_samples() {
        let (mut window, begin) = (LoadSampleWindow::default(), Instant::now());
        assert_eq!(window.p99(), 0);
        for sample in 0..200_u32 {
            let late = if sample % 100 == 0 { 900 } else { 3 };
            window.add_sample(begin + Duration::from_millis(10) * sample, late);
        }
        assert_eq!(window.p99(), 3);
        window.add_sample(begin + Duration::from_secs(2), 900);
        assert_eq!(
            window.p99(),
            900,
            "three in two hundred are more than one in a hundred"
        );
        window.add_sample(begin + Duration::from_secs(9), 1);
        assert_eq!(window.p99(), 1);
    }

    #[test]
    fn one_stall_is_not_the_p99_and_two_are() {
        let (mut window, begin) = (LoadSampleWindow::default(), Instant::now());
        window.add_sample(begin, 1_400);
        assert_eq!(window.p99(), 1_400, "there is no other sample");
        for sample in 1..40_u32 {
            window.add_sample(begin + Duration::from_millis(25) * sample, 3);
        }
        assert_eq!(window.p99(), 3);
        window.add_sample(begin + Duration::from_secs(2), 1_100);
        assert_eq!(window.p99(), 1_100);
    }
}

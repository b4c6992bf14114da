//! Stores the samples of the last second, and computes their 99th percentile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a sample is used. This must not be longer than the time for which a limit must be
/// reached before the level rises. Two stalls raise the percentile only while the window has both
/// of their samples. So two short stalls cannot raise the level.
const KEEP: Duration = Duration::from_secs(1);

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

    /// Returns the value that 99 of a hundred samples do not exceed; 0 without samples. With fewer
    /// than a hundred samples, that value would be the largest one. The second largest is returned
    /// instead, so that one long stall does not count. A single sample counts.
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
            window.add_sample(begin + Duration::from_millis(5) * sample, late);
        }
        assert_eq!(window.p99(), 3);
        window.add_sample(begin + Duration::from_secs(1), 900);
        assert_eq!(
            window.p99(),
            900,
            "three in two hundred are more than one in a hundred"
        );
        window.add_sample(begin + Duration::from_secs(9), 1);
        assert_eq!(window.p99(), 1);
    }

    #[test]
    fn under_a_hundred_samples_the_second_largest_is_the_p99() {
        for (samples, expected) in [
            (&[1_400][..], 1_400),
            (&[1_400, 3], 3),
            (&[3, 1_400, 7], 7),
            (&[3, 1_400, 7, 1_100], 1_100),
        ] {
            let (mut window, begin) = (LoadSampleWindow::default(), Instant::now());
            for (at, late) in (0..).zip(samples) {
                window.add_sample(begin + Duration::from_millis(25) * at, *late);
            }
            assert_eq!(window.p99(), expected, "{samples:?}");
        }
    }
}

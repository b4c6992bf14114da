//! Stores the delays of the last timers, and returns the third largest.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a sample is used. If one delay comes each second, as with the ticks of rooms, the
/// samples of this time always include at least three delays.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(4);
/// The last samples are used however old they are. Without stalls, this many samples cover two
/// seconds. A process that stands still for seconds at a time has few samples, and would otherwise
/// look calm.
const SAMPLES_MIN: usize = 80;

/// A sliding window of samples.
#[derive(Debug, Default)]
pub struct LoadSampleWindow {
    samples: VecDeque<(Instant, u64)>,
}

impl LoadSampleWindow {
    /// Adds a sample, and forgets those that are too old.
    pub fn add_sample(&mut self, now: Instant, value: u64) {
        self.samples.push_back((now, value));
        let stale = |at: Instant| now.saturating_duration_since(at) > KEPT_FOR;
        while self.samples.len() > SAMPLES_MIN
            && self.samples.front().is_some_and(|(at, _)| stale(*at))
        {
            self.samples.pop_front();
        }
    }

    /// Returns the third largest sample, so that one or two stalls of the machine do not count.
    /// Returns 0 if there are fewer than three.
    #[must_use]
    pub fn third_largest(&self) -> u64 {
        let mut values: Vec<u64> = self.samples.iter().map(|(_, value)| *value).collect();
        match values.len().checked_sub(3) {
            Some(at) => *values.select_nth_unstable(at).1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the third largest of samples that are this many milliseconds apart.
    fn third_largest(apart_ms: u64, samples: &[u64]) -> u64 {
        let (mut window, begin) = (LoadSampleWindow::default(), Instant::now());
        for (nth, sample) in (0..).zip(samples) {
            window.add_sample(begin + Duration::from_millis(apart_ms * nth), *sample);
        }
        window.third_largest()
    }

    #[test]
    fn two_large_samples_do_not_count_and_three_do() {
        for (samples, expected) in [
            (&[][..], 0),
            (&[1_400, 900], 0),
            (&[1_400, 900, 3], 3),
            (&[1_400, 3, 900, 7, 2], 7),
            (&[1_400, 3, 900, 7, 800], 800),
        ] {
            assert_eq!(third_largest(25, samples), expected, "{samples:?}");
        }
    }

    #[test]
    fn old_samples_are_forgotten_except_the_last_eighty() {
        for (apart_ms, samples, forgotten) in [(25, 161, false), (25, 162, true)] {
            let late = [[900; 3].as_slice(), &vec![5; samples - 3]].concat();
            let expected = if forgotten { 5 } else { 900 };
            assert_eq!(third_largest(apart_ms, &late), expected, "{samples}");
        }
        for (samples, expected) in [(80, 900), (81, 5)] {
            let late = [[900; 3].as_slice(), &vec![5; samples - 3]].concat();
            assert_eq!(third_largest(3_000, &late), expected, "{samples}");
        }
    }
}

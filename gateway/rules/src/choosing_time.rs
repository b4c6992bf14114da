//! Measures how long called visitors take until they hold seats. Seats that come free within this
//! time count for visitors who are called now.

/// The first guess of the time from the call to the seats, in seconds.
const GUESS_S: f64 = 60.0;
/// The guess holds until this many visitors were measured.
const FEW: f64 = 10.0;
/// A visitor who took longer than this, in seconds, did something else meanwhile.
const LONGEST_S: f64 = 300.0;
/// About this many of the latest visitors count.
const KEPT: f64 = 200.0;

/// How long the latest visitors took from their call to their first seats.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChoosingTime {
    visitors: f64,
    sum_s: f64,
}

impl ChoosingTime {
    /// Notes that a visitor holds seats `took_ms` milliseconds after the call.
    pub fn note(&mut self, took_ms: i64) {
        if self.visitors >= KEPT {
            self.visitors -= self.visitors / KEPT;
            self.sum_s -= self.sum_s / KEPT;
        }
        self.visitors += 1.0;
        self.sum_s += (took_ms as f64 / 1e3).clamp(0.0, LONGEST_S);
    }

    /// Returns the mean time from the call to the seats, in whole seconds.
    #[must_use]
    pub fn mean_s(&self) -> u64 {
        let mean_s = if self.visitors < FEW {
            GUESS_S
        } else {
            self.sum_s / self.visitors
        };
        mean_s.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_holds_until_visitors_were_measured_and_then_the_latest_count() {
        let mut time = ChoosingTime::default();
        assert_eq!(time.mean_s(), 60);
        (0..9).for_each(|_| time.note(20_000));
        assert_eq!(time.mean_s(), 60);
        time.note(20_000);
        assert_eq!(time.mean_s(), 20);
        (0..2_000).for_each(|_| time.note(100_000));
        assert_eq!(time.mean_s(), 100);
        (0..2_000).for_each(|_| time.note(8_000_000));
        assert!(time.mean_s() <= 300, "{}", time.mean_s());
    }
}

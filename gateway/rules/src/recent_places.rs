//! Counts the places that a very wide network was given in the last minutes. Time is cut into
//! slices of a minute. The running minute and the ten before it count, so a place counts for ten
//! minutes, and at most for eleven. The scripts of the store in Redis count in the same way.

/// The length (ms) of a slice.
pub const RECENT_SLICE_MS: i64 = 60_000;
/// How many slices before the running one count.
pub const RECENT_SLICES: i64 = 10;

/// The recent places of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentPlaces {
    /// The slices with places, each with how many. In no particular order.
    slices: Vec<(i64, u64)>,
}

impl RecentPlaces {
    /// Returns how many places were given in the last minutes before `now` (ms).
    #[must_use]
    pub fn count_at(&self, now: i64) -> u64 {
        let oldest = oldest_slice(now);
        let counted = self.slices.iter().filter(|(slice, _)| *slice >= oldest);
        counted.map(|(_, places)| places).sum()
    }

    /// Counts a place that was given at `at` (ms). Drops the slices that no longer count then.
    pub fn count(&mut self, at: i64) {
        let (slice, oldest) = (slice_of(at), oldest_slice(at));
        self.slices.retain(|(slice, _)| *slice >= oldest);
        match self.places_in(slice) {
            Some(places) => *places += 1,
            None => self.slices.push((slice, 1)),
        }
    }

    /// Stops counting a place that was given at `at` (ms).
    pub fn uncount(&mut self, at: i64) {
        if let Some(places) = self.places_in(slice_of(at)) {
            *places = places.saturating_sub(1);
        }
    }

    fn places_in(&mut self, slice: i64) -> Option<&mut u64> {
        let found = self.slices.iter_mut().find(|(stored, _)| *stored == slice);
        found.map(|(_, places)| places)
    }
}

fn slice_of(at: i64) -> i64 {
    at.div_euclid(RECENT_SLICE_MS)
}

fn oldest_slice(now: i64) -> i64 {
    slice_of(now) - RECENT_SLICES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = RECENT_SLICE_MS;

    #[test]
    fn places_count_for_ten_minutes_and_are_then_dropped() {
        let mut recent = RecentPlaces::default();
        for at in [0, 30_000, 5 * MINUTE] {
            recent.count(at);
        }
        let counted = [5, 10, 11, 15, 16].map(|minute| recent.count_at(minute * MINUTE));
        assert_eq!(counted, [3, 3, 1, 1, 0]);
        recent.uncount(5 * MINUTE);
        assert_eq!(recent.count_at(5 * MINUTE), 2);
        recent.count(60 * MINUTE);
        assert_eq!(recent.slices, [(60, 1)]);
    }

    proptest! {
        #[test]
        fn every_place_of_ten_minutes_counts_and_none_that_is_older_than_eleven(
            steps in proptest::collection::vec(0_i64..90_000, 1..80),
        ) {
            let (mut recent, mut times, mut now) = (RecentPlaces::default(), Vec::new(), 0);
            for step in steps {
                now += step;
                recent.count(now);
                times.push(now);
                let younger = |ms: i64| {
                    let younger = times.iter().filter(|at| now - **at < ms);
                    younger.count() as u64
                };
                let counted = recent.count_at(now);
                prop_assert!(younger(10 * MINUTE) <= counted && counted <= younger(11 * MINUTE));
            }
        }
    }
}

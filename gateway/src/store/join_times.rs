//! Finds out who had joined at a time.

/// The first number that was given in each second in which any was.
#[derive(Debug, Default)]
pub(super) struct JoinTimes {
    /// Unix seconds and numbers, both rising.
    first_of_second: Vec<(i64, u64)>,
}

impl JoinTimes {
    /// Notes that a number was given at `at` (ms). The numbers come in rising order.
    pub(super) fn note(&mut self, number: u64, at: i64) {
        let second = at.div_euclid(1_000);
        let last = self.first_of_second.last();
        if last.is_none_or(|(last, _)| *last < second) {
            self.first_of_second.push((second, number));
        }
    }

    /// Returns the first number that was given after a second. Returns `None` if none was.
    pub(super) fn first_after(&self, second: i64) -> Option<u64> {
        let after = |(joined, _): &(i64, u64)| *joined <= second;
        let after = self.first_of_second.partition_point(after);
        self.first_of_second.get(after).map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_after_a_second_is_found() {
        let mut times = JoinTimes::default();
        for (number, at) in [(0, 1_000), (1, 1_900), (5, 3_000), (6, 2_500), (7, 9_999)] {
            times.note(number, at);
        }
        let after = |second| times.first_after(second);
        assert_eq!([after(0), after(1), after(3)], [Some(0), Some(5), Some(7)]);
        assert_eq!([after(8), after(9)], [Some(7), None]);
    }
}

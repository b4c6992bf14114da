//! Carries what is sold of a train over to another list of stops. Legs are only numbers, so a stop
//! that comes in or goes out gives later stretches other numbers.

use std::ops::Range;

use super::TrainRun;

/// A train's stops as it was sold, and those that take their place.
#[derive(Debug, Clone, Copy)]
pub struct Recut<'a> {
    /// The run as it was sold.
    pub earlier: &'a TrainRun,
    /// The run that takes its place.
    pub later: &'a TrainRun,
}

impl Recut<'_> {
    /// Returns whether the two runs call at other stations.
    #[must_use]
    pub fn has_other_stops(&self) -> bool {
        !self.later.has_stops_of(self.earlier)
    }

    /// Returns the legs of the later run for some legs of the earlier one. Returns `None` if the
    /// later run does not call at both ends.
    #[must_use]
    pub fn legs(&self, legs: &Range<u16>) -> Option<Range<u16>> {
        self.later.same_stretch(self.earlier, legs)
    }

    /// Returns whether a ticket over some legs of the earlier run can be used on the later one.
    #[must_use]
    pub fn can_be_ridden(&self, legs: &Range<u16>) -> bool {
        self.legs(legs).is_some_and(|legs| {
            let call = |at: u16| self.later.calls.get(usize::from(at));
            call(legs.start).is_some_and(|call| !call.no_boarding)
                && call(legs.end).is_some_and(|call| !call.no_alighting)
        })
    }

    /// Gives the legs of a claim or a ticket, in ascending order, those of the later run. A piece
    /// whose ends the later run does not have is left out.
    #[must_use]
    pub fn single_legs(&self, legs: &[u16]) -> Vec<u16> {
        let pieces = legs.chunk_by(|one, next| one + 1 == *next);
        let pieces = pieces.filter_map(|piece| self.legs(&(piece[0]..piece[piece.len() - 1] + 1)));
        pieces.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::civil::date;

    use super::*;
    use crate::runs::{StationCall, TrainFares};

    fn run(stations: &str) -> TrainRun {
        let call = |station: char| StationCall {
            station: station.to_string(),
            name: station.to_string(),
            time_zone: None,
            arrives: None,
            departs: None,
            at_m: 0,
            no_boarding: false,
            no_alighting: false,
        };
        TrainRun {
            train: "G1".to_owned(),
            date: date(2027, 1, 1),
            time_zone: None,
            calls: stations.chars().map(call).collect(),
            fares: Arc::new(TrainFares::Table([].into())),
        }
    }

    #[test]
    fn stretches_get_the_legs_between_the_same_stops() {
        let (earlier, later) = (run("ABCD"), run("AXBDE"));
        let recut = Recut {
            earlier: &earlier,
            later: &later,
        };
        assert!(recut.has_other_stops());
        assert_eq!(recut.legs(&(0..1)), Some(0..2), "A to B, by X");
        assert_eq!(recut.legs(&(1..3)), Some(2..3), "B to D, without C");
        assert_eq!(recut.legs(&(1..2)), None, "C is gone");
        assert_eq!(recut.single_legs(&[0, 1, 2]), [0, 1, 2]);
        assert_eq!(recut.single_legs(&[0, 2]), [0, 1], "C to D is gone");
        assert!(recut.single_legs(&[2]).is_empty());
    }

    #[test]
    fn a_ticket_needs_stops_where_people_get_on_and_off() {
        let (earlier, mut later) = (run("ABC"), run("AXBC"));
        later.calls[2].no_alighting = true;
        let recut = Recut {
            earlier: &earlier,
            later: &later,
        };
        assert!(!recut.can_be_ridden(&(0..1)), "nobody gets off at B");
        assert!(recut.can_be_ridden(&(1..2)));
        assert!(recut.can_be_ridden(&(0..2)));
    }
}

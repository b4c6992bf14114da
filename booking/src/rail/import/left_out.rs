//! Trips that nobody could book. They are left out of the timetable, and notes say which ones and
//! why. They are no faults, because one such trip must not keep the whole feed from being sold.

use std::collections::BTreeMap;

use fairgate_model::counted::counted;

/// How many trips a note names. It counts the others.
const NAMED_MAX: usize = 5;

/// Why a trip is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// It has no calls.
    NoCalls,
    /// It has only one call, so nobody can ride on it.
    OneCall,
    /// It comes when somebody orders it, so it has no departure at a fixed time.
    OnDemand,
    /// Its service runs on no day.
    NeverRuns,
}

impl LeftOutReason {
    /// Says why so many trips are left out.
    fn sentence(self, trips: usize) -> String {
        let (one, many) = match self {
            Self::NoCalls => ("trip has no calls and is", "trips have no calls and are"),
            Self::OneCall => (
                "trip has only one call and is",
                "trips have only one call and are",
            ),
            Self::OnDemand => ("trip runs on demand and is", "trips run on demand and are"),
            Self::NeverRuns => ("trip runs on no day and is", "trips run on no day and are"),
        };
        format!("{} left out", counted(trips, one, many))
    }
}

/// The trips that are left out, by reason. Each has its id and its line.
#[derive(Debug, Default)]
pub struct LeftOutTrips {
    trips: BTreeMap<LeftOutReason, Vec<(String, u64)>>,
}

impl LeftOutTrips {
    /// Adds a trip.
    pub fn add(&mut self, reason: LeftOutReason, id: &str, line: u64) {
        let trips = self.trips.entry(reason).or_default();
        trips.push((id.to_owned(), line));
    }

    /// Returns one note for each reason. `file` is the file of the trips.
    pub fn notes(&self, file: &str) -> Vec<String> {
        let notes = self.trips.iter().map(|(reason, trips)| {
            let sentence = reason.sentence(trips.len());
            format!("{file}: {sentence}: {}", first_few(trips))
        });
        notes.collect()
    }
}

/// Lists names with their lines. Counts those after the first few, because a feed may have very
/// many.
pub fn first_few(names: &[(String, u64)]) -> String {
    let shown = names.iter().take(NAMED_MAX);
    let mut shown: Vec<String> = shown
        .map(|(name, line)| format!("{name:?} in line {line}"))
        .collect();
    if names.len() > NAMED_MAX {
        shown.push(format!("and {} more", names.len() - NAMED_MAX));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_first_trips_and_counts_the_others() {
        let mut left_out = LeftOutTrips::default();
        for line in 2..14 {
            left_out.add(LeftOutReason::OneCall, &format!("t{line}"), line);
        }
        left_out.add(LeftOutReason::NeverRuns, "old", 20);
        assert_eq!(
            left_out.notes("trips.txt"),
            [
                "trips.txt: 12 trips have only one call and are left out: \"t2\" in line 2, \"t3\" in \
                 line 3, \"t4\" in line 4, \"t5\" in line 5, \"t6\" in line 6, and 7 more",
                "trips.txt: 1 trip runs on no day and is left out: \"old\" in line 20",
            ]
        );
    }
}

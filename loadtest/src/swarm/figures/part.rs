//! Passes the measurements of one process of the swarm to another process, which adds them to its
//! own.

use serde::{Deserialize, Serialize};

use super::calls::CallStatsPart;
use super::{SwarmTally, VisitorFigures};

/// What one process measured.
#[derive(Serialize, Deserialize)]
pub struct MeasuredPart {
    calls: CallStatsPart,
    /// The visitors of the process, each with its number in the swarm.
    people: Vec<(usize, VisitorFigures)>,
    released: Vec<(f64, u64)>,
    free: Vec<(f64, u64)>,
}

impl SwarmTally {
    /// Returns the measurements of calls, releases and free seats, and of the visitors for whom
    /// `is_own` returns true.
    pub fn part(&self, is_own: impl Fn(usize) -> bool) -> MeasuredPart {
        let seen = self.seen();
        let people = seen.people.iter().cloned().enumerate();
        MeasuredPart {
            calls: seen.calls.part(),
            people: people.filter(|(who, _)| is_own(*who)).collect(),
            released: seen.released.clone(),
            free: seen.free.clone(),
        }
    }

    /// Adds what another process measured.
    pub fn add_part(&self, part: MeasuredPart) {
        let mut seen = self.seen();
        seen.calls.add_part(part.calls);
        for (who, figures) in part.people {
            if let Some(person) = seen.people.get_mut(who) {
                *person = figures;
            }
        }
        seen.released.extend(part.released);
        seen.released
            .sort_by(|(one, _), (other, _)| one.total_cmp(other));
        // Two processes receive the counter at different times, so an older value may follow a
        // newer one.
        let mut most = None;
        seen.released.retain(|(_, released)| {
            let is_more = most.is_none_or(|most| *released > most);
            most = most.max(Some(*released));
            is_more
        });
        seen.free.extend(part.free);
        seen.free
            .sort_by(|(one, _), (other, _)| one.total_cmp(other));
        seen.free.dedup_by_key(|(_, free)| *free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_two_processes_give_what_one_process_would_have_measured() {
        let (all, one, other) = (SwarmTally::new(2), SwarmTally::new(2), SwarmTally::new(2));
        for (tally, at_ms, released, free) in [
            (&one, 1.0, 5, Some(9)),
            (&other, 2.0, 5, Some(9)),
            (&other, 3.0, 8, Some(7)),
            (&one, 4.0, 7, Some(7)),
            (&one, 5.0, 9, Some(8)),
        ] {
            tally.line(at_ms, released, free);
        }
        one.person(0, |person| person.number = Some(7));
        other.person(1, |person| person.number = Some(3));
        for (tally, own) in [(&one, 0), (&other, 1)] {
            let sent = serde_json::to_string(&tally.part(|who| who == own)).expect("JSON");
            all.add_part(serde_json::from_str(&sent).expect("a part"));
        }
        let seen = all.seen();
        assert_eq!(seen.released, [(1.0, 5), (3.0, 8), (5.0, 9)]);
        assert_eq!(seen.free, [(1.0, 9), (3.0, 7), (5.0, 8)]);
        let numbers: Vec<_> = seen.people.iter().map(|person| person.number).collect();
        assert_eq!(numbers, [Some(7), Some(3)]);
    }
}

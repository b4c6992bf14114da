//! Works out what bots got.

use std::collections::BTreeMap;

use super::VisitorFigures;
use super::calls::float;

/// Adds how many people and how many bots joined, the bots' share of the places, and the bots'
/// share of the visitors with tickets. The first `people` visitors are people, and the others are
/// bots. Without bots, adds nothing.
pub fn figures(all: &[VisitorFigures], people: usize, into: &mut BTreeMap<String, f64>) {
    let (people, bots) = all.split_at(people.min(all.len()));
    if bots.is_empty() {
        return;
    }
    let count = |of: &[VisitorFigures], is: fn(&VisitorFigures) -> bool| {
        float(of.iter().filter(|one| is(one)).count() as u64)
    };
    let share = |is: fn(&VisitorFigures) -> bool| {
        let (people, bots) = (count(people, is), count(bots, is));
        bots / (people + bots).max(1.0)
    };
    let joined = |one: &VisitorFigures| one.joined_ms.is_some();
    into.insert("people_joined".into(), count(people, joined));
    into.insert("bots_joined".into(), count(bots, joined));
    into.insert("bots_share_places".into(), share(joined));
    let share = share(|one| one.ticketed_ms.is_some());
    into.insert("bots_share_tickets".into(), share);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_visitors_after_the_people_are_bots() {
        let one = |joined: bool, ticketed: bool| VisitorFigures {
            joined_ms: joined.then_some(1.0),
            ticketed_ms: ticketed.then_some(2.0),
            ..VisitorFigures::default()
        };
        let all = [
            one(true, true),
            one(true, true),
            one(true, false),
            one(true, true),
            one(false, false),
        ];
        let mut into = BTreeMap::new();
        figures(&all, 3, &mut into);
        assert_eq!((into["people_joined"], into["bots_joined"]), (3.0, 1.0));
        assert!((into["bots_share_places"] - 0.25).abs() < 1e-9);
        assert!((into["bots_share_tickets"] - 1.0 / 3.0).abs() < 1e-9);
        let mut none = BTreeMap::new();
        figures(&all, 5, &mut none);
        assert!(none.is_empty());
    }
}

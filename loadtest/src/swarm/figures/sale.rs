//! Works out the figures that a plan also predicts: when the seats were sold, how long called
//! visitors waited, the share of each tenth of the line for whom a seat was left, and the quality
//! of the odds that visitors read.

use std::collections::BTreeMap;

use super::calls::float;
use super::waits::came_true;
use super::{SwarmMeasurements, VisitorFigures};

/// The line is divided into this many parts of equal length.
const PARTS: u64 = 10;

/// Adds the figures. `draw_ms` is the beginning of the sale, in milliseconds since the epoch.
pub fn figures(seen: &SwarmMeasurements, draw_ms: f64, into: &mut BTreeMap<String, f64>) {
    let sold = [
        ("sold_99_s", seen.most_sold_ms, Some(draw_ms)),
        ("sold_out_s", seen.all_sold_ms, Some(draw_ms)),
        ("last_seats_s", seen.all_sold_ms, seen.most_sold_ms),
    ];
    for (name, until_ms, from_ms) in sold {
        if let (Some(until_ms), Some(from_ms)) = (until_ms, from_ms) {
            into.insert(name.into(), (until_ms - from_ms) / 1e3);
        }
    }
    let mut waits_s: Vec<f64> = seen
        .people
        .iter()
        .filter_map(|person| waited_s(person, draw_ms))
        .collect();
    waits_s.sort_unstable_by(f64::total_cmp);
    if let Some(last) = waits_s.len().checked_sub(1) {
        for (name, tenths) in [("wait_p50_s", 5), ("wait_p90_s", 9)] {
            into.insert(name.into(), waits_s[(last * tenths + 5) / 10]);
        }
    }
    let odds = seen.people.iter().filter_map(|person| {
        let came = came_true(person, &seen.free)?;
        Some((person.told?.odds? - f64::from(u8::from(came))).powi(2))
    });
    let squares: Vec<f64> = odds.collect();
    if !squares.is_empty() {
        let mean = squares.iter().sum::<f64>() / float(squares.len() as u64);
        into.insert("odds_brier".into(), mean);
    }
    let ranks = seen.people.iter().filter_map(|person| person.rank).max();
    let ranks = ranks.map_or(0, |last| last + 1);
    let mut parts = [(0_u64, 0_u64); PARTS as usize];
    for person in &seen.people {
        let (Some(rank), Some(came)) = (person.rank, came_true(person, &seen.free)) else {
            continue;
        };
        let part = &mut parts[usize::try_from(rank * PARTS / ranks).unwrap_or(0)];
        part.0 += 1;
        part.1 += u64::from(came);
    }
    for (part, (people, came)) in (1..).zip(parts) {
        if people > 0 {
            into.insert(format!("seat_left_{part}"), float(came) / float(people));
        }
    }
}

/// Returns how long a visitor waited for its call. The wait counts from the beginning of the sale,
/// or from the join if the join was later.
fn waited_s(person: &VisitorFigures, draw_ms: f64) -> Option<f64> {
    let from_ms = person.joined_ms?.max(draw_ms);
    Some(((person.called_ms? - from_ms) / 1e3).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_count_from_the_draw_or_the_join_and_tenths_follow_the_ranks() {
        let person = |rank: u64, joined_ms: f64, called_ms: Option<f64>| VisitorFigures {
            rank: Some(rank),
            joined_ms: Some(joined_ms),
            called_ms,
            sold_out_ms: called_ms.is_none().then_some((90_000.0, true)),
            ..VisitorFigures::default()
        };
        let mut people: Vec<VisitorFigures> = (0..10)
            .map(|rank| person(rank, 0.0, Some(10_000.0 + rank as f64 * 1_000.0)))
            .collect();
        people.push(person(10, 17_000.0, Some(20_000.0)));
        people.extend((11..20).map(|rank| person(rank, 0.0, None)));
        let seen = SwarmMeasurements {
            people,
            free: vec![(0.0, 5), (16_500.0, 0)],
            all_sold_ms: Some(40_000.0),
            most_sold_ms: Some(35_000.0),
            ..SwarmMeasurements::default()
        };
        let mut figures = BTreeMap::new();
        super::figures(&seen, 10_000.0, &mut figures);
        let expected = [
            ("sold_99_s", 25.0),
            ("sold_out_s", 30.0),
            ("last_seats_s", 5.0),
            ("wait_p50_s", 4.0),
            ("wait_p90_s", 8.0),
            ("seat_left_1", 1.0),
            ("seat_left_4", 0.5),
            ("seat_left_5", 0.0),
            ("seat_left_10", 0.0),
        ];
        for (name, value) in expected {
            assert!((figures[name] - value).abs() < 1e-9, "{name}: {figures:?}");
        }
    }
}

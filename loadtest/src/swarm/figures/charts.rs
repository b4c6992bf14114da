//! Collects the points of a run's charts: latencies, the line, seats, odds, forecasts and fairness.

use std::collections::BTreeMap;

use serde::Serialize;

use super::calls::float;
use super::forecast::{self, MadeForecast};
use super::waits::came_true;
use super::{RunConditions, SwarmMeasurements, VisitorFigures};

/// The range of odds is divided into this many bins.
const BINS: usize = 10;

/// The points of a run's charts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunCharts {
    /// Each second, from the start of the run on.
    pub seconds: Vec<RunSecond>,
    /// The latencies of each operation that was called, in milliseconds. There is one for each of
    /// [`LATENCY_SHARES`].
    pub latencies: BTreeMap<String, Vec<f64>>,
    /// The bins of odds that contain visitors.
    pub odds: Vec<OddsBin>,
    /// What the promoter's report expected at each time of the sale.
    pub forecasts: Vec<MadeForecast>,
    /// The visitors who entered, in the order of their join.
    #[serde(skip)]
    pub fairness: Vec<EnteredVisitor>,
}

/// One second of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RunSecond {
    /// Seconds after the start of the run.
    pub at_s: f64,
    /// How many visitors wait in the line.
    pub waiting: u64,
    /// How many visitors have a pass and are not done.
    pub inside: u64,
    /// How many visitors have entered so far.
    pub entered: u64,
    /// How many visitors have tickets so far.
    pub ticketed: u64,
    /// How many ranks have been released so far.
    pub released: u64,
    /// How many seats are free; `null` until a socket has received the count.
    pub free: Option<u64>,
}

/// The visitors who were told similar odds, and what came true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct OddsBin {
    /// How many visitors.
    pub visitors: u32,
    /// The mean of the odds that these visitors were told, 0 to 1.
    pub told: f64,
    /// The share of these visitors for whom a seat was left.
    pub came_true: f64,
}

/// A visitor who entered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnteredVisitor {
    /// The join number.
    pub number: u64,
    /// The rank in the line.
    pub rank: u64,
    /// When the visitor entered, in seconds after the start of the run.
    pub entered_s: f64,
}

/// The shares of calls for which a latency is drawn. The chart's axis is logarithmic, so that the
/// slowest calls can be seen. The shares therefore lie closer together towards 1.
pub const LATENCY_SHARES: [f64; 13] = [
    0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999, 0.9995, 0.9999,
];

impl RunCharts {
    /// Works out all points of a run.
    pub fn of(seen: &SwarmMeasurements, conditions: &RunConditions) -> Self {
        Self {
            seconds: seconds(seen, conditions),
            latencies: seen.calls.latencies(&LATENCY_SHARES),
            odds: odds(seen),
            forecasts: forecast::made(&conditions.promoters_report, conditions.draw_ms),
            fairness: fairness(&seen.people, conditions.start_ms),
        }
    }

    /// Adds Kendall's τ between join order and rank, and between rank and entry.
    pub fn figures(&self, into: &mut BTreeMap<String, f64>) {
        let number = |visitor: &EnteredVisitor| float(visitor.number);
        let rank = |visitor: &EnteredVisitor| float(visitor.rank);
        let entered = |visitor: &EnteredVisitor| visitor.entered_s;
        let pairs = |of: &dyn Fn(&EnteredVisitor) -> (f64, f64)| -> Vec<(f64, f64)> {
            self.fairness.iter().map(of).collect()
        };
        let joined_rank = pairs(&|visitor| (number(visitor), rank(visitor)));
        let rank_entry = pairs(&|visitor| (rank(visitor), entered(visitor)));
        for (name, pairs) in [
            ("tau_join_rank", joined_rank),
            ("tau_rank_entry", rank_entry),
        ] {
            if let Some(tau) = kendalls_tau(pairs) {
                into.insert(name.into(), tau);
            }
        }
    }
}

fn seconds(seen: &SwarmMeasurements, conditions: &RunConditions) -> Vec<RunSecond> {
    let sorted = |at: &dyn Fn(&VisitorFigures) -> Option<f64>| {
        let mut times: Vec<f64> = seen.people.iter().filter_map(at).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    };
    let (joined, entered) = (
        sorted(&|person| person.joined_ms),
        sorted(&|person| person.entered_ms),
    );
    let ticketed = sorted(&|person| person.ticketed_ms);
    let gone_inside = sorted(&|person| person.entered_ms.and(person.gone_ms));
    let gone_waiting = sorted(&|person| match (person.joined_ms, person.entered_ms) {
        (Some(_), None) => person.gone_ms,
        _ => None,
    });
    let by = |times: &[f64], at_ms: f64| times.partition_point(|time| *time <= at_ms) as u64;
    let last = |series: &[(f64, u64)], at_ms: f64| {
        let after = series.partition_point(|(time, _)| *time <= at_ms);
        after.checked_sub(1).map(|at| series[at].1)
    };
    let length_s = ((conditions.end_ms - conditions.start_ms) / 1e3).max(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a run has some thousands of seconds"
    )]
    let count = length_s.ceil() as u32;
    (0..=count)
        .map(|second| {
            let at_s = f64::from(second);
            let at_ms = conditions.start_ms + at_s * 1e3;
            let in_so_far = by(&entered, at_ms);
            let left = in_so_far + by(&gone_waiting, at_ms);
            RunSecond {
                at_s,
                waiting: by(&joined, at_ms).saturating_sub(left),
                inside: in_so_far.saturating_sub(by(&gone_inside, at_ms)),
                entered: in_so_far,
                ticketed: by(&ticketed, at_ms),
                released: last(&seen.released, at_ms).unwrap_or(0),
                free: last(&seen.free, at_ms),
            }
        })
        .collect()
}

fn odds(seen: &SwarmMeasurements) -> Vec<OddsBin> {
    let mut bins = [OddsBin::default(); BINS];
    for person in &seen.people {
        let odds = person.told.and_then(|estimate| estimate.odds);
        let (Some(odds), Some(came)) = (odds, came_true(person, &seen.free)) else {
            continue;
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "clamped to one of ten bins"
        )]
        let bin = (odds * BINS as f64).clamp(0.0, BINS as f64 - 1.0) as usize;
        bins[bin].visitors += 1;
        bins[bin].told += odds;
        bins[bin].came_true += f64::from(u8::from(came));
    }
    let filled_bins = bins.into_iter().filter(|bin| bin.visitors > 0);
    filled_bins
        .map(|bin| OddsBin {
            told: bin.told / f64::from(bin.visitors),
            came_true: bin.came_true / f64::from(bin.visitors),
            ..bin
        })
        .collect()
}

fn fairness(people: &[VisitorFigures], start_ms: f64) -> Vec<EnteredVisitor> {
    let entered = people.iter().filter_map(|person| {
        Some(EnteredVisitor {
            number: person.number?,
            rank: person.rank?,
            entered_s: (person.entered_ms? - start_ms) / 1e3,
        })
    });
    let mut entered: Vec<EnteredVisitor> = entered.collect();
    entered.sort_unstable_by_key(|visitor| visitor.number);
    entered
}

/// Returns Kendall's τ-a: 1 if both orders are the same, -1 if one is the reverse of the other,
/// and about 0 if they have nothing to do with each other. Uses a merge sort, which also counts the
/// pairs whose orders differ, as in W. R. Knight, "A Computer Method for Calculating Kendall's Tau
/// with Ungrouped Data" (1966).
fn kendalls_tau(mut pairs: Vec<(f64, f64)>) -> Option<f64> {
    let count = pairs.len() as u64;
    if count < 2 {
        return None;
    }
    pairs.sort_unstable_by(|(a, b), (c, d)| a.total_cmp(c).then(b.total_cmp(d)));
    let mut second: Vec<f64> = pairs.into_iter().map(|(_, second)| second).collect();
    let mut spare = second.clone();
    let reversed = sort_and_count(&mut second, &mut spare);
    let all = float(count) * float(count - 1) / 2.0;
    Some(1.0 - 2.0 * float(reversed) / all)
}

/// Sorts the values, and returns how many pairs of them were in the wrong order.
fn sort_and_count(values: &mut [f64], spare: &mut [f64]) -> u64 {
    let middle = values.len() / 2;
    if middle == 0 {
        return 0;
    }
    let (left, right) = values.split_at_mut(middle);
    let mut wrong = sort_and_count(left, &mut spare[..middle]);
    wrong += sort_and_count(right, &mut spare[middle..]);
    let (mut at, mut next) = (0, 0);
    for slot in spare.iter_mut() {
        let takes_left = next == right.len() || (at < left.len() && left[at] <= right[next]);
        if takes_left {
            *slot = left[at];
            at += 1;
        } else {
            *slot = right[next];
            next += 1;
            wrong += (left.len() - at) as u64;
        }
    }
    values.copy_from_slice(spare);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kendalls_tau_of_equal_reversed_and_mixed_orders() {
        let tau = |second: &[f64]| {
            let pairs = second.iter().enumerate();
            kendalls_tau(
                pairs
                    .map(|(first, second)| (first as f64, *second))
                    .collect(),
            )
        };
        let told = |second: &[f64]| (tau(second).expect("a tau") * 1e6).round() / 1e6;
        assert_eq!(told(&[1.0, 2.0, 3.0, 4.0]), 1.0);
        assert_eq!(told(&[4.0, 3.0, 2.0, 1.0]), -1.0);
        // Of the ten pairs, (2, 1), (5, 4), (5, 3) and (4, 3) are in the other order.
        assert_eq!(told(&[2.0, 1.0, 5.0, 4.0, 3.0]), 0.2);
        assert_eq!(tau(&[1.0]), None);
    }

    #[test]
    fn each_second_counts_who_waits_and_who_is_inside() {
        let person = |joined_ms: f64, entered_ms: Option<f64>, gone_ms: f64| VisitorFigures {
            number: Some(1),
            rank: Some(0),
            joined_ms: Some(joined_ms),
            entered_ms,
            gone_ms: Some(gone_ms),
            ..VisitorFigures::default()
        };
        let seen = SwarmMeasurements {
            people: vec![
                person(10_500.0, Some(11_500.0), 13_500.0),
                person(10_600.0, None, 12_500.0),
            ],
            free: vec![(11_800.0, 40), (12_900.0, 39)],
            released: vec![(11_400.0, 7)],
            ..SwarmMeasurements::default()
        };
        let conditions = RunConditions {
            start_ms: 10_000.0,
            end_ms: 14_000.0,
            ..RunConditions::default()
        };
        let told: Vec<_> = seconds(&seen, &conditions)
            .iter()
            .map(|second| (second.waiting, second.inside, second.released, second.free))
            .collect();
        assert_eq!(
            told,
            [
                (0, 0, 0, None),
                (2, 0, 0, None),
                (1, 1, 7, Some(40)),
                (0, 1, 7, Some(39)),
                (0, 0, 7, Some(39)),
            ]
        );
        let fair = fairness(&seen.people, 10_000.0);
        assert_eq!(fair.len(), 1, "who never entered is left out");
    }
}

//! Checks whether what visitors were told at the draw came true: the wait as an interval, and the
//! odds of a seat.

use std::collections::BTreeMap;

use super::VisitorFigures;
use super::calls::float;

/// A tenth of the odds with fewer people than this is left out, because it says nothing.
const BIN_MIN: u32 = 20;

/// Works out both figures over everybody for whom they are known. `free` is the count of free seats
/// over time, and `end_ms` the end of the run.
pub fn figures(
    people: &[VisitorFigures],
    free: &[(f64, u64)],
    end_ms: f64,
    into: &mut BTreeMap<String, f64>,
) {
    for (name, upper) in [("wait_under_p90", true), ("wait_under_p50", false)] {
        let outcomes: Vec<bool> = people
            .iter()
            .filter_map(|person| wait_held(person, end_ms, upper))
            .collect();
        let held = outcomes.iter().filter(|held| **held).count();
        if upper {
            into.insert("waits_known".into(), float(outcomes.len() as u64));
        }
        if !outcomes.is_empty() {
            into.insert(
                name.into(),
                float(held as u64) / float(outcomes.len() as u64),
            );
        }
    }
    let odds: Vec<(f64, bool)> = people
        .iter()
        .filter_map(|person| Some((person.told?.odds?, came_true(person, free)?)))
        .collect();
    into.insert("odds_known".into(), float(odds.len() as u64));
    if let Some(error) = odds_error(&odds) {
        into.insert("odds_error_max".into(), error);
    }
}

/// Returns whether the wait was no longer than the visitor was told, or `None` if it was told
/// nothing or left too early to know.
fn wait_held(person: &VisitorFigures, end_ms: f64, upper: bool) -> Option<bool> {
    let told = person.told?;
    let bound_ms = told.at_ms + if upper { told.p90_s } else { told.p50_s }? * 1e3;
    if let Some(called) = person.called_ms {
        return Some(called <= bound_ms);
    }
    // A visitor who was never called waited longer than told, if it stayed for long enough to know.
    let here_until = person.gone_ms.unwrap_or(end_ms);
    (here_until > bound_ms).then_some(false)
}

/// Returns whether a seat was left when the visitor was called. If the line ended before, none was.
fn came_true(person: &VisitorFigures, free: &[(f64, u64)]) -> Option<bool> {
    match (person.called_ms, person.sold_out_ms) {
        (Some(called), _) => {
            let after = free.partition_point(|(at, _)| *at <= called);
            let left = after.checked_sub(1).map(|at| free[at].1);
            Some(person.held || left.is_none_or(|left| left > 0))
        }
        (None, Some(_)) => Some(false),
        (None, None) => None,
    }
}

/// Returns the largest distance between the mean of the told odds and the share that came true,
/// over tenths of odds.
fn odds_error(odds: &[(f64, bool)]) -> Option<f64> {
    let mut bins = [(0_u32, 0.0, 0.0); 10];
    for (told, came) in odds {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to one of ten bins"
        )]
        let bin = (told * 10.0).floor().clamp(0.0, 9.0) as usize;
        bins[bin].0 += 1;
        bins[bin].1 += told;
        bins[bin].2 += f64::from(u8::from(*came));
    }
    bins.into_iter()
        .filter(|(count, _, _)| *count >= BIN_MIN)
        .map(|(count, told, came)| ((told - came) / f64::from(count)).abs())
        .max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::people::DrawWaitEstimate;
    use super::*;

    fn told(p90_s: f64, odds: f64) -> VisitorFigures {
        VisitorFigures {
            told: Some(DrawWaitEstimate {
                at_ms: 1_000.0,
                p50_s: Some(p90_s / 2.0),
                p90_s: Some(p90_s),
                odds: Some(odds),
            }),
            ..VisitorFigures::default()
        }
    }

    #[test]
    fn a_wait_counts_once_it_is_known() {
        let mut person = told(10.0, 1.0);
        assert_eq!(wait_held(&person, 5_000.0, true), None);
        assert_eq!(wait_held(&person, 12_000.0, true), Some(false));
        person.called_ms = Some(9_000.0);
        assert_eq!(wait_held(&person, 12_000.0, true), Some(true));
        assert_eq!(wait_held(&person, 12_000.0, false), Some(false));
    }

    #[test]
    fn odds_that_come_true_have_no_error() {
        let half: Vec<_> = (0..100).map(|at| (0.55, at % 20 < 11)).collect();
        assert!(odds_error(&half).expect("enough") < 1e-9);
        let never: Vec<_> = (0..100).map(|_| (0.95, false)).collect();
        assert!(odds_error(&never).expect("enough") > 0.9);
        assert_eq!(odds_error(&never[..10]), None);
    }

    #[test]
    fn a_call_with_no_seat_left_is_a_no() {
        let mut person = told(10.0, 0.5);
        person.called_ms = Some(5_000.0);
        assert_eq!(
            came_true(&person, &[(1_000.0, 3), (4_000.0, 0)]),
            Some(false)
        );
        assert_eq!(came_true(&person, &[(1_000.0, 3)]), Some(true));
    }
}

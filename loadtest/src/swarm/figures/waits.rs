//! Compares two estimates with what happened: the wait and the odds of a seat. Uses only the first
//! estimates that each visitor read after the draw.

use std::collections::BTreeMap;

use super::VisitorFigures;
use super::calls::float;

/// The range of odds is divided into ten bins. A bin with fewer visitors than this is left out,
/// because so few visitors prove nothing.
const BIN_MIN: u32 = 20;

/// Adds the figures of waits and of odds, each over all visitors whose result is known. `free` is
/// the count of free seats over time. `end_ms` is the end of the run.
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

/// Returns whether the wait was at most the estimated p90, or the estimated p50 if `upper` is
/// false. Returns `None` if there was no estimate, or if the visitor was gone before the estimated
/// time without having been called.
fn wait_held(person: &VisitorFigures, end_ms: f64, upper: bool) -> Option<bool> {
    let estimate = person.told?;
    let bound_ms = estimate.at_ms
        + if upper {
            estimate.p90_s
        } else {
            estimate.p50_s
        }? * 1e3;
    if let Some(called) = person.called_ms {
        return Some(called <= bound_ms);
    }
    // A visitor who was never called waited longer than estimated if it was still there after the
    // estimated time.
    let here_until = person.gone_ms.unwrap_or(end_ms);
    (here_until > bound_ms).then_some(false)
}

/// Returns whether the visitor had the chance of a seat. For a called visitor, this is true if any
/// of these holds: a seat was left at that time, the count of free seats was not known yet, the
/// visitor held a seat at some time. For any other visitor, it is false if the visitor learned that
/// everything is sold, and otherwise `None`.
pub(super) fn came_true(person: &VisitorFigures, free: &[(f64, u64)]) -> Option<bool> {
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

/// Returns the largest difference between the mean odds and the share that came true, over the ten
/// bins of odds.
fn odds_error(odds: &[(f64, bool)]) -> Option<f64> {
    let mut bins = [(0_u32, 0.0, 0.0); 10];
    for (chance, came) in odds {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to one of ten bins"
        )]
        let bin = (chance * 10.0).floor().clamp(0.0, 9.0) as usize;
        bins[bin].0 += 1;
        bins[bin].1 += chance;
        bins[bin].2 += f64::from(u8::from(*came));
    }
    bins.into_iter()
        .filter(|(count, _, _)| *count >= BIN_MIN)
        .map(|(count, chances, came)| ((chances - came) / f64::from(count)).abs())
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
    fn a_wait_is_judged_when_the_visitor_is_called_or_the_estimate_has_passed() {
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
        assert!(odds_error(&half).expect("enough visitors") < 1e-9);
        let never: Vec<_> = (0..100).map(|_| (0.95, false)).collect();
        assert!(odds_error(&never).expect("enough visitors") > 0.9);
        assert_eq!(odds_error(&never[..10]), None);
    }

    #[test]
    fn odds_do_not_come_true_if_no_seat_is_left_at_the_call() {
        let mut person = told(10.0, 0.5);
        person.called_ms = Some(5_000.0);
        assert_eq!(
            came_true(&person, &[(1_000.0, 3), (4_000.0, 0)]),
            Some(false)
        );
        assert_eq!(came_true(&person, &[(1_000.0, 3)]), Some(true));
    }
}

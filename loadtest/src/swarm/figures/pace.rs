//! Works out how evenly the line released people who were present, and whether they entered at the
//! pace. It uses the release counter as sockets received it over time, each visitor's rank, and the
//! times at which each visitor was present and entered. Only the swarm knows these times.

use std::collections::BTreeMap;

use super::calls::float;
use super::{Disturbance, VisitorFigures};

const WINDOW_MS: f64 = 10_000.0;
/// How long the line may take to recover from a disturbance, in milliseconds.
const SETTLE_MS: f64 = 10_000.0;

/// One step of the release counter.
#[derive(Debug, Clone, Copy)]
struct ReleaseCounterStep {
    at_ms: f64,
    /// The number of present people among the ranks that this step released.
    people: f64,
    /// Whether present people still waited after this step.
    more_wait: bool,
}

/// Adds the largest and the smallest number of people released in a window, as multiples of
/// `per_s`. Also adds the largest number of people who entered in a window, and the error of the
/// pace: the error of the mean release, or the excess of entries, whichever is larger. The errors
/// are shares of `per_s`. Adds nothing if nobody was released.
pub fn figures(
    released: &[(f64, u64)],
    people: &[VisitorFigures],
    per_s: f64,
    disturbances: &[Disturbance],
    into: &mut BTreeMap<String, f64>,
) {
    // The line has no pace before the first release. The step that empties the line releases only
    // the people who are left, so that step and all later ones are left out.
    let closed = released
        .iter()
        .take_while(|(_, counter)| *counter == 0)
        .count();
    let steps = steps(&released[closed..], people);
    let busy = steps.iter().take_while(|step| step.more_wait).count();
    let steps = &steps[..busy];
    let entered_most = most_entered(people);
    into.insert("entered_window_max".into(), float(entered_most) / per_s);
    if let Some(error) = mean_error(steps, per_s) {
        let excess = float(entered_most) / most_allowed(per_s) - 1.0;
        into.insert("pace_error".into(), error.max(excess));
    }
    let disturbed = |from: f64, until: f64| {
        disturbances
            .iter()
            .any(|one| from < one.until_ms + SETTLE_MS && until > one.from_ms)
    };
    let mut most: Option<f64> = None;
    let mut least: Option<f64> = None;
    for (at, first) in steps.iter().enumerate() {
        let until = first.at_ms + WINDOW_MS;
        if disturbed(first.at_ms, until) {
            continue;
        }
        let window = steps[at..].iter().take_while(|step| step.at_ms < until);
        let sum: f64 = window.map(|step| step.people).sum();
        most = Some(most.map_or(sum, |most| most.max(sum)));
        if let Some(spread) = spread(&steps[at..], until) {
            least = Some(least.map_or(spread, |least| least.min(spread)));
        }
    }
    for (name, figure) in [
        ("released_window_max", most),
        ("released_window_min", least),
    ] {
        if let Some(figure) = figure {
            into.insert(name.into(), figure / per_s);
        }
    }
}

/// Returns the steps of the release counter. Each step counts the people whose ranks it released
/// and who were present at that time.
fn steps(released: &[(f64, u64)], people: &[VisitorFigures]) -> Vec<ReleaseCounterStep> {
    let mut by_rank: Vec<(u64, &VisitorFigures)> = people
        .iter()
        .filter_map(|person| Some((person.rank?, person)))
        .collect();
    by_rank.sort_unstable_by_key(|(rank, _)| *rank);
    let mut behind = 0;
    let mut steps = Vec::new();
    for (at_ms, counter) in released {
        let up_to = by_rank.partition_point(|(rank, _)| rank < counter);
        let is_here = |(_, person): &&(u64, &VisitorFigures)| person.is_here(*at_ms);
        let fresh = by_rank[behind..up_to].iter().filter(is_here).count();
        steps.push(ReleaseCounterStep {
            at_ms: *at_ms,
            people: float(fresh as u64),
            more_wait: by_rank[up_to..].iter().any(|one| is_here(&one)),
        });
        behind = up_to;
    }
    steps
}

/// Returns how many people may enter in one window: as many as the pace and one tick allow.
fn most_allowed(per_s: f64) -> f64 {
    per_s * WINDOW_MS / 1e3 + per_s.max(1.0)
}

/// Returns the largest number of people who entered in one window.
fn most_entered(people: &[VisitorFigures]) -> u64 {
    let mut times: Vec<f64> = people.iter().filter_map(|one| one.entered_ms).collect();
    times.sort_unstable_by(f64::total_cmp);
    let within =
        |(at, first): (usize, &f64)| times.partition_point(|time| *time < first + WINDOW_MS) - at;
    times.iter().enumerate().map(within).max().unwrap_or(0) as u64
}

/// Returns how far the mean pace between the first and the last step is from `per_s`, as a share of
/// `per_s`.
fn mean_error(steps: &[ReleaseCounterStep], per_s: f64) -> Option<f64> {
    let (first, rest) = steps.split_first()?;
    let span_s = (rest.last()?.at_ms - first.at_ms) / 1e3;
    let sum: f64 = rest.iter().map(|step| step.people).sum();
    Some((sum / span_s / per_s - 1.0).abs())
}

/// Returns the people released between the first step and `until`, or `None` if the steps end
/// before `until`. If a step crosses `until`, only the part of it before `until` counts. Without
/// this rule, a tick that is a millisecond late would look like a slower pace.
fn spread(steps: &[ReleaseCounterStep], until: f64) -> Option<f64> {
    let mut sum = 0.0;
    for pair in steps.windows(2) {
        let (from, step) = (pair[0].at_ms, pair[1]);
        if step.at_ms >= until {
            let share = (until - from) / (step.at_ms - from);
            return Some(sum + step.people * share);
        }
        sum += step.people;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(count: u32) -> Vec<VisitorFigures> {
        (0..count)
            .map(|rank| VisitorFigures {
                rank: Some(u64::from(rank)),
                joined_ms: Some(0.0),
                ..VisitorFigures::default()
            })
            .collect()
    }

    fn figures_of(released: &[(f64, u64)], people: &[VisitorFigures]) -> BTreeMap<String, f64> {
        let mut into = BTreeMap::new();
        figures(released, people, 10.0, &[], &mut into);
        into
    }

    fn steady() -> Vec<(f64, u64)> {
        (1..=40)
            .map(|tick: u32| (f64::from(tick) * 1_000.0, u64::from(tick) * 10))
            .collect()
    }

    #[test]
    fn a_steady_pace_is_ten_in_every_window() {
        let figures = figures_of(&steady(), &crowd(500));
        assert!(
            (figures["released_window_max"] - 10.0).abs() < 1e-9,
            "{figures:?}"
        );
        assert!(
            (figures["released_window_min"] - 10.0).abs() < 1e-9,
            "{figures:?}"
        );
        assert!(figures["pace_error"] < 1e-9);
    }

    #[test]
    fn a_burst_does_not_lower_the_largest_window_and_a_stall_lowers_the_smallest() {
        let mut released = steady();
        released.retain(|(at, _)| !(10_500.0..13_500.0).contains(at));
        let figures = figures_of(&released, &crowd(500));
        assert!(figures["released_window_max"] >= 10.0);
        let mut stalled = steady();
        for (at, _) in stalled.iter_mut().skip(15) {
            *at += 5_000.0;
        }
        assert!(figures_of(&stalled, &crowd(500))["released_window_min"] < 6.0);
    }

    #[test]
    fn people_who_enter_faster_than_the_pace_are_an_error_of_the_pace() {
        let mut people = crowd(500);
        for (at, person) in people.iter_mut().enumerate() {
            person.entered_ms = Some(1_000.0 * (at / 10) as f64);
        }
        let figures = figures_of(&steady(), &people);
        assert!(
            (figures["entered_window_max"] - 10.0).abs() < 1e-9 && figures["pace_error"] < 1e-9,
            "{figures:?}"
        );
        for person in people.iter_mut().take(220) {
            person.entered_ms = Some(60_000.0);
        }
        let figures = figures_of(&steady(), &people);
        assert!((figures["pace_error"] - 1.0).abs() < 1e-9, "{figures:?}");
    }

    #[test]
    fn visitors_who_are_gone_do_not_count_as_released() {
        let mut people = crowd(500);
        for person in people.iter_mut().take(100) {
            person.gone_ms = Some(-60_000.0);
        }
        let figures = figures_of(&steady(), &people);
        // The first window releases only ranks of absent visitors, except for the tick at its end.
        assert!(figures["released_window_min"] < 1.1, "{figures:?}");
    }
}

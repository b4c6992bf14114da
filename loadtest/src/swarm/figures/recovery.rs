//! Works out how long a slowdown of booking affected visitors. One figure ends when booking answers
//! quickly again, and the other when nearly as many visitors enter as before.

use std::collections::BTreeMap;

use super::calls::{by_window, float};
use super::{Disturbance, VisitorFigures};

const WINDOW_S: f64 = 5.0;
/// The rate of entries is taken over windows of this length, in milliseconds. The time of the
/// recovery is the end of a window.
const ENTRIES_MS: f64 = 5_000.0;
/// The rate of entries during this time before the slowdown counts as normal, in milliseconds.
const BEFORE_MS: f64 = 15_000.0;

/// Adds two figures of the first slowdown. `recovery_s` counts from the start of the slowdown until
/// p99 stays at or below `target_ms`. Only the windows from the start of the slowdown to the one
/// that contains its end count. A window without an answer counts as above the target.
/// `entries_recovery_s` counts from the end of the slowdown until the rate of entries is at least
/// nine tenths of the rate before the slowdown.
pub fn figures(
    booking: &[(f64, f64)],
    people: &[VisitorFigures],
    target_ms: f64,
    disturbances: &[Disturbance],
    into: &mut BTreeMap<String, f64>,
) {
    let Some(slow) = disturbances.iter().find(|one| one.slow) else {
        return;
    };
    let windows = by_window(booking, slow.from_ms, slow.until_ms, WINDOW_S, 0.99);
    let is_over = |p99: &Option<f64>| p99.is_none_or(|p99| p99 > target_ms);
    let last_over = windows.iter().rposition(is_over).map_or(0, |at| at + 1);
    into.insert("recovery_s".into(), float(last_over as u64) * WINDOW_S);

    let mut entries: Vec<f64> = people.iter().filter_map(|one| one.entered_ms).collect();
    entries.sort_unstable_by(f64::total_cmp);
    let within = |from: f64, until: f64| {
        let count =
            entries.partition_point(|at| *at < until) - entries.partition_point(|at| *at < from);
        float(count as u64) / ((until - from) / 1e3)
    };
    let wanted = 0.9 * within(slow.from_ms - BEFORE_MS, slow.from_ms);
    let last = entries.last().copied().unwrap_or_default();
    let mut until = slow.until_ms;
    while until <= last + ENTRIES_MS {
        if wanted > 0.0 && within(until - ENTRIES_MS, until) >= wanted {
            into.insert(
                "entries_recovery_s".into(),
                (until - slow.until_ms).max(0.0) / 1e3,
            );
            return;
        }
        until += 500.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_takes_at_most_as_long_as_the_slowdown() {
        let slow = Disturbance {
            from_ms: 20_000.0,
            until_ms: 80_000.0,
            slow: true,
            halts: false,
        };
        let mut into = BTreeMap::new();
        figures(&[], &[], 300.0, &[slow], &mut into);
        assert!((into["recovery_s"] - 60.0).abs() < 1e-9, "{into:?}");
    }

    #[test]
    fn recovery_counts_from_the_start_of_the_slowdown_until_p99_stays_low() {
        let booking: Vec<(f64, f64)> = (0..200)
            .map(|at| {
                let at_ms = f64::from(at) * 500.0;
                let slow = (20_000.0..32_000.0).contains(&at_ms);
                (at_ms, if slow { 900.0 } else { 20.0 })
            })
            .collect();
        let people: Vec<VisitorFigures> = (0..500)
            .map(|at| f64::from(at) * 200.0)
            .filter(|at| !(20_000.0..65_000.0).contains(at))
            .map(|at| VisitorFigures {
                entered_ms: Some(at),
                ..VisitorFigures::default()
            })
            .collect();
        let slow = Disturbance {
            from_ms: 20_000.0,
            until_ms: 60_000.0,
            slow: true,
            halts: false,
        };
        let mut into = BTreeMap::new();
        figures(&booking, &people, 300.0, &[slow], &mut into);
        assert!((into["recovery_s"] - 15.0).abs() < 1e-9, "{into:?}");
        assert!(
            (9.0..=10.5).contains(&into["entries_recovery_s"]),
            "{into:?}"
        );
    }
}

//! Works out how fast the line released ranks while every remaining seat was in a basket. It uses
//! the release counter and the count of free seats, as sockets received them.

use std::collections::BTreeMap;

use super::calls::float;

/// After the last free seat is held, sockets may still receive earlier releases for this long, in
/// milliseconds.
const SETTLE_MS: f64 = 2_000.0;

/// A span of time in which no seat was free, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SoldOutSpan {
    from: f64,
    until: f64,
}

/// Adds two figures about the time when no seat was free. The first is how many ranks a second were
/// released then, as a share of the room's `per_s`. The second is how many ranks were released
/// after a seat first became free again. Adds nothing if a seat was always free. `sold_ms` is the
/// time at which the last seat was sold, if all were sold.
pub fn figures(
    released: &[(f64, u64)],
    free: &[(f64, u64)],
    per_s: f64,
    sold_ms: Option<f64>,
    into: &mut BTreeMap<String, f64>,
) {
    let end = sold_ms
        .or(free.last().map(|(at, _)| *at))
        .unwrap_or_default();
    let spans = spans(free, end);
    let Some(first) = spans.first() else {
        return;
    };
    let counter = |at: f64| {
        let count = released.partition_point(|(when, _)| *when <= at);
        count.checked_sub(1).map_or(0, |last| released[last].1)
    };
    let (mut called, mut seconds) = (0, 0.0);
    for span in &spans {
        let from = span.from + SETTLE_MS;
        if from < span.until {
            called += counter(span.until) - counter(from);
            seconds += (span.until - from) / 1e3;
        }
    }
    if seconds > 0.0 {
        into.insert("covered_pace".into(), float(called) / seconds / per_s);
    }
    let resumed = counter(end.max(first.until)) - counter(first.until);
    into.insert("resumed".into(), float(resumed));
}

fn spans(free: &[(f64, u64)], end: f64) -> Vec<SoldOutSpan> {
    let ends = free.iter().skip(1).map(|(at, _)| *at).chain([end]);
    free.iter()
        .zip(ends)
        .filter(|((from, count), until)| *count == 0 && from < until)
        .map(|((from, _), until)| SoldOutSpan { from: *from, until })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(released: &[(f64, u64)], free: &[(f64, u64)]) -> BTreeMap<String, f64> {
        let mut into = BTreeMap::new();
        figures(released, free, 10.0, Some(40_000.0), &mut into);
        into
    }

    const FREE: [(f64, u64); 4] = [(0.0, 5), (10_000.0, 0), (22_000.0, 3), (30_000.0, 0)];

    #[test]
    fn releases_without_a_free_seat_and_after_a_seat_came_back_are_two_figures() {
        let released = [(9_000.0, 90), (20_000.0, 100), (25_000.0, 130)];
        let figures = of(&released, &FREE);
        assert!(
            (figures["covered_pace"] - 10.0 / 18.0 / 10.0).abs() < 1e-9,
            "{figures:?}"
        );
        assert!((figures["resumed"] - 30.0).abs() < 1e-9);
    }

    #[test]
    fn a_line_that_does_not_slow_without_free_seats_has_nearly_the_full_covered_pace() {
        let released: Vec<_> = (0..40_u32)
            .map(|second| (f64::from(second) * 1e3, u64::from(second) * 10))
            .collect();
        assert!(of(&released, &FREE)["covered_pace"] > 0.9);
    }

    #[test]
    fn there_are_no_figures_if_a_seat_is_always_free() {
        assert!(of(&[(1.0, 5)], &[(0.0, 9)]).is_empty());
    }
}

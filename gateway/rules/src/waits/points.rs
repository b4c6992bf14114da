//! Keeps of a long table of waits the few points from which the others can be interpolated.

/// The most points that are kept.
pub const POINTS_MAX: usize = 15;
/// If interpolated waits differ from the table by less than this part, no more points are kept.
const CLOSE: f64 = 0.02;
/// Shorter differences than this, in seconds, count less.
const SHORT_S: f64 = 5.0;

/// The wait of a visitor with so many people ahead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitPoint {
    /// The people ahead.
    pub ahead: u64,
    /// Half of the visitors in this position wait at most this long, in seconds.
    pub p50_s: f64,
    /// Nine in ten wait at most this long, in seconds.
    pub p90_s: f64,
}

/// Returns the wait between the points, as `(p50_s, p90_s)`. After the last point it goes on as
/// before that point. Returns `None` without points.
#[must_use]
pub fn interpolate(points: &[WaitPoint], ahead: f64) -> Option<(f64, f64)> {
    let after = points.partition_point(|point| point.ahead as f64 <= ahead);
    let after = after.clamp(1, points.len().max(2) - 1);
    let [from, to] = [points.get(after - 1)?, points.get(after).or(points.last())?];
    let people = to.ahead as f64 - from.ahead as f64;
    let part = if people > 0.0 {
        (ahead - from.ahead as f64) / people
    } else {
        0.0
    };
    Some((
        from.p50_s + part * (to.p50_s - from.p50_s),
        from.p90_s + part * (to.p90_s - from.p90_s),
    ))
}

/// Keeps the first and the last point of a table, and of the others those that matter most.
#[must_use]
pub fn keep_few(table: &[WaitPoint]) -> Vec<WaitPoint> {
    let mut kept = vec![0];
    kept.extend(table.len().checked_sub(1).filter(|last| *last > 0));
    while kept.len() < POINTS_MAX {
        let worst = (0..table.len())
            .map(|at| (at, difference(table, &kept, at)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        match worst {
            Some((at, difference)) if difference > CLOSE => {
                let slot = kept.partition_point(|other| *other < at);
                kept.insert(slot, at);
            }
            _ => break,
        }
    }
    kept.iter()
        .filter_map(|at| table.get(*at).copied())
        .collect()
}

/// Returns by which part the wait at `at` differs from the wait between the kept points.
fn difference(table: &[WaitPoint], kept: &[usize], at: usize) -> f64 {
    let after = kept.partition_point(|other| *other <= at);
    let (Some(before), Some(after)) = (after.checked_sub(1), kept.get(after)) else {
        return 0.0;
    };
    let around = [table[kept[before]], table[*after]];
    let point = &table[at];
    interpolate(&around, point.ahead as f64).map_or(0.0, |(p50_s, p90_s)| {
        let part = |told_s: f64, real_s: f64| (told_s - real_s).abs() / (real_s + SHORT_S);
        part(p50_s, point.p50_s).max(part(p90_s, point.p90_s))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(ahead: u64, p50_s: f64) -> WaitPoint {
        WaitPoint {
            ahead,
            p50_s,
            p90_s: p50_s * 2.0,
        }
    }

    #[test]
    fn a_line_that_moves_evenly_needs_two_points() {
        let table: Vec<_> = (0..500).map(|ahead| point(ahead, ahead as f64)).collect();
        assert_eq!(keep_few(&table), [table[0], table[499]]);
        let (p50_s, p90_s) = interpolate(&keep_few(&table), 250.0).expect("points");
        assert!((p50_s - 250.0).abs() < 1e-6 && (p90_s - 500.0).abs() < 1e-6);
    }

    #[test]
    fn steps_of_the_line_are_kept() {
        let table: Vec<_> = (0..200)
            .map(|ahead| point(ahead, (ahead / 20 * 600) as f64))
            .collect();
        let kept = keep_few(&table);
        assert_eq!(kept.len(), POINTS_MAX);
        let (at_10, _) = interpolate(&kept, 10.0).expect("points");
        assert!(at_10 < 400.0, "{at_10}");
    }

    #[test]
    fn one_point_stands_for_everybody_and_none_for_nobody() {
        let one = [point(0, 7.0)];
        assert_eq!(keep_few(&one), one);
        assert_eq!(interpolate(&one, 9.0), Some((7.0, 14.0)));
        assert_eq!(interpolate(&[], 9.0), None);
        assert!(keep_few(&[]).is_empty());
    }
}

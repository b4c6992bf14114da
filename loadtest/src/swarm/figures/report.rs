//! Collects all results of a run: a flat list of figures, errors by code, and a few series over
//! time.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::calls::{by_window, float, quantile_of};
use super::{
    RunCharts, RunConditions, SwarmMeasurements, VisitorFigures, bots, cover, forecast, pace,
    people, recovery, sale, waits,
};
use crate::rig::MemorySample;

/// The length of the processors' busiest span, in seconds. A plan uses the same length.
const BUSY_TOGETHER: usize = 5;
/// The largest p99 of the swarm's own lateness in a valid run, in milliseconds.
const LAG_P99_MAX_MS: f64 = 250.0;
/// The largest share of calls that may be sent more than a second late in a valid run.
const LATE_SENDS_MAX: f64 = 0.01;

/// A run's figures.
#[derive(Debug, Clone)]
pub struct SwarmReport {
    /// The figures by name.
    pub figures: BTreeMap<String, f64>,
    /// The errors by operation and code.
    pub errors: Value,
    /// The number of visitors by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// The series over time: booking's p50, p90 and p99, entries, purchases and memory. Also the
    /// median of the p99 series.
    pub series: Value,
    /// The points of the run's charts.
    pub charts: RunCharts,
}

impl SwarmReport {
    /// Works out all figures of a run.
    pub fn from_measurements(seen: &SwarmMeasurements, setting: &RunConditions) -> Self {
        let mut figures = BTreeMap::new();
        seen.calls.figures(&mut figures);
        people::figures(&seen.people, &mut figures);
        bots::figures(&seen.people, setting.people, &mut figures);
        pace::figures(
            &seen.released,
            &seen.people,
            setting.per_s,
            &seen.disturbances,
            &mut figures,
        );
        cover::figures(
            &seen.released,
            &seen.free,
            setting.per_s,
            seen.all_sold_ms,
            &mut figures,
        );
        waits::figures(&seen.people, &seen.free, setting.end_ms, &mut figures);
        sale::figures(seen, setting.draw_ms, &mut figures);
        forecast::figures(
            &setting.promoters_report,
            setting.draw_ms,
            seen.all_sold_ms,
            &mut figures,
        );
        recovery::figures(
            &seen.calls.booking,
            &seen.people,
            setting.p99_ms,
            &seen.disturbances,
            &mut figures,
        );
        if let Some(settled_ms) = setting.settled_ms {
            let settled_s = (settled_ms - setting.end_ms) / 1e3;
            figures.insert("settled_s".into(), settled_s);
        }
        told_of_the_end(seen, &mut figures);
        memory(&setting.memory, &mut figures);
        if let Some(busy) = busiest(&seen.processors, setting.cpus) {
            figures.insert("cpu_busy_5s".into(), busy);
        }
        let charts = RunCharts::of(seen, setting);
        charts.figures(&mut figures);
        let mut outcomes = BTreeMap::new();
        for person in &seen.people {
            let outcome = person.outcome.as_deref().unwrap_or("unaccounted");
            *outcomes.entry(outcome.to_owned()).or_default() += 1;
        }
        Self {
            figures,
            errors: seen.calls.errors(),
            outcomes,
            series: series(seen, setting),
            charts,
        }
    }

    /// Returns whether the swarm itself was late, so that the run says nothing about the system.
    pub fn is_late(&self) -> bool {
        let exceeds =
            |name: &str, max: f64| self.figures.get(name).is_some_and(|figure| *figure > max);
        exceeds("lag_p99_ms", LAG_P99_MAX_MS) || exceeds("late_sends", LATE_SENDS_MAX)
    }

    /// Returns the whole report as a JSON document.
    pub fn document(&self) -> Value {
        json!({
            "figures": self.figures,
            "errors": self.errors,
            "outcomes": self.outcomes,
            "series": self.series,
            "charts": self.charts,
        })
    }
}

/// Adds how long after the last sale the last visitor learned that everything was sold. There is
/// one figure for visitors on sockets and one for visitors who poll.
fn told_of_the_end(seen: &SwarmMeasurements, into: &mut BTreeMap<String, f64>) {
    let Some(sold_ms) = seen.all_sold_ms else {
        return;
    };
    for (name, socket) in [
        ("told_after_last_sale_s", true),
        ("polled_after_last_sale_s", false),
    ] {
        let told = seen
            .people
            .iter()
            .filter_map(|person| person.sold_out_ms)
            .filter(|(_, on_socket)| *on_socket == socket)
            .map(|(at_ms, _)| ((at_ms - sold_ms) / 1e3).max(0.0))
            .max_by(f64::total_cmp);
        if let Some(told) = told {
            into.insert(name.into(), told);
        }
    }
}

/// Adds the most memory used, the memory after a minute, and how much the memory grew after that.
fn memory(samples: &[MemorySample], into: &mut BTreeMap<String, f64>) {
    let most = samples.iter().map(|one| one.mb).max_by(f64::total_cmp);
    let Some(most) = most else {
        return;
    };
    into.insert("rss_max_mb".into(), most);
    let after: Vec<_> = samples.iter().filter(|one| one.at_s >= 60.0).collect();
    let Some(first) = after.first() else {
        return;
    };
    let most_after = after.iter().map(|one| one.mb).fold(first.mb, f64::max);
    into.insert("rss_60s_mb".into(), first.mb);
    into.insert("rss_after_60s_ratio".into(), most_after / first.mb);
    let count = float(after.len() as u64);
    let mean =
        |of: &dyn Fn(&MemorySample) -> f64| after.iter().map(|one| of(one)).sum::<f64>() / count;
    let (at, mb) = (mean(&|one| one.at_s), mean(&|one| one.mb));
    let above = mean(&|one| (one.at_s - at) * (one.mb - mb));
    let below = mean(&|one| (one.at_s - at).powi(2));
    if below > 0.0 {
        into.insert("rss_slope_mb_per_min".into(), above / below * 60.0);
    }
}

/// Returns how much of `cpus` processors was used in the busiest span, as a share. A span has
/// [`BUSY_TOGETHER`] intervals between readings. Returns `None` if there are too few readings.
fn busiest(readings: &[(f64, f64)], cpus: usize) -> Option<f64> {
    let spans = readings.windows(BUSY_TOGETHER + 1).map(|readings| {
        let ((from_ms, before_ms), (to_ms, spent_ms)) = (readings[0], readings[BUSY_TOGETHER]);
        (spent_ms - before_ms) / ((to_ms - from_ms) * float(cpus.max(1) as u64))
    });
    spans.max_by(f64::total_cmp)
}

fn series(seen: &SwarmMeasurements, setting: &RunConditions) -> Value {
    let per_second = |at: &dyn Fn(&VisitorFigures) -> Option<f64>| {
        let samples: Vec<_> = seen
            .people
            .iter()
            .filter_map(|person| Some((at(person)?, 1.0)))
            .collect();
        samples_per_second(&samples, setting)
    };
    let percentile = |share: f64| {
        let (calls, end_ms) = (&seen.calls.booking, setting.end_ms);
        let mut percentile = by_window(calls, setting.start_ms, end_ms, 1.0, share);
        for value in percentile.iter_mut().flatten() {
            *value = (*value * 10.0).round() / 10.0;
        }
        percentile
    };
    let p99 = percentile(0.99);
    let mut all: Vec<f64> = p99.iter().flatten().copied().collect();
    json!({
        "booking_p50_ms": percentile(0.5),
        "booking_p90_ms": percentile(0.9),
        "booking_p99_ms": p99,
        "booking_p99_median_ms": quantile_of(&mut all, 0.5),
        "entries": per_second(&|person| person.entered_ms),
        "purchases": per_second(&|person| person.ticketed_ms),
        "rss_mb": setting.memory.iter().map(|one| one.mb.round()).collect::<Vec<_>>(),
    })
}

/// Returns how many samples fall into each second.
fn samples_per_second(samples: &[(f64, f64)], setting: &RunConditions) -> Vec<u64> {
    let seconds = by_window(&[], setting.start_ms, setting.end_ms, 1.0, 1.0).len();
    let mut counts = vec![0; seconds];
    for (at_ms, _) in samples {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a second of the run; what lies outside is left out"
        )]
        let second = ((at_ms - setting.start_ms) / 1e3) as usize;
        if let Some(count) = counts.get_mut(second) {
            *count += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_seconds_are_a_part_of_the_processors() {
        let readings: Vec<(f64, f64)> = (0..10_u32)
            .map(|second| {
                let spent_ms = f64::from(second.saturating_sub(4)) * 800.0;
                (f64::from(second) * 1e3, spent_ms)
            })
            .collect();
        let busy = busiest(&readings, 2).expect("enough readings");
        assert!((busy - 0.4).abs() < 1e-9);
        assert_eq!(busiest(&readings[..5], 2), None);
    }

    #[test]
    fn memory_that_does_not_change_has_ratio_one_and_no_slope() {
        let mut into = BTreeMap::new();
        let samples: Vec<MemorySample> = (0..120)
            .map(|at| MemorySample {
                at_s: f64::from(at),
                mb: if at < 30 { f64::from(at) } else { 50.0 },
            })
            .collect();
        memory(&samples, &mut into);
        assert!((into["rss_after_60s_ratio"] - 1.0).abs() < 1e-9);
        assert!(into["rss_slope_mb_per_min"].abs() < 1e-9);
    }
}

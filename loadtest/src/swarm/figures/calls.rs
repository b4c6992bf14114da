//! Counts calls by operation. A latency counts from the time at which the call was meant to be
//! sent. If the swarm or the server stalls, the latency of each delayed call therefore includes the
//! delay.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::{BOOKING, OPS};

/// The largest latency that is recorded, in microseconds. It is two minutes. Latencies are exact to
/// three digits.
const MAX_US: u64 = 120_000_000;

/// The figures of one operation.
pub struct OperationStats {
    times: Histogram<u64>,
    /// The number of tries.
    pub count: u64,
    /// The number of tries that succeeded.
    pub ok: u64,
    /// The number of all other tries, by status and code.
    pub errors: BTreeMap<String, u64>,
}

/// The figures of all operations.
pub struct CallStats {
    ops: BTreeMap<&'static str, OperationStats>,
    /// How late the swarm itself sent its calls, in microseconds.
    lag: Histogram<u64>,
    late: u64,
    sent: u64,
    /// The calls to booking: the time of the answer and the latency, both in milliseconds.
    pub booking: Vec<(f64, f64)>,
    /// The number of tries without an answer.
    pub unknown: u64,
}

/// The figures of one operation as one process passes them to another.
#[derive(Serialize, Deserialize)]
struct OperationPart {
    /// Latencies in microseconds, each with how often it was recorded.
    times: Vec<(u64, u64)>,
    ok: u64,
    errors: BTreeMap<String, u64>,
}

/// The figures of all operations as one process passes them to another.
#[derive(Serialize, Deserialize)]
pub struct CallStatsPart {
    ops: BTreeMap<String, OperationPart>,
    lag: Vec<(u64, u64)>,
    late: u64,
    booking: Vec<(f64, f64)>,
    unknown: u64,
}

impl Default for OperationStats {
    fn default() -> Self {
        Self {
            times: histogram(),
            count: 0,
            ok: 0,
            errors: BTreeMap::new(),
        }
    }
}

impl Default for CallStats {
    fn default() -> Self {
        Self {
            ops: BTreeMap::new(),
            lag: histogram(),
            late: 0,
            sent: 0,
            booking: Vec::new(),
            unknown: 0,
        }
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_US, 3).expect("bounds that are in order, and three digits")
}

/// Returns the values of a histogram, each with how often it was recorded.
fn recorded(times: &Histogram<u64>) -> Vec<(u64, u64)> {
    let values = times.iter_recorded();
    values
        .map(|value| (value.value_iterated_to(), value.count_at_value()))
        .collect()
}

fn record_all(times: &mut Histogram<u64>, recorded: &[(u64, u64)]) {
    for (value, count) in recorded {
        times.saturating_record_n(*value, *count);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the histogram's range first"
)]
fn micros(ms: f64) -> u64 {
    (ms * 1e3).clamp(1.0, 1.2e8) as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and microseconds of one run are far below 2^52"
)]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

impl CallStats {
    /// Adds one try.
    pub fn add(
        &mut self,
        op: &'static str,
        [intended_ms, sent_ms, done_ms]: [f64; 3],
        status: Option<u16>,
        code: Option<&str>,
    ) {
        let entry = self.ops.entry(op).or_default();
        entry.count += 1;
        entry.times.saturating_record(micros(done_ms - intended_ms));
        match status {
            Some(status) if (200..300).contains(&status) => entry.ok += 1,
            Some(status) => {
                let name = format!("{status} {}", code.unwrap_or("-"));
                *entry.errors.entry(name).or_default() += 1;
            }
            None => {
                *entry.errors.entry("no answer".to_owned()).or_default() += 1;
                self.unknown += 1;
            }
        }
        self.sent += 1;
        let lag_ms = sent_ms - intended_ms;
        self.lag.saturating_record(micros(lag_ms));
        self.late += u64::from(lag_ms > 1_000.0);
        if BOOKING.contains(&op) {
            self.booking.push((done_ms, done_ms - intended_ms));
        }
    }

    /// Returns the latencies of each operation that was called, in milliseconds. There is one for
    /// each of `shares`: the time within which this share of the calls was answered.
    pub fn latencies(&self, shares: &[f64]) -> BTreeMap<String, Vec<f64>> {
        let called = self.ops.iter().filter(|(_, op)| op.count > 0);
        called
            .map(|(name, op)| {
                let times = shares
                    .iter()
                    .map(|share| op.times.value_at_quantile(*share));
                let times = times.map(|micros| float(micros) / 1e3);
                ((*name).to_owned(), times.collect())
            })
            .collect()
    }

    /// Returns everything that was counted, for another process.
    pub fn part(&self) -> CallStatsPart {
        let part = |op: &OperationStats| OperationPart {
            times: recorded(&op.times),
            ok: op.ok,
            errors: op.errors.clone(),
        };
        let ops = self.ops.iter();
        CallStatsPart {
            ops: ops
                .map(|(name, op)| ((*name).to_owned(), part(op)))
                .collect(),
            lag: recorded(&self.lag),
            late: self.late,
            booking: self.booking.clone(),
            unknown: self.unknown,
        }
    }

    /// Adds what another process counted. Ignores an operation that is not in [`OPS`].
    pub fn add_part(&mut self, part: CallStatsPart) {
        for (name, part) in part.ops {
            let Some(name) = OPS.iter().find(|known| **known == name) else {
                continue;
            };
            let op = self.ops.entry(name).or_default();
            op.count += part.times.iter().map(|(_, count)| count).sum::<u64>();
            op.ok += part.ok;
            record_all(&mut op.times, &part.times);
            for (name, count) in part.errors {
                *op.errors.entry(name).or_default() += count;
            }
        }
        self.sent += part.lag.iter().map(|(_, count)| count).sum::<u64>();
        record_all(&mut self.lag, &part.lag);
        self.late += part.late;
        self.unknown += part.unknown;
        self.booking.extend(part.booking);
        self.booking
            .sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
    }

    /// Adds the figures of each operation, of booking as a whole, and of the swarm's own lateness.
    pub fn figures(&self, into: &mut BTreeMap<String, f64>) {
        let mut booking = OperationStats::default();
        for (name, op) in &self.ops {
            op.figures(name, into);
            if BOOKING.contains(name) {
                booking.count += op.count;
                booking.ok += op.ok;
                // Both histograms have the same bounds, so no value can fall outside.
                let _ = booking.times.add(&op.times);
            }
        }
        booking.figures("booking", into);
        into.insert("unknown_outcomes".into(), float(self.unknown));
        into.insert(
            "lag_p99_ms".into(),
            float(self.lag.value_at_quantile(0.99)) / 1e3,
        );
        into.insert(
            "late_sends".into(),
            float(self.late) / float(self.sent.max(1)),
        );
    }

    /// Returns the number of errors by operation, status and code.
    pub fn errors(&self) -> serde_json::Value {
        let errors = self.ops.iter().filter(|(_, op)| !op.errors.is_empty());
        errors
            .map(|(name, op)| ((*name).to_owned(), serde_json::json!(op.errors)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Returns how many tries did not succeed, including those whose answer asked the visitor to
    /// try later.
    pub fn error_count(&self) -> u64 {
        self.ops.values().map(|op| op.count - op.ok).sum()
    }
}

impl OperationStats {
    fn figures(&self, name: &str, into: &mut BTreeMap<String, f64>) {
        let at = |quantile: f64| float(self.times.value_at_quantile(quantile)) / 1e3;
        let figures = [
            ("count", float(self.count)),
            ("ok", float(self.ok)),
            ("errors", float(self.count - self.ok)),
            ("p50_ms", at(0.5)),
            ("p90_ms", at(0.9)),
            ("p95_ms", at(0.95)),
            ("p99_ms", at(0.99)),
            ("max_ms", float(self.times.max()) / 1e3),
        ];
        // An operation that nobody called has no latencies.
        let shown = if self.count == 0 { 3 } else { figures.len() };
        for (what, figure) in &figures[..shown] {
            into.insert(format!("{name}.{what}"), *figure);
        }
    }
}

/// Divides the time from `start_ms` to `end_ms` into windows of `step_s` seconds. Returns the
/// `quantile` of the latencies of each window, or `None` for a window without an answer. There is
/// at least one window. The last one may end after `end_ms`, but begins before it.
pub fn by_window(
    samples: &[(f64, f64)],
    start_ms: f64,
    end_ms: f64,
    step_s: f64,
    quantile: f64,
) -> Vec<Option<f64>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a run has some hundreds of windows, and times before it are left out"
    )]
    let floor = |windows: f64| windows as usize;
    let windows_until = |at_ms: f64| (at_ms - start_ms) / (step_s * 1e3);
    // Sums of times since the epoch are not exact. A little more than a whole window is not another
    // window.
    let count = (windows_until(end_ms) - 1e-6).ceil().max(1.0);
    let mut windows: Vec<Vec<f64>> = vec![Vec::new(); floor(count)];
    for (at_ms, took_ms) in samples {
        if *at_ms >= start_ms
            && let Some(slot) = windows.get_mut(floor(windows_until(*at_ms)))
        {
            slot.push(*took_ms);
        }
    }
    windows
        .into_iter()
        .map(|mut times| quantile_of(&mut times, quantile))
        .collect()
}

/// Returns the `quantile` of the values by nearest rank.
pub fn quantile_of(values: &mut [f64], quantile: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a list in memory"
    )]
    let at = ((values.len() as f64 * quantile).ceil() as usize).clamp(1, values.len());
    Some(values[at - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_counts_from_the_intended_time() {
        let mut calls = CallStats::default();
        calls.add("hold", [1_000.0, 3_000.0, 3_010.0], Some(201), None);
        let mut figures = BTreeMap::new();
        calls.figures(&mut figures);
        assert!(
            (figures["hold.p99_ms"] - 2_010.0).abs() < 3.0,
            "{figures:?}"
        );
        assert!((figures["late_sends"] - 1.0).abs() < 1e-9);
        assert!((figures["booking.count"] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn two_parts_give_the_figures_of_the_whole() {
        let calls = [
            ("hold", [0.0, 1.0, 12.0], Some(201), None),
            ("hold", [5.0, 5.0, 20.0], Some(409), Some("seats_taken")),
            ("order", [7.0, 1_500.0, 1_600.0], Some(201), None),
            ("join", [9.0, 9.0, 11.0], None, None),
        ];
        let (mut whole, mut one) = (CallStats::default(), CallStats::default());
        let mut other = CallStats::default();
        for (at, (op, times, status, code)) in calls.into_iter().enumerate() {
            whole.add(op, times, status, code);
            let part = if at % 2 == 0 { &mut one } else { &mut other };
            part.add(op, times, status, code);
        }
        let mut merged = CallStats::default();
        for part in [other, one] {
            let sent = serde_json::to_string(&part.part()).expect("JSON");
            merged.add_part(serde_json::from_str(&sent).expect("a part"));
        }
        let figures = |calls: &CallStats| {
            let mut figures = BTreeMap::new();
            calls.figures(&mut figures);
            (figures, calls.errors(), calls.booking.clone())
        };
        assert_eq!(figures(&merged), figures(&whole));
    }

    #[test]
    fn a_window_without_answers_has_no_quantile() {
        let samples = [(1_100.0, 5.0), (1_200.0, 9.0), (3_500.0, 7.0)];
        assert_eq!(
            by_window(&samples, 1_000.0, 4_500.0, 1.0, 0.99),
            [Some(9.0), None, Some(7.0), None]
        );
    }

    #[test]
    fn no_window_begins_at_the_end() {
        let windows = |start_ms: f64, lasts_ms: f64| {
            by_window(&[], start_ms, start_ms + lasts_ms, 5.0, 0.99).len()
        };
        for start_ms in [0.0, 1_800_000_000_000.1, 1_800_000_000_123.456] {
            let counts = [0.0, 1.0, 60_000.0, 60_001.0].map(|lasts_ms| windows(start_ms, lasts_ms));
            assert_eq!(counts, [1, 1, 12, 13], "{start_ms}");
        }
    }
}

//! Checks that every buyer was admitted: nobody gets an order or a hold without a pass.

use std::collections::HashMap;

use super::history::HistoryOperation;
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How far the times of two programs on one machine may differ, in milliseconds, because each
/// program rounds its times.
const ROUNDING_MS: f64 = 5.0;

/// How long after its expiry a pass may still be accepted, in milliseconds. Booking's check has a
/// leeway of 5 s, and rounding adds up to 1 s.
const PASS_LEEWAY_MS: f64 = 6_000.0;

/// For each visitor, when each pass was given and when it expires.
type PassTimes = HashMap<u64, Vec<(f64, f64)>>;

/// Checks that orders belong to visitors who had a pass, and that holds were taken with a valid
/// pass.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut passes = PassTimes::new();
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        if let HistoryOperation::Claim { exp_ms, .. } = call.op {
            passes
                .entry(call.visitor)
                .or_default()
                .push((call.done_ms, exp_ms));
        }
    }
    orders_had_passes(timeline, &passes, findings);
    holds_had_passes(timeline, &passes, findings);
}

fn orders_had_passes(timeline: &RunTimeline<'_>, passes: &PassTimes, findings: &mut Findings) {
    let none = Vec::new();
    for order in timeline
        .dump
        .orders
        .iter()
        .filter(|order| timeline.of_this_run(order))
    {
        let visitor = timeline.visitor_of(order);
        let pass_times = visitor
            .and_then(|visitor| passes.get(&visitor))
            .unwrap_or(&none);
        if !pass_times
            .iter()
            .any(|(from, _)| *from <= order.created_ms + ROUNDING_MS)
        {
            findings.add(Invariant::Admitted, || match visitor {
                Some(visitor) => format!(
                    "{} of visitor {visitor}, who had no pass by {:.0}",
                    order.order, order.created_ms
                ),
                None => format!("{} belongs to nobody of this run", order.order),
            });
        }
    }
}

fn holds_had_passes(timeline: &RunTimeline<'_>, passes: &PassTimes, findings: &mut Findings) {
    let none = Vec::new();
    let mut first_tries: HashMap<(u64, &str), f64> = HashMap::new();
    for call in timeline
        .history
        .calls
        .iter()
        .filter(|call| matches!(call.op, HistoryOperation::Hold(_)))
    {
        if let Some(key) = &call.key {
            let first_ms = first_tries
                .entry((call.visitor, key))
                .or_insert(call.sent_ms);
            *first_ms = first_ms.min(call.sent_ms);
        }
    }
    for (id, hold) in &timeline.holds {
        let (call, visitor) = (hold.call, hold.call.visitor);
        let pass_times = passes.get(&visitor).unwrap_or(&none);
        let has_valid_pass = pass_times
            .iter()
            .any(|(from, until)| *from <= call.done_ms && call.sent_ms <= until + PASS_LEEWAY_MS);
        // A call that repeats an earlier key may get the earlier answer again. Then the pass need
        // not be valid any longer.
        let first_sent_ms = call
            .key
            .as_deref()
            .and_then(|key| first_tries.get(&(visitor, key)));
        let repeats = first_sent_ms.is_some_and(|sent_ms| *sent_ms < call.sent_ms);
        if !has_valid_pass && !repeats {
            findings.add(Invariant::Admitted, || {
                format!(
                    "line {}: visitor {visitor} was given {id} without a valid pass",
                    call.line
                )
            });
        }
    }
}

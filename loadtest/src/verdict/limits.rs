//! Checks two limits: the seats of each visitor, and the visitors inside at once. Only what
//! certainly happened counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::history::HistoryOperation;
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks both limits.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    seats_in_the_end(timeline, findings);
    seats_at_any_time(timeline, findings);
    inside(timeline, findings);
}

fn seats_in_the_end(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut kept_seats: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for order in timeline.dump.orders.iter().filter(|order| order.lives()) {
        let seats = kept_seats.entry((&order.show, &order.visitor)).or_default();
        seats.extend(order.kept_labels());
    }
    for ((show, visitor), seats) in kept_seats {
        let limit = limit(timeline, show);
        if seats.len() as u64 > limit {
            findings.add(Invariant::Limits, || {
                format!("holder {visitor} has {} seats of {show} in the end and may have {limit}: {seats:?}", seats.len())
            });
        }
    }
}

fn limit(timeline: &RunTimeline<'_>, show: &str) -> u64 {
    timeline
        .dump
        .shows
        .get(show)
        .map_or(u64::MAX, |show| show.seats_per_visitor)
}

/// A span, and the seats that a visitor certainly had in it.
type VisitorSeatSpan<'a> = (f64, f64, Vec<&'a str>);

fn seats_at_any_time(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut spans: BTreeMap<(&str, u64), Vec<VisitorSeatSpan<'_>>> = BTreeMap::new();
    for hold in timeline.holds.values() {
        let spans = spans
            .entry((&hold.hold_call.show, hold.call.visitor))
            .or_default();
        for span in &hold.seat_spans {
            // The hold counts only until a call of its owner or a fault may have ended it.
            let kills = timeline
                .history
                .faults
                .iter()
                .filter(|fault| fault.forgets && fault.until_ms >= span.from_ms);
            let until_ms = kills
                .map(|fault| fault.at_ms)
                .fold(span.until_ms.min(hold.ended_ms()), f64::min);
            if until_ms > span.from_ms {
                spans.push((span.from_ms, until_ms, span.seats.clone()));
            }
        }
    }
    for (id, order_calls) in &timeline.orders {
        let (Some(order), Some((call, _))) = (timeline.dump.order(id), order_calls.made.first())
        else {
            continue;
        };
        let spans = spans.entry((&order.show, order_calls.visitor)).or_default();
        for span in order.seat_spans() {
            let until_ms = order_calls
                .cancels
                .iter()
                .map(|cancel| cancel.sent_ms)
                .fold(span.until_ms, f64::min);
            let from_ms = span.from_ms.max(call.done_ms);
            spans.push((from_ms, until_ms, span.labels.into_iter().collect()));
        }
    }
    for ((show, visitor), spans) in spans {
        let limit = limit(timeline, show);
        for (at_ms, _, _) in &spans {
            let live_spans = spans
                .iter()
                .filter(|(from, until, _)| from <= at_ms && at_ms < until);
            let seats: BTreeSet<&str> = live_spans
                .flat_map(|(_, _, seats)| seats.iter().copied())
                .collect();
            if seats.len() as u64 > limit {
                findings.add(Invariant::Limits, || {
                    format!("visitor {visitor} had {} seats of {show} at {at_ms:.0} and may have {limit}: {seats:?}", seats.len())
                });
                break;
            }
        }
    }
}

/// Checks how many passes were live at once. A pass is live from its answer until it expires, or
/// until its visitor first gets tickets or leaves.
fn inside(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let Some(run) = &timeline.history.run else {
        return;
    };
    let limit = run.max_inside();
    let mut ended_ms: HashMap<u64, f64> = HashMap::new();
    for order in &timeline.dump.orders {
        if let (Some(visitor), Some(at)) = (timeline.visitor_of(order), order.first("ticketed")) {
            let first_ms = ended_ms.entry(visitor).or_insert(at);
            *first_ms = first_ms.min(at);
        }
    }
    for call in timeline
        .history
        .calls
        .iter()
        .filter(|call| call.may_be_done() && matches!(call.op, HistoryOperation::Leave))
    {
        let first_ms = ended_ms.entry(call.visitor).or_insert(call.sent_ms);
        *first_ms = first_ms.min(call.sent_ms);
    }
    // A pass that is given again to the same visitor counts once.
    let mut passes: HashMap<u64, Vec<(f64, f64)>> = HashMap::new();
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        if let HistoryOperation::Claim { exp_ms, .. } = call.op {
            let until_ms = ended_ms
                .get(&call.visitor)
                .copied()
                .unwrap_or(f64::INFINITY)
                .min(exp_ms);
            let visitor_passes = passes.entry(call.visitor).or_default();
            match visitor_passes.iter_mut().find(|(_, end)| *end == until_ms) {
                Some(same_pass) => same_pass.0 = same_pass.0.min(call.done_ms),
                None => visitor_passes.push((call.done_ms, until_ms)),
            }
        }
    }
    let mut moves: Vec<(f64, i64)> = Vec::new();
    for (from, until) in passes
        .into_values()
        .flatten()
        .filter(|(from, until)| from < until)
    {
        moves.extend([(from, 1), (until, -1)]);
    }
    moves.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut live, mut most_live, mut most_at_ms) = (0, 0, 0.0);
    for (at_ms, step) in moves {
        live += step;
        if live > most_live {
            (most_live, most_at_ms) = (live, at_ms);
        }
    }
    if most_live.unsigned_abs() > limit {
        findings.add(Invariant::Limits, || {
            format!("{most_live} were inside at {most_at_ms:.0}, and {limit} may be")
        });
    }
}

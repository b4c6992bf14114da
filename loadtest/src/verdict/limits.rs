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
    let mut has: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for order in timeline.dump.orders.iter().filter(|order| order.lives()) {
        let seats = has.entry((&order.show, &order.visitor)).or_default();
        seats.extend(order.kept_labels());
    }
    for ((show, visitor), seats) in has {
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
    let mut had: BTreeMap<(&str, u64), Vec<VisitorSeatSpan<'_>>> = BTreeMap::new();
    for hold in timeline.holds.values() {
        let had = had
            .entry((&hold.hold_call.show, hold.call.visitor))
            .or_default();
        for stretch in &hold.stretches {
            // The hold counts only until a call of its owner or a fault may have ended it.
            let kills = timeline
                .history
                .faults
                .iter()
                .filter(|fault| fault.forgets && fault.until_ms >= stretch.from_ms);
            let until = kills
                .map(|fault| fault.at_ms)
                .fold(stretch.until_ms.min(hold.ended_ms()), f64::min);
            if until > stretch.from_ms {
                had.push((stretch.from_ms, until, stretch.seats.clone()));
            }
        }
    }
    for (id, told) in &timeline.orders {
        let (Some(order), Some((call, _))) = (timeline.dump.order(id), told.made.first()) else {
            continue;
        };
        let had = had.entry((&order.show, told.visitor)).or_default();
        for stay in order.stays() {
            let until = told
                .cancels
                .iter()
                .map(|cancel| cancel.sent_ms)
                .fold(stay.until_ms, f64::min);
            let from_ms = stay.from_ms.max(call.done_ms);
            had.push((from_ms, until, stay.labels.into_iter().collect()));
        }
    }
    for ((show, visitor), had) in had {
        let limit = limit(timeline, show);
        for (at, _, _) in &had {
            let then = had
                .iter()
                .filter(|(from, until, _)| from <= at && at < until);
            let seats: BTreeSet<&str> = then
                .flat_map(|(_, _, seats)| seats.iter().copied())
                .collect();
            if seats.len() as u64 > limit {
                findings.add(Invariant::Limits, || {
                    format!("visitor {visitor} had {} seats of {show} at {at:.0} and may have {limit}: {seats:?}", seats.len())
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
    let mut done: HashMap<u64, f64> = HashMap::new();
    for order in &timeline.dump.orders {
        if let (Some(visitor), Some(at)) = (timeline.visitor_of(order), order.first("ticketed")) {
            let first = done.entry(visitor).or_insert(at);
            *first = first.min(at);
        }
    }
    for call in timeline
        .history
        .calls
        .iter()
        .filter(|call| call.perhaps() && matches!(call.op, HistoryOperation::Leave))
    {
        let first = done.entry(call.visitor).or_insert(call.sent_ms);
        *first = first.min(call.sent_ms);
    }
    // A pass that is given again to the same visitor counts once.
    let mut passes: HashMap<u64, Vec<(f64, f64)>> = HashMap::new();
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        if let HistoryOperation::Claim { exp_ms, .. } = call.op {
            let until = done
                .get(&call.visitor)
                .copied()
                .unwrap_or(f64::INFINITY)
                .min(exp_ms);
            let own = passes.entry(call.visitor).or_default();
            match own.iter_mut().find(|(_, end)| *end == until) {
                Some(known) => known.0 = known.0.min(call.done_ms),
                None => own.push((call.done_ms, until)),
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
    let (mut now, mut most, mut when) = (0, 0, 0.0);
    for (at, step) in moves {
        now += step;
        if now > most {
            (most, when) = (now, at);
        }
    }
    if most.unsigned_abs() > limit {
        findings.add(Invariant::Limits, || {
            format!("{most} were inside at {when:.0}, and {limit} may be")
        });
    }
}

//! Checks how many seats each visitor had, at any time and in the end. Only what certainly happened
//! counts.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks the limits of all shows.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    seats_in_the_end(timeline, findings);
    seats_at_any_time(timeline, findings);
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

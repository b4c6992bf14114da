//! Works out from claims, orders and departures when each visitor was inside.

use std::collections::{BTreeMap, HashMap};

use crate::verdict::history::{HistoryCall, HistoryOperation};
use crate::verdict::timeline::RunTimeline;

/// How far the clocks of two nodes may differ, in milliseconds. Passes end by the clock of whoever
/// looks.
const SKEW_MS: f64 = 1_000.0;
/// For how long a pass is taken after it has run out, in milliseconds.
const LEEWAY_MS: f64 = 5_000.0;
/// How long it may take until a gateway learns that an order has its tickets, or until no node
/// takes the pass of a place that was left or revoked, in milliseconds.
const FREED_WITHIN_MS: f64 = 5_000.0;

/// A pass, and when its visitor was inside with it.
pub struct PassSpan {
    /// The line of the first answer in the history.
    pub line: u32,
    pub visitor: u64,
    /// The earliest time at which the visitor may have been let in.
    pub sent_ms: f64,
    /// The time by which the visitor was let in, or its call was given up.
    pub done_ms: f64,
    /// The span in which the visitor was certainly inside and had not bought. `None` if the answer
    /// was lost, so that nobody knows whether there is a pass.
    pub certain: Option<(f64, f64)>,
    /// The time until which the pass may take one of the entries of the room.
    pub possible_until_ms: f64,
}

/// When a visitor stopped being inside, apart from the expiry of its passes.
#[derive(Clone, Copy)]
struct VisitEnd {
    /// When the visitor may first have ended its place or bought, or a clock was moved.
    first_possible_ms: f64,
    /// When every node knew that the visitor has tickets.
    bought_ms: f64,
    /// When the visitor asked to leave, if it left.
    left_ms: f64,
    /// When every node knew that the visitor had left.
    stopped_ms: f64,
}

/// Returns the passes of all visitors. `pass_ms` is how long a pass lives, for passes whose answer
/// was lost.
pub fn passes(timeline: &RunTimeline<'_>, pass_ms: f64) -> Vec<PassSpan> {
    let ends = visit_ends(timeline);
    let mut claims: BTreeMap<u64, Vec<&HistoryCall>> = BTreeMap::new();
    for call in &timeline.history.calls {
        if matches!(call.op, HistoryOperation::Claim { .. }) && call.may_be_done() {
            claims.entry(call.visitor).or_default().push(call);
        }
    }
    let mut passes = Vec::new();
    for (visitor, mut calls) in claims {
        calls.sort_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
        let end = ends.get(&visitor).copied().unwrap_or(VisitEnd::NEVER);
        passes.extend(passes_of(visitor, &calls, end, pass_ms, timeline));
    }
    passes
}

fn passes_of(
    visitor: u64,
    calls: &[&HistoryCall],
    end: VisitEnd,
    pass_ms: f64,
    timeline: &RunTimeline<'_>,
) -> Vec<PassSpan> {
    // A pass that is given again to the same visitor counts once.
    let mut known: Vec<(f64, PassSpan)> = Vec::new();
    let mut lost: Option<&HistoryCall> = None;
    for call in calls {
        let HistoryOperation::Claim { exp_ms, .. } = call.op else {
            continue;
        };
        if !call.done() {
            lost.get_or_insert(call);
            continue;
        }
        let certain_until_ms = (exp_ms - SKEW_MS)
            .min(end.first_possible_ms)
            .min(first_moved_clock(timeline, call.done_ms));
        if let Some((_, pass)) = known.iter_mut().find(|(exp, _)| *exp == exp_ms) {
            let from_ms = pass.certain.map_or(call.done_ms, |(from, _)| from);
            pass.certain = Some((from_ms.min(call.done_ms), certain_until_ms));
            pass.done_ms = pass.done_ms.min(call.done_ms);
            continue;
        }
        // The pass may be that of an earlier call whose answer was lost.
        let sent_ms = lost.take().map_or(call.sent_ms, |earlier| earlier.sent_ms);
        let pass = PassSpan {
            line: call.line,
            visitor,
            sent_ms,
            done_ms: call.done_ms,
            certain: Some((call.done_ms, certain_until_ms)),
            possible_until_ms: end.possible_until(call.done_ms, exp_ms),
        };
        known.push((exp_ms, pass));
    }
    let mut passes: Vec<PassSpan> = known.into_iter().map(|(_, pass)| pass).collect();
    passes.extend(lost.map(|call| PassSpan {
        line: call.line,
        visitor,
        sent_ms: call.sent_ms,
        done_ms: call.done_ms,
        certain: None,
        possible_until_ms: end.possible_until(call.done_ms, call.done_ms + pass_ms),
    }));
    passes
}

impl VisitEnd {
    const NEVER: Self = Self {
        first_possible_ms: f64::INFINITY,
        bought_ms: f64::INFINITY,
        left_ms: f64::INFINITY,
        stopped_ms: f64::INFINITY,
    };

    /// Returns until when a pass may take an entry of the room. It was claimed at `claimed_ms`, and
    /// runs out at `exp_ms`.
    fn possible_until(&self, claimed_ms: f64, exp_ms: f64) -> f64 {
        let run_out_ms = exp_ms + LEEWAY_MS + SKEW_MS;
        // The pass of a later place was not stopped.
        let is_left = claimed_ms < self.left_ms;
        let stopped_ms = if is_left {
            self.stopped_ms
        } else {
            f64::INFINITY
        };
        run_out_ms.min(self.bought_ms).min(stopped_ms)
    }
}

/// Returns when each visitor left, was revoked or bought.
///
/// A pass of a place that was left or revoked takes nothing new, and soon no entry of the room.
/// What was begun with it can be paid.
fn visit_ends(timeline: &RunTimeline<'_>) -> HashMap<u64, VisitEnd> {
    let mut ends: HashMap<u64, VisitEnd> = HashMap::new();
    let mut may_end = |visitor: u64, at_ms: f64| {
        let end = ends.entry(visitor).or_insert(VisitEnd::NEVER);
        end.first_possible_ms = end.first_possible_ms.min(at_ms);
    };
    for call in &timeline.history.calls {
        if matches!(call.op, HistoryOperation::Leave) && call.may_be_done() {
            may_end(call.visitor, call.sent_ms);
        }
    }
    for revoked in &timeline.history.revocations {
        may_end(revoked.visitor, revoked.asked_ms);
    }
    for order in &timeline.dump.orders {
        let Some(visitor) = timeline.visitor_of(order) else {
            continue;
        };
        let confirmed = order.first("confirmed").or(order.first("ticketed"));
        if let Some(at_ms) = confirmed {
            may_end(visitor, at_ms);
        }
    }
    for call in &timeline.history.calls {
        if matches!(call.op, HistoryOperation::Leave)
            && call.done()
            && let Some(end) = ends.get_mut(&call.visitor)
        {
            end.left_ms = call.sent_ms;
            end.stopped_ms = call.done_ms + FREED_WITHIN_MS;
        }
    }
    for order in &timeline.dump.orders {
        if let (Some(visitor), Some(at_ms)) = (timeline.visitor_of(order), order.first("ticketed"))
            && let Some(end) = ends.get_mut(&visitor)
        {
            end.bought_ms = end.bought_ms.min(at_ms + FREED_WITHIN_MS);
        }
    }
    ends
}

/// Returns when the first fault after a moment moved a clock. A process whose clock is ahead takes
/// living passes for expired ones.
fn first_moved_clock(timeline: &RunTimeline<'_>, from_ms: f64) -> f64 {
    let faults = timeline.history.faults.iter();
    let moved = faults.filter(|fault| fault.moves_clock && fault.until_ms >= from_ms);
    moved.map(|fault| fault.at_ms).fold(f64::INFINITY, f64::min)
}

/// Returns the spans in which the room may have been full: as many visitors as `limit` returns for
/// a span may have been inside.
pub fn full_spans(
    passes: &[PassSpan],
    boundaries: impl Iterator<Item = f64>,
    limit: impl Fn(f64, f64) -> u64,
) -> Vec<(f64, f64)> {
    // Two passes of one visitor take one entry, because the first has ended before the second.
    let mut moves: Vec<(f64, i64)> = boundaries.map(|at_ms| (at_ms, 0)).collect();
    for pass in passes {
        if pass.sent_ms < pass.possible_until_ms {
            moves.extend([(pass.sent_ms, 1), (pass.possible_until_ms, -1)]);
        }
    }
    moves.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut full = Vec::new();
    let mut count: i64 = 0;
    for (at, (from_ms, step)) in moves.iter().enumerate() {
        count += step;
        let to_ms = moves.get(at + 1).map_or(f64::INFINITY, |(at, _)| *at);
        if *from_ms < to_ms && count.unsigned_abs() >= limit(*from_ms, to_ms) {
            full.push((*from_ms, to_ms));
        }
    }
    full
}

//! Finds out when each visitor was certainly called, and which of its claims were refused although
//! it was.

use std::collections::HashMap;

use crate::verdict::history::{HistoryFrameBody, HistoryOperation};
use crate::verdict::releases::{pushed_ranks, reported_counters};
use crate::verdict::timeline::RunTimeline;

/// A claim of a called visitor that was refused.
pub struct RefusedCall {
    /// The line of the history file.
    pub line: u32,
    pub visitor: u64,
    pub sent_ms: f64,
    pub done_ms: f64,
}

/// Returns the refused claims of visitors who were certainly called and never had a pass, by time.
/// Whoever asks for a second pass waits behind those who never had one, so such claims do not
/// count. `has_line` is false for a room in which everybody is called at once.
pub fn refused_calls(timeline: &RunTimeline<'_>, has_line: bool) -> Vec<RefusedCall> {
    let called = called_ms(timeline, has_line);
    let mut first_entry_ms: HashMap<u64, f64> = HashMap::new();
    for call in &timeline.history.calls {
        if matches!(call.op, HistoryOperation::Claim { .. }) && call.may_be_done() {
            let first = first_entry_ms.entry(call.visitor).or_insert(call.sent_ms);
            *first = first.min(call.sent_ms);
        }
    }
    let calls = timeline.history.calls.iter();
    let refused = calls.filter(|call| {
        let put_off = matches!(call.op, HistoryOperation::Claim { put_off: true, .. });
        let entered_ms = first_entry_ms.get(&call.visitor).copied();
        put_off
            && !call.may_be_done()
            && call.done_ms <= entered_ms.unwrap_or(f64::INFINITY)
            && called(call.visitor) <= call.sent_ms
    });
    let mut refused: Vec<RefusedCall> = refused
        .map(|call| RefusedCall {
            line: call.line,
            visitor: call.visitor,
            sent_ms: call.sent_ms,
            done_ms: call.done_ms,
        })
        .collect();
    refused.sort_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
    refused
}

/// Returns a function that tells from when on a visitor was certainly called.
fn called_ms<'a>(timeline: &'a RunTimeline<'a>, has_line: bool) -> impl Fn(u64) -> f64 + 'a {
    let mut told: HashMap<u64, f64> = HashMap::new();
    let mut note = |visitor: u64, at_ms: f64| {
        let first = told.entry(visitor).or_insert(at_ms);
        *first = first.min(at_ms);
    };
    let mut ranks = pushed_ranks(timeline);
    let mut selling_ms = f64::INFINITY;
    for frame in &timeline.history.frames {
        match (&frame.body, frame.visitor) {
            (HistoryFrameBody::Turn, Some(visitor)) => note(visitor, frame.at_ms),
            (HistoryFrameBody::Room { phase, .. }, _) if phase.as_deref() == Some("selling") => {
                selling_ms = selling_ms.min(frame.at_ms);
            }
            _ => {}
        }
    }
    for call in &timeline.history.calls {
        match call.op {
            HistoryOperation::Place { called: true, .. } if call.done() => {
                note(call.visitor, call.done_ms);
            }
            HistoryOperation::Place {
                rank: Some(rank), ..
            } if call.done() => {
                ranks.insert(call.visitor, rank);
            }
            HistoryOperation::Claim {
                rank: Some(rank), ..
            } => {
                ranks.insert(call.visitor, rank);
            }
            _ => {}
        }
    }
    let counters = reported_counters(timeline);
    move |visitor| {
        if !has_line {
            return selling_ms;
        }
        let by_rank = ranks.get(&visitor).and_then(|rank| {
            let at = counters.partition_point(|(_, counter)| counter <= rank);
            counters.get(at).map(|(at_ms, _)| *at_ms)
        });
        let told = told.get(&visitor).copied();
        [by_rank, told]
            .into_iter()
            .flatten()
            .fold(f64::INFINITY, f64::min)
    }
}

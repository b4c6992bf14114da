//! Checks that somebody enters while called people ask. The clock stands still while the room may
//! be paused, unhealthy or full, and starts again when somebody may have entered.

use crate::verdict::history::{HistoryCall, HistoryFrameBody, HistoryOperation};
use crate::verdict::releases::FRAME_LATE_MS;
use crate::verdict::report::{Findings, Invariant};
use crate::verdict::timeline::RunTimeline;

use super::called::{RefusedCall, refused_calls};
use super::inside::{PassSpan, full_spans};
use super::settings::RoomSettings;
use super::spans::gaps;

/// How long it may take until somebody enters, apart from the pace, in milliseconds.
const ENTERS_WITHIN_MS: f64 = 10_000.0;
/// In addition, it may take as long as this many visitors take at the pace in force.
const VISITORS_AT_PACE: f64 = 2.0;
/// If two refused calls are further apart than this, in milliseconds, nobody asked in between.
const ASKING_GAP_MS: f64 = 5_000.0;
/// Until this many milliseconds after a fault, an entry may be reserved for the claim of a process
/// that died.
const RESERVED_MS: f64 = 30_000.0;
/// In mode `auto`, booking's health is judged by its answers of the last seconds, in milliseconds.
const HEALTH_SEEN_MS: f64 = 10_000.0;
/// Booking may count as unhealthy if more than one in this many answers was slow or failed.
const SLOW_ONE_IN: usize = 100;

/// Checks all refused calls. Returns how many there are.
pub fn judge(
    timeline: &RunTimeline<'_>,
    passes: &[PassSpan],
    settings: &RoomSettings,
    findings: &mut Findings,
) -> u64 {
    let refused = refused_calls(timeline, settings.has_line);
    let mut excuses: Vec<(f64, f64)> = timeline
        .history
        .faults
        .iter()
        .map(|fault| (fault.at_ms, fault.until_ms + RESERVED_MS))
        .collect();
    excuses.extend(passes.iter().map(|pass| (pass.sent_ms, pass.done_ms)));
    excuses.extend(paused_spans(timeline, settings));
    excuses.extend(unhealthy_spans(timeline, settings));
    let limit = |from_ms, to_ms| {
        let limits = settings.max_inside.possible(from_ms, to_ms);
        limits.min().unwrap_or(0)
    };
    excuses.extend(full_spans(passes, settings.max_inside.boundaries(), limit));
    if !settings.has_line {
        excuses.extend(spans_of_phases(timeline, |phase| phase != "selling"));
    }
    for (from_ms, to_ms) in gaps(excuses) {
        let within = |call: &&RefusedCall| from_ms <= call.sent_ms && call.done_ms <= to_ms;
        let calls: Vec<&RefusedCall> = refused.iter().filter(within).collect();
        for chain in calls.chunk_by(|a, b| b.sent_ms - a.done_ms <= ASKING_GAP_MS) {
            check_chain(timeline, chain, settings, findings);
        }
    }
    refused.len() as u64
}

/// Checks refused calls that follow each other without a pause, while nobody entered.
fn check_chain(
    timeline: &RunTimeline<'_>,
    chain: &[&RefusedCall],
    settings: &RoomSettings,
    findings: &mut Findings,
) {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
        return;
    };
    let waited_ms = last.done_ms - first.sent_ms;
    if waited_ms <= ENTERS_WITHIN_MS {
        return;
    }
    let pace = settings.has_line.then(|| {
        let may_trickle = seats_may_be_covered(timeline, settings, first.sent_ms, last.done_ms);
        settings.slowest_pace(first.sent_ms, last.done_ms, may_trickle)
    });
    let allowed_ms = ENTERS_WITHIN_MS + pace.map_or(0.0, |pace| VISITORS_AT_PACE / pace * 1e3);
    if waited_ms > allowed_ms {
        findings.add(Invariant::Entering, || {
            format!(
                "line {}: from {:.0} to {:.0} called visitors were refused {} times (visitor {} first, visitor {} last), nobody entered, and the room was not full; somebody must enter within {:.1} s",
                first.line, first.sent_ms, last.done_ms, chain.len(), first.visitor, last.visitor, allowed_ms / 1e3
            )
        });
    }
}

/// Returns whether those inside may cover the free seats in a span, so that the pace was the
/// trickle. If the line was not seen, they may.
fn seats_may_be_covered(
    timeline: &RunTimeline<'_>,
    settings: &RoomSettings,
    from_ms: f64,
    to_ms: f64,
) -> bool {
    let frames = timeline.history.frames.iter();
    let seen = frames.filter_map(|frame| match frame.body {
        HistoryFrameBody::Line {
            free: Some(free), ..
        } if frame.at_ms <= to_ms + FRAME_LATE_MS => Some((frame.at_ms, free)),
        _ => None,
    });
    let seen: Vec<(f64, u64)> = seen.collect();
    let before = seen.iter().filter(|(at_ms, _)| *at_ms <= from_ms);
    let Some((last_before_ms, _)) = before.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return true;
    };
    let during = seen.iter().filter(|(at_ms, _)| at_ms >= last_before_ms);
    let free = during.map(|(_, free)| *free).min().unwrap_or(0);
    let shows = timeline.dump.shows.values();
    let seats = shows.map(|show| show.seats_per_visitor).max().unwrap_or(0);
    let inside = settings.max_inside.possible(from_ms, to_ms);
    free < inside.max().unwrap_or(u64::MAX).saturating_mul(seats)
}

/// Returns the spans in which the room may have been paused.
fn paused_spans(timeline: &RunTimeline<'_>, settings: &RoomSettings) -> Vec<(f64, f64)> {
    let by_call = settings.paused.spans_of(|paused| paused);
    let frames = spans_of_frames(timeline, |frame| match frame {
        HistoryFrameBody::Room { paused, .. } => *paused,
        _ => None,
    });
    by_call.chain(frames).collect()
}

/// Returns the spans in which the room may have been in a phase for which `is_meant` returns true.
fn spans_of_phases(timeline: &RunTimeline<'_>, is_meant: impl Fn(&str) -> bool) -> Vec<(f64, f64)> {
    spans_of_frames(timeline, |frame| match frame {
        HistoryFrameBody::Room {
            phase: Some(phase), ..
        } => Some(is_meant(phase)),
        _ => None,
    })
}

/// Returns the spans in which the room may have been in some state. `state` returns what a frame
/// says of it. A frame may arrive late, and what changed between two frames is not known.
fn spans_of_frames(
    timeline: &RunTimeline<'_>,
    state: impl Fn(&HistoryFrameBody) -> Option<bool>,
) -> Vec<(f64, f64)> {
    let mut spans = Vec::new();
    let mut frames: Vec<_> = timeline.history.frames.iter().collect();
    frames.sort_by(|a, b| a.owner.cmp(&b.owner).then(a.at_ms.total_cmp(&b.at_ms)));
    for of_owner in frames.chunk_by(|a, b| a.owner == b.owner) {
        let mut since_ms = None;
        for frame in of_owner {
            match (state(&frame.body), since_ms) {
                (Some(true), None) => since_ms = Some(frame.at_ms - FRAME_LATE_MS),
                (Some(false), Some(from_ms)) => {
                    spans.push((from_ms, frame.at_ms));
                    since_ms = None;
                }
                _ => {}
            }
        }
        spans.extend(since_ms.map(|from_ms| (from_ms, f64::INFINITY)));
    }
    spans
}

/// Returns the spans in which booking may have been unhealthy, in a room whose pace follows its
/// health: more than one in [`SLOW_ONE_IN`] answers of the last seconds was slow or failed.
fn unhealthy_spans(timeline: &RunTimeline<'_>, settings: &RoomSettings) -> Vec<(f64, f64)> {
    let is_auto = |at_ms| settings.auto.possible(at_ms, at_ms).any(|auto| auto);
    let calls = timeline.history.calls.iter();
    let mut calls: Vec<&HistoryCall> = calls.filter(|call| is_booking(call)).collect();
    calls.sort_by(|a, b| a.done_ms.total_cmp(&b.done_ms));
    let is_slow = |call: &HistoryCall| {
        !call.done() && call.may_be_done() || call.done_ms - call.sent_ms > settings.p99_ms
    };
    // `slow_before[n]` is the number of slow calls among the first n.
    let mut slow_before = vec![0];
    for call in &calls {
        slow_before.push(slow_before[slow_before.len() - 1] + usize::from(is_slow(call)));
    }
    let slow = calls
        .iter()
        .filter(|call| is_slow(call) && is_auto(call.done_ms));
    let unhealthy = slow.filter(|call| {
        let first = calls.partition_point(|other| other.done_ms < call.done_ms - HEALTH_SEEN_MS);
        let end = calls.partition_point(|other| other.done_ms <= call.done_ms + HEALTH_SEEN_MS);
        (slow_before[end] - slow_before[first]) * SLOW_ONE_IN > end - first
    });
    unhealthy
        .map(|call| (call.sent_ms, call.done_ms + HEALTH_SEEN_MS))
        .collect()
}

/// Returns whether booking answers a call, and the pace therefore measures it.
fn is_booking(call: &HistoryCall) -> bool {
    matches!(
        call.op,
        HistoryOperation::Hold(_)
            | HistoryOperation::Change(_)
            | HistoryOperation::Drop { .. }
            | HistoryOperation::Order(_)
            | HistoryOperation::OrderRead(_)
            | HistoryOperation::Cancel { .. }
            | HistoryOperation::Refund(_)
            | HistoryOperation::Exchange(_)
    )
}

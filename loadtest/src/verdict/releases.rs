//! Checks passes: only ranks below the release counter get passes, and nobody gets a pass while the
//! room is paused. The counter must never fall.

use std::collections::HashMap;

use super::history::{HistoryCall, HistoryFrame, HistoryFrameBody, HistoryOperation};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How long a frame may take to arrive, in milliseconds. If more time lies between a claim's answer
/// and a frame's arrival, the frame was certainly sent after the answer.
pub(super) const FRAME_LATE_MS: f64 = 1_500.0;
/// Until this many milliseconds after a change of the room was answered, another gateway may not
/// know it.
pub(super) const KNOWN_WITHIN_MS: f64 = 2_000.0;

/// Checks passes and the counter. Returns how many passes could be compared with the counter.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let mut compared = 0;
    never_falls(timeline, findings);
    let released = reported_counters(timeline);
    let paused = paused(timeline);
    let mut passes: HashMap<u64, Vec<f64>> = HashMap::new();
    let mut own_rank = pushed_ranks(timeline);
    let mut calls: Vec<_> = timeline
        .history
        .calls
        .iter()
        .filter(|call| call.may_be_done())
        .collect();
    calls.sort_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
    for call in calls {
        match call.op {
            HistoryOperation::Place {
                rank: Some(rank), ..
            } if call.done() => {
                own_rank.insert(call.visitor, rank);
            }
            HistoryOperation::Claim { exp_ms, rank, .. } => {
                let earlier_expiries = passes.entry(call.visitor).or_default();
                // A valid pass, or a pass whose first answer was lost, is given again at any time.
                // So such a claim is not compared with the counter.
                let still_valid = earlier_expiries.iter().any(|exp| *exp > call.sent_ms);
                if !call.done() {
                    earlier_expiries.push(f64::INFINITY);
                    continue;
                }
                earlier_expiries.push(exp_ms);
                if still_valid {
                    continue;
                }
                let rank = rank.or_else(|| own_rank.get(&call.visitor).copied());
                if let (Some(rank), Some((frame_ms, counter))) =
                    (rank, first_counter_after(&released, call.done_ms))
                {
                    compared += 1;
                    if rank >= counter {
                        findings.add(Invariant::Released, || {
                            format!(
                                "line {}: visitor {} at rank {rank} got a pass at {:.0}, and at {frame_ms:.0} only ranks below {counter} were released",
                                call.line, call.visitor, call.done_ms
                            )
                        });
                    }
                }
                not_while_paused(call, &paused, findings);
            }
            _ => {}
        }
    }
    compared
}

/// Returns the last rank that each visitor's socket was sent.
pub(super) fn pushed_ranks(timeline: &RunTimeline<'_>) -> HashMap<u64, u64> {
    let frames = timeline.history.frames.iter();
    let ranks = frames.filter_map(|frame| match frame.body {
        HistoryFrameBody::Place { rank, .. } => Some((frame.visitor?, rank?)),
        _ => None,
    });
    ranks.collect()
}

/// Checks that a pass was not given while the room was paused.
fn not_while_paused(call: &HistoryCall, paused: &[(f64, f64)], findings: &mut Findings) {
    let within = |(from, to): &&(f64, f64)| call.sent_ms >= *from && call.done_ms <= *to;
    if let Some((from, to)) = paused.iter().find(within) {
        findings.add(Invariant::Released, || {
            format!(
                "line {}: visitor {} got a pass while the room was paused ({from:.0} to {to:.0})",
                call.line, call.visitor
            )
        });
    }
}

/// Returns, for the time of each frame, the highest counter in any frame so far.
pub(super) fn reported_counters(timeline: &RunTimeline<'_>) -> Vec<(f64, u64)> {
    let mut counters: Vec<(f64, u64)> = timeline
        .history
        .frames
        .iter()
        .filter_map(|frame| Some((frame.at_ms, counter(frame)?)))
        .collect();
    counters.sort_by(|a, b| a.0.total_cmp(&b.0));
    // A delayed frame may have a lower counter than an earlier frame.
    let mut highest = 0;
    for (_, released) in &mut counters {
        highest = highest.max(*released);
        *released = highest;
    }
    counters
}

fn counter(frame: &HistoryFrame) -> Option<u64> {
    match frame.body {
        HistoryFrameBody::Line { released, .. } => Some(released),
        HistoryFrameBody::Room { released, .. } => released,
        _ => None,
    }
}

/// Returns the counter in the first frame that was certainly made after a moment, and when the
/// frame arrived. Returns `None` if there is no such frame. A frame from before the moment proves
/// nothing, because frames may be a minute apart.
fn first_counter_after(counters: &[(f64, u64)], done_ms: f64) -> Option<(f64, u64)> {
    let index = counters.partition_point(|(at, _)| *at < done_ms + FRAME_LATE_MS);
    counters.get(index).copied()
}

fn never_falls(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    // The line's frames and the room's frames have different sources, even on one socket. Only
    // frames from the same source arrive in order.
    let mut last_frames: HashMap<(&str, bool), (u64, u32, f64)> = HashMap::new();
    for frame in &timeline.history.frames {
        let Some(released) = counter(frame) else {
            continue;
        };
        let of_line = matches!(frame.body, HistoryFrameBody::Line { .. });
        let (counter_before, line, at_ms) = last_frames
            .insert((&frame.owner, of_line), (released, frame.line, frame.at_ms))
            .unwrap_or_default();
        // After a socket closed, the next gateway may have a slightly older counter.
        let moved = frame.at_ms - at_ms < FRAME_LATE_MS
            && timeline
                .history
                .closes
                .iter()
                .any(|(owner, at)| *owner == frame.owner && (at_ms..=frame.at_ms).contains(at));
        if released < counter_before && !moved {
            findings.add(Invariant::Released, || {
                format!(
                    "line {}: {} got the release counter {released}, and {counter_before} on line {line}",
                    frame.line, frame.owner
                )
            });
        }
    }
}

/// Returns the spans in which the room was certainly paused at every gateway. A span begins when
/// each of them knows what a frame of one of them says. It ends shortly before the next frame to
/// that socket's owner says otherwise, or when the socket closes or any fault begins.
fn paused(timeline: &RunTimeline<'_>) -> Vec<(f64, f64)> {
    let mut open: HashMap<&str, f64> = HashMap::new();
    let mut paused = Vec::new();
    for frame in &timeline.history.frames {
        let HistoryFrameBody::Room {
            paused: Some(now), ..
        } = frame.body
        else {
            continue;
        };
        if now {
            open.entry(&frame.owner)
                .or_insert(frame.at_ms + KNOWN_WITHIN_MS);
        } else if let Some(from) = open.remove(frame.owner.as_str()) {
            paused.push((
                from,
                certain_until(timeline, &frame.owner, from, frame.at_ms - FRAME_LATE_MS),
            ));
        }
    }
    let end = timeline.history.finished_ms.unwrap_or(0.0);
    paused.extend(
        open.into_iter()
            .map(|(owner, from)| (from, certain_until(timeline, owner, from, end))),
    );
    paused
}

fn certain_until(timeline: &RunTimeline<'_>, owner: &str, from: f64, to: f64) -> f64 {
    let closes = timeline
        .history
        .closes
        .iter()
        .filter(|(closed, _)| closed == owner)
        .map(|(_, closed_ms)| *closed_ms);
    let faults = timeline.history.faults.iter().map(|fault| fault.at_ms);
    closes
        .chain(faults)
        .filter(|closed_ms| *closed_ms >= from)
        .fold(to, f64::min)
}

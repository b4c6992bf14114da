//! Checks the people ahead: before its first pass, nobody is told that more people are ahead than
//! it was told before.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::history::{HistoryFrameBody, HistoryOperation};
use super::releases::KNOWN_WITHIN_MS;
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// What one visitor was told about the people ahead, before its first pass.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ToldAhead {
    /// The numbers that were each lower than all told before, with the times at which the visitor
    /// had them, in milliseconds.
    lowest: Vec<(f64, u64)>,
}

impl ToldAhead {
    /// Notes a number that the visitor had at `at_ms`. The server was asked for it at `asked_ms`;
    /// for a frame, that is the time at which it arrived. Returns the lowest number that was
    /// certainly told before, if it is lower than this one.
    pub fn tell(&mut self, ahead: u64, asked_ms: f64, at_ms: f64) -> Option<u64> {
        // The gateways learn one after the other what happened, and a frame may be late.
        let told = |(at, _): &(f64, u64)| *at <= asked_ms - KNOWN_WITHIN_MS;
        let earlier = self.lowest.iter().rev().find(|lowest| told(lowest));
        let lower = earlier.map(|(_, lowest)| *lowest);
        if self.lowest.last().is_none_or(|(_, lowest)| ahead < *lowest) {
            self.lowest.push((at_ms, ahead));
        }
        lower.filter(|lower| *lower < ahead)
    }
}

/// A record about the people ahead of a visitor.
struct AheadRecord {
    line: u32,
    visitor: u64,
    at_ms: f64,
    what: AheadChange,
}

enum AheadChange {
    Told {
        ahead: u64,
        asked_ms: f64,
    },
    /// The visitor got a pass or left the line, or may have done so.
    Over,
}

/// Checks the people ahead of all visitors. Returns how many numbers were told.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let mut count = 0;
    let mut told: HashMap<u64, Option<ToldAhead>> = HashMap::new();
    for record in records(timeline) {
        let waiting = told
            .entry(record.visitor)
            .or_insert_with(|| Some(ToldAhead::default()));
        let AheadChange::Told { ahead, asked_ms } = record.what else {
            *waiting = None;
            continue;
        };
        let Some(waiting) = waiting else { continue };
        count += 1;
        if let Some(lower) = waiting.tell(ahead, asked_ms, record.at_ms) {
            findings.add(Invariant::Ahead, || {
                format!(
                    "line {}: visitor {} was told at {:.0} that {ahead} people are ahead, and before that there were {lower}",
                    record.line, record.visitor, record.at_ms
                )
            });
        }
    }
    count
}

/// Returns the records by time.
fn records(timeline: &RunTimeline<'_>) -> Vec<AheadRecord> {
    let calls = timeline.history.calls.iter().filter_map(|call| {
        let (at_ms, what) = match call.op {
            HistoryOperation::Place {
                ahead: Some(ahead), ..
            } if call.done() => {
                let asked_ms = call.sent_ms;
                (call.done_ms, AheadChange::Told { ahead, asked_ms })
            }
            HistoryOperation::Claim { .. } | HistoryOperation::Leave if call.may_be_done() => {
                (call.sent_ms, AheadChange::Over)
            }
            _ => return None,
        };
        Some(AheadRecord {
            line: call.line,
            visitor: call.visitor,
            at_ms,
            what,
        })
    });
    let frames = timeline.history.frames.iter().filter_map(|frame| {
        let HistoryFrameBody::Place {
            ahead: Some(ahead), ..
        } = frame.body
        else {
            return None;
        };
        let asked_ms = frame.at_ms;
        Some(AheadRecord {
            line: frame.line,
            visitor: frame.visitor?,
            at_ms: frame.at_ms,
            what: AheadChange::Told { ahead, asked_ms },
        })
    });
    let mut records: Vec<_> = calls.chain(frames).collect();
    records.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_rises_only_over_one_that_was_certainly_told_before() {
        let mut told = ToldAhead::default();
        assert_eq!(told.tell(9, 0.0, 100.0), None);
        assert_eq!(told.tell(5, 2_000.0, 2_100.0), None);
        // It was asked for before the 5 can have been known everywhere.
        assert_eq!(told.tell(9, 3_000.0, 3_100.0), None);
        assert_eq!(told.tell(10, 3_000.0, 3_100.0), Some(9));
        assert_eq!(told.tell(6, 4_200.0, 4_300.0), Some(5));
        assert_eq!(told.tell(5, 9_000.0, 9_100.0), None);
    }
}

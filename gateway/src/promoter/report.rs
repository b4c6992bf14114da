//! The report of a room: figures over time, as JSON or CSV.

use std::fmt::Write;

use fairgate_base::clock::rfc3339;
use serde::Serialize;

use crate::ledger::RoomSample;

/// One line of the report, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = ReportLine)]
pub struct RoomReportLine {
    /// RFC 3339.
    pub at: String,
    /// People who joined so far, including those who left.
    pub joined: u64,
    /// People who are present and whose ranks are not released yet.
    pub waiting: u64,
    /// People who joined and then left, including those whose place the promoter ended.
    pub left: u64,
    /// Ranks below this may claim a pass.
    pub released: u64,
    /// Visitors with a live pass and no finished order.
    pub inside: u64,
    /// Visitors who claimed at least one pass.
    pub claimed: u64,
    /// Visitors whose order has its tickets.
    pub done: u64,
    /// Seats free.
    pub free: u64,
    /// Seats held.
    pub held: u64,
    /// Seats sold.
    pub sold: u64,
}

impl From<RoomSample> for RoomReportLine {
    fn from(sample: RoomSample) -> Self {
        Self {
            at: rfc3339(sample.at_ms),
            joined: sample.joined,
            waiting: sample.waiting,
            left: sample.left,
            released: sample.released,
            inside: sample.inside,
            claimed: sample.claimed,
            done: sample.done,
            free: sample.free,
            held: sample.held,
            sold: sample.sold,
        }
    }
}

/// Writes the samples as CSV with a header line.
#[must_use]
pub fn to_csv(samples: &[RoomSample]) -> String {
    let mut csv =
        String::from("at,joined,waiting,left,released,inside,claimed,done,free,held,sold\n");
    for sample in samples {
        let RoomReportLine {
            at,
            joined,
            waiting,
            left,
            released,
            inside,
            claimed,
            done,
            free,
            held,
            sold,
        } = RoomReportLine::from(*sample);
        // Writing to a String cannot fail.
        let _ = writeln!(
            csv,
            "{at},{joined},{waiting},{left},{released},{inside},{claimed},{done},{free},{held},{sold}"
        );
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_line_has_its_time_as_rfc_3339() {
        let line =
            serde_json::to_value(RoomReportLine::from(RoomSample::default())).expect("it writes");
        assert_eq!(line["at"], "1970-01-01T00:00:00Z");
        assert!(line.get("at_ms").is_none(), "{line}");
    }

    #[test]
    fn the_csv_has_one_line_for_each_sample() {
        let sample = RoomSample {
            joined: 3,
            sold: 9,
            ..RoomSample::default()
        };
        assert_eq!(
            to_csv(&[sample]).lines().nth(1),
            Some("1970-01-01T00:00:00Z,3,0,0,0,0,0,0,0,0,9")
        );
    }
}

//! Reads the history of a run as the swarm wrote it: the calls of every visitor with their answers,
//! and what observers saw. Fields that an invariant needs must be there; other fields are ignored.

mod calls;
mod frames;
mod promoter;

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{bail, ensure};
use serde::Deserialize;
use serde_json::Value;

pub use calls::{
    ChangeCall, ExchangeCall, HistoryCall, HistoryOperation, HoldCall, OrderCall, OrderRead,
    PayCall, RefundCall, WaitCall,
};
pub use frames::{HistoryFeedBody, HistoryFeedFrame, HistoryFrame, HistoryFrameBody};
pub use promoter::{
    HistoryCancellation, HistoryRefundReport, HistoryRevocation, HistoryRoomChange,
    HistoryRoomSettings, RefundReportAmount, RefundReportFigures, RefundReportSum,
};

use super::json_lines::{each_line, hex_bytes, kind_of};

/// The version of the history that this code reads.
const VERSION: u32 = 1;

/// How long a fault whose end is not recorded may have effects, in milliseconds.
const FAULT_WITHOUT_END_MS: f64 = 15_000.0;

/// Everything in a history that an invariant needs.
#[derive(Default)]
pub struct RunHistory {
    /// The number of records read.
    pub records: usize,
    /// The first record, which has the plan of the run.
    pub run: Option<HistoryRunRecord>,
    /// The visitors' calls, in the order of the file.
    pub calls: Vec<HistoryCall>,
    /// The text frames of sockets, in the order of the file.
    pub frames: Vec<HistoryFrame>,
    /// The seats as observers saw them, in the order of the file.
    pub feed: Vec<HistoryFeedFrame>,
    /// The owner of each socket that closed, observer or visitor, and when it closed.
    pub closes: Vec<(String, f64)>,
    /// How many of `closes` come before the first record of `finals` in the file.
    pub closes_before_finals: usize,
    /// The faults that were inflicted on the system.
    pub faults: Vec<HistoryFault>,
    /// The visitors that ended, each with its outcome.
    pub ends: Vec<(u64, String)>,
    /// The shows that the promoter cancelled.
    pub cancelled: Vec<HistoryCancellation>,
    /// The reports on refunds that the promoter read, in the order of the file.
    pub progress: Vec<HistoryRefundReport>,
    /// The live changes that the promoter made to the room, in the order of the file.
    pub changes: Vec<HistoryRoomChange>,
    /// The visitors whose places the promoter ended.
    pub revocations: Vec<HistoryRevocation>,
    /// The published draws.
    pub draws: Vec<HistoryDraw>,
    /// The seats after everything was settled, by show.
    pub finals: HashMap<String, FinalSeats>,
    /// When the swarm found that the system had no work left.
    pub settled_ms: Option<f64>,
    /// When the swarm finished the run; `None` if the run was broken off.
    pub finished_ms: Option<f64>,
}

/// The plan of the run.
#[derive(Debug, Deserialize)]
pub struct HistoryRunRecord {
    version: u32,
    /// When the run began.
    pub started_ms: f64,
    /// How many visitors were planned.
    pub planned: u64,
    /// The id of the room.
    pub room: String,
    /// The shows that the run sold; empty in an older history.
    #[serde(default)]
    pub shows: Vec<String>,
    /// The room's on-sale document.
    #[serde(default)]
    room_doc: Value,
    /// The shows' documents, by slug.
    #[serde(default)]
    pub show_docs: Value,
    /// The show that the scenario cancels, if any.
    #[serde(default)]
    pub cancels: Option<String>,
}

impl HistoryRunRecord {
    /// Returns how the room orders its line.
    pub fn method(&self) -> &str {
        self.room_doc["method"].as_str().unwrap_or("draw")
    }

    /// Returns how many visitors may be inside at once, at the beginning.
    pub fn max_inside(&self) -> u64 {
        self.room_doc["max_inside"].as_u64().unwrap_or(5_000)
    }

    /// Returns the promoter's pace in visitors a second, at the beginning.
    pub fn per_s(&self) -> f64 {
        self.room_doc["per_s"].as_f64().unwrap_or(500.0)
    }

    /// Returns whether the room lowers its pace while booking is slow, at the beginning.
    pub fn is_auto(&self) -> bool {
        self.room_doc["mode"].as_str().unwrap_or("auto") == "auto"
    }

    /// Returns booking's target for 99 of 100 answers, in milliseconds.
    pub fn p99_ms(&self) -> f64 {
        self.room_doc["p99_ms"].as_f64().unwrap_or(300.0)
    }

    /// Returns how long the visitor of a basket must have been gone before it lapses, in
    /// milliseconds.
    pub fn away_ms(&self) -> f64 {
        self.room_doc["away_s"].as_f64().unwrap_or(60.0) * 1e3
    }

    /// Returns how long a pass lives, in milliseconds.
    pub fn pass_ms(&self) -> f64 {
        self.room_doc["pass_s"].as_f64().unwrap_or(600.0) * 1e3
    }
}

/// A fault, and the span in which it may have effects.
#[derive(Debug, Clone)]
pub struct HistoryFault {
    /// Whether the fault may make a process or a Redis forget holds.
    pub forgets: bool,
    /// Whether the fault may delay a payment so long that it comes too late, although the buyer
    /// approved it in time.
    pub halts: bool,
    /// Whether the fault moves a clock. A process whose clock is ahead ends passes too early.
    pub moves_clock: bool,
    /// The start of the span.
    pub at_ms: f64,
    /// The end of the span.
    pub until_ms: f64,
}

impl HistoryFault {
    /// Returns whether the fault may have effects in a span of time.
    pub fn touches(&self, from_ms: f64, to_ms: f64) -> bool {
        self.at_ms <= to_ms && from_ms <= self.until_ms
    }
}

/// A published draw.
pub struct HistoryDraw {
    /// The answer of `GET …/draw`.
    pub record: Value,
    /// All holders, 32 bytes each, if they were fetched.
    pub leaves: Option<Vec<u8>>,
}

/// The answer of `GET …/seats` at the end.
pub struct FinalSeats {
    /// The line of the history file.
    pub line: u32,
    /// The version of the feed.
    pub version: u64,
    /// Two bits for each cell.
    pub packed: Vec<u8>,
}

#[derive(Deserialize)]
struct RawFault {
    what: String,
    /// Whether the fault may make the system forget holds. Without this field, only a kill may.
    forgets: Option<bool>,
    /// Whether the fault may halt a part of the system for the whole time that a buyer has to pay.
    #[serde(default)]
    halts: bool,
    at_ms: f64,
    until_ms: Option<f64>,
    ready_ms: Option<f64>,
}

#[derive(Deserialize)]
struct RawVisitorEnd {
    visitor: u64,
    outcome: String,
}

#[derive(Deserialize)]
struct RawDraw {
    record: Value,
    leaves: Option<String>,
}

#[derive(Deserialize)]
struct RawFinalSeats {
    show: String,
    version: String,
    packed: String,
}

#[derive(Deserialize)]
struct HistoryRecordTime {
    at_ms: f64,
}

const OUTCOMES: [&str; 14] = [
    "ticketed",
    "declined",
    "too_late",
    "show_cancelled",
    "no_seats",
    "gave_up",
    "left",
    "sold_out",
    "closed",
    "waiting",
    "no_show",
    "refused",
    "revoked",
    "failed",
];

/// Reads a history. An empty history is no error, because the verdict reports that it is empty.
///
/// # Errors
/// If a line is no valid record. The message names the first such line.
pub fn read(name: &str, text: impl BufRead) -> anyhow::Result<RunHistory> {
    let mut history = RunHistory::default();
    each_line(name, text, |number, line| history.take(number, line))?;
    Ok(history)
}

impl RunHistory {
    fn take(&mut self, number: u32, line: &str) -> anyhow::Result<()> {
        let kind = kind_of(line)?.kind;
        ensure!(
            self.run.is_some() || kind == "run",
            "the first record must be \"run\", and is \"{kind}\""
        );
        self.records += 1;
        match kind.as_str() {
            "run" => {
                ensure!(self.run.is_none(), "a second \"run\"");
                let run: HistoryRunRecord = serde_json::from_str(line)?;
                ensure!(
                    run.version == VERSION,
                    "version {} is not known, {VERSION} is",
                    run.version
                );
                self.run = Some(run);
            }
            "call" => self.calls.push(calls::read(number, line)?),
            "frame" => self.frames.extend(frames::read(number, line)?),
            "snapshot" => self.feed.push(frames::snapshot(number, line)?),
            "delta" => self.feed.push(frames::delta(number, line)?),
            "socket" => self.closes.extend(frames::close(line)?),
            "fault" => self.take_fault(line)?,
            "end" => {
                let raw: RawVisitorEnd = serde_json::from_str(line)?;
                ensure!(
                    OUTCOMES.contains(&raw.outcome.as_str()),
                    "no outcome is called {:?}",
                    raw.outcome
                );
                self.ends.push((raw.visitor, raw.outcome));
            }
            "draw_record" => self.take_draw(line)?,
            "final_seats" => self.take_final_seats(number, line)?,
            "cancelled" => self.cancelled.push(serde_json::from_str(line)?),
            "changed" => self.changes.push(serde_json::from_str(line)?),
            "revoked" => self.revocations.push(serde_json::from_str(line)?),
            "refunds" => self.progress.push(HistoryRefundReport {
                line: number,
                ..serde_json::from_str(line)?
            }),
            "settled" => {
                self.settled_ms = Some(serde_json::from_str::<HistoryRecordTime>(line)?.at_ms)
            }
            "finished" => {
                self.finished_ms = Some(serde_json::from_str::<HistoryRecordTime>(line)?.at_ms)
            }
            // Not used: the judge takes the labels of seats from the ledger's dump.
            "seatmap" => {}
            other => bail!("no record is of kind {other:?}"),
        }
        Ok(())
    }

    fn take_fault(&mut self, line: &str) -> anyhow::Result<()> {
        let raw: RawFault = serde_json::from_str(line)?;
        let until = raw.ready_ms.or(raw.until_ms);
        self.faults.push(HistoryFault {
            forgets: raw.forgets.unwrap_or(raw.what.starts_with("kill")),
            halts: raw.halts,
            moves_clock: raw.what.contains("clock"),
            at_ms: raw.at_ms,
            until_ms: until.unwrap_or(raw.at_ms + FAULT_WITHOUT_END_MS),
        });
        Ok(())
    }

    fn take_draw(&mut self, line: &str) -> anyhow::Result<()> {
        let raw: RawDraw = serde_json::from_str(line)?;
        let leaves = raw
            .leaves
            .map(|leaves| hex_bytes("leaves", &leaves))
            .transpose()?;
        ensure!(
            leaves.as_ref().is_none_or(|leaves| leaves.len() % 32 == 0),
            "a leaf is cut off"
        );
        self.draws.push(HistoryDraw {
            record: raw.record,
            leaves,
        });
        Ok(())
    }

    fn take_final_seats(&mut self, number: u32, line: &str) -> anyhow::Result<()> {
        let raw: RawFinalSeats = serde_json::from_str(line)?;
        let seats = FinalSeats {
            line: number,
            version: raw.version.parse()?,
            packed: hex_bytes("packed", &raw.packed)?,
        };
        if self.finals.is_empty() {
            self.closes_before_finals = self.closes.len();
        }
        self.finals.insert(raw.show, seats);
        Ok(())
    }

    /// Returns whether holds may have been forgotten in a span of time, because the process or
    /// the Redis that stored them was lost.
    pub fn forgot_within(&self, from_ms: f64, to_ms: f64) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.forgets && fault.touches(from_ms, to_ms))
    }

    /// Returns whether a part of the system may have halted for long in a span of time.
    pub fn halted_within(&self, from_ms: f64, to_ms: f64) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.halts && fault.touches(from_ms, to_ms))
    }

    /// Returns whether any fault may have effects in a span of time.
    pub fn disturbed_within(&self, from_ms: f64, to_ms: f64) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.touches(from_ms, to_ms))
    }
}

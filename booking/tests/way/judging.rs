//! Writes what the judge of the load test reads: the dump of a ledger, and a history that says
//! which shows were cancelled.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{App, until};

/// A show that somebody decided to cancel.
#[derive(Debug)]
pub struct CancelledShow {
    pub show: String,
    /// The earliest time at which it may have been cancelled.
    pub asked_ms: i64,
    /// The time from which it was certainly cancelled.
    pub at_ms: i64,
}

/// Writes the dump and the history of a run, once all work of its nodes is done.
pub async fn write_files(folder: &Path, name: &str, node: &App, cancelled: &[CancelledShow]) {
    let dump = folder.join(format!("dump-{name}.jsonl"));
    let ledger = node.ledger().await;
    until("the end of all work", async || {
        let file = File::create(&dump).expect("a file for the dump");
        let written = ledger.write_dump(file, node.clock.now_ms()).await;
        written.expect("a dump");
        let text = fs::read_to_string(&dump).expect("a dump");
        let last = text.lines().next_back().expect("a record");
        let last: Value = serde_json::from_str(last).expect("JSON");
        assert_eq!(last["kind"], "pending");
        let work = ["seat_rows", "effects", "events"];
        work.iter()
            .all(|work| last[work] == 0 || last[work].is_null())
            .then_some(())
    })
    .await;
    // The orders are made without a waiting room, so the history has no calls of visitors.
    let mut records = vec![
        json!({"kind": "run", "version": 1, "started_ms": 1, "planned": 1, "room": "none",
            "room_doc": {"method": "fifo"}}),
        json!({"kind": "end", "visitor": 0, "outcome": "left"}),
    ];
    records.extend(cancelled.iter().map(|show| {
        json!({"kind": "cancelled", "show": show.show, "asked_ms": show.asked_ms,
            "at_ms": show.at_ms})
    }));
    records.push(json!({"kind": "finished", "at_ms": node.clock.now_ms()}));
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    fs::write(folder.join(format!("history-{name}.jsonl")), lines).expect("written");
}

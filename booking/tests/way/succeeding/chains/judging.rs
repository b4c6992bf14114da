//! Writes what the judge of the load test reads: the dump of a chain's ledger, and a history that
//! says which trains were cancelled.

use std::fs::{self, File};
use std::path::Path;

use fairgate_model::ids::ShowId;

use super::super::*;
use super::Chain;

/// A train that somebody decided to cancel.
#[derive(Debug)]
pub(super) struct CancelledTrain {
    pub(super) show: ShowId,
    /// The earliest time at which it may have been cancelled.
    pub(super) asked_ms: i64,
    /// The time from which it was certainly cancelled.
    pub(super) at_ms: i64,
}

/// Writes a chain's dump and history, once all work of its nodes is done.
pub(super) async fn write_files(chain: &Chain, folder: &Path) {
    let node = &chain.nodes[0];
    let name = format!("{}-{}", chain.nodes.len(), chain.seed);
    let dump = folder.join(format!("dump-{name}.jsonl"));
    for ticket in &chain.tickets {
        if chain
            .cancelled
            .iter()
            .any(|train| train.show == ticket.show)
        {
            node.order_in(&ticket.order, "refunded").await;
        }
    }
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
    records.extend(chain.cancelled.iter().map(|train| {
        json!({"kind": "cancelled", "show": train.show, "asked_ms": train.asked_ms,
            "at_ms": train.at_ms})
    }));
    records.push(json!({"kind": "finished", "at_ms": node.clock.now_ms()}));
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    fs::write(folder.join(format!("history-{name}.jsonl")), lines).expect("written");
}

//! Builds a small run that breaks no invariant. It has a draw with a void number, a late joiner, a
//! pause, a hold that is changed, a hold that lapses, a hold that is dropped, a call without an
//! answer, a declined payment, and a gateway that is killed while a visitor has a hold. Exchanges,
//! refunds, scans and trains are added by the plants.

mod acts;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::verdict::oracle::Bytes32;

/// When the run begins, in milliseconds since the Unix epoch.
const BEGIN_MS: f64 = 1_800_000_000_000.0;
/// The slug of the room.
const ROOM: &str = "hall";
/// The slug of the show.
const SHOW: &str = "night";
/// The number of seats of the show. The last seat is not for sale.
pub const SEATS: u32 = 12;
/// When the show begins: 2027-06-01T20:00:00Z.
pub const STARTS_MS: f64 = 1_811_880_000_000.0;
/// The price of a seat, unless a run puts it into another category.
const PRICE: i64 = 1_000;
/// The categories, each with the price of a seat. In the clean run, all seats are in the first
/// category.
pub const CATEGORIES: [(&str, i64); 4] = [
    ("plain", PRICE),
    ("near", 1_300),
    ("far", 800),
    ("aisle", 1_030),
];
/// The number of visitors planned.
const PLANNED: u64 = 10;
/// How many numbers are drawn: those of nine visitors and of the observer.
const DRAWN: u64 = 10;
/// The visitor id of the observer, who also joins the line.
const OBSERVER: u64 = 1_000;
/// The observer's number in the line, which is the last number that is drawn.
const OBSERVERS_NUMBER: u64 = 9;
/// The visitor who left before the draw.
const LEAVER: u64 = 5;
/// The visitor who joined after the draw.
const LATE: u64 = 9;

/// A run, as the records of its files.
#[derive(Clone)]
pub struct SelfTestRun {
    /// The records of the history.
    pub history: Vec<Value>,
    /// The records of the dump.
    pub dump: Vec<Value>,
    /// The records of the provider's books; empty if the run has no books.
    pub intents: Vec<Value>,
    ranks: Vec<u64>,
    version: u64,
    packed: Vec<u8>,
}

/// Returns the time `s` seconds after the start of the run, in milliseconds since the Unix epoch.
pub fn at(s: f64) -> f64 {
    BEGIN_MS + (s * 1_000.0).round()
}

/// Returns the label of a cell's seat.
pub fn label(cell: u32) -> String {
    format!("A-{}", cell % SEATS + 1)
}

/// Returns the seats of an order, each on the leg of its cell.
pub fn items(cells: &[u32]) -> Vec<Value> {
    let item = |cell: &u32| {
        let (seat, leg) = (cell % SEATS, cell / SEATS);
        json!({ "seat": seat, "from": leg, "to": leg + 1, "amount": PRICE, "category": CATEGORIES[0].0 })
    };
    cells.iter().map(item).collect()
}

fn labels(cells: &[u32]) -> Vec<String> {
    cells.iter().copied().map(label).collect()
}

/// Returns a visitor's holder.
pub fn holder(visitor: u64) -> String {
    hex::encode(leaf(visitor))
}

fn leaf(visitor: u64) -> Bytes32 {
    Sha256::digest(visitor.to_be_bytes()).into()
}

fn packed(cells: &[u8]) -> String {
    let four = cells.chunks(4).map(|four| {
        four.iter()
            .zip([0, 2, 4, 6])
            .fold(0_u8, |byte, (state, shift)| byte | state << shift)
    });
    hex::encode(four.collect::<Vec<u8>>())
}

impl SelfTestRun {
    /// Builds the clean run.
    pub fn new() -> Self {
        let mut run = Self {
            history: Vec::new(),
            dump: Vec::new(),
            intents: Vec::new(),
            ranks: Vec::new(),
            version: 1 << 40,
            packed: vec![0; SEATS as usize],
        };
        run.packed[SEATS as usize - 1] = 3;
        run.begin();
        run.draw();
        run.line();
        run.buy();
        run.lapse_decline_and_drop();
        run.kill();
        run.end();
        run.close_ledger();
        run
    }

    /// Returns the history and the dump as text.
    pub fn texts(&self) -> (String, String) {
        let text = |records: &[Value]| records.iter().map(|record| format!("{record}\n")).collect();
        (text(&self.history), text(&self.dump))
    }

    /// Returns the provider's books as text. The text is empty if the run has no books.
    pub fn books(&self) -> String {
        let records = self.intents.iter();
        records.map(|record| format!("{record}\n")).collect()
    }

    /// Returns the intent of an order in the provider's books. The first call writes books that
    /// agree with the ledger.
    pub fn intent(&mut self, order: &str) -> &mut Value {
        if self.intents.is_empty() {
            let payments = self.dump.iter().filter(|row| row["kind"] == "payment");
            let intent = |payment: &Value| {
                let status = match payment["state"].as_str() {
                    Some("captured") => "succeeded",
                    _ => "requires_payment_method",
                };
                json!({
                    "kind": "intent", "intent": format!("pi_{}", payment["order"].as_str().unwrap_or_default()),
                    "payment": payment["payment"], "order": payment["order"], "status": status,
                    "amount": payment["amount"], "currency": payment["currency"],
                    "captured": payment["captured"], "refunded": payment["refunded"], "captures": 1,
                })
            };
            self.intents = payments.map(intent).collect();
        }
        let found = self
            .intents
            .iter_mut()
            .find(|intent| intent["order"] == order);
        found.expect("the clean run has such an order")
    }

    /// Adds a call. A call without a status got no answer.
    pub fn call(
        &mut self,
        visitor: u64,
        op: &str,
        s: f64,
        status: impl Into<Option<u16>>,
        more: Value,
    ) {
        let status = status.into();
        let lasts = if status.is_some() { 0.05 } else { 5.0 };
        let mut record = json!({
            "kind": "call", "visitor": visitor, "op": op, "intended_ms": at(s), "sent_ms": at(s), "done_ms": at(s + lasts),
            "status": status, "code": null, "error": status.is_none().then_some("no answer"), "key": null,
        });
        merge(&mut record, more);
        self.history.push(record);
    }

    fn frame(&mut self, s: f64, more: Value) {
        let mut record = json!({ "kind": "frame", "at_ms": at(s) });
        merge(&mut record, more);
        self.history.push(record);
    }

    /// Adds a delta to the observer's feed.
    pub fn delta(&mut self, s: f64, cells: &[(u32, u8)]) {
        for (cell, state) in cells {
            self.packed[*cell as usize] = *state;
        }
        let (from, to) = (self.version, self.version + 1);
        self.version = to;
        self.history.push(json!({
            "kind": "delta", "observer": 0, "at_ms": at(s), "show": SHOW,
            "from": from.to_string(), "to": to.to_string(), "cells": cells,
        }));
    }

    fn snapshot(&mut self, s: f64) {
        self.history.push(json!({
            "kind": "snapshot", "observer": 0, "at_ms": at(s), "show": SHOW, "version": self.version.to_string(),
            "cells": SEATS, "packed": packed(&self.packed),
        }));
    }

    /// Makes the show a train with two legs. Everything sold so far is for the first leg.
    pub fn becomes_a_train(&mut self) {
        let stretches = [(0, 1), (1, 2), (0, 2)];
        let fares = (0..).zip(CATEGORIES).flat_map(|(category, (_, amount))| {
            let fare = move |(from, to)| json!({ "category": category, "from": from, "to": to, "amount": amount });
            stretches.map(fare)
        });
        let fares: Vec<Value> = fares.collect();
        let show = self.row("show", "show", SHOW);
        show["legs"] = json!(2);
        show["fares"] = json!(fares);
        show["departs_ms"] = json!([STARTS_MS, STARTS_MS + 3_600_000.0]);
        self.packed.resize(2 * SEATS as usize, 0);
        let second = packed(&self.packed[SEATS as usize..]);
        for record in &mut self.history {
            if record["packed"].is_string() {
                let first = record["packed"].as_str().unwrap_or_default();
                record["packed"] = json!(format!("{first}{second}"));
                record["cells"] = json!(2 * SEATS);
            }
            if record["op"] == "hold" {
                record["legs"] = json!([0]);
            }
        }
    }

    /// Sets a cell's state at the end: in the observer's last picture and in the final seats.
    pub fn ends_as(&mut self, cell: u32, state: u8) {
        self.delta(128.0, &[(cell, state)]);
        let (version, packed) = (self.version.to_string(), packed(&self.packed));
        let last = self.record("final_seats", |_| true);
        last["version"] = json!(version);
        last["packed"] = json!(packed);
    }

    /// Returns the history's first record of a kind for which `fits` is true.
    pub fn record(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> &mut Value {
        let found = self
            .history
            .iter_mut()
            .find(|record| record["kind"] == kind && fits(record));
        found.expect("the clean run has such a record")
    }

    /// Returns a visitor's first call of a kind.
    pub fn call_of(&mut self, visitor: u64, op: &str) -> &mut Value {
        self.record("call", |call| {
            call["visitor"] == visitor && call["op"] == op
        })
    }

    /// Returns the ledger's first record of a kind in which the field `member` has this value.
    pub fn row(&mut self, kind: &str, member: &str, value: impl Into<Value>) -> &mut Value {
        let value = value.into();
        let found = self
            .dump
            .iter_mut()
            .find(|record| record["kind"] == kind && record[member] == value);
        found.expect("the clean ledger has such a record")
    }

    /// Removes the ledger's records for which `gone` is true.
    pub fn forget_rows(&mut self, gone: impl Fn(&Value) -> bool) {
        self.dump.retain(|record| !gone(record));
    }

    /// Returns the rank of a visitor.
    pub fn rank(&self, visitor: u64) -> u64 {
        let number = if visitor == OBSERVER {
            OBSERVERS_NUMBER
        } else if visitor == LATE {
            DRAWN
        } else {
            visitor
        };
        usize::try_from(number)
            .ok()
            .and_then(|number| self.ranks.get(number).copied())
            .unwrap_or(number)
    }

    /// Adds an answered call for a hold of 20 s.
    pub fn hold(&mut self, visitor: u64, s: f64, cells: &[u32], id: &str) {
        self.call(visitor, "hold", s, 201, json!({
            "show": SHOW, "asked": "seats", "wanted": labels(cells), "quantity": cells.len(), "hold": id,
            "seats": labels(cells), "expires_ms": at(s + 20.0), "key": format!("key-{id}"),
        }));
    }

    /// Adds the ledger's rows of an order: the order, its claims unless it expired, and its
    /// payment.
    pub fn ledger_order(
        &mut self,
        (visitor, id, hold): (u64, &str, &str),
        s: f64,
        cells: &[u32],
        steps: &[(f64, &str)],
    ) {
        let amount = PRICE * i64::try_from(cells.len()).expect("few");
        let items = items(cells);
        let state = steps.last().map_or("pending", |(_, state)| state);
        let history: Vec<_> = steps
            .iter()
            .map(|(s, state)| json!({ "at_ms": at(*s), "state": state, "reason": "" }))
            .collect();
        self.dump.push(json!({
            "kind": "order", "order": id, "show": SHOW, "hold": hold, "visitor": holder(visitor), "room": ROOM, "state": state,
            "reason": "", "amount": amount, "currency": "EUR", "cells": cells, "labels": labels(cells),
            "terms": 1, "items": items, "let_go": 0,
            "created_ms": at(s + 0.02), "pay_until_ms": at(s + 18.0), "claim_until_ms": at(s + 23.0), "history": history,
        }));
        if state != "expired" {
            for cell in cells {
                self.dump.push(json!({ "kind": "claim", "show": SHOW, "cell": cell, "seat": cell, "leg": 0, "order": id }));
            }
        }
        let paid = match state {
            "ticketed" => "captured",
            "expired" => "declined",
            _ => "created",
        };
        self.dump.push(json!({
            "kind": "payment", "payment": id.replace("order", "payment"), "order": id, "provider": "sandbox", "state": paid,
            "amount": amount, "currency": "EUR", "captured": if paid == "captured" { amount } else { 0 }, "refunded": 0,
            "updated_ms": at(s + 1.2), "cards": [], "provider_state": (paid != "created").then_some(paid),
        }));
    }
}

fn merge(record: &mut Value, more: Value) {
    if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
        record.extend(more);
    }
}

//! A small run in which everything is as it should be, and in which everything happens that may: a draw with a void, a
//! late joiner, a pause, a hold that changes, one that lapses, one given back, a call without an answer, a payment
//! declined, a gateway killed over a basket.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::verdict::oracle::{self, Bytes32, VOID};

/// When the run begins, milliseconds since the epoch.
const BEGIN_MS: f64 = 1_800_000_000_000.0;
/// The room.
const ROOM: &str = "hall";
/// The show.
const SHOW: &str = "night";
/// Its seats; the last one is not for sale.
pub const SEATS: u32 = 12;
/// What a seat costs.
const PRICE: i64 = 1_000;
/// Visitors of the run.
const PLANNED: u64 = 10;
/// Numbers in the draw: nine visitors and the observer.
const DRAWN: u64 = 10;
/// The observer, who stands in the line as well.
const OBSERVER: u64 = 1_000;
/// The last number of the draw is the observer's.
const OBSERVERS_NUMBER: u64 = 9;
/// Who left before the draw.
const LEAVER: u64 = 5;
/// Who came after it.
const LATE: u64 = 9;

/// A run as the two files it leaves behind.
#[derive(Clone)]
pub struct Run {
    /// The history's records.
    pub history: Vec<Value>,
    /// The dump's records.
    pub dump: Vec<Value>,
    ranks: Vec<u64>,
    version: u64,
    packed: Vec<u8>,
}

/// A moment of the run, from seconds.
pub fn at(s: f64) -> f64 {
    BEGIN_MS + (s * 1_000.0).round()
}

/// A seat's label.
fn label(cell: u32) -> String {
    format!("A-{}", cell + 1)
}

fn labels(cells: &[u32]) -> Vec<String> {
    cells.iter().copied().map(label).collect()
}

/// A visitor's holder.
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

impl Run {
    /// The run.
    pub fn new() -> Self {
        let mut run = Self {
            history: Vec::new(),
            dump: Vec::new(),
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

    /// Both files as text.
    pub fn texts(&self) -> (String, String) {
        let text = |records: &[Value]| records.iter().map(|record| format!("{record}\n")).collect();
        (text(&self.history), text(&self.dump))
    }

    /// A call that was answered.
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

    /// Cells change before the observer's eyes.
    pub fn delta(&mut self, s: f64, cells: &[(u32, u8)]) {
        for (cell, state) in cells {
            self.packed[*cell as usize] = *state;
        }
        let (from, to) = (self.version, self.version + 1);
        self.version = to;
        self.history.push(json!({
            "kind": "delta", "observer": "o1", "at_ms": at(s), "show": SHOW,
            "from": from.to_string(), "to": to.to_string(), "cells": cells,
        }));
    }

    fn snapshot(&mut self, s: f64) {
        self.history.push(json!({
            "kind": "snapshot", "observer": "o1", "at_ms": at(s), "show": SHOW, "version": self.version.to_string(),
            "cells": SEATS, "packed": packed(&self.packed),
        }));
    }

    /// What the last picture and the seats show in the end.
    pub fn ends_as(&mut self, cell: u32, state: u8) {
        self.delta(128.0, &[(cell, state)]);
        let (version, packed) = (self.version.to_string(), packed(&self.packed));
        let last = self.record("final_seats", |_| true);
        last["version"] = json!(version);
        last["packed"] = json!(packed);
    }

    /// The first record of the history of a kind that fits.
    pub fn record(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> &mut Value {
        let found = self
            .history
            .iter_mut()
            .find(|record| record["kind"] == kind && fits(record));
        found.expect("the clean run has such a record")
    }

    /// A visitor's first call of a kind.
    pub fn call_of(&mut self, visitor: u64, op: &str) -> &mut Value {
        self.record("call", |call| {
            call["visitor"] == visitor && call["op"] == op
        })
    }

    /// The first record of the ledger of a kind that has this value in the member of that name.
    pub fn row(&mut self, kind: &str, member: &str, value: impl Into<Value>) -> &mut Value {
        let value = value.into();
        let found = self
            .dump
            .iter_mut()
            .find(|record| record["kind"] == kind && record[member] == value);
        found.expect("the clean ledger has such a record")
    }

    /// Forgets records of the ledger.
    pub fn forget_rows(&mut self, gone: impl Fn(&Value) -> bool) {
        self.dump.retain(|record| !gone(record));
    }

    /// The rank of a visitor.
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

    fn begin(&mut self) {
        self.history.push(json!({
            "kind": "run", "version": 1, "scenario": "self-test", "seed": 1, "started_ms": at(0.0), "planned": PLANNED,
            "room": ROOM, "shows": [SHOW], "room_doc": { "method": "draw", "max_inside": 20 }, "show_docs": {}, "rig": null,
        }));
        let labels: Vec<_> = (0..SEATS).map(label).collect();
        self.history
            .push(json!({ "kind": "seatmap", "show": SHOW, "labels": labels }));
        for (who, number) in (0..LATE)
            .map(|visitor| (visitor, visitor))
            .chain([(OBSERVER, OBSERVERS_NUMBER)])
        {
            self.call(
                who,
                "join",
                1.0,
                201,
                json!({ "number": number, "holder": holder(who) }),
            );
            self.frame(1.2, json!({ "visitor": who, "type": "place", "number": number, "rank": null, "ahead": null }));
        }
        self.history.push(json!({ "kind": "socket", "observer": "o1", "at_ms": at(1.5), "what": "open", "close_code": null }));
        self.snapshot(2.0);
        self.call(LEAVER, "leave", 5.0, 204, json!({}));
    }

    fn draw(&mut self) {
        let holders: Vec<Bytes32> = (0..DRAWN)
            .map(|number| match number {
                LEAVER => VOID,
                OBSERVERS_NUMBER => leaf(OBSERVER),
                visitor => leaf(visitor),
            })
            .collect();
        let (secret, root) = ([7; 32], oracle::root(&holders));
        let seed = oracle::seed(&secret, DRAWN, &root, &[]);
        self.ranks = vec![0; holders.len()];
        for (rank, number) in (0..).zip(oracle::line(&seed, DRAWN)) {
            self.ranks[usize::try_from(number).expect("small")] = rank;
        }
        self.history.push(json!({
            "kind": "draw_record", "leaves": hex::encode(holders.concat()),
            "record": {
                "version": 1, "room": ROOM, "commitment": hex::encode(oracle::commitment(&secret)), "n": DRAWN, "voids": 1,
                "root": hex::encode(root), "frozen_at": "2027-01-15T08:00:10Z", "signature": "a.b.c", "beacon_round": null,
                "beacon": "", "secret": hex::encode(secret), "seed": hex::encode(seed), "drawn_at": "2027-01-15T08:00:10Z",
            },
        }));
        for visitor in (0..LATE)
            .chain([OBSERVER])
            .filter(|visitor| *visitor != LEAVER)
        {
            let (rank, number) = (
                self.rank(visitor),
                if visitor == OBSERVER {
                    OBSERVERS_NUMBER
                } else {
                    visitor
                },
            );
            self.frame(10.1, json!({ "visitor": visitor, "type": "place", "number": number, "rank": rank, "ahead": rank }));
            self.call(
                visitor,
                "place",
                10.5,
                200,
                json!({
                    "number": number, "rank": rank, "ahead": rank, "state": "waiting",
                    "wait": { "known": true, "p50_s": 5, "p90_s": 9 }, "odds": null,
                }),
            );
        }
        self.call(
            LATE,
            "join",
            12.0,
            201,
            json!({ "number": DRAWN, "holder": holder(LATE) }),
        );
        self.frame(
            12.1,
            json!({ "visitor": LATE, "type": "place", "number": DRAWN, "rank": DRAWN, "ahead": 3 }),
        );
    }

    fn line(&mut self) {
        self.frame(
            10.0,
            json!({ "observer": "o1", "type": "draw", "frozen": true, "drawn": true }),
        );
        for s in 10..=129_u32 {
            let released = s - 10;
            self.frame(s.into(), json!({
                "observer": "o1", "type": "line", "released": released.min(11), "per_s": 1.0, "waiting": 11 - released.min(11),
                "seats": { "free": 11, "held": 0, "sold": 0, "lapsing_5m": 0 },
            }));
        }
        for (s, paused) in [(24.0, true), (28.0, false)] {
            self.frame(s, json!({
                "observer": "o1", "type": "room", "phase": "selling", "paused": paused, "joined": 11, "released": 11,
                "per_s": 1.0, "message": "",
            }));
        }
        for visitor in (0..PLANNED).filter(|visitor| *visitor != LEAVER) {
            let rank = self.rank(visitor);
            let s = 11.2 + f64::from(u32::try_from(rank).expect("small"));
            self.frame(
                s - 0.1,
                json!({ "visitor": visitor, "type": "turn", "claim_before_ms": at(s + 60.0) }),
            );
            self.call(
                visitor,
                "claim",
                s,
                201,
                json!({ "exp_ms": at(400.0), "rank": rank }),
            );
        }
    }

    /// A hold that is answered.
    pub fn hold(&mut self, visitor: u64, s: f64, cells: &[u32], id: &str) {
        self.call(visitor, "hold", s, 201, json!({
            "show": SHOW, "asked": "seats", "wanted": labels(cells), "quantity": cells.len(), "hold": id,
            "seats": labels(cells), "expires_ms": at(s + 20.0), "key": format!("key-{id}"),
        }));
    }

    /// An order from asking to tickets; with the ledger's side of it.
    fn order(&mut self, visitor: u64, s: f64, cells: &[u32]) {
        let n = visitor;
        let amount = PRICE * i64::try_from(cells.len()).expect("few");
        self.call(n, "order", s, 201, json!({
            "hold": format!("hold_{n}"), "order": format!("order_{n}"), "payment": format!("payment_{n}"),
            "amount": amount, "currency": "EUR", "state": "pending", "key": format!("order-{n}"),
        }));
        self.call(n, "pay", s + 1.0, 200, json!({
            "order": format!("order_{n}"), "payment": format!("payment_{n}"), "outcome": "approve",
        }));
        let tickets: Vec<_> = cells
            .iter()
            .map(|cell| format!("ticket_{n}_{cell}"))
            .collect();
        self.call(n, "order_read", s + 2.0, 200, json!({
            "order": format!("order_{n}"), "state": "ticketed", "tickets": tickets, "seats": labels(cells), "total": amount,
        }));
        self.call(
            n,
            "ticket",
            s + 2.1,
            200,
            json!({ "order": format!("order_{n}"), "ticket": tickets[0] }),
        );
        let steps = [
            (s + 0.02, "pending"),
            (s + 1.1, "confirmed"),
            (s + 1.2, "ticketed"),
        ];
        self.ledger_order(
            (visitor, &format!("order_{n}"), &format!("hold_{n}")),
            s,
            cells,
            &steps,
        );
        for (cell, ticket) in cells.iter().zip(tickets) {
            self.dump.push(json!({
                "kind": "ticket", "ticket": ticket, "order": format!("order_{n}"), "show": SHOW, "label": label(*cell),
                "legs": [0], "issued_ms": at(s + 1.2),
            }));
        }
        self.dump.push(json!({
            "kind": "effect", "order": format!("order_{n}"), "what": "capture", "due_ms": at(s + 1.1), "done_ms": at(s + 1.2),
        }));
        let sold: Vec<_> = cells.iter().map(|cell| (*cell, 2)).collect();
        self.delta(s + 1.4, &sold);
    }

    /// The ledger's side of an order: the order, its claims while it lives, its payment.
    pub fn ledger_order(
        &mut self,
        (visitor, id, hold): (u64, &str, &str),
        s: f64,
        cells: &[u32],
        steps: &[(f64, &str)],
    ) {
        let amount = PRICE * i64::try_from(cells.len()).expect("few");
        let state = steps.last().map_or("pending", |(_, state)| state);
        let history: Vec<_> = steps
            .iter()
            .map(|(s, state)| json!({ "at_ms": at(*s), "state": state, "reason": "" }))
            .collect();
        self.dump.push(json!({
            "kind": "order", "order": id, "show": SHOW, "hold": hold, "visitor": holder(visitor), "room": ROOM, "state": state,
            "reason": "", "amount": amount, "currency": "EUR", "cells": cells, "labels": labels(cells),
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
            "updated_ms": at(s + 1.2), "provider_state": (paid != "created").then_some(paid),
        }));
    }

    fn buy(&mut self) {
        // Changes its mind; the best two first.
        self.hold(0, 30.0, &[0, 1], "hold_0");
        let hold = self.call_of(0, "hold");
        hold["asked"] = json!("best");
        hold["wanted"] = Value::Null;
        self.delta(30.1, &[(0, 1), (1, 1)]);
        // Nobody hears the first answer.
        let seats = json!({ "show": SHOW, "asked": "seats", "wanted": ["A-4"], "quantity": 1, "key": "key-hold_1" });
        self.call(1, "hold", 30.5, None, seats);
        self.delta(30.7, &[(3, 1)]);
        self.call(0, "change", 31.0, 200, json!({
            "hold": "hold_0", "add": ["A-3"], "remove": ["A-2"], "seats": ["A-1", "A-3"], "expires_ms": at(50.0),
        }));
        self.delta(31.1, &[(1, 0), (2, 1)]);
        self.hold(2, 31.2, &[4], "hold_2");
        self.delta(31.3, &[(4, 1)]);
        self.hold(3, 31.5, &[5], "hold_3");
        self.delta(31.7, &[(5, 1)]);
        self.hold(4, 32.0, &[6], "hold_4");
        self.delta(32.1, &[(6, 1)]);
        self.call(4, "seats", 32.2, 200, json!({ "show": SHOW }));
        self.order(0, 33.0, &[0, 2]);
        self.hold(1, 36.0, &[3], "hold_1");
        self.order(1, 37.0, &[3]);
    }

    fn lapse_decline_and_drop(&mut self) {
        self.call(4, "drop", 38.6, 204, json!({ "hold": "hold_4" }));
        self.delta(38.8, &[(6, 0)]);
        self.call(3, "order", 39.0, 201, json!({
            "hold": "hold_3", "order": "order_3", "payment": "payment_3", "amount": PRICE, "currency": "EUR", "state": "pending",
        }));
        self.call(
            3,
            "pay",
            40.0,
            200,
            json!({ "order": "order_3", "payment": "payment_3", "outcome": "decline" }),
        );
        self.call(3, "order_read", 41.0, 200, json!({
            "order": "order_3", "state": "pending", "tickets": [], "seats": ["A-6"], "total": PRICE,
        }));
        // Lapses.
        self.frame(53.25, json!({ "visitor": 2, "type": "hold", "hold": "hold_2", "state": "lapsed", "expires_ms": at(51.2) }));
        self.delta(53.3, &[(4, 0)]);
        // Expires.
        self.ledger_order(
            (3, "order_3", "hold_3"),
            39.0,
            &[5],
            &[(39.02, "pending"), (40.1, "pending"), (62.1, "expired")],
        );
        self.delta(62.3, &[(5, 0)]);
        self.call(3, "order_read", 63.0, 200, json!({
            "order": "order_3", "state": "expired", "tickets": [], "seats": ["A-6"], "total": PRICE,
        }));
        // Others take what came free.
        self.hold(6, 64.0, &[4], "hold_6");
        self.delta(64.1, &[(4, 1)]);
        self.hold(7, 64.3, &[5], "hold_7");
        self.delta(64.4, &[(5, 1)]);
        self.order(6, 65.0, &[4]);
        self.order(7, 67.0, &[5]);
    }

    fn kill(&mut self) {
        self.hold(LATE, 80.0, &[7], "hold_9");
        self.delta(80.1, &[(7, 1)]);
        self.history.push(json!({
            "kind": "fault", "at_ms": at(84.0), "what": "kill gateway", "until_ms": at(84.5), "ready_ms": at(86.0),
        }));
        self.history.push(json!({ "kind": "socket", "observer": "o1", "at_ms": at(84.0), "what": "close", "close_code": 1006 }));
        self.history.push(json!({ "kind": "socket", "observer": "o1", "at_ms": at(86.5), "what": "open", "close_code": null }));
        // The basket is forgotten, and somebody else is quicker.
        self.version = 2 << 40;
        self.packed[7] = 0;
        self.snapshot(86.6);
        self.hold(8, 87.0, &[7], "hold_8");
        self.delta(87.2, &[(7, 1)]);
        self.call(
            LATE,
            "order",
            87.5,
            410,
            json!({ "hold": "hold_9", "code": "hold_expired" }),
        );
        self.order(8, 88.0, &[7]);
        let taken = json!({ "show": SHOW, "asked": "seats", "wanted": ["A-8"], "quantity": 1, "code": "seats_taken" });
        self.call(LATE, "hold", 91.0, 409, taken);
    }

    fn end(&mut self) {
        let outcomes = [
            "ticketed", "ticketed", "gave_up", "declined", "gave_up", "left", "ticketed",
            "ticketed", "ticketed", "no_seats",
        ];
        for (visitor, outcome) in (0..PLANNED).zip(outcomes) {
            self.history.push(json!({ "kind": "end", "visitor": visitor, "at_ms": at(100.0), "outcome": outcome }));
        }
        self.frame(
            101.0,
            json!({ "visitor": LATE, "type": "closed", "reason": "closed" }),
        );
        self.history.push(json!({
            "kind": "final_seats", "show": SHOW, "version": self.version.to_string(), "cells": SEATS, "packed": packed(&self.packed),
        }));
        self.history
            .push(json!({ "kind": "settled", "at_ms": at(129.0) }));
        self.history
            .push(json!({ "kind": "finished", "at_ms": at(130.0), "figures": {} }));
    }

    fn close_ledger(&mut self) {
        let labels: Vec<_> = (0..SEATS).map(label).collect();
        self.dump.insert(0, json!({
            "kind": "show", "show": SHOW, "seats": SEATS, "legs": 1, "currency": "EUR", "prices": { "a": PRICE },
            "hold_s": 20, "grace_s": 2, "claim_grace_s": 5, "pay_s": 10, "seats_per_visitor": 2, "labels": labels,
        }));
        self.dump.insert(
            0,
            json!({ "kind": "dump", "version": 1, "at_ms": at(132.0) }),
        );
        self.dump
            .push(json!({ "kind": "pending", "seat_rows": null, "effects": 0, "events": 0 }));
    }
}

fn merge(record: &mut Value, more: Value) {
    if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
        record.extend(more);
    }
}

//! Builds what happens in the clean run, step by step.

use serde_json::{Value, json};

use super::{
    CATEGORIES, DRAWN, LATE, LEAVER, OBSERVER, OBSERVERS_NUMBER, PLANNED, PRICE, ROOM, SEATS, SHOW,
    STARTS_MS, SelfTestRun, at, holder, label, labels, leaf, packed,
};
use crate::verdict::oracle::{self, Bytes32, VOID};

/// Returns the price of a seat of each category.
fn prices() -> Value {
    let prices = CATEGORIES.map(|(key, amount)| (key.to_owned(), json!(amount)));
    Value::Object(prices.into_iter().collect())
}

impl SelfTestRun {
    pub(super) fn begin(&mut self) {
        self.history.push(json!({
            "kind": "run", "version": 1, "scenario": "self-test", "seed": 1, "started_ms": at(0.0), "planned": PLANNED,
            "room": ROOM, "shows": [SHOW], "room_doc": { "method": "draw", "max_inside": 20 }, "rig": null,
            "show_docs": { SHOW: { "starts_at": "2027-06-01T20:00:00Z", "prices": prices() } },
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
        self.history.push(json!({ "kind": "socket", "observer": 0, "at_ms": at(1.5), "what": "open", "close_code": null }));
        self.snapshot(2.0);
        self.call(LEAVER, "leave", 5.0, 204, json!({}));
    }

    pub(super) fn draw(&mut self) {
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

    pub(super) fn line(&mut self) {
        self.frame(
            10.0,
            json!({ "observer": 0, "type": "draw", "frozen": true, "drawn": true }),
        );
        for s in 10..=129_u32 {
            let released = s - 10;
            self.frame(s.into(), json!({
                "observer": 0, "type": "line", "released": released.min(11), "per_s": 1.0, "waiting": 11 - released.min(11),
                "seats": { "free": 11, "held": 0, "sold": 0, "lapsing_5m": 0 },
            }));
        }
        for (s, paused) in [(24.0, true), (28.0, false)] {
            self.frame(s, json!({
                "observer": 0, "type": "room", "phase": "selling", "paused": paused, "joined": 11, "released": 11,
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

    /// Adds the calls of an order, from the order to the tickets, and the ledger's rows.
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

    pub(super) fn buy(&mut self) {
        // Visitor 0 asks for the best two seats, and changes its hold at 31 s.
        self.hold(0, 30.0, &[0, 1], "hold_0");
        let hold = self.call_of(0, "hold");
        hold["asked"] = json!("best");
        hold["wanted"] = Value::Null;
        self.delta(30.1, &[(0, 1), (1, 1)]);
        // Visitor 1's first call for a hold gets no answer.
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

    pub(super) fn lapse_decline_and_drop(&mut self) {
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
        // This hold lapses.
        self.frame(53.25, json!({ "visitor": 2, "type": "hold", "hold": "hold_2", "state": "lapsed", "expires_ms": at(51.2) }));
        self.delta(53.3, &[(4, 0)]);
        // This order expires.
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
        // The socket of visitor 0 closes. Observer 0 has the same number and another socket.
        let close = json!({ "kind": "socket", "visitor": 0, "at_ms": at(62.5), "what": "close", "close_code": 1000 });
        self.history.push(close);
        // Others take the seats that became free.
        self.hold(6, 64.0, &[4], "hold_6");
        self.delta(64.1, &[(4, 1)]);
        self.hold(7, 64.3, &[5], "hold_7");
        self.delta(64.4, &[(5, 1)]);
        self.order(6, 65.0, &[4]);
        self.order(7, 67.0, &[5]);
    }

    pub(super) fn kill(&mut self) {
        self.hold(LATE, 80.0, &[7], "hold_9");
        self.delta(80.1, &[(7, 1)]);
        self.history.push(json!({
            "kind": "fault", "at_ms": at(84.0), "what": "kill gateway", "until_ms": at(84.5), "ready_ms": at(86.0),
        }));
        self.history.push(json!({ "kind": "socket", "observer": 0, "at_ms": at(84.0), "what": "close", "close_code": 1006 }));
        self.history.push(json!({ "kind": "socket", "observer": 0, "at_ms": at(86.5), "what": "open", "close_code": null }));
        // The store forgets visitor 9's hold, and visitor 8 takes the seat.
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

    pub(super) fn end(&mut self) {
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

    pub(super) fn close_ledger(&mut self) {
        let labels: Vec<_> = (0..SEATS).map(label).collect();
        self.dump.insert(0, json!({
            "kind": "show", "show": SHOW, "seats": SEATS, "legs": 1, "currency": "EUR", "prices": prices(),
            "categories": CATEGORIES.map(|(key, _)| json!({ "key": key, "label": key })),
            "seat_categories": vec![0; SEATS as usize],
            "hold_s": 20, "grace_s": 2, "claim_grace_s": 5, "pay_s": 10, "seats_per_visitor": 2, "labels": labels,
        }));
        self.dump.insert(1, json!({
            "kind": "terms", "show": SHOW, "version": 1, "at_ms": at(-60.0), "currency": "EUR", "starts_ms": STARTS_MS,
            "prices": prices(), "refunds": [{ "until_h": 48, "fee_pct": 10 }],
            "exchange": { "until_h": 2, "fee": 0, "cheaper": "refund" },
        }));
        self.dump.insert(
            0,
            json!({ "kind": "dump", "version": 1, "at_ms": at(132.0) }),
        );
        self.dump
            .push(json!({ "kind": "pending", "seat_rows": null, "effects": 0, "events": 0 }));
    }
}

//! Changes runs so that their show is a train with two legs. Plants then hold or sell seats on one
//! leg or on both.

use serde_json::json;

use super::clean::{SEATS, SelfTestRun, at, items, label};
use super::swap::{exchanged, not_paid};

/// Returns a seat's cell on the second leg. `cell` is the seat's cell on the first leg.
const fn further(cell: u32) -> u32 {
    SEATS + cell
}

/// Adds a visitor's hold of one seat on these legs, and returns the id of the hold.
pub fn hold(run: &mut SelfTestRun, visitor: u64, s: f64, seat: u32, legs: &[u16]) -> String {
    let id = format!("hold_{visitor}_{s}");
    run.hold(visitor, s, &[seat], &id);
    run.record("call", |call| call["hold"] == *id)["legs"] = json!(legs);
    id
}

/// Lets visitors 9 and 4 hold A-10 at the same time: visitor 9 on the first leg, visitor 4 on
/// `legs`.
pub fn two_baskets(run: &mut SelfTestRun, legs: &[u16]) {
    run.becomes_a_train();
    hold(run, 9, 95.0, 9, &[0]);
    hold(run, 4, 96.0, 9, legs);
}

/// Lets visitor 4 hold A-1 on `legs`, while visitor 0 has an order for A-1 on the first leg.
pub fn over_an_order(run: &mut SelfTestRun, legs: &[u16]) {
    run.becomes_a_train();
    hold(run, 4, 110.0, 0, legs);
}

/// Lets visitor 9 order A-10 on the first leg, and visitor 8 order A-10 on `legs`. Neither pays.
pub fn two_orders(run: &mut SelfTestRun, legs: &[u16]) {
    run.becomes_a_train();
    for (visitor, s, legs) in [(9, 95.0, &[0][..]), (8, 95.5, legs)] {
        let hold = hold(run, visitor, s, 9, legs);
        run.call(visitor, "order", s + 1.0, None, json!({ "hold": hold }));
        let steps = [(s + 1.02, "pending"), (s + 21.0, "expired")];
        let cells: Vec<u32> = legs.iter().map(|leg| u32::from(*leg) * SEATS + 9).collect();
        let id = format!("order_{visitor}_train");
        let end = run.dump.pop();
        run.ledger_order((visitor, &id, &hold), s + 1.0, &cells, &steps);
        run.dump.extend(end);
        run.row("order", "order", id)["labels"] = json!([label(9)]);
    }
}

/// Lets visitor 9's hold of A-10 on the second leg run out at 115 s. The observer sees the seat
/// free `after_s` seconds later.
pub fn runs_out(run: &mut SelfTestRun, after_s: f64) {
    run.becomes_a_train();
    hold(run, 9, 95.0, 9, &[1]);
    run.delta(95.1, &[(further(9), 1)]);
    run.delta(115.0 + after_s, &[(further(9), 0)]);
    run.ends_as(further(9), 0);
}

/// Lets visitor 1 exchange A-4 on the first leg for A-4 on other legs. The visitor asks for the
/// legs `asked` and gets `cells`.
pub fn rides_further(run: &mut SelfTestRun, cells: &[u32], asked: &[u16]) {
    exchanged(run, 1_000);
    run.becomes_a_train();
    run.call_of(1, "exchange")["wanted"] = json!([label(3)]);
    run.call_of(1, "exchange")["legs"] = json!(asked);
    let gained: Vec<u32> = cells.iter().copied().filter(|cell| *cell != 3).collect();
    run.row("exchange", "order", "order_1")["gained"] =
        json!({ "cells": gained, "labels": [label(3)] });
    let order = run.row("order", "order", "order_1x");
    (order["cells"], order["labels"]) = (json!(cells), json!([label(3)]));
    let (from, to) = (cells[0] / SEATS, cells[cells.len() - 1] / SEATS + 1);
    let carried = order["items"][0]["carried"].clone();
    order["items"] = json!(items(&cells[..1]));
    let item = &mut order["items"][0];
    (item["from"], item["to"], item["carried"]) = (json!(from), json!(to), carried);
    let item = json!([item]);
    run.row("exchange", "order", "order_1")["items"] = item;
    let legs: Vec<u32> = cells.iter().map(|cell| cell / SEATS).collect();
    let ticket = run.row("ticket", "order", "order_1x");
    (ticket["label"], ticket["legs"]) = (json!(label(3)), json!(legs));
    let claim = run.row("claim", "order", "order_1x").clone();
    run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_1x");
    run.ends_as(9, 0);
    for cell in cells {
        let mut claim = claim.clone();
        claim["cell"] = json!(cell);
        run.dump.insert(3, claim);
        run.ends_as(*cell, 2);
    }
}

/// Lets visitor 1 ask to exchange A-4 on the first leg for A-4 on both legs, and never pay the
/// difference.
pub fn would_ride_further(run: &mut SelfTestRun) {
    let gained = SEATS + 3;
    not_paid(run);
    run.becomes_a_train();
    run.call_of(1, "exchange")["wanted"] = json!([label(3)]);
    run.call_of(1, "exchange")["legs"] = json!([0, 1]);
    let seats = json!({ "cells": [gained], "labels": [label(3)] });
    run.row("exchange", "order", "order_1")["gained"] = seats;
    let order = run.row("order", "order", "order_1x");
    (order["cells"], order["labels"]) = (json!([gained]), json!([label(3)]));
    let item = &mut order["items"][0];
    (item["seat"], item["from"], item["to"]) = (json!(3), json!(1), json!(2));
}

/// Sets the legs of all of visitor 0's tickets.
pub fn tickets_over(run: &mut SelfTestRun, legs: &[u16]) {
    run.becomes_a_train();
    for ticket in run
        .dump
        .iter_mut()
        .filter(|row| row["kind"] == "ticket" && row["order"] == "order_0")
    {
        ticket["legs"] = json!(legs);
    }
}

/// Moves visitor 1's order to the second leg, although its hold is on the first leg.
pub fn orders_another_leg(run: &mut SelfTestRun) {
    run.becomes_a_train();
    run.row("order", "order", "order_1")["cells"] = json!([further(3)]);
    run.row("order", "order", "order_1")["items"] = json!(items(&[further(3)]));
    run.row("claim", "order", "order_1")["cell"] = json!(further(3));
    run.row("ticket", "order", "order_1")["legs"] = json!([1]);
    run.ends_as(3, 0);
    run.ends_as(further(3), 2);
}

/// Lets visitor 4 hold A-10 on the second leg, after visitor 9 certainly dropped a hold of A-10 on
/// both legs.
pub fn after_both(run: &mut SelfTestRun) {
    run.becomes_a_train();
    hold(run, 9, 70.0, 9, &[0, 1]);
    run.call(9, "drop", 71.0, 204, json!({ "hold": "hold_9_70" }));
    hold(run, 4, 72.0, 9, &[1]);
    run.call_of(9, "drop")["done_ms"] = json!(at(71.2));
}

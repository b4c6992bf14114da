//! Adds exchanges to runs. The plants then change these runs.

use serde_json::{Value, json};

use super::back::refund;
use super::clean::{CATEGORIES, SelfTestRun, at};

/// The price of the exchanged seat.
const CREDIT: i64 = 1_000;

/// Lets visitor 1 exchange A-4 for A-10, which costs `price`. In the ledger, the rows of the new
/// order come after those of the old order.
pub fn exchanged(run: &mut SelfTestRun, price: i64) {
    let more = (price - CREDIT).max(0);
    over(run, price, more);
}

/// Does the same as [`exchanged`], but visitor 1 pays `more`, whatever A-10 costs.
pub fn over(run: &mut SelfTestRun, price: i64, more: i64) {
    asked(run, more);
    let done_s = if more > 0 { 92.7 } else { 92.02 };
    if more > 0 {
        let pay = json!({ "order": "order_1x", "payment": "payment_1x", "outcome": "approve" });
        run.call(1, "pay", 92.5, 200, pay);
    }
    let old = run.row("order", "order", "order_1");
    old["state"] = json!("exchanged");
    let step = json!({ "at_ms": at(done_s), "state": "exchanged", "reason": "exchanged" });
    old["history"].as_array_mut().expect("steps").push(step);
    run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_1");
    run.row("ticket", "order", "order_1")["void_ms"] = json!(at(done_s));
    if price < CREDIT {
        let back = refund(run, "order_1", "refund_less", &[], done_s);
        (back["amount"], back["reason"]) = (json!(CREDIT - price), json!("exchange_difference"));
        run.row("payment", "order", "order_1")["refunded"] = json!(CREDIT - price);
    }
    let end = run.dump.pop();
    let confirmed_s = if more > 0 { 92.6 } else { 92.02 };
    let steps = [
        (92.02, "pending"),
        (confirmed_s, "confirmed"),
        (done_s, "ticketed"),
    ];
    run.ledger_order((1, "order_1x", "hold_1x"), 92.0, &[9], &steps);
    costs(run, more);
    priced(run, price);
    run.row("order", "order", "order_1x")["items"][0]["carried"] = carried(price);
    run.dump.push(json!({
        "kind": "ticket", "ticket": "ticket_1x", "order": "order_1x", "show": "night", "label": "A-10", "legs": [0],
        "issued_ms": at(done_s),
    }));
    if more > 0 {
        run.dump.push(json!({
            "kind": "effect", "order": "order_1x", "what": "capture", "due_ms": at(92.6), "done_ms": at(done_s),
        }));
    }
    run.dump.push(exchange(price, &json!(at(done_s))));
    run.dump.extend(end);
    run.ends_as(3, 0);
    run.ends_as(9, 2);
}

/// Lets visitor 1 ask for an exchange and never pay the difference.
pub fn not_paid(run: &mut SelfTestRun) {
    asked(run, 300);
    let end = run.dump.pop();
    let steps = [(92.02, "pending"), (115.2, "expired")];
    run.ledger_order((1, "order_1x", "hold_1x"), 92.0, &[9], &steps);
    costs(run, 300);
    priced(run, 1_300);
    run.dump.push(exchange(1_300, &Value::Null));
    run.dump.extend(end);
}

/// Lets visitor 1 exchange A-4 for the dearer A-10, and then refunds A-10 from both payments.
pub fn back_after_all(run: &mut SelfTestRun) {
    exchanged(run, 1_300);
    let asked =
        json!({ "order": "order_1x", "named": null, "state": "refunded", "key": "refund-1x" });
    run.call(1, "refund", 94.0, 200, asked);
    let order = run.row("order", "order", "order_1x");
    order["state"] = json!("refunded");
    let step = json!({ "at_ms": at(94.02), "state": "refunded", "reason": "refund_by_buyer" });
    order["history"].as_array_mut().expect("steps").push(step);
    let whole = refund(run, "order_1x", "refund_1x", &[9], 94.02);
    (whole["paid"], whole["amount"], whole["fee"]) = (json!(1_300), json!(300), json!(130));
    whole["reason"] = json!("refund_by_buyer");
    let part = refund(run, "order_1", "refund_part", &[], 94.02);
    (part["amount"], part["reason"]) = (json!(870), json!("refund_by_buyer"));
    part["part_of"] = json!("refund_1x");
    run.row("payment", "order", "order_1")["refunded"] = json!(870);
    run.row("payment", "order", "order_1x")["refunded"] = json!(300);
    run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_1x");
    run.row("ticket", "ticket", "ticket_1x")["void_ms"] = json!(at(94.02));
    run.ends_as(9, 0);
}

fn asked(run: &mut SelfTestRun, more: i64) {
    run.call(1, "exchange", 92.0, 200, json!({
        "order": "order_1", "show": "night", "wanted": ["A-10"], "quantity": 1, "successor": "order_1x",
        "amount": more, "state": if more > 0 { "pending" } else { "ticketed" }, "key": "exchange-1",
    }));
}

/// Puts A-10 into the category with this price, and gives the new order's item that price.
fn priced(run: &mut SelfTestRun, price: i64) {
    let category = CATEGORIES.iter().position(|(_, amount)| *amount == price);
    let category = category.expect("a category of that price");
    run.row("show", "show", "night")["seat_categories"][9] = json!(category);
    let item = &mut run.row("order", "order", "order_1x")["items"][0];
    (item["amount"], item["category"]) = (json!(price), json!(CATEGORIES[category].0));
}

/// Sets the amount of the new order and of its payment to `more`. A payment of 0 is voided.
fn costs(run: &mut SelfTestRun, more: i64) {
    run.row("order", "order", "order_1x")["amount"] = json!(more);
    let payment = run.row("payment", "order", "order_1x");
    payment["amount"] = json!(more);
    if payment["captured"] != 0 {
        payment["captured"] = json!(more);
    }
    if more == 0 {
        (payment["state"], payment["provider_state"]) = (json!("voided"), Value::Null);
    }
}

fn exchange(price: i64, done_ms: &Value) -> Value {
    json!({
        "kind": "exchange", "successor": "order_1x", "order": "order_1", "credit": CREDIT, "price": price,
        "given": { "cells": [3], "labels": ["A-4"] }, "gained": { "cells": [9], "labels": ["A-10"] }, "done_ms": done_ms,
        "items": [{ "seat": 9, "from": 0, "to": 1, "amount": price, "carried": carried(price) }],
        "fee": 0, "at_ms": at(92.02),
    })
}

/// Returns the money that is carried over to a seat of this price. A refund would keep 10 %.
fn carried(price: i64) -> Value {
    let amount = price.min(CREDIT);
    json!({ "amount": amount, "refundable": amount * 9 / 10 })
}

/// Sets the money that the exchange of visitor 1 carried over, in the exchange and in the order.
pub fn carries(run: &mut SelfTestRun, amount: i64, refundable: i64) {
    let carried = json!({ "amount": amount, "refundable": refundable });
    for (kind, id) in [("exchange", "order_1"), ("order", "order_1x")] {
        run.row(kind, "order", id)["items"][0]["carried"] = carried.clone();
    }
}

/// Exchanges A-4 for A-10, and then a second time for A-11.
pub fn given_again(run: &mut SelfTestRun) {
    exchanged(run, CREDIT);
    let again = |value: &Value| -> Value {
        let text = value.to_string();
        let text = text
            .replace("order_1x", "order_1y")
            .replace("hold_1x", "hold_1y");
        let text = text
            .replace("_1x", "_1y")
            .replace("exchange-1", "exchange-2")
            .replace("A-10", "A-11");
        serde_json::from_str(&text).expect("JSON")
    };
    let of_new = |row: &&Value| row["order"] == "order_1x" || row["successor"] == "order_1x";
    let mut rows: Vec<Value> = run.dump.iter().filter(of_new).map(again).collect();
    for row in &mut rows {
        match row["kind"].as_str() {
            Some("order") => {
                (row["cells"], row["items"][0]["seat"]) = (json!([10]), json!(10));
            }
            Some("claim") => (row["cell"], row["seat"]) = (json!(10), json!(10)),
            Some("exchange") => {
                (row["gained"]["cells"], row["items"][0]["seat"]) = (json!([10]), json!(10));
            }
            _ => {}
        }
    }
    let end = run.dump.pop();
    run.dump.extend(rows);
    run.dump.extend(end);
    let call = again(run.call_of(1, "exchange"));
    run.history.push(call);
    run.ends_as(10, 2);
}

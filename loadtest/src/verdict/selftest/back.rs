//! Adds refunds to runs: of one ticket at its buyer's request, or of all tickets of a cancelled
//! show. The plants then change these runs.

use serde_json::{Value, json};

use super::clean::{SelfTestRun, at};

/// Refunds one of the two tickets of visitor 0, who asks for it at 87.9 s. The fee is 10 %.
pub fn one_back(run: &mut SelfTestRun) {
    let asked = json!({
        "order": "order_0", "named": ["ticket_0_2"], "state": "partly_refunded", "key": "refund-0",
    });
    run.call(0, "refund", 87.9, 200, asked);
    step(run, "order_0", 88.0, "partly_refunded", "refund_by_buyer");
    let refund = refund(run, "order_0", "refund_0", &[2], 88.0);
    (refund["amount"], refund["fee"], refund["reason"]) =
        (json!(900), json!(100), json!("refund_by_buyer"));
    run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_0" && row["cell"] == 2);
    run.row("ticket", "ticket", "ticket_0_2")["void_ms"] = json!(at(88.0));
    run.row("payment", "order", "order_0")["refunded"] = json!(900);
    run.ends_as(2, 0);
}

/// Cancels the show and refunds all tickets that were not refunded before. `but` changes the run
/// before the promoter reads the refund reports.
pub fn all_back(run: &mut SelfTestRun, but: impl FnOnce(&mut SelfTestRun)) {
    run.record("run", |_| true)["cancels"] = json!("night");
    run.row("show", "show", "night")["fate"] = json!({ "fate": "cancelled", "at_ms": at(93.0) });
    run.history.push(json!({
        "kind": "cancelled", "show": "night", "asked_ms": at(93.0), "at_ms": at(93.1),
    }));
    let paid = |row: &&Value| {
        row["kind"] == "order"
            && matches!(row["state"].as_str(), Some("ticketed" | "partly_refunded"))
    };
    let orders: Vec<String> = run
        .dump
        .iter()
        .filter(paid)
        .map(|row| text(&row["order"]))
        .collect();
    for order in orders {
        whole(run, &order);
    }
    but(run);
    told(run, 95.0);
    told(run, 99.0);
}

/// Refunds the seats of an order that were not refunded before.
fn whole(run: &mut SelfTestRun, order: &str) {
    let claims = run.dump.iter();
    let claims = claims.filter(|row| row["kind"] == "claim" && row["order"] == order);
    let cells = claims.filter_map(|row| u32::try_from(row["cell"].as_u64()?).ok());
    let cells: Vec<u32> = cells.collect();
    step(run, order, 94.0, "refunded", "show_cancelled");
    refund(run, order, &format!("refund_all_{order}"), &cells, 94.0);
    run.forget_rows(|row| row["kind"] == "claim" && row["order"] == order);
    for ticket in run.dump.iter_mut() {
        if ticket["kind"] == "ticket" && ticket["order"] == order && ticket["void_ms"].is_null() {
            ticket["void_ms"] = json!(at(94.0));
        }
    }
    let back: i64 = refunds(run)
        .filter(|row| row["order"] == order)
        .map(|row| number(row, "amount"))
        .sum();
    let payment = run.row("payment", "order", order);
    payment["refunded"] = json!(back);
    for cell in cells {
        run.ends_as(cell, 0);
    }
}

pub fn step(run: &mut SelfTestRun, order: &str, s: f64, state: &str, reason: &str) {
    let order = run.row("order", "order", order);
    order["state"] = json!(state);
    let step = json!({ "at_ms": at(s), "state": state, "reason": reason });
    order["history"].as_array_mut().expect("steps").push(step);
}

/// Adds a refund to the ledger, for seats that cost 1,000 each. The row comes after the order and
/// its earlier refunds.
pub fn refund<'a>(
    run: &'a mut SelfTestRun,
    order: &str,
    id: &str,
    cells: &[u32],
    s: f64,
) -> &'a mut Value {
    let of_order = |row: &Value| {
        matches!(row["kind"].as_str(), Some("order" | "refund")) && row["order"] == order
    };
    let behind = run.dump.iter().rposition(of_order).expect("such an order") + 1;
    let labels: Vec<String> = cells.iter().map(|cell| format!("A-{}", cell + 1)).collect();
    let paid = 1_000 * cells.len();
    run.dump.insert(behind, json!({
        "kind": "refund", "refund": id, "order": order, "cells": cells, "labels": labels, "paid": paid, "amount": paid,
        "fee": 0, "reason": "show_cancelled", "at_ms": at(s), "done_ms": at(s + 0.1),
    }));
    &mut run.dump[behind]
}

fn refunds(run: &SelfTestRun) -> impl Iterator<Item = &Value> {
    run.dump.iter().filter(|row| row["kind"] == "refund")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(row: &Value, member: &str) -> i64 {
    row[member].as_i64().unwrap_or_default()
}

/// Adds a refund report that the promoter reads, with the ledger's figures.
fn told(run: &mut SelfTestRun, s: f64) {
    let sum = |member: &str| refunds(run).map(|row| number(row, member)).sum::<i64>();
    let none = json!({ "refunds": 0, "amount": { "amount": 0, "currency": "EUR" } });
    let back = |row: &&Value| row["kind"] == "order" && row["state"] == "refunded";
    let told = json!({
        "show": "night", "fate": "cancelled", "orders_left": 0, "tickets_scanned": 0,
        "orders_refunded": run.dump.iter().filter(back).count(),
        "on_its_way": none, "failed": none,
        "done": { "refunds": refunds(run).count(), "amount": { "amount": sum("amount"), "currency": "EUR" } },
        "fees": { "amount": sum("fee"), "currency": "EUR" },
    });
    run.history.push(json!({
        "kind": "refunds", "show": "night", "asked_ms": at(s), "at_ms": at(s + 0.1), "told": told,
    }));
}

impl SelfTestRun {
    /// Adds each refund of the ledger to the provider's books.
    pub fn refunds_booked(&mut self) {
        self.intent("order_0");
        let refunds: Vec<Value> = refunds(self).cloned().collect();
        for intent in &mut self.intents {
            let own = refunds.iter().filter(|row| row["order"] == intent["order"]);
            let own = own.map(|row| json!({ "refund": row["refund"], "amount": row["amount"] }));
            intent["refunds"] = own.collect();
        }
    }
}

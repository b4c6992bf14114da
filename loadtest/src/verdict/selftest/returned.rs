//! Plants money that went back at the provider without a call of booking, and disputes.

use serde_json::json;

use super::back::{refund, step};
use super::clean::{SelfTestRun, at};
use super::plants::plants;

/// Gives back a part of the money of order 0 at the provider, and lists the order.
fn part(run: &mut SelfTestRun) {
    part_of(run, 700);
}

/// Gives back this much of the money of order 0 at the provider, and lists the order.
fn part_of(run: &mut SelfTestRun, amount: i64) {
    let back = refund(run, "order_0", "refund_there", &[], 88.0);
    (back["amount"], back["paid"]) = (json!(amount), json!(0));
    (back["reason"], back["at_provider"]) = (json!("refunded_at_provider"), json!(true));
    run.row("payment", "order", "order_0")["refunded"] = json!(amount);
    let intent = run.intent("order_0");
    intent["refunded"] = json!(amount);
    intent["refunds"] = json!([{ "refund": "", "amount": amount }]);
    let end = run.dump.pop();
    run.dump.push(json!({
        "kind": "money_finding", "finding": "re_1", "what": "refunded_in_part", "order": "order_0",
        "amount": amount, "settled_ms": null,
    }));
    run.dump.extend(end);
}

/// Gives back the whole money of order 0 at the provider. `reason` is the order's reason.
fn whole(run: &mut SelfTestRun, reason: &str) {
    let claims = run.dump.iter();
    let claims = claims.filter(|row| row["kind"] == "claim" && row["order"] == "order_0");
    let cells = claims.filter_map(|row| u32::try_from(row["cell"].as_u64()?).ok());
    let cells: Vec<u32> = cells.collect();
    step(run, "order_0", 94.0, "refunded", reason);
    let back = refund(run, "order_0", "refund_there", &cells, 94.0);
    (back["reason"], back["at_provider"]) = (json!(reason), json!(true));
    let sum = back["paid"].clone();
    run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_0");
    for ticket in run.dump.iter_mut() {
        if ticket["kind"] == "ticket" && ticket["order"] == "order_0" {
            ticket["void_ms"] = json!(at(94.0));
        }
    }
    run.row("payment", "order", "order_0")["refunded"] = sum.clone();
    let intent = run.intent("order_0");
    intent["refunded"] = sum.clone();
    intent["refunds"] = json!([{ "refund": "", "amount": sum }]);
    for cell in cells {
        run.ends_as(cell, 0);
    }
}

/// Disputes the payment of order 0, whose tickets are then blocked.
fn disputed(run: &mut SelfTestRun) {
    step(run, "order_0", 90.0, "ticketed", "dispute_opened");
    run.row("payment", "order", "order_0")["dispute"] = json!("open");
    for ticket in run.dump.iter_mut() {
        if ticket["kind"] == "ticket" && ticket["order"] == "order_0" {
            ticket["blocked_ms"] = json!(at(90.0));
        }
    }
}

plants! {
    Nothing "a part of an order's money went back at the provider, and the order is listed" part;
    Returned "a part of an order's money went back at the provider, and nobody is told" |run| {
        part(run);
        run.forget_rows(|row| row["kind"] == "money_finding");
    };
    Returned "an order has valid tickets although its whole money went back at the provider" |run| {
        let whole = run.row("payment", "order", "order_0")["amount"].as_i64();
        part_of(run, whole.expect("a sum"));
    };
    Books "a part went back at the provider, and the ledger does not know" |run| {
        part(run);
        run.forget_rows(|row| row["kind"] == "money_finding" || row["kind"] == "refund");
        run.row("payment", "order", "order_0")["refunded"] = json!(0);
    };
    Nothing "an order's whole money went back at the provider" |run| whole(run, "refunded_at_provider");
    Nothing "an order's money was lost in a dispute" |run| {
        whole(run, "dispute_lost");
        run.row("payment", "order", "order_0")["dispute"] = json!("lost");
    };
    Nothing "the tickets of a disputed payment are blocked" disputed;
    Returned "a ticket of a disputed payment opens doors" |run| {
        disputed(run);
        run.row("ticket", "ticket", "ticket_0_2")["blocked_ms"] = json!(null);
    };
    Returned "a dispute over a part was lost, and the tickets open doors before somebody settled it" |run| {
        part(run);
        run.row("payment", "order", "order_0")["dispute"] = json!("lost");
    };
}

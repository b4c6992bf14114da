//! Lists the changes that the self-test plants about a basket that is left behind. Visitor 2 has
//! seat A-5 from 31.2 s on, and closes its page at 33 s.

use serde_json::json;

use super::clean::{SelfTestRun, at};
use super::plants::plants;

/// The visitor who leaves its basket behind.
const LEAVER: u64 = 2;
/// The visitor who takes the seat.
const TAKER: u64 = 6;

/// Lets the visitor close its page. Its basket lapses after `away_s`.
fn closes_page(run: &mut SelfTestRun, away_s: u64) {
    run.record("run", |_| true)["room_doc"]["away_s"] = json!(away_s);
    let close = json!({ "kind": "socket", "visitor": LEAVER, "at_ms": at(33.0), "what": "close", "close_code": 1000 });
    run.history.push(close);
}

/// Lets the observer see at 38.4 s that the seat is free.
fn is_freed(run: &mut SelfTestRun) {
    let cells = &mut run.record("delta", |delta| delta["at_ms"] == at(38.4))["cells"];
    cells.as_array_mut().expect("a list").push(json!([4, 0]));
}

/// Lets another visitor take the seat, so that it stays held.
fn is_taken(run: &mut SelfTestRun, s: f64) {
    run.record("delta", |delta| delta["at_ms"] == at(53.3))["cells"] = json!([]);
    let hold = run.call_of(TAKER, "hold");
    hold["sent_ms"] = json!(at(s));
    hold["done_ms"] = json!(at(s + 0.1));
}

plants! {
    Nothing "odd, but right: the basket of a visitor who closed the page is freed early" |run| {
        closes_page(run, 5);
        is_freed(run);
    };
    Lapse "the basket of a visitor who closed the page is freed before its time" |run| {
        closes_page(run, 6);
        is_freed(run);
    };
    Nothing "odd, but right: the seat of a visitor who closed the page is given to another visitor" |run| {
        closes_page(run, 10);
        is_taken(run, 45.0);
    };
    Lapse "the seat of a visitor who closed the page is given to another visitor before its time" |run| {
        closes_page(run, 15);
        is_taken(run, 45.0);
    };
}

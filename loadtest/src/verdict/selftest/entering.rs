//! Lists the changes that the self-test plants about entries: into a room that is full, and into a
//! room that is not although called people ask.

use serde_json::{Value, json};

use super::clean::{SelfTestRun, at};
use super::plants::plants;

/// A visitor who is not planned, so that nothing else is judged of it.
const EXTRA: u64 = 50;

/// Changes settings of the room at a time.
fn change(run: &mut SelfTestRun, s: f64, changes: &Value) {
    run.history.push(json!({
        "kind": "changed", "asked_ms": at(s), "at_ms": at(s + 0.05), "changes": changes,
    }));
}

/// Lets two visitors be inside until the sale begins. Nobody of the clean run is inside then.
fn small_room(run: &mut SelfTestRun) {
    run.record("run", |_| true)["room_doc"]["max_inside"] = json!(2);
    change(run, 9.8, &json!({ "max_inside": 20 }));
}

/// Lets an extra visitor enter with a pass that ends at `ends_s`.
fn enters(run: &mut SelfTestRun, extra: u64, s: f64, ends_s: f64) {
    let pass = json!({ "exp_ms": at(ends_s), "rank": null });
    run.call(EXTRA + extra, "claim", s, 201, pass);
}

/// Lets two extra visitors enter a small room, with passes that end at `ends_s` and at 400 s.
fn fills(run: &mut SelfTestRun, ends_s: f64) {
    small_room(run);
    enters(run, 0, 3.0, ends_s);
    enters(run, 1, 3.5, 400.0);
}

/// Lets an extra visitor be called, and then claim every two seconds in vain.
fn asks(run: &mut SelfTestRun, from_s: f64, to_s: f64) {
    let turn = json!({ "kind": "frame", "at_ms": at(from_s - 1.0), "visitor": EXTRA + 9, "type": "turn", "claim_before_ms": null });
    run.history.push(turn);
    asks_uncalled(run, from_s, to_s, 2.0);
}

fn asks_uncalled(run: &mut SelfTestRun, from_s: f64, to_s: f64, every_s: f64) {
    let mut s = from_s;
    while s <= to_s {
        let refused = json!({ "exp_ms": null, "rank": null, "code": "not_called" });
        run.call(EXTRA + 9, "claim", s, 409, refused);
        s += every_s;
    }
}

/// Adds what the observer is told of the room.
fn told(run: &mut SelfTestRun, s: f64, paused: bool) {
    run.history.push(json!({
        "kind": "frame", "observer": 0, "at_ms": at(s), "type": "room", "phase": "selling", "paused": paused,
        "joined": 11, "released": 11, "per_s": 1.0, "message": "",
    }));
}

/// Sets a field of the room's document.
fn room(run: &mut SelfTestRun, field: &str, value: Value) {
    run.record("run", |_| true)["room_doc"][field] = value;
}

plants! {
    MaxInside "more visitors are inside than allowed" |run| room(run, "max_inside", json!(8));
    Nothing "as many visitors are inside as allowed" |run| room(run, "max_inside", json!(9));
    MaxInside "a visitor enters while the room is full" |run| {
        fills(run, 400.0);
        enters(run, 2, 6.0, 400.0);
    };
    MaxInside "three visitors enter a room for two at the same moment" |run| {
        small_room(run);
        (0..3).for_each(|extra| enters(run, extra, 3.0, 400.0));
    };
    Nothing "odd, but right: a full room is entered after a pass ran out" |run| {
        fills(run, 5.0);
        enters(run, 2, 5.1, 400.0);
    };
    Nothing "odd, but right: a full room is entered just before a pass runs out, by a node whose clock is ahead" |run| {
        fills(run, 6.0);
        enters(run, 2, 5.1, 400.0);
    };
    MaxInside "a full room is entered two seconds before a pass runs out" |run| {
        fills(run, 8.0);
        enters(run, 2, 6.0, 400.0);
    };
    Nothing "odd, but right: a claim into a full room is answered late, and a pass ran out before it was sent" |run| {
        fills(run, 5.0);
        enters(run, 2, 5.5, 400.0);
        run.call_of(EXTRA + 2, "claim")["done_ms"] = json!(at(9.0));
    };
    Nothing "odd, but right: two claims are answered after the passes that they waited for ran out" |run| {
        fills(run, 5.0);
        enters(run, 2, 3.2, 400.0);
        run.call_of(EXTRA + 2, "claim")["done_ms"] = json!(at(5.5));
    };
    Nothing "odd, but right: a live pass is given again in a full room" |run| {
        fills(run, 400.0);
        enters(run, 1, 6.0, 400.0);
    };
    Nothing "odd, but right: a full room is entered after somebody left with its pass" |run| {
        fills(run, 400.0);
        run.call(EXTRA, "leave", 4.0, 204, json!({}));
        enters(run, 2, 6.0, 400.0);
    };
    Nothing "odd, but right: a full room is entered after somebody may have left" |run| {
        fills(run, 400.0);
        run.call(EXTRA, "leave", 4.0, None, json!({}));
        enters(run, 2, 6.0, 400.0);
    };
    MaxInside "a full room is entered after somebody's departure was refused" |run| {
        fills(run, 400.0);
        run.call(EXTRA, "leave", 4.0, 401, json!({}));
        enters(run, 2, 6.0, 400.0);
    };
    Nothing "odd, but right: a full room is entered after somebody inside was revoked" |run| {
        fills(run, 400.0);
        run.history.push(json!({ "kind": "revoked", "visitor": EXTRA, "asked_ms": at(4.0), "at_ms": at(4.1) }));
        enters(run, 2, 6.0, 400.0);
    };
    MaxInside "a full room is entered after somebody who waited was revoked" |run| {
        fills(run, 400.0);
        run.history.push(json!({ "kind": "revoked", "visitor": 3, "asked_ms": at(4.0), "at_ms": at(4.1) }));
        enters(run, 2, 6.0, 400.0);
    };
    MaxInside "a full room is entered just before somebody inside bought" |run| {
        change(run, 22.5, &json!({ "max_inside": 9 }));
        enters(run, 0, 33.0, 400.0);
    };
    Nothing "odd, but right: a full room is entered after somebody inside bought" |run| {
        change(run, 22.5, &json!({ "max_inside": 9 }));
        enters(run, 0, 36.0, 400.0);
    };
    Nothing "odd, but right: fewer visitors may be inside than are, and nobody enters" |run| {
        change(run, 29.0, &json!({ "max_inside": 3 }));
    };
    Nothing "odd, but right: somebody enters through a node that does not know yet that fewer may be inside" |run| {
        change(run, 29.0, &json!({ "max_inside": 3 }));
        enters(run, 0, 30.0, 400.0);
    };
    MaxInside "somebody enters after it was settled that fewer may be inside" |run| {
        change(run, 29.0, &json!({ "max_inside": 3 }));
        enters(run, 0, 31.5, 400.0);
    };
    Nothing "odd, but right: more visitors enter after it was settled that more may be inside" |run| {
        room(run, "max_inside", json!(9));
        change(run, 29.0, &json!({ "max_inside": 10 }));
        enters(run, 0, 29.5, 400.0);
    };
    Nothing "odd, but right: passes ended early by a clock that was ahead, and others entered" |run| {
        fills(run, 400.0);
        run.history.push(json!({ "kind": "fault", "at_ms": at(4.0), "what": "clock gateway 1", "until_ms": at(5.0), "ready_ms": null }));
        enters(run, 2, 6.0, 400.0);
    };

    Entering "a called visitor asks in vain, and the room is not full" |run| asks(run, 46.0, 60.0);
    Entering "called visitors ask in vain in turn" |run| {
        asks(run, 46.0, 52.0);
        let turn = json!({ "kind": "frame", "at_ms": at(51.0), "visitor": EXTRA + 8, "type": "turn", "claim_before_ms": null });
        run.history.push(turn);
        for s in [53.0, 55.0, 57.0] {
            run.call(EXTRA + 8, "claim", s, 409, json!({ "exp_ms": null, "rank": null, "code": "not_called" }));
        }
    };
    Entering "a visitor below the counter asks in vain" |run| {
        asks_uncalled(run, 46.0, 60.0, 2.0);
        for call in run.history.iter_mut().filter(|call| call["visitor"] == EXTRA + 9) {
            call["rank"] = json!(4);
        }
    };
    Nothing "odd, but right: a called visitor asks for nine seconds and goes away" |run| asks(run, 46.0, 54.0);
    Nothing "odd, but right: a visitor asks all the time and was not called" |run| asks_uncalled(run, 46.0, 60.0, 2.0);
    Nothing "odd, but right: a visitor at the counter asks all the time" |run| {
        asks_uncalled(run, 46.0, 60.0, 2.0);
        for call in run.history.iter_mut().filter(|call| call["visitor"] == EXTRA + 9) {
            call["rank"] = json!(11);
        }
    };
    Nothing "odd, but right: a called visitor asks in vain, and another enters in between" |run| {
        asks(run, 46.0, 60.0);
        enters(run, 0, 53.0, 400.0);
    };
    Nothing "odd, but right: a called visitor asks in vain, and another claim got no answer" |run| {
        asks(run, 46.0, 60.0);
        run.call(EXTRA, "claim", 53.0, None, json!({ "exp_ms": null, "rank": null }));
    };
    Nothing "odd, but right: a called visitor looks again after a long time" |run| {
        asks(run, 46.0, 48.0);
        asks_uncalled(run, 62.0, 64.0, 2.0);
    };
    Nothing "odd, but right: a called visitor asks in vain in a paused room" |run| {
        asks(run, 46.0, 60.0);
        told(run, 50.0, true);
        told(run, 56.0, false);
    };
    Nothing "odd, but right: a called visitor asks in vain, and the promoter pauses the room" |run| {
        asks(run, 46.0, 60.0);
        change(run, 50.0, &json!({ "paused": true }));
        change(run, 52.0, &json!({ "paused": false }));
    };
    Entering "a called visitor asks in vain long after a pause" |run| {
        asks(run, 46.0, 70.0);
        change(run, 50.0, &json!({ "paused": true }));
        change(run, 52.0, &json!({ "paused": false }));
    };
    Nothing "odd, but right: a called visitor asks in vain in a room that fewer may enter now" |run| {
        asks(run, 46.0, 60.0);
        change(run, 30.0, &json!({ "max_inside": 7 }));
    };
    Entering "a called visitor asks in vain, and one entry is free" |run| {
        asks(run, 46.0, 60.0);
        change(run, 30.0, &json!({ "max_inside": 8 }));
    };
    Entering "called visitors are kept out by one who left with its pass long ago" |run| {
        change(run, 23.0, &json!({ "max_inside": 10 }));
        enters(run, 0, 23.5, 400.0);
        run.call(EXTRA, "leave", 29.0, 204, json!({}));
        change(run, 30.0, &json!({ "max_inside": 8 }));
        asks(run, 46.0, 60.0);
    };
    Nothing "odd, but right: the last entry belongs to a visitor of whom nobody knows whether it left" |run| {
        change(run, 23.0, &json!({ "max_inside": 10 }));
        enters(run, 0, 23.5, 400.0);
        run.call(EXTRA, "leave", 29.0, None, json!({}));
        change(run, 30.0, &json!({ "max_inside": 8 }));
        asks(run, 46.0, 60.0);
    };
    Nothing "odd, but right: a visitor whose pass ran out asks for another" |run| {
        enters(run, 9, 30.0, 38.0);
        asks(run, 46.0, 60.0);
    };
    Nothing "odd, but right: a called visitor from a crowded network has solved nothing" |run| {
        asks(run, 46.0, 60.0);
        let refused = run.history.iter_mut().filter(|call| call["code"] == "not_called");
        refused.for_each(|call| (call["status"], call["code"]) = (json!(403), json!("challenge_failed")));
    };
    Nothing "odd, but right: called visitors ask in vain after a gateway died" |run| asks(run, 88.0, 104.0);
    Nothing "odd, but right: the pace is slow, and a called visitor waits for its share" |run| {
        room(run, "per_s", json!(0.5));
        asks(run, 46.0, 60.0);
    };
    Entering "the pace is slow, and a called visitor waits longer than for its share" |run| {
        room(run, "per_s", json!(0.5));
        asks(run, 46.0, 78.0);
    };
    Nothing "odd, but right: booking is slow in mode auto" |run| {
        asks(run, 46.0, 60.0);
        let read = json!({ "order": "order_0", "state": "ticketed", "tickets": [], "seats": null, "total": null });
        run.call(0, "order_read", 53.0, 200, read);
        run.record("call", |call| call["sent_ms"] == at(53.0) && call["op"] == "order_read")["done_ms"] = json!(at(54.0));
    };
    Entering "booking is slow in mode fixed" |run| {
        room(run, "mode", json!("fixed"));
        asks(run, 46.0, 60.0);
        let read = json!({ "order": "order_0", "state": "ticketed", "tickets": [], "seats": null, "total": null });
        run.call(0, "order_read", 53.0, 200, read);
        run.record("call", |call| call["sent_ms"] == at(53.0) && call["op"] == "order_read")["done_ms"] = json!(at(54.0));
    };
}

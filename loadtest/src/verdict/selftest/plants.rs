//! Lists the changes that the self-test plants in the clean run. Most are small and break one
//! invariant. The others look odd and break nothing.

use serde_json::{Value, json};

use super::back::{all_back, one_back, refund};
use super::clean::{SelfTestRun, at, holder, items};
use super::swap::{back_after_all, exchanged, not_paid};
use super::train;
use crate::verdict::report::Invariant;

/// One change to the clean run.
pub struct PlantedChange {
    /// The invariant that the change breaks; `None` if it only looks odd.
    pub invariant: Option<Invariant>,
    /// The change in words.
    pub what: &'static str,
    /// The function that makes the change.
    pub plant: fn(&mut SelfTestRun),
}

/// Declares `PLANTS`. Each line names the invariant that the change breaks, or `Nothing`, then the
/// change in words, and the function that makes it.
macro_rules! plants {
    ($($invariant:ident $what:literal $plant:expr;)*) => {
        /// The planted changes of this file.
        pub const PLANTS: &[$crate::verdict::selftest::plants::PlantedChange] = &[$($crate::verdict::selftest::plants::PlantedChange {
            invariant: plants!(@ $invariant), what: $what, plant: $plant,
        },)*];
    };
    (@ Nothing) => { None };
    (@ $invariant:ident) => { Some($crate::verdict::report::Invariant::$invariant) };
}
pub(super) use plants;

/// Lets visitor 9 order seat A-10 and pay too late. `steps` are the steps of the order in the
/// ledger.
fn late(run: &mut SelfTestRun, steps: &[(f64, &str)]) {
    run.hold(9, 95.0, &[9], "hold_9b");
    run.call(9, "order", 96.0, None, json!({ "hold": "hold_9b" }));
    run.call(
        9,
        "pay",
        119.5,
        200,
        json!({ "order": "order_9", "payment": "payment_9", "outcome": "approve" }),
    );
    let end = run.dump.pop();
    run.ledger_order((9, "order_9", "hold_9b"), 96.0, &[9], steps);
    run.dump.extend(end);
}

/// Adds the capture of visitor 9's late payment and the ticket for `cell`.
fn ticketed(run: &mut SelfTestRun, cell: u32) {
    let end = run.dump.pop();
    run.dump.push(json!({
        "kind": "ticket", "ticket": "ticket_9", "order": "order_9", "show": "night", "label": format!("A-{}", cell + 1),
        "legs": [0], "issued_ms": at(123.2),
    }));
    run.dump.push(json!({
        "kind": "effect", "order": "order_9", "what": "capture", "due_ms": at(120.1), "done_ms": at(123.2),
    }));
    run.dump.extend(end);
}

plants! {
    OneOwner "a cell is claimed twice" |run| {
        let again = run.row("claim", "order", "order_1").clone();
        run.dump.insert(3, again);
    };
    OneOwner "a seat has two tickets" |run| {
        let mut again = run.row("ticket", "order", "order_1").clone();
        again["ticket"] = json!("ticket_again");
        run.dump.insert(3, again);
    };
    OneOwner "a seat is sold again before its former order ends" |run| {
        run.row("order", "order", "order_3")["history"][2]["at_ms"] = json!(at(90.0));
    };
    OneOwner "a hold is given for a seat of a live order" |run| run.hold(4, 110.0, &[0], "hold_over");

    AckKept "an acknowledged order is lost" |run| run.forget_rows(|row| row["order"] == "order_3");
    AckKept "an order costs another amount than its answer said" |run| run.call_of(0, "order")["amount"] = json!(1_900);
    AckKept "an order belongs to another visitor" |run| run.row("order", "order", "order_7")["visitor"] = json!(holder(8));
    AckKept "a read shows an order as confirmed, and it never was" |run| {
        run.call(3, "order_read", 52.0, 200, json!({ "order": "order_3", "state": "confirmed" }));
    };
    AckKept "a read shows a ticket that is not in the ledger" |run| run.call_of(0, "order_read")["tickets"][0] = json!("ticket_lost");

    OneOutcome "one key made two holds" |run| {
        run.hold(1, 45.0, &[8], "hold_again");
        run.record("call", |call| call["hold"] == "hold_again")["key"] = json!("key-hold_1");
    };
    OneOutcome "one hold became two orders" |run| {
        let steps = [(32.5, "pending"), (32.9, "expired")];
        let end = run.dump.pop();
        run.ledger_order((3, "order_3b", "hold_3"), 32.5, &[5], &steps);
        run.dump.extend(end);
    };
    OneOutcome "a later read shows an earlier state" |run| {
        run.call(0, "order_read", 60.0, 200, json!({ "order": "order_0", "state": "pending" }));
    };

    AllOrNone "a hold has fewer seats than the visitor asked for" |run| run.call_of(4, "hold")["wanted"] = json!(["A-7", "A-9"]);
    AllOrNone "a call for the best two seats gets one seat" |run| {
        run.call_of(0, "hold")["seats"] = json!(["A-1"]);
        run.call_of(0, "change")["remove"] = json!([]);
    };
    AllOrNone "only half of a change was made" |run| {
        run.call_of(4, "drop")["sent_ms"] = json!(at(39.6));
        run.call(4, "change", 36.0, 200, json!({ "hold": "hold_4", "add": ["A-9"], "remove": ["A-7"], "seats": ["A-7", "A-9"] }));
    };
    AllOrNone "an order claims one of its two seats" |run| {
        run.forget_rows(|row| row["kind"] == "claim" && row["cell"] == 2);
        run.ends_as(2, 0);
    };
    AllOrNone "an expired order still has its claim" |run| {
        run.row("order", "order", "order_3")["cells"] = json!([8]);
        run.row("order", "order", "order_3")["labels"] = json!(["A-9"]);
        run.row("order", "order", "order_3")["items"] = json!(items(&[8]));
        for call in run.history.iter_mut().filter(|call| call["visitor"] == 3) {
            for member in ["wanted", "seats"] {
                if call[member] == json!(["A-6"]) {
                    call[member] = json!(["A-9"]);
                }
            }
        }
        run.dump.insert(3, json!({ "kind": "claim", "show": "night", "cell": 8, "seat": 8, "leg": 0, "order": "order_3" }));
        run.ends_as(8, 1);
    };
    AllOrNone "an order that awaits consent claims its old seat, not the offered one" |run| {
        late(run, &[(96.02, "pending"), (119.1, "expired"), (120.1, "awaiting_consent")]);
        run.row("payment", "order", "order_9")["state"] = json!("authorised");
        let order = run.row("order", "order", "order_9");
        order["offered"] = json!({ "cells": [10], "labels": ["A-11"] });
        order["claim_until_ms"] = json!(at(1_000.0));
        run.ends_as(9, 1);
    };
    AllOrNone "one of two tickets is missing" |run| {
        run.forget_rows(|row| row["ticket"] == "ticket_0_2");
        run.call_of(0, "order_read")["tickets"] = json!(["ticket_0_0"]);
    };

    AllOrNone "a refunded ticket is still valid" |run| {
        one_back(run);
        run.row("ticket", "ticket", "ticket_0_2")["void_ms"] = json!(null);
    };
    AllOrNone "a ticket that was not refunded is void" |run| {
        one_back(run);
        run.row("ticket", "ticket", "ticket_0_0")["void_ms"] = json!(at(88.0));
    };
    AllOrNone "a cell that was not refunded is free" |run| {
        one_back(run);
        run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_0");
        run.ends_as(0, 0);
    };
    Money "a payment returned more than its refund says" |run| {
        one_back(run);
        run.row("payment", "order", "order_0")["refunded"] = json!(1_000);
    };
    Money "a refund keeps more than the fee that it names" |run| {
        one_back(run);
        run.row("refund", "order", "order_0")["amount"] = json!(800);
        run.row("payment", "order", "order_0")["refunded"] = json!(800);
    };
    Money "a refund for a cancelled show names a lower price than its seat cost" |run| all_back(run, |run| {
        let refund = run.row("refund", "order", "order_1");
        (refund["paid"], refund["amount"]) = (json!(500), json!(500));
        run.row("payment", "order", "order_1")["refunded"] = json!(500);
    });
    Settled "a refund is not done" |run| {
        one_back(run);
        run.row("refund", "order", "order_0")["done_ms"] = json!(null);
        run.row("payment", "order", "order_0")["refunded"] = json!(0);
    };
    Nothing "odd, but right: one of two tickets was refunded, less the fee" |run| one_back(run);
    AckKept "a refund was acknowledged, and its ticket is still valid" |run| {
        run.call(0, "refund", 87.9, 200, json!({ "order": "order_0", "named": ["ticket_0_2"], "state": "partly_refunded" }));
    };
    AckKept "a read shows a seat that was refunded 2 s before" |run| {
        one_back(run);
        run.call(0, "order_read", 90.0, 200, json!({
            "order": "order_0", "state": "partly_refunded", "tickets": [], "seats": ["A-1", "A-3"], "total": 2_000,
        }));
    };
    Nothing "odd, but right: a read shows only the seat that was not refunded" |run| {
        one_back(run);
        run.call(0, "order_read", 90.0, 200, json!({
            "order": "order_0", "state": "partly_refunded", "tickets": [], "seats": ["A-1"], "total": 2_000,
        }));
    };
    Refunds "a ticket was refunded without a request" |run| {
        one_back(run);
        run.history.retain(|call| call["op"] != "refund");
    };
    Refunds "another ticket was refunded than the buyer named" |run| {
        one_back(run);
        run.call_of(0, "refund")["named"] = json!(["ticket_0_0"]);
        run.call_of(0, "refund")["status"] = json!(503);
    };
    Refunds "one call made two refunds" |run| {
        one_back(run);
        run.call_of(0, "refund")["named"] = json!(null);
        let first = refund(run, "order_0", "refund_0b", &[0], 88.5);
        (first["amount"], first["fee"], first["reason"]) = (json!(900), json!(100), json!("refund_by_buyer"));
        run.forget_rows(|row| row["kind"] == "claim" && row["order"] == "order_0");
        run.row("ticket", "ticket", "ticket_0_0")["void_ms"] = json!(at(88.5));
        let order = run.row("order", "order", "order_0");
        order["state"] = json!("refunded");
        let step = json!({ "at_ms": at(88.5), "state": "refunded", "reason": "refund_by_buyer" });
        order["history"].as_array_mut().expect("steps").push(step);
        run.row("payment", "order", "order_0")["refunded"] = json!(1_800);
        run.ends_as(0, 0);
    };
    Prices "a refund kept more than the rule says" |run| {
        one_back(run);
        let refund = run.row("refund", "order", "order_0");
        (refund["amount"], refund["fee"]) = (json!(800), json!(200));
        run.row("payment", "order", "order_0")["refunded"] = json!(800);
    };
    Prices "a refund kept less than the rule says" |run| {
        one_back(run);
        let refund = run.row("refund", "order", "order_0");
        (refund["amount"], refund["fee"]) = (json!(950), json!(50));
        run.row("payment", "order", "order_0")["refunded"] = json!(950);
    };
    Refunds "a ticket was refunded for a cancellation, but its show was not cancelled" |run| {
        one_back(run);
        let refund = run.row("refund", "order", "order_0");
        (refund["reason"], refund["amount"], refund["fee"]) = (json!("show_cancelled"), json!(1_000), json!(0));
        run.row("payment", "order", "order_0")["refunded"] = json!(1_000);
    };
    Nothing "odd, but right: the show is cancelled, and all tickets are refunded" |run| all_back(run, |_| {});
    Nothing "odd, but right: one ticket was refunded before its show was cancelled" |run| {
        one_back(run);
        all_back(run, |_| {});
    };
    Refunds "an order of a cancelled show was not refunded" |run| {
        let kept = ["order", "claim", "payment", "ticket"].map(|kind| run.row(kind, "order", "order_7").clone());
        all_back(run, |run| {
            run.forget_rows(|row| row["kind"] == "refund" && row["order"] == "order_7");
            for kept in kept {
                run.forget_rows(|row| row["kind"] == kept["kind"] && row["order"] == "order_7");
                let end = run.dump.pop();
                run.dump.push(kept);
                run.dump.extend(end);
            }
            run.ends_as(5, 2);
        });
    };
    Prices "a fee was kept for a cancelled show" |run| all_back(run, |run| {
        let refund = run.row("refund", "order", "order_1");
        (refund["amount"], refund["fee"]) = (json!(900), json!(100));
        run.row("payment", "order", "order_1")["refunded"] = json!(900);
    });
    Refunds "an order was made after its show was cancelled" |run| all_back(run, |run| {
        run.row("order", "order", "order_8")["created_ms"] = json!(at(93.5));
    });
    Refunds "tickets were refunded before their show was cancelled" |run| all_back(run, |run| {
        run.record("cancelled", |_| true)["asked_ms"] = json!(at(95.0));
    });
    Refunds "the run was to cancel a show, and nobody cancelled it" |run| run.record("run", |_| true)["cancels"] = json!("night");
    Refunds "the promoter's last report counts a refund that was never made" |run| {
        all_back(run, |_| {});
        run.record("refunds", |record| record["at_ms"] == at(99.1))["told"]["done"]["refunds"] = json!(6);
    };
    Refunds "the promoter's last report says that an order is left" |run| {
        all_back(run, |_| {});
        run.record("refunds", |record| record["at_ms"] == at(99.1))["told"]["orders_left"] = json!(1);
    };
    Refunds "the promoter's last report counts fewer refunds than the one before" |run| {
        all_back(run, |_| {});
        run.record("refunds", |record| record["at_ms"] == at(95.1))["told"]["done"]["refunds"] = json!(9);
    };
    Nothing "odd, but right: a ticket was exchanged for another at the same price" |run| exchanged(run, 1_000);
    Nothing "odd, but right: a ticket was exchanged for a dearer one" |run| exchanged(run, 1_300);
    Nothing "odd, but right: a ticket was exchanged for a cheaper one" |run| exchanged(run, 800);
    Nothing "odd, but right: the difference for a dearer ticket was never paid" |run| not_paid(run);
    Nothing "odd, but right: a ticket from an exchange was refunded from both payments" |run| back_after_all(run);
    Prices "the refund of a ticket from an exchange lacks a part of its amount" |run| {
        back_after_all(run);
        run.row("refund", "refund", "refund_part")["amount"] = json!(770);
        run.row("payment", "order", "order_1")["refunded"] = json!(770);
    };
    Money "the difference for a cheaper ticket was refunded twice" |run| {
        exchanged(run, 800);
        run.row("payment", "order", "order_1")["refunded"] = json!(400);
    };
    AllOrNone "an exchanged ticket is still valid" |run| {
        exchanged(run, 1_000);
        run.row("ticket", "order", "order_1")["void_ms"] = json!(null);
    };
    AllOrNone "an exchanged seat is still claimed" |run| {
        exchanged(run, 1_000);
        run.dump.insert(3, json!({ "kind": "claim", "show": "night", "cell": 3, "seat": 3, "leg": 0, "order": "order_1" }));
        run.ends_as(3, 1);
    };
    AckKept "an acknowledged exchange is not in the ledger" |run| {
        run.call(1, "exchange", 92.0, 200, json!({
            "order": "order_1", "wanted": ["A-10"], "successor": "order_lost", "amount": 0,
        }));
    };
    AckKept "an exchange costs more than its answer said" |run| {
        exchanged(run, 1_300);
        run.call_of(1, "exchange")["amount"] = json!(200);
    };
    OneOwner "a seat was ordered by another visitor before its exchange" |run| {
        exchanged(run, 1_000);
        let step = &mut run.row("order", "order", "order_1")["history"];
        step[3]["at_ms"] = json!(at(110.0));
        run.hold(6, 96.0, &[3], "hold_6b");
        run.call(6, "order", 97.0, None, json!({ "hold": "hold_6b" }));
        let end = run.dump.pop();
        run.ledger_order((6, "order_6b", "hold_6b"), 97.0, &[3], &[(97.02, "pending"), (105.0, "expired")]);
        run.dump.extend(end);
    };
    AllOrNone "an exchange left the buyer both the old and the new ticket" |run| {
        let kept = ["order", "claim", "ticket"].map(|kind| run.row(kind, "order", "order_1").clone());
        exchanged(run, 1_000);
        for kept in kept {
            run.forget_rows(|row| row["kind"] == kept["kind"] && row["order"] == "order_1");
            run.dump.insert(3, kept);
        }
        run.ends_as(3, 2);
    };
    Exchanges "an exchange was done, but its new order never got its ticket" |run| {
        exchanged(run, 1_300);
        run.row("order", "order", "order_1x")["history"][2]["state"] = json!("confirmed");
    };
    Exchanges "an order was exchanged for nothing" |run| {
        exchanged(run, 1_000);
        run.forget_rows(|row| row["kind"] == "exchange" || row["order"] == "order_1x");
        run.history.retain(|call| call["op"] != "exchange");
        run.ends_as(9, 0);
    };
    Exchanges "an exchange was made without a request" |run| {
        exchanged(run, 1_000);
        run.history.retain(|call| call["op"] != "exchange");
    };
    Exchanges "an exchange gave another seat than the buyer asked for" |run| {
        exchanged(run, 1_000);
        run.call_of(1, "exchange")["wanted"] = json!(["A-11"]);
    };
    Prices "the difference for a cheaper ticket was not refunded" |run| {
        exchanged(run, 800);
        run.forget_rows(|row| row["kind"] == "refund");
        run.row("payment", "order", "order_1")["refunded"] = json!(0);
    };
    Prices "an exchange names a higher price than its new seat costs" |run| {
        exchanged(run, 1_000);
        run.row("exchange", "order", "order_1")["price"] = json!(1_300);
    };
    Money "less was captured than the order costs" |run| run.row("payment", "order", "order_0")["captured"] = json!(1_000);
    Money "the payment of a ticketed order was partly refunded" |run| run.row("payment", "order", "order_6")["refunded"] = json!(500);
    Money "a declined payment was captured" |run| {
        let payment = run.row("payment", "order", "order_3");
        payment["captured"] = json!(1_000);
        payment["state"] = json!("captured");
        payment["provider_state"] = json!("captured");
    };
    Money "the provider captured a declined payment, and the ledger does not know" |run| {
        run.row("payment", "order", "order_3")["provider_state"] = json!("captured");
    };
    Money "an order has two payments" |run| {
        let mut again = run.row("payment", "order", "order_3").clone();
        again["payment"] = json!("payment_again");
        run.dump.insert(3, again);
    };

    Nothing "the provider's books agree with the ledger" |run| { run.intent("order_0"); };
    Books "the provider captured a payment that the ledger has as declined" |run| {
        let intent = run.intent("order_3");
        intent["status"] = json!("succeeded");
        intent["captured"] = intent["amount"].clone();
    };
    Books "the provider captured a payment that the ledger does not know" |run| {
        let mut foreign = run.intent("order_0").clone();
        foreign["payment"] = json!("payment_of_nobody");
        run.intents.push(foreign);
    };
    Books "two intents were captured for one payment" |run| {
        let again = run.intent("order_0").clone();
        run.intents.push(again);
    };
    Books "the provider refunded a payment that the ledger keeps" |run| {
        let intent = run.intent("order_0");
        intent["refunded"] = intent["captured"].clone();
    };
    Nothing "the provider's books agree with the ledger on every refund" |run| {
        all_back(run, |_| {});
        run.refunds_booked();
    };
    Books "the provider's books lack a refund that the ledger has as done" |run| {
        all_back(run, |_| {});
        run.refunds_booked();
        run.intent("order_1")["refunds"] = json!([]);
    };
    Nothing "a payment was captured while it was to be released, and was refunded whole" |run| {
        all_back(run, |_| {});
        run.refunds_booked();
        let intent = run.intent("order_0");
        intent["refunds"] = json!([{ "refund": "", "amount": intent["captured"] }]);
    };
    Books "a part of a payment was refunded without a refund's id" |run| {
        all_back(run, |_| {});
        run.refunds_booked();
        run.intent("order_0")["refunds"] = json!([{ "refund": "", "amount": 1 }]);
    };
    Books "the provider paid one refund twice" |run| {
        all_back(run, |_| {});
        run.refunds_booked();
        let refunds = &mut run.intent("order_1")["refunds"];
        let again = refunds[0].clone();
        refunds.as_array_mut().expect("a list").push(again);
    };
    Books "the provider's books lack the payment of a sold order" |run| {
        run.intent("order_0");
        run.intents.retain(|intent| intent["order"] != "order_0");
    };
    Settled "the provider neither captured nor released an authorised payment" |run| {
        run.intent("order_3")["status"] = json!("requires_capture");
    };
    MoneyOrder "an order was captured before it was confirmed" |run| run.row("effect", "order", "order_0")["done_ms"] = json!(at(34.05));
    MoneyOrder "a ticket was issued before the capture" |run| run.row("ticket", "order", "order_0")["issued_ms"] = json!(at(34.15));
    MoneyOrder "an order was ticketed without a confirmation" |run| {
        run.row("order", "order", "order_0")["history"].as_array_mut().expect("a list").remove(1);
    };
    MoneyOrder "an order was confirmed without an approved payment" |run| {
        run.history.retain(|call| !(call["op"] == "pay" && call["visitor"] == 6));
    };
    MoneyOrder "an order was confirmed before its payment was approved" |run| {
        let pay = run.call_of(6, "pay");
        pay["sent_ms"] = json!(at(66.8));
        pay["done_ms"] = json!(at(66.9));
    };

    Draw "the seed does not follow from the record" |run| run.record("draw_record", |_| true)["record"]["seed"] = json!("00".repeat(32));
    Draw "the secret does not match its commitment" |run| {
        run.record("draw_record", |_| true)["record"]["commitment"] = json!("00".repeat(32));
    };
    Draw "a leaf was changed after the freeze" |run| {
        let leaves = &mut run.record("draw_record", |_| true)["leaves"];
        let changed = leaves.as_str().expect("hex").replacen(&holder(1000)[..8], "00000000", 1);
        *leaves = json!(changed);
    };
    Draw "the history has no record of the draw" |run| run.history.retain(|record| record["kind"] != "draw_record");
    Draw "the observer has a rank that the draw gives to another number" |run| {
        let others = run.rank(5);
        for told in run.history.iter_mut().filter(|told| told["visitor"] == 1000 && told["rank"].is_u64()) {
            told["rank"] = json!(others);
        }
    };
    Draw "a rank gets worse" |run| {
        let rank = run.rank(2);
        run.call(2, "place", 99.0, 200, json!({ "number": 2, "rank": rank + 1, "ahead": 1 }));
    };
    Draw "a number changes" |run| run.call(4, "place", 99.0, 200, json!({ "number": 77, "rank": null }));
    Draw "two visitors have one number" |run| {
        for told in run.history.iter_mut().filter(|told| told["visitor"] == 8 && told["number"].is_u64()) {
            told["number"] = json!(3);
            told["rank"] = Value::Null;
        }
    };
    Draw "a visitor who joined before the freeze is not in the draw" |run| {
        let join = run.call_of(9, "join");
        join["sent_ms"] = json!(at(1.0));
        join["done_ms"] = json!(at(1.05));
    };
    Draw "a number belongs to another holder" |run| run.call_of(4, "join")["holder"] = json!("ff".repeat(32));

    Released "a visitor got a pass before its rank was released" |run| {
        let last = (0..9).filter(|visitor| *visitor != 5).max_by_key(|visitor| run.rank(*visitor)).expect("visitors");
        let claim = run.call_of(last, "claim");
        claim["sent_ms"] = json!(at(11.0));
        claim["done_ms"] = json!(at(11.1));
    };
    Released "the release counter falls" |run| {
        run.record("frame", |frame| frame["type"] == "line" && frame["at_ms"] == at(110.0))["released"] = json!(5);
    };
    Released "a visitor got a pass while the room was paused" |run| {
        let claim = run.call_of(9, "claim");
        claim["sent_ms"] = json!(at(26.1));
        claim["done_ms"] = json!(at(26.2));
    };
    Nothing "odd, but right: a visitor got a pass at a gateway that did not know of the pause yet" |run| {
        let claim = run.call_of(9, "claim");
        claim["sent_ms"] = json!(at(25.0));
        claim["done_ms"] = json!(at(25.1));
    };

    Limits "a visitor bought more seats than allowed" |run| run.row("show", "show", "night")["seats_per_visitor"] = json!(1);
    Limits "a visitor held more seats than allowed" |run| {
        let hold = run.call_of(4, "hold");
        hold["wanted"] = json!(["A-7", "A-9", "A-10"]);
        hold["seats"] = json!(["A-7", "A-9", "A-10"]);
        hold["quantity"] = json!(3);
    };
    Limits "two holds of one visitor have more seats than allowed" |run| {
        run.hold(4, 33.0, &[8, 9], "hold_4b");
        run.call(4, "drop", 45.0, 204, json!({ "hold": "hold_4b" }));
    };

    Feed "a delta is missing" |run| run.history.retain(|record| !(record["kind"] == "delta" && record["at_ms"] == at(53.3)));
    Feed "a version falls" |run| {
        run.record("snapshot", |snapshot| snapshot["at_ms"] == at(86.6))["version"] = json!("7");
    };
    Feed "a version falls on one connection while the store is lost" |run| {
        run.history.retain(|record| record["kind"] != "socket");
        run.record("fault", |_| true)["ready_ms"] = json!(at(87.0));
        run.record("snapshot", |snapshot| snapshot["at_ms"] == at(86.6))["version"] = json!("7");
    };
    Feed "the observer's last picture differs from the final seats" |run| {
        run.delta(120.0, &[(9, 1)]);
    };
    Feed "an unclaimed seat is shown as sold" |run| run.ends_as(9, 2);
    Feed "a sold seat is shown as free" |run| run.ends_as(3, 0);

    Lapse "the seat of a hold that ran out is still shown as held" |run| {
        run.record("delta", |delta| delta["at_ms"] == at(53.3))["cells"] = json!([]);
    };
    Lapse "a hold is changed after it ran out" |run| {
        run.call(2, "change", 57.0, 200, json!({ "hold": "hold_2", "add": [], "remove": [], "seats": ["A-5"] }));
    };
    Lapse "the seat of a live hold is given to another visitor" |run| {
        let hold = run.call_of(6, "hold");
        hold["sent_ms"] = json!(at(45.0));
        hold["done_ms"] = json!(at(45.1));
    };
    Lapse "a hold is freed before its deadline" |run| {
        let cells = &mut run.record("delta", |delta| delta["at_ms"] == at(38.4))["cells"];
        cells.as_array_mut().expect("a list").push(json!([4, 0]));
    };
    Lapse "a visitor is told before the deadline that its hold lapsed" |run| {
        run.record("frame", |frame| frame["type"] == "hold")["at_ms"] = json!(at(40.0));
    };

    Nothing "odd, but right: a visitor is told that an earlier hold with the same id lapsed" |run| {
        run.record("frame", |frame| frame["type"] == "hold")["at_ms"] = json!(at(1.0));
    };

    Settled "an effect is not done" |run| run.row("pending", "seat_rows", Value::Null)["effects"] = json!(1);
    Settled "seat rows are not delivered" |run| run.row("pending", "effects", 0)["seat_rows"] = json!(2);
    Settled "an order is pending long after its deadline" |run| {
        run.hold(9, 95.0, &[9], "hold_9b");
        run.call(9, "order", 96.0, None, json!({ "hold": "hold_9b" }));
        let end = run.dump.pop();
        run.ledger_order((9, "order_9", "hold_9b"), 96.0, &[9], &[(96.02, "pending")]);
        run.dump.extend(end);
        run.ends_as(9, 1);
    };
    Settled "a payment is neither captured nor released" |run| {
        let payment = run.row("payment", "order", "order_3");
        payment["state"] = json!("authorised");
        payment["provider_state"] = json!("authorised");
    };

    Accounted "the history is empty" |run| run.history.clear();
    Accounted "one visitor of ten is not accounted for" |run| {
        run.history.retain(|record| !(record["kind"] == "end" && record["visitor"] == 9));
    };
    Accounted "one visitor of ten failed" |run| run.record("end", |end| end["visitor"] == 4)["outcome"] = json!("failed");
    Accounted "the run did not finish" |run| run.history.retain(|record| record["kind"] != "finished");

    PaidHas "an order that was paid in time has no tickets" |run| run.call_of(3, "pay")["outcome"] = json!("approve");
    PaidHas "a visitor ended with tickets that the ledger does not have" |run| {
        run.record("end", |end| end["visitor"] == 2)["outcome"] = json!("ticketed");
    };

    Admitted "a buyer never had a pass" |run| {
        run.history.retain(|call| !(call["op"] == "claim" && call["visitor"] == 6));
    };
    Admitted "a hold was taken with an expired pass" |run| run.call_of(4, "claim")["exp_ms"] = json!(at(25.5));
    Admitted "an order belongs to no visitor of the run" |run| {
        let end = run.dump.pop();
        run.ledger_order((555, "order_x", "hold_x"), 50.0, &[9], &[(50.02, "pending"), (60.0, "expired")]);
        run.dump.extend(end);
    };

    Nothing "a train on which all orders are for the first leg" |run| run.becomes_a_train();
    Nothing "odd, but right: one seat of a train is in two holds, on different legs" |run| train::two_baskets(run, &[1]);
    Lapse "one seat of a train is in two holds, on the same leg" |run| train::two_baskets(run, &[0]);
    Lapse "one seat of a train is in two holds, and the second has a leg more" |run| train::two_baskets(run, &[0, 1]);
    Nothing "odd, but right: a seat of a train is held again after a hold on both legs was dropped" |run| train::after_both(run);
    Nothing "odd, but right: a hold has the seat of an order, on another leg" |run| train::over_an_order(run, &[1]);
    OneOwner "a hold has the seat of an order, on the same leg" |run| train::over_an_order(run, &[0]);
    OneOwner "a hold has the seat of an order, on the same leg and the next" |run| train::over_an_order(run, &[0, 1]);
    Nothing "odd, but right: two visitors order one seat of a train, on different legs" |run| train::two_orders(run, &[1]);
    Nothing "odd, but right: a train's hold is freed soon after it ran out" |run| train::runs_out(run, 2.2);
    Lapse "the seat of a train's hold that ran out is still shown as held on its leg" |run| train::runs_out(run, 10.0);
    AllOrNone "a train's tickets are for another leg than their order" |run| train::tickets_over(run, &[1]);
    AllOrNone "a train's tickets are for more legs than their order" |run| train::tickets_over(run, &[0, 1]);
    AllOrNone "a train's order is for another leg than its hold" |run| train::orders_another_leg(run);
    Nothing "odd, but right: a train's ticket was exchanged for the same seat on another leg" |run| train::rides_further(run, &[15], &[1]);
    Nothing "odd, but right: a train's ticket was exchanged for the same seat and one leg more" |run| train::rides_further(run, &[3, 15], &[0, 1]);
    Nothing "odd, but right: a train's exchange for one leg more was never paid" |run| train::would_ride_further(run);
    Exchanges "a train's ticket was exchanged for another leg than the buyer asked for" |run| train::rides_further(run, &[15], &[0]);
    Exchanges "a train's ticket was exchanged for fewer legs than the buyer asked for" |run| train::rides_further(run, &[15], &[0, 1]);

    Nothing "odd, but right: the answer that gave a hold is repeated after the hold lapsed" |run| {
        let mut again = run.call_of(2, "hold").clone();
        again["sent_ms"] = json!(at(70.0));
        again["done_ms"] = json!(at(70.1));
        run.history.push(again);
    };
    Nothing "odd, but right: a delta is missing, and the next frame is a snapshot" |run| {
        let gone = |record: &Value| record["kind"] == "delta" && record["at_ms"] == at(80.1);
        run.history.retain(|record| !gone(record));
    };
    Nothing "odd, but right: a delta is missing, and a snapshot follows the next delta" |run| {
        run.history.retain(|record| !(record["kind"] == "delta" && record["at_ms"] == at(64.1)));
        let behind = run.history.iter().position(|record| record["kind"] == "delta" && record["at_ms"] == at(64.4));
        let behind = behind.expect("such a delta");
        let version = run.history[behind]["to"].clone();
        let snapshot = json!({
            "kind": "snapshot", "observer": 0, "at_ms": at(64.6), "show": "night", "version": version, "cells": 12,
            "packed": "a205c0",
        });
        run.history.insert(behind + 1, snapshot);
    };
    Nothing "odd, but right: an order without an answer is pending before its deadline" |run| {
        run.hold(9, 100.0, &[9], "hold_9b");
        run.call(9, "order", 110.0, None, json!({ "hold": "hold_9b" }));
        let end = run.dump.pop();
        run.ledger_order((9, "order_9", "hold_9b"), 110.0, &[9], &[(110.02, "pending")]);
        run.dump.extend(end);
        run.ends_as(9, 1);
    };
    Nothing "odd, but right: an order is answered after it expired and another visitor took its seat" |run| {
        run.hold(9, 95.0, &[9], "hold_9b");
        run.call(9, "order", 96.0, 201, json!({
            "hold": "hold_9b", "order": "order_9", "payment": "payment_9", "amount": 1_000, "currency": "EUR", "state": "expired",
        }));
        run.record("call", |call| call["order"] == "order_9")["done_ms"] = json!(at(112.0));
        run.hold(8, 106.0, &[9], "hold_8b");
        run.call(8, "order", 107.0, None, json!({ "hold": "hold_8b" }));
        let end = run.dump.pop();
        run.ledger_order((9, "order_9", "hold_9b"), 96.0, &[9], &[(96.02, "pending"), (105.0, "expired")]);
        run.ledger_order((8, "order_8b", "hold_8b"), 107.0, &[9], &[(107.02, "pending")]);
        run.dump.extend(end);
        run.ends_as(9, 1);
    };
    Nothing "odd, but right: late money buys the same seats" |run| {
        late(run, &[(96.02, "pending"), (119.1, "expired"), (120.1, "confirmed"), (120.2, "ticketed")]);
        ticketed(run, 9);
        run.ends_as(9, 2);
    };
    Nothing "odd, but right: late money buys other seats, with consent" |run| {
        let steps = [
            (96.02, "pending"), (119.1, "expired"), (120.1, "awaiting_consent"), (123.0, "confirmed"), (123.2, "ticketed"),
        ];
        late(run, &steps);
        let (made, now) = (json!({ "cells": [9], "labels": ["A-10"] }), json!({ "cells": [10], "labels": ["A-11"] }));
        let order = run.row("order", "order", "order_9");
        (order["cells"], order["labels"]) = (json!([10]), json!(["A-11"]));
        order["items"] = json!(items(&[10]));
        (order["made_for"], order["offered"]) = (made, now);
        let claim = run.row("claim", "order", "order_9");
        (claim["cell"], claim["seat"]) = (json!(10), json!(10));
        ticketed(run, 10);
        run.call(9, "order_read", 121.0, 200, json!({
            "order": "order_9", "state": "awaiting_consent", "tickets": [], "seats": ["A-10"], "total": 1_000,
        }));
        run.ends_as(10, 2);
    };
    Nothing "odd, but right: an order awaits consent" |run| {
        late(run, &[(96.02, "pending"), (119.1, "expired"), (120.1, "awaiting_consent")]);
        let order = run.row("order", "order", "order_9");
        order["offered"] = json!({ "cells": [10], "labels": ["A-11"] });
        order["claim_until_ms"] = json!(at(1_000.0));
        let claim = run.row("claim", "order", "order_9");
        (claim["cell"], claim["seat"]) = (json!(10), json!(10));
        run.row("payment", "order", "order_9")["state"] = json!("authorised");
        run.ends_as(10, 1);
    };
    Nothing "odd, but right: money that was captured too late was refunded" |run| {
        late(run, &[(96.02, "pending"), (119.1, "expired"), (120.1, "expired")]);
        let payment = run.row("payment", "order", "order_9");
        for member in ["state", "provider_state"] {
            payment[member] = json!("refunded");
        }
        (payment["captured"], payment["refunded"]) = (json!(1_000), json!(1_000));
    };
    Nothing "odd, but right: a visitor who left joins again under another number" |run| {
        run.call(5, "join", 14.0, 201, json!({ "number": 11, "holder": holder(5) }));
        run.call(5, "place", 15.0, 200, json!({ "number": 11, "rank": 11, "ahead": 2 }));
    };
    Nothing "odd, but right: the next node has an older picture while the store is lost" |run| {
        run.record("fault", |_| true)["ready_ms"] = json!(at(87.0));
        let snapshot = |record: &&mut Value| record["kind"] == "snapshot" && record["at_ms"] == at(86.6);
        let mut older = run.history.iter_mut().find(snapshot).expect("such a record").clone();
        older["version"] = json!("7");
        older["at_ms"] = json!(at(86.55));
        let next = run.history.iter().position(|record| record["at_ms"] == at(86.6));
        run.history.insert(next.expect("such a record"), older);
    };
    Nothing "odd, but right: an observer disconnects before the end" |run| {
        run.history.retain(|record| !(record["observer"] == 0 && record["at_ms"].as_f64() > Some(at(87.9))));
        let close = json!({ "kind": "socket", "observer": 0, "at_ms": at(87.95), "what": "close", "close_code": 1000 });
        let last = run.history.iter().position(|record| record["kind"] == "final_seats");
        run.history.insert(last.expect("such a record"), close);
    };
}

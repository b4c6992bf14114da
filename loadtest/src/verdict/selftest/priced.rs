//! Lists the changes that break prices, chains of exchanges, scans, cards, keys, other visitors'
//! baskets and waitlists.

use serde_json::{Value, json};

use super::back::{one_back, refund};
use super::clean::{STARTS_MS, SelfTestRun, at, holder};
use super::plants::plants;
use super::swap::{exchanged, given_again, not_paid, over};

/// Replaces every sum of this much, and of twice as much, in the ledger and in what people were
/// told. The terms stay.
fn rewritten(run: &mut SelfTestRun, from: i64, to: i64) {
    fn walk(value: &mut Value, from: i64, to: i64) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| walk(value, from, to)),
            Value::Object(members) => {
                let members = members.iter_mut();
                let is_sum =
                    |name: &str| !matches!(name, "prices" | "visitor") && !name.ends_with("_ms");
                let sums = members.filter(|(name, _)| is_sum(name));
                sums.for_each(|(_, value)| walk(value, from, to));
            }
            Value::Number(number) if number.as_i64() == Some(from) => *value = json!(to),
            Value::Number(number) if number.as_i64() == Some(2 * from) => *value = json!(2 * to),
            _ => {}
        }
    }
    for record in run.history.iter_mut().chain(&mut run.dump) {
        walk(record, from, to);
    }
}

/// Returns the show's only terms, to be changed.
fn terms(run: &mut SelfTestRun) -> &mut Value {
    run.row("terms", "show", "night")
}

/// Adds a second version of the terms, in force from 80 s on, which differs from the first in one
/// member.
fn later_terms(run: &mut SelfTestRun, member: &str, value: Value) {
    let mut terms = terms(run).clone();
    (terms["version"], terms["at_ms"]) = (json!(2), json!(at(80.0)));
    terms[member] = value;
    run.dump.insert(3, terms);
}

/// Sets what was kept of the refund of one ticket of order 0.
fn kept(run: &mut SelfTestRun, fee: i64) {
    let refund = run.row("refund", "order", "order_0");
    (refund["amount"], refund["fee"]) = (json!(1_000 - fee), json!(fee));
    run.row("payment", "order", "order_0")["refunded"] = json!(1_000 - fee);
}

/// Adds an exchange for cheaper tickets, of which this much went back.
fn cheaper(run: &mut SelfTestRun, back: i64) {
    exchanged(run, 800);
    run.row("refund", "reason", "exchange_difference")["amount"] = json!(back);
    run.row("payment", "order", "order_1")["refunded"] = json!(back);
}

/// Adds an exchange for tickets that cost 30 more, which nobody was asked to pay.
fn let_go(run: &mut SelfTestRun, provider: &str) {
    over(run, 1_030, 0);
    run.row("order", "order", "order_1x")["let_go"] = json!(30);
    run.row("payment", "order", "order_1x")["provider"] = json!(provider);
}

/// Adds an exchange for dearer tickets whose difference was paid, and went back before anything was
/// swapped.
fn back_before_the_swap(run: &mut SelfTestRun) {
    not_paid(run);
    let approve = json!({ "order": "order_1x", "payment": "payment_1x", "outcome": "approve" });
    run.call(1, "pay", 92.5, 200, approve);
    let order = run.row("order", "order", "order_1x");
    order["state"] = json!("refunded");
    order["items"][0]["amount"] = json!(300);
    let steps = [(92.02, "pending"), (92.6, "confirmed"), (93.0, "refunded")];
    order["history"] = steps
        .map(|(s, state)| json!({ "at_ms": at(s), "state": state, "reason": "" }))
        .into();
    let back = refund(run, "order_1x", "refund_1x", &[9], 93.0);
    (back["paid"], back["amount"]) = (json!(300), json!(300));
    back["reason"] = json!("show_postponed");
    let payment = run.row("payment", "order", "order_1x");
    for member in ["state", "provider_state"] {
        payment[member] = json!("refunded");
    }
    (payment["captured"], payment["refunded"]) = (json!(300), json!(300));
    let fate = json!({ "fate": "postponed", "refunds_until_ms": at(500.0) });
    run.row("show", "show", "night")["fate"] = fate;
    let end = run.dump.pop();
    run.dump.push(json!({
        "kind": "effect", "order": "order_1x", "what": "capture", "due_ms": at(92.6), "done_ms": at(92.7),
    }));
    run.dump.extend(end);
}

/// Adds a scan of a ticket at the door.
fn scan(run: &mut SelfTestRun, ticket: &str, s: f64, key: &str, status: u16) {
    run.call(
        0,
        "scan",
        s,
        status,
        json!({ "ticket": ticket, "key": key }),
    );
    if status == 200 {
        let row = run.row("ticket", "ticket", ticket);
        if row["scanned_ms"].is_null() {
            row["scanned_ms"] = json!(at(s + 0.02));
        }
    }
}

/// Adds a call of visitor 1 with this key and body; nothing else differs between such calls.
fn keyed(run: &mut SelfTestRun, s: f64, body: &str, status: u16) {
    let asked = json!({ "order": "order_1", "key": "key-twice", "body": body });
    run.call(1, "consent", s, status, asked);
}

/// Adds a party to the ledger, with the reads of its state.
fn waits(run: &mut SelfTestRun, (visitor, number): (u64, u64), offered_s: Option<f64>) {
    let (waiter, hold) = (format!("waiter_{visitor}"), format!("hold_offer_{visitor}"));
    for s in [92.0, 98.0] {
        run.call(
            visitor,
            "wait",
            s,
            200,
            json!({ "show": "night", "waiter": waiter }),
        );
    }
    let offer = offered_s.map(|s| json!({ "hold": hold, "made_ms": at(s) }));
    let end = run.dump.pop();
    run.dump.push(json!({
        "kind": "waiter", "waiter": waiter, "show": "night", "visitor": holder(visitor), "number": number,
        "since_ms": at(92.0), "quantity": 1, "any": true, "offers": u64::from(offer.is_some()), "offer": offer,
        "ended_ms": null,
    }));
    run.dump.extend(end);
}

/// Sets the sandbox's records of the one refund.
fn sandbox_has(run: &mut SelfTestRun, refunds: &Value) {
    one_back(run);
    run.row("payment", "order", "order_0")["provider_refunds"] = refunds.clone();
}

plants! {
    Prices "every seat was sold for next to nothing" |run| rewritten(run, 1_000, 1);
    Prices "every seat was sold for less, and the terms say so too, and the promoter never wrote that" |run| {
        rewritten(run, 1_000, 500);
        terms(run)["prices"]["plain"] = json!(500);
    };
    Prices "the terms were changed in the dump, and everything with them" |run| {
        // This is the hash of the terms before the change.
        terms(run)["digest"] = json!("26ee7d24a3b0ad8c3d6a5a2ce8f6f2ea0d3a2b3f2b0a4a4d6c5f3a0f5ac1a0de");
    };
    Prices "an order is over less than its seats cost" |run| {
        for (kind, member) in [("order", "amount"), ("payment", "amount"), ("payment", "captured")] {
            run.row(kind, "order", "order_0")[member] = json!(1_500);
        }
        run.call_of(0, "order")["amount"] = json!(1_500);
        run.call_of(0, "order_read")["total"] = json!(1_500);
    };
    Prices "an order goes by terms that never were" |run| run.row("order", "order", "order_6")["terms"] = json!(7);
    Prices "an order is in another currency than its terms" |run| terms(run)["currency"] = json!("CHF");
    Prices "a seat of a train costs what another stretch does" |run| {
        run.becomes_a_train();
        run.row("show", "show", "night")["fares"][0]["amount"] = json!(900);
    };
    Prices "a train's stretch was sold that is not offered" |run| {
        run.becomes_a_train();
        run.row("show", "show", "night")["fares"][0]["to"] = json!(2);
    };
    Prices "later terms that keep less were not counted" |run| {
        one_back(run);
        later_terms(run, "refunds", json!([{ "until_h": 48, "fee_pct": 5 }]));
    };
    Nothing "odd, but right: later terms that keep less count" |run| {
        one_back(run);
        kept(run, 50);
        later_terms(run, "refunds", json!([{ "until_h": 48, "fee_pct": 5 }]));
    };
    Nothing "odd, but right: later terms take nothing from who bought before" |run| {
        one_back(run);
        later_terms(run, "refunds", json!([]));
    };
    Prices "tickets went back behind the last deadline" |run| {
        one_back(run);
        terms(run)["starts_ms"] = json!(at(88.0) + 47.0 * 3_600_000.0);
    };
    Nothing "odd, but right: the deadline counts from the later start" |run| {
        one_back(run);
        terms(run)["starts_ms"] = json!(at(88.0) + 47.0 * 3_600_000.0);
        later_terms(run, "starts_ms", json!(STARTS_MS));
    };
    Prices "a train's tickets went back behind the deadline of the stop where one boards" |run| {
        one_back(run);
        run.becomes_a_train();
        run.row("show", "show", "night")["departs_ms"] = json!([at(88.0) + 47.0 * 3_600_000.0, STARTS_MS]);
    };
    Prices "a postponed show's tickets went back without a fee after its buyers' time" |run| {
        one_back(run);
        kept(run, 0);
        run.row("refund", "order", "order_0")["reason"] = json!("show_postponed");
        run.row("show", "show", "night")["fate"] = json!({ "fate": "postponed", "refunds_until_ms": at(60.0) });
    };
    Nothing "odd, but right: a postponed show's tickets went back without a fee" |run| {
        one_back(run);
        kept(run, 0);
        run.row("refund", "order", "order_0")["reason"] = json!("show_postponed");
        run.row("show", "show", "night")["fate"] = json!({ "fate": "postponed", "refunds_until_ms": at(500.0) });
    };
    Nothing "odd, but right: what dearer tickets cost more went back before the swap" |run| back_before_the_swap(run);
    Money "a refund says that its seat had cost more than it did" |run| {
        one_back(run);
        let refund = run.row("refund", "order", "order_0");
        (refund["paid"], refund["amount"]) = (json!(1_100), json!(1_000));
        run.row("payment", "order", "order_0")["refunded"] = json!(1_000);
    };
    Prices "cheaper tickets brought back all, and the rule keeps it" |run| {
        cheaper(run, 200);
        terms(run)["exchange"]["cheaper"] = json!("keep");
    };
    Prices "cheaper tickets brought back more than a refund would have" |run| {
        cheaper(run, 200);
        terms(run)["exchange"]["cheaper"] = json!("refund_rule");
    };
    Nothing "odd, but right: cheaper tickets brought back what a refund would have" |run| {
        cheaper(run, 180);
        terms(run)["exchange"]["cheaper"] = json!("refund_rule");
    };
    Prices "nobody paid an exchange's fee" |run| {
        exchanged(run, 1_300);
        terms(run)["exchange"]["fee"] = json!(50);
    };
    Nothing "odd, but right: an exchange's fee is paid with the difference" |run| {
        over(run, 1_300, 350);
        run.row("exchange", "order", "order_1")["fee"] = json!(50);
        terms(run)["exchange"]["fee"] = json!(50);
    };
    Prices "tickets were given for others where that is not offered" |run| {
        exchanged(run, 1_000);
        terms(run)["exchange"] = Value::Null;
    };
    Prices "tickets were given for others behind the last hour" |run| {
        exchanged(run, 1_000);
        terms(run)["starts_ms"] = json!(at(92.0) + 3_600_000.0);
    };
    Prices "a difference was let go that the sandbox would have taken" |run| let_go(run, "sandbox");
    Nothing "odd, but right: a difference was let go that the provider does not take" |run| let_go(run, "stripe");

    Chains "an order was given for two others" |run| given_again(run);
    Chains "an order counts for more than its seats had cost" |run| {
        over(run, 1_300, 100);
        run.row("exchange", "order", "order_1")["credit"] = json!(1_200);
    };

    Nothing "odd, but right: a scan is sent again with its key, and another is refused" |run| {
        scan(run, "ticket_0_0", 95.0, "scan-1", 200);
        scan(run, "ticket_0_0", 95.5, "scan-1", 200);
        scan(run, "ticket_0_0", 97.0, "scan-2", 409);
    };
    Scans "a ticket let in two" |run| {
        scan(run, "ticket_0_0", 95.0, "scan-1", 200);
        scan(run, "ticket_0_0", 97.0, "scan-2", 200);
    };
    Scans "a scan's key let in again, long after" |run| {
        scan(run, "ticket_0_0", 40.0, "scan-1", 200);
        scan(run, "ticket_0_0", 105.0, "scan-1", 200);
    };
    Scans "a ticket was scanned by nobody" |run| run.row("ticket", "ticket", "ticket_0_0")["scanned_ms"] = json!(at(95.0));
    Scans "a ticket that had let in was given back" |run| {
        scan(run, "ticket_0_2", 60.0, "scan-1", 200);
        one_back(run);
    };
    AckKept "a scan let in, and the ledger does not know" |run| {
        scan(run, "ticket_0_0", 95.0, "scan-1", 200);
        run.row("ticket", "ticket", "ticket_0_0")["scanned_ms"] = Value::Null;
    };

    Cards "a card has more seats than it may" |run| {
        run.row("show", "show", "night")["seats_per_card"] = json!(1);
        run.row("payment", "order", "order_0")["cards"] = json!(["c0ffee"]);
    };
    Nothing "odd, but right: a card has as many seats as it may" |run| {
        run.row("show", "show", "night")["seats_per_card"] = json!(2);
        run.row("payment", "order", "order_0")["cards"] = json!(["c0ffee"]);
    };
    Cards "two visitors bought more with one card than it may" |run| {
        run.row("show", "show", "night")["seats_per_card"] = json!(2);
        for visitor in [0, 1] {
            run.call_of(visitor, "pay")["card"] = json!("card-1");
        }
    };

    OneKey "two bodies under one key were carried out" |run| {
        keyed(run, 95.0, "aa", 200);
        keyed(run, 95.01, "bb", 200);
    };
    Nothing "odd, but right: of two bodies under one key one was refused" |run| {
        keyed(run, 95.0, "aa", 200);
        keyed(run, 95.01, "bb", 422);
        keyed(run, 95.3, "aa", 200);
    };

    OwnBasket "an order was made of another's basket" |run| {
        run.call(9, "foreign_order", 88.0, 201, json!({ "hold": "hold_8" }));
    };
    OwnBasket "an order stands in the ledger that was made of a hold nobody was given" |run| {
        run.call(8, "order", 96.0, None, json!({ "hold": "hold_worked_out" }));
        let end = run.dump.pop();
        run.ledger_order((8, "order_8b", "hold_worked_out"), 96.0, &[9], &[(96.02, "pending"), (117.0, "expired")]);
        run.dump.extend(end);
    };
    Nothing "odd, but right: somebody tries another's basket in vain" |run| {
        run.call(9, "foreign_order", 88.0, 410, json!({ "hold": "hold_8" }));
    };

    Nothing "odd, but right: the first who waits is offered seats, and then the second" |run| {
        waits(run, (2, 1), Some(103.0));
        waits(run, (4, 2), Some(104.0));
    };
    Waitlist "somebody who waits was passed over" |run| {
        waits(run, (2, 1), None);
        waits(run, (4, 2), Some(104.0));
    };
    Waitlist "seats were offered to two" |run| {
        waits(run, (2, 1), Some(103.0));
        waits(run, (4, 2), Some(104.0));
        run.row("waiter", "waiter", "waiter_4")["offer"]["hold"] = json!("hold_offer_2");
    };
    AckKept "a place in the waitlist was told, and is lost" |run| {
        run.call(2, "wait", 98.0, 200, json!({ "show": "night", "waiter": "waiter_lost" }));
    };

    Nothing "odd, but right: the sandbox gave back one ticket's money" |run| {
        sandbox_has(run, &json!([{ "refund": "refund_0", "amount": 900 }]));
    };
    Books "the sandbox gave back less than the ledger says" |run| {
        sandbox_has(run, &json!([{ "refund": "refund_0", "amount": 800 }]));
    };
    Books "the sandbox never heard of a refund" |run| sandbox_has(run, &json!([]));
    Books "the sandbox gave back what the ledger does not know" |run| {
        sandbox_has(run, &json!([{ "refund": "refund_0", "amount": 900 }, { "refund": "refund_x", "amount": 100 }]));
    };
}

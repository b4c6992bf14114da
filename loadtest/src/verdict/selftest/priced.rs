//! Lists more changes that the self-test plants in a clean run. They break prices, money, exchange
//! chains, scans, acknowledgements, card limits, keys, holds, waitlists or the provider's books, or
//! they break nothing.

use serde_json::{Value, json};

use super::back::{one_back, refund};
use super::clean::{STARTS_MS, SelfTestRun, at, holder};
use super::plants::plants;
use super::swap::{back_after_all, carries, exchanged, given_again, not_paid, over};

/// Replaces the amount `from` by `to`, and twice `from` by twice `to`, everywhere in the history
/// and in the ledger. Does not change the prices in the terms and in the promoter's documents, the
/// times, or the numbers of visitors.
fn replace_amounts(run: &mut SelfTestRun, from: i64, to: i64) {
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

/// Returns the show's first terms, so that a plant can change them.
fn terms(run: &mut SelfTestRun) -> &mut Value {
    run.row("terms", "show", "night")
}

/// Adds a second version of the terms, in force from 80 s on. It differs from the first version in
/// `member`.
fn add_later_terms(run: &mut SelfTestRun, member: &str, value: Value) {
    let mut terms = terms(run).clone();
    (terms["version"], terms["at_ms"]) = (json!(2), json!(at(80.0)));
    terms[member] = value;
    run.dump.insert(3, terms);
}

/// Sets the fee of order 0's refund of one ticket.
fn set_kept_fee(run: &mut SelfTestRun, fee: i64) {
    let refund = run.row("refund", "order", "order_0");
    (refund["amount"], refund["fee"]) = (json!(1_000 - fee), json!(fee));
    run.row("payment", "order", "order_0")["refunded"] = json!(1_000 - fee);
}

/// Adds an exchange of a ticket that cost 1,000 for a ticket that costs 800. `back` is refunded to
/// the buyer.
fn add_cheaper_exchange(run: &mut SelfTestRun, back: i64) {
    exchanged(run, 800);
    run.row("refund", "reason", "exchange_difference")["amount"] = json!(back);
    run.row("payment", "order", "order_1")["refunded"] = json!(back);
}

/// Makes the show a train that was moved after it was sold. Its ticket is given back without a fee.
fn was_moved(run: &mut SelfTestRun, minutes: u32) {
    run.becomes_a_train();
    set_kept_fee(run, 0);
    run.row("refund", "order", "order_0")["reason"] = json!("train_retimed");
    let moved_ms = STARTS_MS + f64::from(minutes) * 60_000.0;
    let fares = run.row("show", "show", "night")["fares"].clone();
    let times = |departs_ms: f64| json!([departs_ms, STARTS_MS + 3_600_000.0]);
    let sold = terms(run);
    (sold["fares"], sold["departs_ms"]) = (fares, times(STARTS_MS));
    add_later_terms(run, "departs_ms", times(moved_ms));
}

/// Adds an exchange for a ticket that costs 30 more. The ledger waives the 30, and `provider` is
/// the provider of the new payment.
fn add_waived_difference(run: &mut SelfTestRun, provider: &str) {
    over(run, 1_030, 0);
    run.row("order", "order", "order_1x")["let_go"] = json!(30);
    run.row("payment", "order", "order_1x")["provider"] = json!(provider);
}

/// Adds an exchange for a dearer ticket. Its difference was paid, and was refunded before the swap
/// because the show was postponed.
fn add_refund_before_the_swap(run: &mut SelfTestRun) {
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
    let fate = json!({ "fate": "postponed", "at_ms": at(92.9), "refunds_until_ms": at(500.0) });
    run.row("show", "show", "night")["fate"] = fate;
    let end = run.dump.pop();
    run.dump.push(json!({
        "kind": "effect", "order": "order_1x", "what": "capture", "due_ms": at(92.6), "done_ms": at(92.7),
    }));
    run.dump.extend(end);
}

/// Changes the refund of an exchanged ticket: since the exchange, the show refunds without a fee,
/// and
/// `fee` was kept of the 1,300.
fn add_free_refunds_after_the_exchange(run: &mut SelfTestRun, fee: i64) {
    let mut terms = terms(run).clone();
    (terms["version"], terms["at_ms"]) = (json!(2), json!(at(93.0)));
    terms["refunds"] = json!([{ "until_h": 48, "fee_pct": 0 }]);
    run.dump.insert(3, terms);
    run.row("refund", "refund", "refund_1x")["fee"] = json!(fee);
    run.row("refund", "refund", "refund_part")["amount"] = json!(1_000 - fee);
    run.row("payment", "order", "order_1")["refunded"] = json!(1_000 - fee);
}

/// Adds an exchange, and a refund without a fee because the show was postponed at `at_s`.
fn add_postponed_exchange(run: &mut SelfTestRun, at_s: f64) {
    back_after_all(run);
    run.row("refund", "refund", "refund_1x")["fee"] = json!(0);
    run.row("refund", "refund", "refund_part")["amount"] = json!(1_000);
    run.row("payment", "order", "order_1")["refunded"] = json!(1_000);
    for refund in ["refund_1x", "refund_part"] {
        run.row("refund", "refund", refund)["reason"] = json!("show_postponed");
    }
    let fate = json!({ "fate": "postponed", "at_ms": at(at_s), "refunds_until_ms": at(500.0) });
    run.row("show", "show", "night")["fate"] = fate;
}

/// Adds a scan of a ticket at the door. A scan with status 200 also marks the ticket as scanned.
fn add_scan(run: &mut SelfTestRun, ticket: &str, s: f64, key: &str, status: u16) {
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

/// Adds a call of visitor 1 with the key `key-twice`. Such calls differ only in time, body and
/// status.
fn add_call_with_same_key(run: &mut SelfTestRun, s: f64, body: &str, status: u16) {
    let asked = json!({ "order": "order_1", "key": "key-twice", "body": body });
    run.call(1, "consent", s, status, asked);
}

/// Adds a waitlist entry to the ledger, and the visitor's reads of it at 92 s and 98 s. The entry
/// got an offer at `offered_s`, or none.
fn add_waitlist_entry(
    run: &mut SelfTestRun,
    (visitor, number): (u64, u64),
    offered_s: Option<f64>,
) {
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

/// Lets a seat stay held after its hold ran out at 51 s, and adds a waitlist entry that waited from
/// 40 s until `ended_s`.
fn keep_for_waitlist_until(run: &mut SelfTestRun, ended_s: f64) {
    add_waitlist_entry(run, (4, 1), None);
    let entry = run.row("waiter", "waiter", "waiter_4");
    entry["since_ms"] = json!(at(40.0));
    entry["ended_ms"] = json!(at(ended_s));
    run.record("delta", |delta| delta["at_ms"] == at(53.3))["cells"] = json!([]);
}

/// Refunds one ticket of order 0, and sets the refunds in the sandbox's own records.
fn add_refund_with_sandbox_records(run: &mut SelfTestRun, refunds: &Value) {
    one_back(run);
    run.row("payment", "order", "order_0")["provider_refunds"] = refunds.clone();
}

plants! {
    Prices "every seat was sold for one cent" |run| replace_amounts(run, 1_000, 1);
    Prices "every seat was sold at a price that is in the terms and that the promoter never wrote" |run| {
        replace_amounts(run, 1_000, 500);
        terms(run)["prices"]["plain"] = json!(500);
    };
    Prices "the dump has terms with a hash that does not match them" |run| {
        // The terms stay as they are, and this is not their hash.
        terms(run)["digest"] = json!("26ee7d24a3b0ad8c3d6a5a2ce8f6f2ea0d3a2b3f2b0a4a4d6c5f3a0f5ac1a0de");
    };
    Prices "an order's amount is less than its seats cost" |run| {
        for (kind, member) in [("order", "amount"), ("payment", "amount"), ("payment", "captured")] {
            run.row(kind, "order", "order_0")[member] = json!(1_500);
        }
        run.call_of(0, "order")["amount"] = json!(1_500);
        run.call_of(0, "order_read")["total"] = json!(1_500);
    };
    Prices "an order names a version of the terms that does not exist" |run| run.row("order", "order", "order_6")["terms"] = json!(7);
    Prices "an order is in another currency than its terms" |run| terms(run)["currency"] = json!("CHF");
    Prices "a train's seat costs the fare of another stretch" |run| {
        run.becomes_a_train();
        run.row("show", "show", "night")["fares"][0]["amount"] = json!(900);
    };
    Prices "a train sold a stretch that it does not offer" |run| {
        run.becomes_a_train();
        run.row("show", "show", "night")["fares"][0]["to"] = json!(2);
    };
    Prices "a train's seat was sold over no leg at all" |run| {
        run.becomes_a_train();
        let item = &mut run.row("order", "order", "order_0")["items"][0];
        (item["from"], item["to"]) = (json!(0), json!(0));
    };
    Prices "a refund kept the order's fee, although later terms have a lower one" |run| {
        one_back(run);
        add_later_terms(run, "refunds", json!([{ "until_h": 48, "fee_pct": 5 }]));
    };
    Nothing "odd, but right: a refund kept the lower fee of later terms" |run| {
        one_back(run);
        set_kept_fee(run, 50);
        add_later_terms(run, "refunds", json!([{ "until_h": 48, "fee_pct": 5 }]));
    };
    Nothing "odd, but right: a refund followed its order's terms, although later terms allow no refund" |run| {
        one_back(run);
        add_later_terms(run, "refunds", json!([]));
    };
    Prices "a ticket was refunded after the last deadline" |run| {
        one_back(run);
        terms(run)["starts_ms"] = json!(at(88.0) + 47.0 * 3_600_000.0);
    };
    Nothing "odd, but right: the refund deadline counts from the later start in newer terms" |run| {
        one_back(run);
        terms(run)["starts_ms"] = json!(at(88.0) + 47.0 * 3_600_000.0);
        add_later_terms(run, "starts_ms", json!(STARTS_MS));
    };
    Prices "a train's ticket was refunded after the deadline for the stop where its passenger boards" |run| {
        one_back(run);
        run.becomes_a_train();
        run.row("show", "show", "night")["departs_ms"] = json!([at(88.0) + 47.0 * 3_600_000.0, STARTS_MS]);
    };
    Prices "a refund had no fee because its train was moved, and it had moved by 15 minutes only" |run| {
        one_back(run);
        was_moved(run, 15);
    };
    Nothing "odd, but right: a ticket was refunded without a fee because its train was moved by 16 minutes" |run| {
        one_back(run);
        was_moved(run, 16);
    };
    Prices "a train's ticket was sold at the fare of later terms" |run| {
        run.becomes_a_train();
        let mut fares = run.row("show", "show", "night")["fares"].clone();
        for fare in fares.as_array_mut().expect("fares") {
            fare["amount"] = json!(fare["amount"].as_i64().expect("an amount") + 1);
        }
        let terms = terms(run);
        terms["fares"] = fares;
        terms["departs_ms"] = json!([STARTS_MS, STARTS_MS + 3_600_000.0]);
    };
    Prices "a postponed show's ticket was refunded after the deadline for refunds without a fee" |run| {
        one_back(run);
        set_kept_fee(run, 0);
        run.row("refund", "order", "order_0")["reason"] = json!("show_postponed");
        run.row("show", "show", "night")["fate"] = json!({ "fate": "postponed", "at_ms": at(55.0), "refunds_until_ms": at(60.0) });
    };
    Nothing "odd, but right: a postponed show's ticket was refunded without a fee" |run| {
        one_back(run);
        set_kept_fee(run, 0);
        run.row("refund", "order", "order_0")["reason"] = json!("show_postponed");
        run.row("show", "show", "night")["fate"] = json!({ "fate": "postponed", "at_ms": at(87.0), "refunds_until_ms": at(500.0) });
    };
    Nothing "odd, but right: the paid difference of an exchange was refunded before the swap" |run| add_refund_before_the_swap(run);
    Money "a refund names a higher price than its seat cost" |run| {
        one_back(run);
        let refund = run.row("refund", "order", "order_0");
        (refund["paid"], refund["amount"]) = (json!(1_100), json!(1_000));
        run.row("payment", "order", "order_0")["refunded"] = json!(1_000);
    };
    Prices "an exchange for cheaper tickets refunded the difference, although the rule keeps it" |run| {
        add_cheaper_exchange(run, 200);
        terms(run)["exchange"]["cheaper"] = json!("keep");
    };
    Prices "an exchange for cheaper tickets refunded more than the refund rule allows" |run| {
        add_cheaper_exchange(run, 200);
        terms(run)["exchange"]["cheaper"] = json!("refund_rule");
    };
    Nothing "odd, but right: an exchange for cheaper tickets refunded as much as the refund rule allows" |run| {
        add_cheaper_exchange(run, 180);
        terms(run)["exchange"]["cheaper"] = json!("refund_rule");
    };
    Prices "the fee of an exchange was not paid" |run| {
        exchanged(run, 1_300);
        terms(run)["exchange"]["fee"] = json!(50);
    };
    Nothing "odd, but right: an exchange's fee is paid with the difference" |run| {
        over(run, 1_300, 350);
        run.row("exchange", "order", "order_1")["fee"] = json!(50);
        terms(run)["exchange"]["fee"] = json!(50);
    };
    Prices "tickets were exchanged, although the terms offer no exchange" |run| {
        exchanged(run, 1_000);
        terms(run)["exchange"] = Value::Null;
    };
    Prices "tickets were exchanged after the deadline for exchanges" |run| {
        exchanged(run, 1_000);
        terms(run)["starts_ms"] = json!(at(92.0) + 3_600_000.0);
    };
    Prices "a difference was waived, although the sandbox could have charged it" |run| add_waived_difference(run, "sandbox");
    Nothing "odd, but right: a difference was waived, because it is below the provider's minimum" |run| add_waived_difference(run, "stripe");

    Prices "exchanged tickets carry more over than could be refunded for them" |run| {
        exchanged(run, 1_300);
        carries(run, 1_000, 1_000);
    };
    Prices "exchanged tickets carry nothing over, so that all counts as added money" |run| {
        exchanged(run, 1_300);
        carries(run, 0, 0);
    };
    Prices "an order carries more than its exchange carried over" |run| {
        exchanged(run, 1_300);
        run.row("order", "order", "order_1x")["items"][0]["carried"]["refundable"] = json!(1_000);
    };
    Prices "an order that no exchange made carries money" |run| {
        run.row("order", "order", "order_0")["items"][0]["carried"] = json!({ "amount": 1_000, "refundable": 1_000 });
    };
    Prices "exchanged tickets were refunded by their show's rule, although less could be refunded for the old ones" |run| {
        back_after_all(run);
        add_free_refunds_after_the_exchange(run, 0);
    };
    Nothing "odd, but right: exchanged tickets were refunded by what could be refunded for the old ones" |run| {
        back_after_all(run);
        add_free_refunds_after_the_exchange(run, 100);
    };
    Prices "tickets that were exchanged for a postponed show's were refunded without a fee" |run| add_postponed_exchange(run, 91.0);
    Nothing "odd, but right: exchanged tickets were refunded without a fee, because their show was postponed later" |run| {
        add_postponed_exchange(run, 93.0);
    };
    Prices "a ticket that was bought after its show was postponed was refunded without a fee" |run| {
        one_back(run);
        set_kept_fee(run, 0);
        run.row("refund", "order", "order_0")["reason"] = json!("show_postponed");
        run.row("show", "show", "night")["fate"] =
            json!({ "fate": "postponed", "at_ms": at(1.0), "refunds_until_ms": at(500.0) });
    };

    Chains "an order was exchanged for two others" |run| given_again(run);
    Chains "an exchanged order counts for more than its seats had cost" |run| {
        over(run, 1_300, 100);
        run.row("exchange", "order", "order_1")["credit"] = json!(1_200);
        carries(run, 1_200, 900);
    };

    Nothing "odd, but right: a scan is sent again with its key, and a scan with another key is refused" |run| {
        add_scan(run, "ticket_0_0", 95.0, "scan-1", 200);
        add_scan(run, "ticket_0_0", 95.5, "scan-1", 200);
        add_scan(run, "ticket_0_0", 97.0, "scan-2", 409);
    };
    Scans "one ticket admitted two people" |run| {
        add_scan(run, "ticket_0_0", 95.0, "scan-1", 200);
        add_scan(run, "ticket_0_0", 97.0, "scan-2", 200);
    };
    Scans "a repeated scan admitted a second person, because its key had expired" |run| {
        add_scan(run, "ticket_0_0", 40.0, "scan-1", 200);
        add_scan(run, "ticket_0_0", 105.0, "scan-1", 200);
    };
    Scans "the ledger has a scan that no call made" |run| run.row("ticket", "ticket", "ticket_0_0")["scanned_ms"] = json!(at(95.0));
    Scans "a ticket was refunded after it had admitted a visitor" |run| {
        add_scan(run, "ticket_0_2", 60.0, "scan-1", 200);
        one_back(run);
    };
    AckKept "the ledger does not have a scan that admitted a visitor" |run| {
        add_scan(run, "ticket_0_0", 95.0, "scan-1", 200);
        run.row("ticket", "ticket", "ticket_0_0")["scanned_ms"] = Value::Null;
    };

    Cards "a card bought more seats than the limit" |run| {
        run.row("show", "show", "night")["seats_per_card"] = json!(1);
        run.row("payment", "order", "order_0")["cards"] = json!(["c0ffee"]);
    };
    Nothing "odd, but right: a card bought exactly as many seats as the limit" |run| {
        run.row("show", "show", "night")["seats_per_card"] = json!(2);
        run.row("payment", "order", "order_0")["cards"] = json!(["c0ffee"]);
    };
    Cards "two visitors bought more seats with one card than the limit" |run| {
        run.row("show", "show", "night")["seats_per_card"] = json!(2);
        for visitor in [0, 1] {
            run.call_of(visitor, "pay")["card"] = json!("card-1");
        }
    };

    OneKey "two requests with the same key and different bodies both succeeded" |run| {
        add_call_with_same_key(run, 95.0, "aa", 200);
        add_call_with_same_key(run, 95.01, "bb", 200);
    };
    Nothing "odd, but right: one of two requests with the same key and different bodies was refused" |run| {
        add_call_with_same_key(run, 95.0, "aa", 200);
        add_call_with_same_key(run, 95.01, "bb", 422);
        add_call_with_same_key(run, 95.3, "aa", 200);
    };

    OwnBasket "an order was made of another visitor's hold" |run| {
        run.call(9, "foreign_order", 88.0, 201, json!({ "hold": "hold_8" }));
    };
    OwnBasket "the ledger has an order of a hold that no visitor was given" |run| {
        run.call(8, "order", 96.0, None, json!({ "hold": "hold_worked_out" }));
        let end = run.dump.pop();
        run.ledger_order((8, "order_8b", "hold_worked_out"), 96.0, &[9], &[(96.02, "pending"), (117.0, "expired")]);
        run.dump.extend(end);
    };
    Nothing "odd, but right: a visitor fails to order another visitor's hold" |run| {
        run.call(9, "foreign_order", 88.0, 410, json!({ "hold": "hold_8" }));
    };

    Nothing "odd, but right: the first waitlist entry gets an offer, and then the second" |run| {
        add_waitlist_entry(run, (2, 1), Some(103.0));
        add_waitlist_entry(run, (4, 2), Some(104.0));
    };
    Waitlist "a waitlist entry was passed over for a later one" |run| {
        add_waitlist_entry(run, (2, 1), None);
        add_waitlist_entry(run, (4, 2), Some(104.0));
    };
    Waitlist "the same seats were offered to two waitlist entries" |run| {
        add_waitlist_entry(run, (2, 1), Some(103.0));
        add_waitlist_entry(run, (4, 2), Some(104.0));
        run.row("waiter", "waiter", "waiter_4")["offer"]["hold"] = json!("hold_offer_2");
    };
    Nothing "odd, but right: the seat of a hold that ran out is kept for a waitlist entry" |run| {
        keep_for_waitlist_until(run, 99.0);
    };
    Lapse "the seat of a hold that ran out is kept although the waitlist is empty" |run| {
        keep_for_waitlist_until(run, 45.0);
    };
    AckKept "an acknowledged waitlist entry is not in the ledger" |run| {
        run.call(2, "wait", 98.0, 200, json!({ "show": "night", "waiter": "waiter_lost" }));
    };

    Nothing "odd, but right: the sandbox refunded one ticket" |run| {
        add_refund_with_sandbox_records(run, &json!([{ "refund": "refund_0", "amount": 900 }]));
    };
    Books "the sandbox refunded less than the ledger says" |run| {
        add_refund_with_sandbox_records(run, &json!([{ "refund": "refund_0", "amount": 800 }]));
    };
    Books "the sandbox has no record of a refund" |run| add_refund_with_sandbox_records(run, &json!([]));
    Books "the sandbox made a refund that the ledger does not know" |run| {
        add_refund_with_sandbox_records(run, &json!([{ "refund": "refund_0", "amount": 900 }, { "refund": "refund_x", "amount": 100 }]));
    };
}

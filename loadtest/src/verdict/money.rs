//! Checks money: the captured amount is the owed amount, and the steps of each order came in the
//! right order.

use std::collections::HashMap;

use super::dump::{DumpedEffect, DumpedOrder, DumpedPayment, DumpedRefund, DumpedTicket};
use super::prices::{DIFFERENCE, uncharged};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks payments, refunds and the order of steps.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut payments: HashMap<&str, Vec<&DumpedPayment>> = HashMap::new();
    for payment in &timeline.dump.payments {
        payments.entry(&payment.order).or_default().push(payment);
        if timeline.dump.order(&payment.order).is_none() {
            findings.add(Invariant::Money, || {
                format!(
                    "{} is for {}, which is no order",
                    payment.payment, payment.order
                )
            });
        }
    }
    let mut effects: HashMap<&str, Vec<&DumpedEffect>> = HashMap::new();
    for effect in &timeline.dump.effects {
        effects.entry(&effect.order).or_default().push(effect);
    }
    let mut tickets: HashMap<&str, Vec<&DumpedTicket>> = HashMap::new();
    for ticket in &timeline.dump.tickets {
        tickets.entry(&ticket.order).or_default().push(ticket);
    }
    let refunds = fair_refunds(timeline, findings);
    sandbox_agrees(timeline, findings);
    let (mut net, mut due) = (0, 0);
    for order in &timeline.dump.orders {
        let id = order.order.as_str();
        let order_payments = payments.get(id).map_or(&[][..], Vec::as_slice);
        let order_effects = effects.get(id).map_or(&[][..], Vec::as_slice);
        let order_refunds = refunds.get(id).map_or(&[][..], Vec::as_slice);
        let (taken, owes) = taken_and_owed(order, order_payments, order_effects, order_refunds);
        net += taken;
        due += owes;
        right_money(timeline, order, order_payments, (taken, owes), findings);
        right_order(
            timeline,
            order,
            order_payments,
            order_effects,
            tickets.get(id).map_or(&[][..], Vec::as_slice),
            findings,
        );
    }
    if net != due {
        findings.add(Invariant::Money, || {
            format!("in total {net} were kept, and confirmed orders cost {due}")
        });
    }
}

/// Returns the refunds by order. Checks that the refunded amount and the fee of each refund add up
/// to the price of its seats.
fn fair_refunds<'a>(
    timeline: &RunTimeline<'a>,
    findings: &mut Findings,
) -> HashMap<&'a str, Vec<&'a DumpedRefund>> {
    let mut refunds: HashMap<&str, Vec<&DumpedRefund>> = HashMap::new();
    let mut parts: HashMap<&str, i64> = HashMap::new();
    for refund in &timeline.dump.refunds {
        refunds.entry(&refund.order).or_default().push(refund);
        if let Some(whole_refund) = &refund.part_of {
            *parts.entry(whole_refund).or_default() += refund.amount;
        }
    }
    for refund in &timeline.dump.refunds {
        // A refund that is part of another is checked with that refund, and a difference is checked
        // with its exchange.
        let alone = refund.part_of.is_none() && refund.reason != DIFFERENCE && !refund.is_unasked();
        let amount = refund.amount + parts.get(refund.refund.as_str()).unwrap_or(&0);
        // An amount that an exchange waived is not refunded. `prices` checks how much was waived.
        let from_exchange = timeline
            .dump
            .order(&refund.order)
            .map(|order| order.made_in.is_some());
        let uncharged = uncharged(timeline, refund);
        let wrong = alone && (uncharged < 0 || uncharged > 0 && from_exchange != Some(true));
        if wrong || refund.amount < 0 || refund.fee < 0 {
            findings.add(Invariant::Money, || {
                format!(
                    "{} of {}: {amount} are refunded and {} are kept of {}",
                    refund.refund, refund.order, refund.fee, refund.paid
                )
            });
        }
    }
    swapped(timeline, findings);
    for order in &timeline.dump.orders {
        let refunded = refunds.get(&*order.order).into_iter().flatten();
        let refunded: i64 = refunded.map(|refund| refund.paid).sum();
        // Until the swap, the buyer has paid only the difference for the new order.
        let swapped = order
            .made_in
            .as_ref()
            .is_none_or(|one| one.done_ms.is_some());
        let cost = if swapped { order.cost() } else { order.amount };
        let is_fully_refunded = order.state == "refunded";
        if refunded > cost || is_fully_refunded && refunded != cost {
            findings.add(Invariant::Money, || {
                format!(
                    "{} ({}): it cost {cost}, and seats for {refunded} were refunded",
                    order.order, order.state
                )
            });
        }
    }
    refunds
}

/// Compares the ledger's refunds with the sandbox's own records. Each finished refund must be in
/// both once, with the same amount.
fn sandbox_agrees(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    for payment in &timeline.dump.payments {
        let Some(booked) = &payment.provider_refunds else {
            continue;
        };
        let refunds = timeline.dump.refunds.iter();
        let of_order = refunds.filter(|refund| refund.order == payment.order);
        // Money that was released before its capture is not in the sandbox's records of refunds.
        let finished = of_order
            .filter(|refund| refund.done_ms.is_some() && refund.amount > 0)
            .filter(|_| payment.captured != 0);
        let mut ledger: Vec<_> = finished.map(|one| (&*one.refund, one.amount)).collect();
        let mut sandbox: Vec<_> = booked
            .iter()
            .map(|one| (&*one.refund, one.amount))
            .collect();
        ledger.sort_unstable();
        sandbox.sort_unstable();
        // The sandbox may have made a refund that the ledger still has as under way.
        let on_its_way = |refund: &str| {
            let mut refunds = timeline.dump.refunds.iter();
            refunds.any(|one| one.refund == refund && one.done_ms.is_none())
        };
        sandbox.retain(|(refund, _)| !on_its_way(refund));
        // If money was captured when it should have been released, the sandbox refunds the whole
        // payment and records no single refunds.
        let sum: i64 = ledger.iter().map(|(_, amount)| amount).sum();
        let refunded_whole = payment.provider_state.as_deref() == Some("refunded");
        if refunded_whole && sandbox.is_empty() && sum == payment.captured {
            continue;
        }
        if ledger != sandbox {
            findings.add(Invariant::Books, || {
                format!(
                    "{}: the ledger says that {ledger:?} were refunded, the sandbox says {sandbox:?}",
                    payment.payment
                )
            });
        }
    }
}

/// Checks that the old order of every finished exchange is exchanged in the ledger.
fn swapped(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    for order in &timeline.dump.orders {
        let Some(exchange) = &order.made_in else {
            continue;
        };
        let is_given = timeline
            .dump
            .order(&exchange.order)
            .is_some_and(|old| old.state == "exchanged");
        // The reverse is not checked, because another exchange of the same order may be done.
        if exchange.done_ms.is_some() && !is_given {
            findings.add(Invariant::AllOrNone, || {
                format!(
                    "{} was exchanged for {}, and both have their seats",
                    exchange.order, order.order
                )
            });
        }
    }
}

fn captured(effects: &[&DumpedEffect]) -> Option<f64> {
    effects
        .iter()
        .find(|effect| effect.what == "capture")
        .and_then(|effect| effect.done_ms)
}

/// Returns the sum of the finished refunds.
fn gone(refunds: &[&DumpedRefund]) -> i64 {
    let finished = refunds.iter().filter(|refund| refund.done_ms.is_some());
    finished.map(|refund| refund.amount).sum()
}

/// Returns how much money was kept for an order, and how much should have been.
fn taken_and_owed(
    order: &DumpedOrder,
    payments: &[&DumpedPayment],
    effects: &[&DumpedEffect],
    refunds: &[&DumpedRefund],
) -> (i64, i64) {
    let net: i64 = payments
        .iter()
        .map(|payment| payment.captured - payment.refunded)
        .sum();
    let owes = match order.state.as_str() {
        "ticketed" => order.amount - gone(refunds),
        // A capture may still be under way. Another invariant checks that none is under way at the
        // end.
        "confirmed" if captured(effects).is_some() || net != 0 => order.amount,
        // The money was released before its capture.
        "refunded" if payments.iter().all(|payment| payment.captured == 0) => 0,
        // Another invariant checks that all refunds are done.
        "refunded" | "partly_refunded" | "exchanged" => order.amount - gone(refunds),
        _ => 0,
    };
    (net, owes)
}

fn right_money(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    payments: &[&DumpedPayment],
    (net, owes): (i64, i64),
    findings: &mut Findings,
) {
    let id = &order.order;
    let mut wrong = |what: String| {
        findings.add(Invariant::Money, || {
            format!("{id} ({}): {what}", order.state)
        })
    };
    if net != owes {
        wrong(format!("{net} were kept, and it should be {owes}"));
    }
    let [payment] = payments else {
        return wrong(format!("it has {} payments", payments.len()));
    };
    if payment.amount != order.amount || payment.currency != order.currency {
        wrong(format!(
            "costs {} {}, its payment is over {} {}",
            order.amount, order.currency, payment.amount, payment.currency
        ));
    }
    if (payment.captured != 0) != (payment.state == "captured" || payment.refunded != 0) {
        wrong(format!(
            "its payment is {} and {} were captured",
            payment.state, payment.captured
        ));
    }
    if let Some(provider) = &payment.provider_state
        && matches!(provider.as_str(), "captured" | "refunded") != (payment.captured != 0)
        && payment.state != "authorised"
    {
        wrong(format!(
            "the provider says {provider}, and {} were captured",
            payment.captured
        ));
    }
    if let Some(order_calls) = timeline.orders.get(id.as_str()) {
        let declined = order_calls
            .pays
            .iter()
            .any(|(call, pay)| !pay.approve && call.done());
        let approved = order_calls
            .pays
            .iter()
            .any(|(call, pay)| pay.approve && call.may_be_done());
        if declined && !approved && payment.captured != 0 {
            wrong(format!(
                "the payment was only ever declined, and {} were captured",
                payment.captured
            ));
        }
    }
}

fn right_order(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    payments: &[&DumpedPayment],
    effects: &[&DumpedEffect],
    tickets: &[&DumpedTicket],
    findings: &mut Findings,
) {
    let id = &order.order;
    let mut wrong = |what: String| findings.add(Invariant::MoneyOrder, || format!("{id}: {what}"));
    if order
        .history
        .first()
        .is_none_or(|step| step.state != "pending")
    {
        wrong("its history does not begin as pending".to_owned());
    }
    if let Some(pair) = order
        .history
        .windows(2)
        .find(|pair| pair[1].at_ms < pair[0].at_ms)
    {
        wrong(format!(
            "{} is dated before {}, which came first",
            pair[1].state, pair[0].state
        ));
    }
    let at = |state: &str| order.history.iter().position(|step| step.state == state);
    let confirmed = order.first("confirmed");
    if at("ticketed")
        .is_some_and(|ticketed| at("confirmed").is_none_or(|confirmed| ticketed < confirmed))
    {
        wrong("ticketed without a confirmation before it".to_owned());
    }
    let capture = captured(effects);
    let money_moved = capture.is_some() || payments.iter().any(|payment| payment.captured != 0);
    match (confirmed, capture) {
        (None, Some(_)) => wrong("captured without ever being confirmed".to_owned()),
        (Some(confirmed), Some(capture)) if capture < confirmed => {
            wrong(format!(
                "captured at {capture:.0}, before it was confirmed at {confirmed:.0}"
            ));
        }
        _ => {}
    }
    tickets_after_the_capture(order, capture, money_moved, tickets, &mut wrong);
    confirmed_after_an_approval(timeline, order, &mut wrong);
}

/// Checks that no ticket is issued before the capture, unless there was nothing to pay.
fn tickets_after_the_capture(
    order: &DumpedOrder,
    capture: Option<f64>,
    money_moved: bool,
    tickets: &[&DumpedTicket],
    wrong: &mut impl FnMut(String),
) {
    for ticket in tickets {
        match capture {
            None if !money_moved && !order.nothing_to_pay() => wrong(format!(
                "{} was issued, and nothing was captured",
                ticket.ticket
            )),
            Some(capture) if ticket.issued_ms < capture => wrong(format!(
                "{} was issued at {:.0}, before the capture at {capture:.0}",
                ticket.ticket, ticket.issued_ms
            )),
            _ => {}
        }
    }
}

/// Checks in the history that no order is confirmed before the buyer approved a payment, unless
/// there was nothing to pay.
fn confirmed_after_an_approval(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    wrong: &mut impl FnMut(String),
) {
    let confirmed = order.first("confirmed");
    if let Some(order_calls) = timeline.orders.get(order.order.as_str()) {
        let approvals = order_calls
            .pays
            .iter()
            .filter(|(call, pay)| pay.approve && call.may_be_done());
        let first_approval_ms = approvals
            .map(|(call, _)| call.sent_ms)
            .min_by(f64::total_cmp);
        match (confirmed, first_approval_ms) {
            (Some(_), None) if order.nothing_to_pay() => {}
            (Some(_), None) => wrong("confirmed, though nobody approved the payment".to_owned()),
            (Some(confirmed), Some(first_approval_ms)) if confirmed + 5.0 < first_approval_ms => {
                wrong(format!(
                    "confirmed at {confirmed:.0}, before the payment was approved at {first_approval_ms:.0}"
                ));
            }
            _ => {}
        }
    }
}

//! Checks money that went back at the provider without a call of booking: refunds that somebody
//! made in the provider's own pages, and disputes.

use std::collections::HashMap;

use super::dump::{DumpedOrder, DumpedPayment, DumpedTicket};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks all orders with tickets. Returns how many sums went back at the provider, and how many
/// payments are or were disputed.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let dump = timeline.dump;
    let payments: HashMap<&str, &DumpedPayment> = dump
        .payments
        .iter()
        .map(|payment| (payment.order.as_str(), payment))
        .collect();
    let mut valid: HashMap<&str, Vec<&DumpedTicket>> = HashMap::new();
    for ticket in dump.tickets.iter().filter(|one| one.void_ms.is_none()) {
        valid.entry(&ticket.order).or_default().push(ticket);
    }
    for order in &dump.orders {
        if let Some(tickets) = valid.get(order.order.as_str()) {
            check_order(timeline, order, (&payments, tickets), findings);
        }
    }
    let sums = dump.refunds.iter().filter(|refund| refund.at_provider);
    let disputes = dump.payments.iter().filter(|one| one.dispute.is_some());
    (sums.count() + disputes.count()) as u64
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Returned, evidence);
}

/// Returns the orders whose payments pay for an order's seats: the order, and those that were
/// exchanged for it.
fn chain<'a>(timeline: &RunTimeline<'a>, order: &'a DumpedOrder) -> Vec<&'a DumpedOrder> {
    let mut chain = vec![order];
    let mut newest = order;
    while let Some(exchange) = newest.made_in.as_ref().filter(|one| one.done_ms.is_some()) {
        let Some(older) = timeline.dump.order(&exchange.order) else {
            break;
        };
        chain.push(older);
        newest = older;
    }
    chain
}

/// Checks an order with valid tickets.
fn check_order(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    (payments, tickets): (&HashMap<&str, &DumpedPayment>, &[&DumpedTicket]),
    findings: &mut Findings,
) {
    let chain = chain(timeline, order);
    let paid: Vec<&DumpedPayment> = chain
        .iter()
        .filter_map(|part| payments.get(part.order.as_str()).copied())
        .collect();
    let kept: i64 = paid.iter().map(|one| one.captured - one.refunded).sum();
    let refunds = timeline.dump.refunds.iter();
    let mut unasked = refunds.filter(|refund| {
        refund.at_provider
            && refund.amount > 0
            && chain.iter().any(|part| part.order == refund.order)
    });
    let is_unasked = unasked.any(|_| true);
    let id = &order.order;
    if is_unasked && kept == 0 {
        wrong(findings, || {
            format!("{id} has valid tickets, and its whole money went back at the provider")
        });
    }
    let found = timeline.dump.money_findings.iter();
    let mut found = found.filter(|one| {
        let is_of = |order: &String| chain.iter().any(|part| part.order == *order);
        one.what == "refunded_in_part" && one.order.as_ref().is_some_and(is_of)
    });
    let is_listed = found.clone().any(|_| true);
    // A refund that failed and was then made by hand needs no settlement.
    let by_rule = timeline.dump.refunds.iter();
    let by_hand = by_rule
        .filter(|one| one.at_provider && !one.is_unasked())
        .any(|one| chain.iter().any(|part| part.order == one.order));
    if is_unasked && !is_listed && !by_hand {
        wrong(findings, || {
            format!("a part of the money of {id} went back at the provider, and nobody is told")
        });
    }
    let is_open = found.any(|one| one.settled_ms.is_none());
    let must_block = paid.iter().any(|one| match one.dispute.as_deref() {
        Some("open") => true,
        Some("lost") => is_open,
        _ => false,
    });
    for ticket in tickets {
        if must_block && ticket.blocked_ms.is_none() && ticket.scanned_ms.is_none() {
            wrong(findings, || {
                format!("{} opens doors, and its payment is disputed", ticket.ticket)
            });
        }
    }
}

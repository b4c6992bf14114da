//! Checks exchanges from the buyers' side: no seats are exchanged without a request, and the ledger
//! has every exchange that an answer acknowledged. [`super::prices`] checks the price difference,
//! and [`super::seats`] checks which order has the seats at what time.

use std::collections::BTreeSet;

use super::dump::{DumpedExchange, DumpedOrder};
use super::history::ExchangeCall;
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks all exchanges.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut exchanged_orders = BTreeSet::new();
    for order in &timeline.dump.orders {
        let Some(exchange) = &order.made_in else {
            continue;
        };
        if exchange.done_ms.is_some() {
            exchanged_orders.insert(&*exchange.order);
        }
        if order.first("ticketed").is_some() != exchange.done_ms.is_some() {
            wrong(findings, || {
                format!(
                    "{} is {}, and its exchange says otherwise",
                    order.order, order.state
                )
            });
        }
        if timeline.of_this_run(order) {
            check_requested(timeline, exchange, order, findings);
        }
    }
    for order in &timeline.dump.orders {
        if order.state == "exchanged" && !exchanged_orders.contains(&*order.order) {
            wrong(findings, || {
                format!(
                    "{} is exchanged, and no finished exchange names it",
                    order.order
                )
            });
        }
    }
    check_acknowledged(timeline, findings);
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Exchanges, evidence);
}

/// Checks that the buyer asked for the exchange and for the new order's seats.
fn check_requested(
    timeline: &RunTimeline<'_>,
    exchange: &DumpedExchange,
    new: &DumpedOrder,
    findings: &mut Findings,
) {
    let seats: BTreeSet<&str> = new.labels.iter().map(String::as_str).collect();
    let cells: BTreeSet<u32> = new.cells.iter().copied().collect();
    let show = timeline.dump.shows.get(&new.show);
    let show_of_old = timeline.dump.order(&exchange.order).map(|old| &old.show);
    let cells_fit = |request: &ExchangeCall| {
        let legs = request.legs.as_deref();
        let labels = new.labels.iter();
        let wanted = show.map(|show| labels.flat_map(|label| show.cells(label, legs)).collect());
        wanted.is_none_or(|mut wanted: BTreeSet<u32>| {
            // Until the swap, the new order has only the cells that the old order does not have.
            if exchange.done_ms.is_none() && show_of_old == Some(&new.show) {
                wanted.retain(|cell| !exchange.given.cells.contains(cell));
            }
            wanted == cells
        })
    };
    let order_calls = timeline.orders.get(&*exchange.order);
    let mut calls = order_calls.into_iter().flat_map(|calls| &calls.exchanges);
    let fits = calls.any(|(call, request)| {
        let wanted = request.wanted.iter().flatten().map(|seat| &**seat);
        let wanted: BTreeSet<&str> = wanted.collect();
        let fits_answer = request.successor.is_empty() || *request.successor == *new.order;
        // If the provider refuses the amount, the call is refused, but the ledger keeps the ended
        // exchange. So the refused call counts as the request for that exchange.
        let counts = call.may_be_done() || new.reason == "payment_refused";
        counts && fits_answer && (wanted.is_empty() || wanted == seats) && cells_fit(request)
    });
    if !fits {
        wrong(findings, || {
            format!(
                "{} was made for {}, and nobody asked for {seats:?} (cells {cells:?})",
                new.order, exchange.order
            )
        });
    }
}

/// Checks that every acknowledged exchange is in the ledger, with the amount that the answer named.
fn check_acknowledged(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let calls = timeline.orders.values().flat_map(|calls| &calls.exchanges);
    for (call, request) in calls.filter(|(call, _)| call.done()) {
        let new = timeline.dump.order(&request.successor);
        let is_in_ledger = new.is_some_and(|new| {
            let old_order = new.made_in.as_ref().map(|exchange| exchange.order.as_str());
            old_order == Some(&*request.order) && new.amount == request.amount
        });
        if !is_in_ledger {
            findings.add(Invariant::AckKept, || {
                format!(
                    "line {}: {} was made for {} with the amount {}, and the ledger has it otherwise",
                    call.line, request.successor, request.order, request.amount
                )
            });
        }
    }
}

//! Checks chains of exchanges. Each order is exchanged at most once, and is not its own ancestor.
//! Its seats are credited at the price that they had. [`super::prices`] checks what each exchange
//! costs.

use std::collections::{BTreeMap, BTreeSet};

use super::dump::{DumpedExchange, DumpedOrder};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks all chains. Returns how many orders were exchanged for others.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let mut exchanged_for: BTreeMap<&str, &DumpedOrder> = BTreeMap::new();
    let is_done =
        |order: &&DumpedOrder| exchange_of(order).is_some_and(|one| one.done_ms.is_some());
    for new in timeline.dump.orders.iter().filter(is_done) {
        let Some(exchange) = exchange_of(new) else {
            continue;
        };
        if let Some(other) = exchanged_for.insert(&exchange.order, new) {
            wrong(findings, || {
                format!(
                    "{} was exchanged for {} and for {}",
                    exchange.order, other.order, new.order
                )
            });
        }
    }
    for new in &timeline.dump.orders {
        let Some(exchange) = exchange_of(new) else {
            continue;
        };
        link(timeline, exchange, new, findings);
        check_no_cycle(timeline, new, findings);
    }
    exchanged_for.len() as u64
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Chains, evidence);
}

fn exchange_of(order: &DumpedOrder) -> Option<&DumpedExchange> {
    order.made_in.as_ref()
}

/// Checks that the exchanged seats were seats of the old order, were not refunded before, and are
/// credited at their price.
fn link(
    timeline: &RunTimeline<'_>,
    exchange: &DumpedExchange,
    new: &DumpedOrder,
    findings: &mut Findings,
) {
    let Some(old) = timeline.dump.order(&exchange.order) else {
        return wrong(findings, || {
            format!(
                "{} was made for {}, which is no order",
                new.order, exchange.order
            )
        });
    };
    let Some(show) = timeline.dump.shows.get(&old.show) else {
        return;
    };
    let given_cells = &exchange.given.cells;
    let before = |at_ms: f64| at_ms < exchange.at_ms;
    let mut refunded_before = old
        .given_back
        .iter()
        .filter(|returned| before(returned.at_ms));
    let had_cells = given_cells.iter().all(|cell| old.cells.contains(cell))
        && !refunded_before
            .any(|returned| returned.cells.iter().any(|cell| given_cells.contains(cell)));
    if !had_cells {
        wrong(findings, || {
            format!(
                "{} was made for cells {given_cells:?}, which {} did not have at {:.0}",
                new.order, old.order, exchange.at_ms
            )
        });
    }
    let cost = old.items_over(show.labels.len(), given_cells);
    let cost: i64 = cost.iter().map(|item| item.amount).sum();
    if had_cells && cost != exchange.credit {
        wrong(findings, || {
            format!(
                "{} was made for seats of {} that had cost {cost}, and counts them for {}",
                new.order, old.order, exchange.credit
            )
        });
    }
}

/// Checks that no order is its own ancestor.
fn check_no_cycle(timeline: &RunTimeline<'_>, new: &DumpedOrder, findings: &mut Findings) {
    let mut seen = BTreeSet::from([&*new.order]);
    let mut next = exchange_of(new);
    while let Some(exchange) = next {
        if !seen.insert(&exchange.order) {
            return wrong(findings, || {
                format!("{} is its own ancestor in a chain of exchanges", new.order)
            });
        }
        next = timeline.dump.order(&exchange.order).and_then(exchange_of);
    }
}

//! Checks seats: each cell has one owner, and an order has all of its cells or none.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::dump::{DumpedOrder, OrderSeatSpan};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks claims, tickets, holds and orders.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    one_claim(timeline, findings);
    one_ticket(timeline, findings);
    one_order(timeline, findings);
    no_basket_over_an_order(timeline, findings);
    whole_holds(timeline, findings);
    whole_orders(timeline, findings);
}

/// Returns a cell's name for a finding.
fn cell_name(timeline: &RunTimeline<'_>, show: &str, cell: u32) -> String {
    let label = timeline
        .dump
        .shows
        .get(show)
        .map_or("?", |known| known.label(cell));
    format!("cell {cell} ({label}) of {show}")
}

fn one_claim(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut owners: HashMap<(&str, u32), &str> = HashMap::new();
    for claim in &timeline.dump.claims {
        if let Some(other) = owners.insert((&claim.show, claim.cell), &claim.order) {
            findings.add(Invariant::OneOwner, || {
                format!(
                    "{}: claimed by {other} and by {}",
                    cell_name(timeline, &claim.show, claim.cell),
                    claim.order
                )
            });
        }
    }
}

fn one_ticket(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut owners: HashMap<(&str, &str, u16), &str> = HashMap::new();
    for ticket in &timeline.dump.tickets {
        // A void ticket admits nobody, and its seat may be sold again.
        let void = ticket.void_ms.is_some();
        if void
            || timeline
                .dump
                .order(&ticket.order)
                .is_some_and(|order| !order.lives())
        {
            continue;
        }
        for leg in &ticket.legs {
            if let Some(other) = owners.insert((&ticket.show, &ticket.label, *leg), &ticket.ticket)
            {
                findings.add(Invariant::OneOwner, || {
                    format!(
                        "seat {} of {}, leg {leg}: tickets {other} and {}",
                        ticket.label, ticket.show, ticket.ticket
                    )
                });
            }
        }
    }
}

/// Returns the spans in which an order certainly had its seats. The first span begins with the
/// answer to the call that made the order or, if no answer arrived, when the ledger says that the
/// order was made. If the answer came after the order had lost its seats, there is no first span.
/// An order that the ledger had lost has its seats since it was restored: of what happened to them
/// before, the ledger has only what it was told again.
fn certain_spans<'a>(timeline: &RunTimeline<'a>, order: &'a DumpedOrder) -> Vec<OrderSeatSpan<'a>> {
    let first_order_call = timeline
        .orders
        .get(order.order.as_str())
        .and_then(|calls| calls.made.first());
    let made_ms = first_order_call.map_or(order.created_ms, |(call, _)| {
        call.done_ms.max(order.created_ms)
    });
    let since_ms = order.restored_ms().unwrap_or(made_ms);
    let mut spans = order.seat_spans();
    if let Some(from_ms) = spans.first().map(|first| first.from_ms) {
        let firsts = spans.iter_mut().filter(|span| span.from_ms == from_ms);
        firsts.for_each(|span| span.from_ms = since_ms);
    }
    spans.retain(|span| span.from_ms < span.until_ms);
    spans
}

/// A span in which an order had a cell.
type OrderCellSpan<'a> = (f64, f64, &'a DumpedOrder);

fn one_order(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut by_cell: BTreeMap<(&str, u32), Vec<OrderCellSpan<'_>>> = BTreeMap::new();
    for order in &timeline.dump.orders {
        for span in certain_spans(timeline, order) {
            for cell in span.cells {
                by_cell.entry((&order.show, cell)).or_default().push((
                    span.from_ms,
                    span.until_ms,
                    order,
                ));
            }
        }
    }
    for ((show, cell), mut spans) in by_cell {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in spans.windows(2) {
            let ((_, until_ms, former), (since_ms, _, next)) = (pair[0], pair[1]);
            if since_ms < until_ms && former.order != next.order {
                findings.add(Invariant::OneOwner, || {
                    format!(
                        "{}: {} has had it since {since_ms:.0}, while {} had it until {until_ms:.0}",
                        cell_name(timeline, show, cell),
                        next.order,
                        former.order,
                    )
                });
            }
        }
    }
}

/// Checks that no hold gets a cell of a live order, not even after a restart.
fn no_basket_over_an_order(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut by_cell: HashMap<(&str, u32), Vec<OrderCellSpan<'_>>> = HashMap::new();
    for order in &timeline.dump.orders {
        for span in certain_spans(timeline, order) {
            for cell in span.cells {
                by_cell.entry((&order.show, cell)).or_default().push((
                    span.from_ms,
                    span.until_ms,
                    order,
                ));
            }
        }
    }
    for (id, hold) in &timeline.holds {
        let show = &*hold.hold_call.show;
        let seats = hold.hold_call.seats.iter();
        for cell in seats.flat_map(|seat| timeline.cells(hold.hold_call, seat)) {
            for (since_ms, until_ms, order) in by_cell.get(&(show, cell)).into_iter().flatten() {
                let sent_ms = hold.call.sent_ms;
                let has_order_cell =
                    order.hold != **id && *since_ms < sent_ms && hold.call.done_ms < *until_ms;
                if has_order_cell {
                    findings.add(Invariant::OneOwner, || {
                        format!(
                            "line {}: {id} was given {}, which {} had since {since_ms:.0}",
                            hold.call.line,
                            cell_name(timeline, show, cell),
                            order.order,
                        )
                    });
                }
            }
        }
    }
}

fn set<'a>(labels: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    labels.into_iter().collect()
}

fn whole_holds(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    for (id, hold) in &timeline.holds {
        let seats = set(hold.hold_call.seats.iter().map(|seat| &**seat));
        let line = hold.call.line;
        if seats.len() != hold.hold_call.seats.len() || seats.is_empty() {
            findings.add(Invariant::AllOrNone, || {
                format!("line {line}: {id} has no seat, or one twice: {seats:?}")
            });
        }
        if let Some(wanted) = &hold.hold_call.wanted {
            let wanted = set(wanted.iter().map(|seat| &**seat));
            if wanted != seats {
                findings.add(Invariant::AllOrNone, || {
                    format!("line {line}: {id} was asked for {wanted:?} and has {seats:?}")
                });
            }
        } else if let Some(quantity) = hold.hold_call.quantity
            && seats.len() as u64 != quantity
        {
            findings.add(Invariant::AllOrNone, || {
                format!("line {line}: {id} was asked for {quantity} seats and has {seats:?}")
            });
        }
        whole_changes(id, hold, seats, findings);
    }
}

fn whole_changes(
    id: &str,
    hold: &super::timeline::HoldTimeline<'_>,
    seats: BTreeSet<&str>,
    findings: &mut Findings,
) {
    let mut before = Some(seats);
    for (call, change) in &hold.changes {
        if !call.done() {
            if call.may_be_done() {
                before = None;
            }
            continue;
        }
        let after = set(change.seats.iter().map(|seat| &**seat));
        if let Some(mut expected) = before {
            expected.retain(|seat| !change.remove.iter().any(|removed| **removed == **seat));
            expected.extend(change.add.iter().map(|seat| &**seat));
            if expected != after {
                findings.add(Invariant::AllOrNone, || {
                    format!(
                        "line {}: {id} was to become {expected:?} and became {after:?}",
                        call.line
                    )
                });
            }
        }
        before = Some(after);
    }
}

/// Checks that refunded seats were seats of the order and were refunded once. Exactly the tickets
/// of refunded seats and of exchanged orders must be void.
fn refunded_seats(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut seats_of_order: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for refund in &timeline.dump.refunds {
        let mut wrong = |what: String| {
            findings.add(Invariant::AllOrNone, || {
                format!("{} of {}: {what}", refund.refund, refund.order)
            });
        };
        let seats = seats_of_order.entry(&refund.order).or_default();
        for label in &refund.labels {
            if !seats.insert(label) {
                wrong(format!("seat {label} was given back before"));
            }
        }
        let order = timeline.dump.order(&refund.order);
        if let Some(strange) = refund
            .cells
            .iter()
            .find(|cell| order.is_none_or(|order| !order.cells.contains(cell)))
        {
            wrong(format!("cell {strange} was never the order's"));
        }
    }
    for ticket in &timeline.dump.tickets {
        let seats_of_order = seats_of_order.get(&*ticket.order);
        let order = timeline.dump.order(&ticket.order);
        let is_returned = seats_of_order.is_some_and(|labels| labels.contains(&*ticket.label))
            || order.is_some_and(|order| order.state == "exchanged");
        if is_returned != ticket.void_ms.is_some() {
            findings.add(Invariant::AllOrNone, || {
                let validity = if is_returned { "good" } else { "void" };
                format!(
                    "{} for {} of {} is {validity}, and its seat was {}given back",
                    ticket.ticket,
                    ticket.label,
                    ticket.order,
                    if is_returned { "" } else { "not " }
                )
            });
        }
    }
}

fn whole_orders(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut claims: HashMap<&str, BTreeSet<u32>> = HashMap::new();
    for claim in &timeline.dump.claims {
        claims.entry(&claim.order).or_default().insert(claim.cell);
    }
    let mut tickets: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    let mut admits: HashMap<&str, BTreeSet<u32>> = HashMap::new();
    for ticket in &timeline.dump.tickets {
        tickets
            .entry(&ticket.order)
            .or_default()
            .insert(&ticket.label);
        if let Some(show) = timeline.dump.shows.get(&ticket.show) {
            let cells = show.cells(&ticket.label, Some(&ticket.legs));
            admits.entry(&ticket.order).or_default().extend(cells);
        }
    }
    for order in &timeline.dump.orders {
        let id = order.order.as_str();
        let cells: BTreeSet<u32> = order.cells.iter().copied().collect();
        let mut wrong = |what: String| {
            findings.add(Invariant::AllOrNone, || {
                format!("{id} ({}): {what}", order.state)
            })
        };
        if cells.is_empty() || cells.len() != order.cells.len() {
            wrong(format!("its cells are {:?}", order.cells));
        }
        made_for_its_hold(timeline, order, &mut wrong);
        let claimed = claims.remove(id).unwrap_or_default();
        let expected = if order.lives() {
            order.kept_cells().into_iter().collect()
        } else {
            BTreeSet::new()
        };
        if claimed != expected {
            wrong(format!(
                "it should claim cells {expected:?} and claims {claimed:?}"
            ));
        }
        let issued = tickets.remove(id).unwrap_or_default();
        right_tickets(order, &issued, admits.get(id), &mut wrong);
    }
    refunded_seats(timeline, findings);
    for (order, cells) in claims {
        findings.add(Invariant::AllOrNone, || {
            format!("cells {cells:?} are claimed by {order}, which is no order")
        });
    }
    for (order, labels) in tickets {
        findings.add(Invariant::AllOrNone, || {
            format!("tickets for {labels:?} are of {order}, which is no order")
        });
    }
}

/// Checks that an order is made for the seats and cells of its hold.
fn made_for_its_hold(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    wrong: &mut impl FnMut(String),
) {
    let Some(hold) = timeline.holds.get(order.hold.as_str()) else {
        return;
    };
    let at_order = hold.seats.as_ref().map(|seats| set(seats.iter().copied()));
    let made_labels = set(order.made_labels().iter().map(String::as_str));
    let cells_of_seats = |seats: &Vec<&str>| -> BTreeSet<u32> {
        let cells = seats
            .iter()
            .flat_map(|seat| timeline.cells(hold.hold_call, seat));
        cells.collect()
    };
    let taken_cells = hold.seats.as_ref().map(cells_of_seats);
    let order_cells = order.made_cells().iter().copied().collect();
    if let Some(held_labels) = at_order.filter(|labels| *labels != made_labels) {
        wrong(format!(
            "{} held {held_labels:?}, the order was made for {made_labels:?}",
            order.hold
        ));
    } else if let Some(taken_cells) = taken_cells.filter(|cells| *cells != order_cells) {
        wrong(format!(
            "{} took cells {taken_cells:?}, the order was made for {order_cells:?}",
            order.hold
        ));
    }
}

/// Checks that an order has tickets for exactly its seats and cells, or none, as its state
/// requires.
fn right_tickets(
    order: &DumpedOrder,
    issued: &BTreeSet<&str>,
    admits: Option<&BTreeSet<u32>>,
    wrong: &mut impl FnMut(String),
) {
    let cells: BTreeSet<u32> = order.cells.iter().copied().collect();
    let labels = set(order.labels.iter().map(String::as_str));
    let tickets_fit = match order.state.as_str() {
        "ticketed" => *issued == labels,
        "partly_refunded" | "exchanged" => *issued == labels,
        // The order was refunded before or after its tickets were issued.
        "refunded" => issued.is_empty() || *issued == labels,
        _ => issued.is_empty(),
    };
    if !tickets_fit {
        wrong(format!("its seats are {labels:?}, its tickets {issued:?}"));
    } else if !issued.is_empty() && admits != Some(&cells) {
        wrong(format!(
            "its cells are {cells:?}, and its tickets are for {admits:?}"
        ));
    }
}

//! Checks orders: what was acknowledged is in the ledger, a call without an answer has one outcome,
//! and every buyer who paid in time has tickets.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::dump::DumpedOrder;
use super::history::{HistoryCall, HistoryOperation, OrderRead};
use super::report::{Findings, Invariant};
use super::timeline::{OrderTimeline, RunTimeline};

/// How far the times of two programs on one machine may differ, in milliseconds, because each
/// program rounds its times.
const ROUNDING_MS: f64 = 5.0;

/// The most time between the time in a ledger row and the moment when the row can be read, in
/// milliseconds.
const WRITTEN_WITHIN_MS: f64 = 1_000.0;

/// Checks every order, and the visitors, keys and tickets of the run.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let tickets = timeline
        .dump
        .tickets
        .iter()
        .map(|ticket| (ticket.ticket.as_str(), ticket.order.as_str()))
        .collect();
    for (id, calls) in &timeline.orders {
        match timeline.dump.order(id) {
            Some(order) => {
                check_acknowledged(timeline, &tickets, calls, order, findings);
                reads_agree(timeline, calls, order, findings);
                paid_has_tickets(timeline, calls, order, findings);
            }
            None if !calls.made.is_empty() || !calls.reads.is_empty() => {
                let line = calls.made.first().map(|(call, _)| call.line);
                let line = line
                    .or_else(|| calls.reads.first().map(|(call, _)| call.line))
                    .unwrap_or(0);
                findings.add(Invariant::AckKept, || {
                    format!("line {line}: {id} is not in the ledger")
                });
            }
            None => {}
        }
    }
    one_visitor(timeline, findings);
    one_outcome(timeline, findings);
    ticketed_visitors(timeline, findings);
}

fn check_acknowledged(
    timeline: &RunTimeline<'_>,
    tickets: &HashMap<&str, &str>,
    calls: &OrderTimeline<'_>,
    order: &DumpedOrder,
    findings: &mut Findings,
) {
    let id = &order.order;
    let mut wrong = |line: u32, what: String| {
        findings.add(Invariant::AckKept, || format!("line {line}: {id}: {what}"))
    };
    made_as_answered(timeline, calls, order, &mut wrong);
    read_as_shown(timeline, tickets, calls, order, &mut wrong);
}

/// Checks an order against the answer to the call that made it.
fn made_as_answered(
    timeline: &RunTimeline<'_>,
    calls: &OrderTimeline<'_>,
    order: &DumpedOrder,
    wrong: &mut impl FnMut(u32, String),
) {
    for (call, made) in &calls.made {
        if *made.hold != *order.hold {
            wrong(
                call.line,
                format!("made of {}, the ledger says {}", made.hold, order.hold),
            );
        }
        let currency = made
            .currency
            .as_deref()
            .is_none_or(|currency| currency == order.currency);
        if made.amount != order.amount || !currency {
            wrong(
                call.line,
                format!(
                    "answered with the amount {} {}, the ledger says {} {}",
                    made.amount,
                    made.currency.as_deref().unwrap_or(""),
                    order.amount,
                    order.currency
                ),
            );
        }
        if let Some(state) = &made.state {
            state_kept(state, call.line, order, wrong);
        }
        let by_holder = timeline.visitor_of_holder.get(order.visitor.as_str());
        if by_holder.is_some_and(|visitor| *visitor != call.visitor) {
            wrong(
                call.line,
                format!(
                    "answered to visitor {}, the ledger has it for holder {}",
                    call.visitor, order.visitor
                ),
            );
        }
    }
}

/// Checks an order against the answers to its reads.
fn read_as_shown(
    timeline: &RunTimeline<'_>,
    tickets: &HashMap<&str, &str>,
    calls: &OrderTimeline<'_>,
    order: &DumpedOrder,
    wrong: &mut impl FnMut(u32, String),
) {
    let id = &order.order;
    for (call, read) in &calls.reads {
        state_kept(&read.state, call.line, order, wrong);
        if let Some(unknown_ticket) = read
            .tickets
            .iter()
            .find(|ticket| tickets.get(&***ticket) != Some(&id.as_str()))
        {
            wrong(
                call.line,
                format!("ticket {unknown_ticket} was shown and is not in the ledger"),
            );
        }
        let possible_seats = seats_while(timeline, order, call);
        if let Some(seats) = seats_of(read).filter(|seats| !possible_seats.contains(seats)) {
            wrong(
                call.line,
                format!("was shown with {seats:?}, the ledger says {possible_seats:?}"),
            );
        }
        if read.total.is_some_and(|total| total != order.cost()) {
            wrong(
                call.line,
                format!(
                    "was shown to cost {:?}, the ledger says {}",
                    read.total,
                    order.cost()
                ),
            );
        }
    }
}

/// Checks a state that the buyer was told. It must be in the order's history, and the order's last
/// state must be one that can follow it.
fn state_kept(state: &str, line: u32, order: &DumpedOrder, wrong: &mut impl FnMut(u32, String)) {
    let was_in_history = order.history.iter().any(|step| step.state == state);
    let later: &[&str] = match state {
        "confirmed" => &[
            "confirmed",
            "ticketed",
            "capture_failed",
            "partly_refunded",
            "refunded",
            "exchanged",
            // The new order of an exchange is cancelled if the old order can no longer be
            // exchanged.
            if order.made_in.is_some() {
                "cancelled"
            } else {
                "confirmed"
            },
        ],
        "ticketed" => &["ticketed", "partly_refunded", "refunded", "exchanged"],
        "partly_refunded" => &["partly_refunded", "refunded", "exchanged"],
        "refunded" => &["refunded"],
        "exchanged" => &["exchanged"],
        _ => {
            return if !was_in_history {
                wrong(
                    line,
                    format!("was shown as {state}, which the ledger never had"),
                )
            };
        }
    };
    if !was_in_history || !later.contains(&order.state.as_str()) {
        wrong(
            line,
            format!("was shown as {state}, the ledger says {}", order.state),
        );
    }
}

/// Returns every set of seats that a call may have read in an order. Refunded seats may be shown
/// for a moment after the refund. The seats that the order was made for are shown until late money
/// buys other seats.
fn seats_while<'a>(
    timeline: &RunTimeline<'_>,
    order: &'a DumpedOrder,
    call: &HistoryCall,
) -> Vec<BTreeSet<&'a str>> {
    let set =
        |labels: &'a [String]| -> BTreeSet<&'a str> { labels.iter().map(String::as_str).collect() };
    let made_for = order.made_for.as_ref().map(|seats| set(&seats.labels));
    let mut possible: Vec<BTreeSet<&str>> = made_for.into_iter().collect();
    let mut seats = set(&order.labels);
    for returned in &order.given_back {
        let surely_returned = returned.at_ms + WRITTEN_WITHIN_MS < call.sent_ms
            && !timeline.history.halted_within(returned.at_ms, call.sent_ms);
        if !surely_returned {
            possible.push(seats.clone());
        }
        if returned.at_ms > call.done_ms + ROUNDING_MS {
            return possible;
        }
        seats.retain(|seat| returned.labels.iter().all(|label| label != seat));
    }
    possible.push(seats);
    possible
}

fn seats_of(read: &OrderRead) -> Option<BTreeSet<&str>> {
    read.seats
        .as_ref()
        .map(|seats| seats.iter().map(|seat| &**seat).collect())
}

/// Checks that each holder in the ledger is one visitor of the run, and that each visitor is one
/// holder in a room.
fn one_visitor(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut holder_of: HashMap<(u64, &str), &str> = HashMap::new();
    let mut visitor_of: HashMap<&str, u64> = HashMap::new();
    let calls = timeline.history.calls.iter();
    let left_visitors: HashSet<u64> = calls
        .filter(|call| matches!(call.op, HistoryOperation::Leave))
        .map(|call| call.visitor)
        .collect();
    for (id, calls) in &timeline.orders {
        let Some(order) = timeline.dump.order(id).filter(|_| !calls.made.is_empty()) else {
            continue;
        };
        let visitor = *visitor_of.entry(&order.visitor).or_insert(calls.visitor);
        let holder = *holder_of
            .entry((calls.visitor, &order.room))
            .or_insert(&order.visitor);
        // A visitor who left may have joined again with a new secret.
        let other_holder = holder != order.visitor && !left_visitors.contains(&calls.visitor);
        if visitor != calls.visitor || other_holder {
            findings.add(Invariant::AckKept, || {
                format!("{id} was answered to visitor {}, the ledger has it for the holder of visitor {visitor}", calls.visitor)
            });
        }
    }
}

/// Checks that one key made at most one hold or order, and that one hold became at most one order.
fn one_outcome(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut by_key: HashMap<(u64, &str, &str), (&str, u32)> = HashMap::new();
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        let (op, made_id) = match &call.op {
            HistoryOperation::Hold(hold) => ("hold", &*hold.hold),
            HistoryOperation::Order(order) => ("order", &*order.order),
            _ => continue,
        };
        let Some(key) = &call.key else { continue };
        let (first_id, line) = *by_key
            .entry((call.visitor, op, key))
            .or_insert((made_id, call.line));
        if first_id != made_id {
            findings.add(Invariant::OneOutcome, || {
                format!(
                    "lines {line} and {}: one key of visitor {} made {first_id} and {made_id}",
                    call.line, call.visitor
                )
            });
        }
    }
    let mut by_hold: HashMap<&str, &str> = HashMap::new();
    for order in &timeline.dump.orders {
        if let Some(first_order) = by_hold.insert(&order.hold, &order.order) {
            findings.add(Invariant::OneOutcome, || {
                format!("{} became {first_order} and {}", order.hold, order.order)
            });
        }
    }
    for (id, hold) in &timeline.holds {
        let made_orders: BTreeSet<&str> = hold
            .orders
            .iter()
            .filter(|(call, _)| call.done())
            .map(|(_, order)| &*order.order)
            .collect();
        if made_orders.len() > 1 {
            findings.add(Invariant::OneOutcome, || {
                format!("{id} was answered with {made_orders:?}")
            });
        }
    }
}

/// Checks that reads never show an order going back to an earlier state. Two reads are compared if
/// one was answered before the other was sent. If the last read was sent well after the last step,
/// it must show the ledger's last state.
fn reads_agree(
    timeline: &RunTimeline<'_>,
    calls: &OrderTimeline<'_>,
    order: &DumpedOrder,
    findings: &mut Findings,
) {
    let steps = &order.history;
    let first = |state: &str| steps.iter().position(|step| step.state == state);
    let last = |state: &str| steps.iter().rposition(|step| step.state == state);
    let mut reads: Vec<_> = calls.reads.iter().collect();
    reads.sort_by(|(a, _), (b, _)| a.done_ms.total_cmp(&b.done_ms));
    for pair in reads.windows(2) {
        let ((call_before, before), (call_after, after)) = (pair[0], pair[1]);
        if call_after.sent_ms < call_before.done_ms {
            continue;
        }
        if let (Some(earlier), Some(later)) = (first(&before.state), last(&after.state))
            && later < earlier
        {
            findings.add(Invariant::OneOutcome, || {
                format!(
                    "{}: line {} read {}, and line {} after it {}",
                    order.order, call_before.line, before.state, call_after.line, after.state
                )
            });
        }
    }
    if let (Some((call, read)), Some(step)) = (reads.last(), steps.last())
        && call.sent_ms > step.at_ms + WRITTEN_WITHIN_MS
        && *read.state != order.state
        && last(&read.state).is_some()
        // If a transaction halted midway, its row has a time before the halt, but can be read only
        // after the halt.
        && !timeline.history.halted_within(step.at_ms, call.sent_ms)
    {
        findings.add(Invariant::OneOutcome, || {
            format!(
                "line {}: {} was read as {} after the ledger had it as {}",
                call.line, order.order, read.state, order.state
            )
        });
    }
}

fn paid_has_tickets(
    timeline: &RunTimeline<'_>,
    calls: &OrderTimeline<'_>,
    order: &DumpedOrder,
    findings: &mut Findings,
) {
    let paid = calls
        .pays
        .iter()
        .find(|(call, pay)| pay.approve && call.done() && call.done_ms <= order.pay_until_ms);
    let Some((call, _)) = paid else { return };
    // A paid order gets no tickets if the buyer cancelled it, if the card had reached its limit, if
    // the old order could no longer be exchanged, or if it ended with its show before the payment
    // was known.
    let mut cancelled = timeline.history.cancelled.iter();
    let ended_with_show = order.had_reason("cancelled_with_show")
        && cancelled.any(|show| show.show == order.show && show.asked_ms <= call.done_ms);
    let given_up = ended_with_show
        || calls.cancels.iter().any(|cancel| cancel.may_be_done())
        || (order.state == "cancelled" && order.reason == "card_limit")
        || (order.made_in.is_some() && order.reason == "exchange_over");
    // If a part of the system halted between the payment and the order's last deadline, the payment
    // may have come too late. The money is then refunded.
    let late = timeline
        .history
        .halted_within(call.sent_ms, order.claim_until_ms);
    let has_tickets = matches!(
        order.state.as_str(),
        "ticketed" | "partly_refunded" | "refunded" | "exchanged"
    );
    if !has_tickets && !given_up && !late {
        findings.add(Invariant::PaidHas, || {
            format!(
                "line {}: visitor {} paid for {} {:.1} s before the deadline, and it is {}",
                call.line,
                calls.visitor,
                order.order,
                (order.pay_until_ms - call.done_ms) / 1_000.0,
                order.state
            )
        });
    }
}

/// Checks that every visitor who ended with tickets has an order that was ticketed.
fn ticketed_visitors(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut ticketed: HashSet<u64> = HashSet::new();
    for order in timeline
        .dump
        .orders
        .iter()
        .filter(|order| order.first("ticketed").is_some())
    {
        ticketed.extend(timeline.visitor_of(order));
    }
    for (visitor, outcome) in &timeline.history.ends {
        if outcome == "ticketed" && !ticketed.contains(visitor) {
            findings.add(Invariant::PaidHas, || {
                format!("visitor {visitor} ended with tickets, and the ledger has none")
            });
        }
    }
}

//! Checks the end of a run: no work is left unfinished, and the run was complete.

use std::collections::HashMap;

use super::dump::DumpedLedger;
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How much later than its deadline an order may expire, in milliseconds.
const EXPIRY_LATE_MS: f64 = 2_000.0;

/// The percentage of the planned visitors that must have an end other than `failed`.
const ACCOUNTED_PCT: u64 = 95;

/// Checks pending work, open orders and payments, and the visitors.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    work_pending(timeline.dump, findings);
    orders_pending(timeline.dump, findings);
    accounted(timeline, findings);
}

/// Checks that the ledger has no unfinished seat rows, effects, provider events or refunds.
fn work_pending(dump: &DumpedLedger, findings: &mut Findings) {
    let mut unsettled = |what: String| findings.add(Invariant::Settled, || what);
    let pending = &dump.pending;
    for (count, what) in [
        (
            pending.seat_rows.unwrap_or(0),
            "seat rows are not delivered",
        ),
        (pending.effects, "effects are not done"),
        (pending.events, "provider events are not settled"),
    ] {
        if count > 0 {
            unsettled(format!("{count} {what}"));
        }
    }
    let effects = dump.effects.iter();
    for effect in effects.filter(|effect| effect.done_ms.is_none()) {
        unsettled(format!(
            "the {} of {} is not done",
            effect.what, effect.order
        ));
    }
    let refunds = dump.refunds.iter();
    for refund in refunds.filter(|refund| refund.done_ms.is_none()) {
        unsettled(format!("{} of {} is not done", refund.refund, refund.order));
    }
}

/// Checks that no order is open after its deadline, that no order is still confirmed without
/// tickets, and that no payment is still authorised.
fn orders_pending(dump: &DumpedLedger, findings: &mut Findings) {
    let mut unsettled = |what: String| findings.add(Invariant::Settled, || what);
    for order in &dump.orders {
        match order.state.as_str() {
            state @ ("pending" | "awaiting_consent")
                if order.claim_until_ms + EXPIRY_LATE_MS < dump.at_ms =>
            {
                unsettled(format!(
                    "{} is {state}, {:.1} s after its deadline",
                    order.order,
                    (dump.at_ms - order.claim_until_ms) / 1_000.0
                ));
            }
            "confirmed" => unsettled(format!(
                "{} is confirmed, and its money is not captured",
                order.order
            )),
            _ => {}
        }
    }
    let awaits_consent = |order: &str| {
        // The buyer may still accept or refuse the offered seats. The deadline of the order is
        // checked above.
        dump.order(order)
            .is_some_and(|order| order.state == "awaiting_consent")
    };
    for payment in dump
        .payments
        .iter()
        .filter(|payment| payment.state == "authorised" && !awaits_consent(&payment.order))
    {
        unsettled(format!(
            "{} of {} is authorised, neither captured nor released",
            payment.payment, payment.order
        ));
    }
}

fn accounted(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut missing = |what: String| findings.add(Invariant::Accounted, || what);
    let Some(run) = &timeline.history.run else {
        return missing("the history is empty".to_owned());
    };
    if run.planned == 0 {
        missing("nobody was planned".to_owned());
    }
    if timeline.history.finished_ms.is_none() {
        missing("the run did not finish".to_owned());
    }
    let ends: HashMap<u64, &str> = (timeline.history.ends.iter())
        .filter(|(visitor, _)| *visitor < run.planned)
        .map(|(visitor, outcome)| (*visitor, outcome.as_str()))
        .collect();
    let accounted_for = ends
        .values()
        .filter(|outcome| **outcome != "failed")
        .count() as u64;
    if accounted_for * 100 < run.planned * ACCOUNTED_PCT {
        missing(format!(
            "{accounted_for} of {} visitors are accounted for, and {} failed; at least {ACCOUNTED_PCT} % must be accounted for",
            run.planned,
            ends.len() as u64 - accounted_for
        ));
    }
}

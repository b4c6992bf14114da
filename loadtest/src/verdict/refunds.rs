//! Checks refunds: a ticket is refunded only if its buyer named it or its show was cancelled or
//! postponed, and no call makes two refunds. The refund reports that the promoter read are checked,
//! too. [`super::prices`] checks the fees.

use std::collections::{BTreeSet, HashMap};

use super::dump::{DumpedOrder, DumpedRefund};
use super::history::{
    HistoryCancellation, HistoryRefundReport, RefundReportAmount, RefundReportFigures,
    RefundReportSum,
};
use super::report::{Findings, Invariant};
use super::timeline::{OrderTimeline, RunTimeline};

/// How far the times of two programs on one machine may differ, in milliseconds, because each
/// program rounds its times.
const ROUNDING_MS: f64 = 5.0;

/// Checks all refunds.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut by_order: HashMap<&str, Vec<&DumpedRefund>> = HashMap::new();
    for refund in &timeline.dump.refunds {
        by_order.entry(&refund.order).or_default().push(refund);
        // If a refund is part of another, only the other's reason is checked. Both have the same
        // reason.
        let order = timeline.dump.order(&refund.order);
        if let Some(order) = order.filter(|_| refund.part_of.is_none()) {
            check_reason(timeline, order, refund, findings);
        }
    }
    for (id, order_calls) in &timeline.orders {
        if let Some(order) = timeline.dump.order(id) {
            check_acknowledged(timeline, order, order_calls, findings);
        }
    }
    for order in timeline
        .dump
        .orders
        .iter()
        .filter(|order| timeline.of_this_run(order))
    {
        let order_refunds = by_order.get(&*order.order).map_or(&[][..], Vec::as_slice);
        check_requested(timeline, order, order_refunds, findings);
    }
    for cancelled in &timeline.history.cancelled {
        nothing_left(timeline, cancelled, findings);
    }
    progress(timeline, findings);
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Refunds, evidence);
}

fn cancelled<'a>(timeline: &RunTimeline<'a>, show: &str) -> Option<&'a HistoryCancellation> {
    let mut cancellations = timeline.history.cancelled.iter();
    cancellations.find(|cancelled| cancelled.show == show)
}

/// Checks the reason of a refund against the time when the show was cancelled.
fn check_reason(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    refund: &DumpedRefund,
    findings: &mut Findings,
) {
    let id = &refund.refund;
    let cancelled = cancelled(timeline, &order.show);
    match refund.reason.as_str() {
        "show_cancelled"
            if cancelled.is_none_or(|show| refund.at_ms + ROUNDING_MS < show.asked_ms) =>
        {
            wrong(findings, || {
                let (show, at_ms) = (&order.show, refund.at_ms);
                format!("{id}: {show} was not cancelled by {at_ms:.0}")
            });
        }
        "refund_by_buyer" | "train_retimed"
            if cancelled.is_some_and(|show| refund.at_ms > show.at_ms + ROUNDING_MS) =>
        {
            wrong(findings, || {
                let show = &order.show;
                format!("{id}: {show} had been cancelled, and the refund has another reason")
            });
        }
        // A postponed show has its own rules, which `prices` checks.
        _ => {}
    }
}

/// Checks the refunds that have the buyer's request as their reason. The buyer must have asked for
/// every ticket, and no call may have made more than one refund.
fn check_requested(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    refunds: &[&DumpedRefund],
    findings: &mut Findings,
) {
    let requested: Vec<&DumpedRefund> = refunds
        .iter()
        .copied()
        .filter(|refund| {
            let is_asked_for = ["refund_by_buyer", "train_retimed"].contains(&&*refund.reason);
            is_asked_for && refund.part_of.is_none()
        })
        .collect();
    let order_calls = timeline.orders.get(&*order.order);
    let calls = order_calls.map_or(&[][..], |calls| &calls.refunds);
    let possible_calls = calls.iter().filter(|(call, _)| call.may_be_done());
    let mut keys = BTreeSet::new();
    let (mut asked_for_all, mut labels) = (false, BTreeSet::new());
    for (call, refund) in possible_calls {
        keys.insert((call.key.as_deref(), call.key.is_none().then_some(call.line)));
        match &refund.named {
            None => asked_for_all = true,
            Some(named) => labels.extend(labels_of(timeline, &order.order, named)),
        }
    }
    for refund in &requested {
        let strange = refund
            .labels
            .iter()
            .find(|label| !labels.contains(&***label));
        if let Some(label) = strange.filter(|_| !asked_for_all) {
            wrong(findings, || {
                format!(
                    "{}: no call asked for the refund of {label} of {}",
                    refund.refund, order.order
                )
            });
        }
    }
    if requested.len() > keys.len() {
        wrong(findings, || {
            format!(
                "{}: {} refunds were made for {} requests",
                order.order,
                requested.len(),
                keys.len()
            )
        });
    }
}

/// Returns the seats of the named tickets of an order.
fn labels_of<'a>(timeline: &RunTimeline<'a>, order: &str, named: &[Box<str>]) -> BTreeSet<&'a str> {
    let tickets = timeline.dump.tickets.iter();
    let named = tickets.filter(|ticket| {
        ticket.order == order && named.iter().any(|named| **named == *ticket.ticket)
    });
    named.map(|ticket| ticket.label.as_str()).collect()
}

/// Checks that the seats of every acknowledged refund are refunded in the ledger.
fn check_acknowledged(
    timeline: &RunTimeline<'_>,
    order: &DumpedOrder,
    order_calls: &OrderTimeline<'_>,
    findings: &mut Findings,
) {
    let returned_labels: BTreeSet<&str> = order
        .given_back
        .iter()
        .flat_map(|seats| seats.labels.iter().map(String::as_str))
        .collect();
    for (call, refund) in order_calls.refunds.iter().filter(|(call, _)| call.done()) {
        let expected = match &refund.named {
            None => order.labels.iter().map(String::as_str).collect(),
            Some(named) => labels_of(timeline, &order.order, named),
        };
        if let Some(label) = expected.difference(&returned_labels).next() {
            findings.add(Invariant::AckKept, || {
                format!(
                    "line {}: the refund of {label} of {} was acknowledged, and the ledger does not have it",
                    call.line, order.order
                )
            });
        }
    }
}

/// Checks that no order of a cancelled show is still open or sold, and that no order was made after
/// the cancellation.
fn nothing_left(timeline: &RunTimeline<'_>, show: &HistoryCancellation, findings: &mut Findings) {
    let orders = timeline.dump.orders.iter();
    for order in orders.filter(|order| order.show == show.show) {
        if order.created_ms > show.at_ms + ROUNDING_MS {
            wrong(findings, || {
                format!("{} was made after {} was cancelled", order.order, show.show)
            });
        }
        // The tickets of visitors who had entered are not refunded.
        let tickets = timeline.dump.tickets.iter();
        let mut valid_tickets =
            tickets.filter(|one| one.order == order.order && one.void_ms.is_none());
        let all_entered =
            order.first("ticketed").is_some() && valid_tickets.all(|one| one.scanned_ms.is_some());
        let is_ended = all_entered
            || matches!(
                order.state.as_str(),
                "refunded" | "exchanged" | "expired" | "cancelled" | "capture_failed"
            );
        if !is_ended {
            wrong(findings, || {
                format!(
                    "{} is {}, and {} was cancelled",
                    order.order, order.state, show.show
                )
            });
        }
    }
}

/// Checks that the reported counts of refunds never fall, that the last report matches the ledger,
/// and that a planned cancellation happened.
fn progress(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut last_reports: HashMap<&str, &HistoryRefundReport> = HashMap::new();
    for report in &timeline.history.progress {
        let earlier = last_reports.insert(&report.show, report);
        let larger_earlier = earlier.filter(|earlier| {
            earlier.at_ms <= report.asked_ms
                && (report.told.done.refunds < earlier.told.done.refunds
                    || report.told.orders_refunded < earlier.told.orders_refunded)
        });
        if let Some(earlier) = larger_earlier {
            wrong(findings, || {
                format!(
                    "line {}: the report on {} counts fewer refunds than the one at line {}",
                    report.line, report.show, earlier.line
                )
            });
        }
    }
    let planned = timeline
        .history
        .run
        .as_ref()
        .and_then(|run| run.cancels.as_deref());
    if let Some(show) = planned
        .filter(|show| cancelled(timeline, show).is_none() || !last_reports.contains_key(show))
    {
        wrong(findings, || {
            format!(
                "{show} was to be cancelled, but its cancellation or its refund report is missing"
            )
        });
    }
    for (show, report) in last_reports {
        check_last_report(timeline, show, report, findings);
    }
}

fn check_last_report(
    timeline: &RunTimeline<'_>,
    show: &str,
    report: &HistoryRefundReport,
    findings: &mut Findings,
) {
    let dump = timeline.dump;
    let of_show = |order: &str| dump.order(order).is_some_and(|order| order.show == show);
    let whole: BTreeSet<&str> = dump
        .refunds
        .iter()
        .filter(|refund| refund.part_of.is_none() && of_show(&refund.order))
        .map(|refund| refund.refund.as_str())
        .collect();
    let refunds = || {
        let refunds = dump.refunds.iter();
        refunds.filter(|refund| {
            let name = refund.part_of.as_ref().unwrap_or(&refund.refund);
            whole.contains(name.as_str())
        })
    };
    let sum = |is_done: bool| {
        let matching = || refunds().filter(|refund| refund.done_ms.is_some() == is_done);
        RefundReportSum {
            refunds: matching().count() as u64,
            amount: RefundReportAmount {
                amount: matching().map(|refund| refund.amount).sum(),
            },
        }
    };
    let given_back = |order: &&DumpedOrder| {
        order.show == show && matches!(order.state.as_str(), "refunded" | "partly_refunded")
    };
    let RefundReportFigures {
        fate,
        orders_left,
        orders_refunded,
        on_its_way,
        done,
        failed,
        fees,
    } = &report.told;
    let is_cancelled = cancelled(timeline, show).is_some();
    let is_right = (fate.as_deref() == Some("cancelled")) == is_cancelled
        && !(is_cancelled && *orders_left != 0)
        && *orders_refunded == dump.orders.iter().filter(given_back).count() as u64
        && on_its_way.refunds + failed.refunds == sum(false).refunds
        && *done == sum(true)
        && fees.amount == refunds().map(|refund| refund.fee).sum::<i64>();
    if !is_right {
        wrong(findings, || {
            format!(
                "line {}: the report on {show} says {:?}, and the ledger says otherwise",
                report.line, report.told
            )
        });
    }
}

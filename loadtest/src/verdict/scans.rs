//! Checks scans: a ticket admits once, and a ticket that admitted is neither refunded nor
//! exchanged. A scan that is sent again with the same key within 60 s is the same scan.

use std::collections::HashMap;

use super::dump::DumpedTicket;
use super::history::{HistoryCall, HistoryOperation};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How long after a scan a repeated call with the same key counts as the same scan, in
/// milliseconds.
const KEY_COUNTS_MS: f64 = 60_000.0;
/// How far the times of two programs on one machine may differ, in milliseconds, because each
/// program rounds its times.
const ROUNDING_MS: f64 = 5.0;

/// Checks all scans. Returns how many scans admitted somebody.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let tickets = timeline.dump.tickets.iter();
    let tickets: HashMap<&str, &DumpedTicket> = tickets
        .map(|ticket| (ticket.ticket.as_str(), ticket))
        .collect();
    let mut scans: HashMap<&str, Vec<&HistoryCall>> = HashMap::new();
    for call in &timeline.history.calls {
        if let HistoryOperation::Scan { ticket } = &call.op {
            scans.entry(ticket).or_default().push(call);
        }
    }
    let mut entries = 0;
    for (id, calls) in &scans {
        let admissions: Vec<&HistoryCall> =
            calls.iter().copied().filter(|call| call.done()).collect();
        entries += admissions.len() as u64;
        check_single_scan(id, &admissions, findings);
        match tickets.get(id) {
            Some(ticket) => check_recorded(ticket, &admissions, findings),
            None if admissions.is_empty() => {}
            None => wrong(findings, || {
                format!("{id} admitted somebody, and is no ticket")
            }),
        }
    }
    for ticket in &timeline.dump.tickets {
        let calls = scans.get(&*ticket.ticket).map_or(&[][..], Vec::as_slice);
        let may_be_scanned = calls.iter().any(|call| call.may_be_done());
        let of_run = timeline.dump.order(&ticket.order);
        let of_run = of_run.is_some_and(|order| timeline.of_this_run(order));
        if let Some(scanned_ms) = ticket.scanned_ms.filter(|_| of_run && !may_be_scanned) {
            wrong(findings, || {
                format!(
                    "{} was scanned at {scanned_ms:.0}, and no call scanned it",
                    ticket.ticket
                )
            });
        }
        // Money that goes back at the provider also ends tickets that were used.
        let order = timeline.dump.order(&ticket.order);
        let ended_there = order.is_some_and(|order| {
            order.had_reason("refunded_at_provider") || order.had_reason("dispute_lost")
        });
        if let (Some(scanned_ms), Some(void_ms)) = (ticket.scanned_ms, ticket.void_ms)
            && !ended_there
        {
            wrong(findings, || {
                format!(
                    "{} admitted at {scanned_ms:.0}, and was refunded or exchanged at {void_ms:.0}",
                    ticket.ticket
                )
            });
        }
    }
    entries
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Scans, evidence);
}

/// Checks that all successful scans of a ticket are one scan: they have the same key and are close
/// enough in time.
fn check_single_scan(id: &str, admissions: &[&HistoryCall], findings: &mut Findings) {
    let first = admissions
        .iter()
        .min_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
    let Some(first) = first else { return };
    for other in admissions.iter().filter(|call| call.line != first.line) {
        let same_key = first.key.is_some() && first.key == other.key;
        if !same_key || other.sent_ms > first.done_ms + KEY_COUNTS_MS {
            wrong(findings, || {
                format!(
                    "{id} admitted twice: lines {} and {}, with keys {:?} and {:?}",
                    first.line, other.line, first.key, other.key
                )
            });
        }
    }
}

/// Checks that a ticket with a successful scan is scanned in the ledger, and no later than the
/// first answer.
fn check_recorded(ticket: &DumpedTicket, admissions: &[&HistoryCall], findings: &mut Findings) {
    let Some(first) = admissions
        .iter()
        .min_by(|a, b| a.done_ms.total_cmp(&b.done_ms))
    else {
        return;
    };
    let is_recorded = ticket
        .scanned_ms
        .is_some_and(|at| at <= first.done_ms + ROUNDING_MS);
    if !is_recorded {
        findings.add(Invariant::AckKept, || {
            format!(
                "line {}: {} admitted, and the ledger has it as scanned at {:?}",
                first.line, ticket.ticket, ticket.scanned_ms
            )
        });
    }
}

//! Checks waitlists: freed seats are offered to the first party that waits, is present and would
//! take them. No hold is offered to two parties, and an acknowledged waitlist entry is in the
//! ledger.

use std::collections::{HashMap, HashSet};

use super::dump::{DumpedOffer, DumpedWaiter};
use super::history::{HistoryCall, HistoryOperation, WaitCall};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How long a party counts as present after its last call about the waitlist, in milliseconds.
const HERE_MS: f64 = 15_000.0;
/// How long the waitlist may take to learn that a party is present, in milliseconds.
const KNOWN_WITHIN_MS: f64 = 4_000.0;

/// Checks all waitlists. Returns how many offers were compared with the parties that waited.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let mut reads: HashMap<&str, Vec<&HistoryCall>> = HashMap::new();
    let known_waiters: HashSet<&str> = timeline
        .dump
        .waiters
        .iter()
        .map(|waiter| &*waiter.waiter)
        .collect();
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        let HistoryOperation::Wait(wait) = &call.op else {
            continue;
        };
        if wait.waiter.is_empty() {
            continue;
        }
        reads.entry(&wait.waiter).or_default().push(call);
        acknowledged(call, wait, &known_waiters, findings);
    }
    let mut offers = 0;
    let mut offered: HashMap<&str, &DumpedWaiter> = HashMap::new();
    for waiter in &timeline.dump.waiters {
        let Some(offer) = &waiter.offer else { continue };
        offers += 1;
        if let Some(other) = offered.insert(&offer.hold, waiter) {
            wrong(findings, || {
                format!(
                    "{} was offered to {} and to {}",
                    offer.hold, other.waiter, waiter.waiter
                )
            });
        }
        let mut others = timeline.dump.waiters.iter();
        let passed_over = others.find(|other| {
            let looks = reads.get(&*other.waiter).map_or(&[][..], Vec::as_slice);
            comes_first(other, waiter, offer) && is_here(timeline, looks, offer.made_ms)
        });
        if let Some(passed_over) = passed_over {
            wrong(findings, || {
                format!(
                    "{} ({}) was passed over for {} ({}) at {:.0}",
                    passed_over.waiter,
                    passed_over.number,
                    waiter.waiter,
                    waiter.number,
                    offer.made_ms
                )
            });
        }
    }
    offers
}

fn wrong(findings: &mut Findings, evidence: impl FnOnce() -> String) {
    findings.add(Invariant::Waitlist, evidence);
}

fn acknowledged(
    call: &HistoryCall,
    wait: &WaitCall,
    known_waiters: &HashSet<&str>,
    findings: &mut Findings,
) {
    if !known_waiters.contains(&*wait.waiter) {
        findings.add(Invariant::AckKept, || {
            format!(
                "line {}: {} waits for {}, and is not in the ledger",
                call.line, wait.waiter, wait.show
            )
        });
    }
}

/// Returns whether `other` should have got the offer that `waiter` got: it waited with a lower
/// number, had not had an offer, and would have taken the same seats. A party's number only grows,
/// and only when its offer ends. So if `other` has the lower number now, it also had the lower
/// number when the offer was made.
fn comes_first(other: &DumpedWaiter, waiter: &DumpedWaiter, offer: &DumpedOffer) -> bool {
    let made_ms = offer.made_ms;
    let was_waiting = other.number < waiter.number
        && other.since_ms < made_ms
        && other.ended_ms.is_none_or(|ended| ended > made_ms);
    let none_yet = match &other.offer {
        None => other.offers == 0,
        Some(later) => other.offers == 1 && later.made_ms > made_ms,
    };
    let fits = other.any && other.quantity <= waiter.quantity;
    other.show == waiter.show && was_waiting && none_yet && fits
}

/// Returns whether a party certainly counted as present at a moment.
fn is_here(timeline: &RunTimeline<'_>, looks: &[&HistoryCall], at_ms: f64) -> bool {
    looks.iter().any(|look| {
        let known_ms = look.done_ms + KNOWN_WITHIN_MS;
        // A fault may lose a call that a process had not yet stored.
        let disturbed = timeline.history.disturbed_within(look.sent_ms, known_ms);
        known_ms < at_ms && look.sent_ms + HERE_MS > at_ms && !disturbed
    })
}

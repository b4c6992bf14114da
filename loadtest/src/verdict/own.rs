//! Checks holds and keys. An order must be made of a hold that its visitor was given. Of several
//! requests with the same key and different bodies, at most one may succeed.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::history::{HistoryCall, HistoryOperation};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks holds and keys. Returns how many calls tried to order another visitor's hold, and how
/// many keys came with two or more bodies.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> (u64, u64) {
    baskets_in_the_ledger(timeline, findings);
    (foreign(timeline, findings), keys(timeline, findings))
}

/// Checks that no visitor orders a hold that it was never given. Returns how many calls tried to
/// order another visitor's hold.
fn foreign(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let mut tries = 0;
    for call in &timeline.history.calls {
        let hold = match &call.op {
            HistoryOperation::ForeignOrder { hold } => {
                tries += 1;
                hold
            }
            HistoryOperation::Order(order) => &order.hold,
            _ => continue,
        };
        let is_own =
            matches!(call.op, HistoryOperation::Order(_)) && may_own(timeline, hold, call.visitor);
        if call.done() && !is_own {
            findings.add(Invariant::OwnBasket, || {
                format!(
                    "line {}: visitor {} made an order of {hold}, which it was never given",
                    call.line, call.visitor
                )
            });
        }
    }
    tries
}

/// Returns whether a visitor was given or offered a hold, or may have got it by a call whose result
/// it never learned.
fn may_own(timeline: &RunTimeline<'_>, hold: &str, visitor: u64) -> bool {
    match timeline.holds.get(hold) {
        Some(hold) => hold.call.visitor == visitor,
        None => offered(timeline, hold, visitor) || has_lost_hold_call(timeline, visitor),
    }
}

/// Returns whether the hold was offered to a visitor on the waitlist.
fn offered(timeline: &RunTimeline<'_>, hold: &str, visitor: u64) -> bool {
    let waiters = timeline.dump.waiters.iter();
    let mut offered_to = waiters.filter(|waiter| {
        let offer = waiter.offer.as_ref();
        offer.is_some_and(|offer| offer.hold == hold)
    });
    offered_to.any(|waiter| timeline.visitor_of_holder.get(&*waiter.visitor) == Some(&visitor))
}

/// Returns whether the visitor made a call for a hold that may have succeeded, but whose result it
/// never learned.
fn has_lost_hold_call(timeline: &RunTimeline<'_>, visitor: u64) -> bool {
    timeline
        .lost_holds
        .iter()
        .any(|lost| lost.visitor == visitor)
}

/// Checks in the ledger that every order is made of its visitor's hold. The new order of an
/// exchange is not checked itself, but no other order may have the same hold.
fn baskets_in_the_ledger(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let successors: HashSet<&str> = timeline
        .dump
        .orders
        .iter()
        .filter(|order| order.made_in.is_some())
        .map(|order| &*order.hold)
        .collect();
    for order in &timeline.dump.orders {
        if order.made_in.is_some() || !timeline.of_this_run(order) {
            continue;
        }
        let buyer = timeline
            .orders
            .get(&*order.order)
            .map(|calls| calls.visitor);
        let visitor = buyer.or(timeline.visitor_of_holder.get(&*order.visitor).copied());
        let Some(visitor) = visitor else { continue };
        if successors.contains(&*order.hold) || !may_own(timeline, &order.hold, visitor) {
            findings.add(Invariant::OwnBasket, || {
                format!(
                    "{} of visitor {visitor} was made of {}, which it was never given",
                    order.order, order.hold
                )
            });
        }
    }
}

/// Checks that at most one body succeeded with each key. Returns how many keys had two or more
/// bodies.
fn keys(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    let mut by_key: HashMap<(u64, &str), Vec<&HistoryCall>> = HashMap::new();
    for call in &timeline.history.calls {
        if let Some(key) = &call.key {
            by_key.entry((call.visitor, key)).or_default().push(call);
        }
    }
    let mut twofold = 0;
    for ((visitor, key), calls) in by_key {
        let mut done_bodies: BTreeMap<&str, u32> = BTreeMap::new();
        let bodies: HashSet<&str> = calls
            .iter()
            .filter_map(|call| call.body.as_deref())
            .collect();
        if bodies.len() < 2 {
            continue;
        }
        twofold += 1;
        for call in calls.iter().filter(|call| call.done()) {
            done_bodies
                .entry(call.body.as_deref().unwrap_or_default())
                .or_insert(call.line);
        }
        if done_bodies.len() > 1 {
            findings.add(Invariant::OneKey, || {
                format!(
                    "lines {:?}: key {key} of visitor {visitor} had {} bodies carried out",
                    done_bodies.values().collect::<Vec<_>>(),
                    done_bodies.len()
                )
            });
        }
    }
    twofold
}

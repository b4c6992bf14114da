//! Checks that one card buys no more seats of a show than the limit. The check is made twice,
//! because cards have names in the history and hashes in the ledger.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// Checks all cards. Returns how many cards bought seats of a show with a limit. A card counts once
/// for each such show, and it counts separately in the history and in the ledger.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> u64 {
    // The sold seats, by show and card.
    let mut by_ledger: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut by_buyers: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for payment in &timeline.dump.payments {
        let order = timeline
            .dump
            .order(&payment.order)
            .filter(|order| order.sold());
        let Some(order) = order else { continue };
        for card in &payment.cards {
            let seats = by_ledger.entry((&order.show, card)).or_default();
            seats.extend(order.kept_labels());
        }
    }
    for (id, order_calls) in &timeline.orders {
        let order = timeline.dump.order(id).filter(|order| order.sold());
        // The card of the last approved payment paid for the order.
        let approved = order_calls.pays.iter().rev();
        let mut approved = approved.filter(|(call, pay)| pay.approve && call.done());
        let card = approved.find_map(|(_, pay)| pay.card.as_deref());
        let (Some(order), Some(card)) = (order, card) else {
            continue;
        };
        let seats = by_buyers.entry((&order.show, card)).or_default();
        seats.extend(order.kept_labels());
    }
    let mut limited = 0;
    for ((show, card), seats) in by_ledger.iter().chain(&by_buyers) {
        let Some(limit) = limit(timeline, show) else {
            continue;
        };
        limited += 1;
        if seats.len() as u64 > limit {
            findings.add(Invariant::Cards, || {
                format!(
                    "card {card} has {} seats of {show} and may have {limit}: {seats:?}",
                    seats.len()
                )
            });
        }
    }
    limited
}

fn limit(timeline: &RunTimeline<'_>, show: &str) -> Option<u64> {
    timeline.dump.shows.get(show)?.seats_per_card
}

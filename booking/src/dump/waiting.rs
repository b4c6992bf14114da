//! The record of a waitlist party, for a judge.

use fairgate_model::waiters::{OFFER_MS, Waiter};
use serde::Serialize;

/// A party that waits for seats of a show, or has waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaiterRecord {
    /// The party's id.
    pub waiter: String,
    /// The show.
    pub show: String,
    /// The visitor who waits.
    pub visitor: String,
    /// The party's number in the line. Lower numbers are served first.
    pub number: u64,
    /// When the party joined.
    pub since_ms: i64,
    /// The time until which the party wants to wait.
    pub until_ms: i64,
    /// When the visitor was last seen.
    pub seen_ms: i64,
    /// How many seats the party wants.
    pub quantity: u32,
    /// Whether any seats of the show will do.
    pub any: bool,
    /// How many offers the party got.
    pub offers: u32,
    /// How many of the offers the party did not take.
    pub missed: u32,
    /// The party's present offer, or the offer that it took.
    pub offer: Option<OfferRecord>,
    /// When the party stopped waiting. Null while it waits.
    pub ended_ms: Option<i64>,
    /// Why the party stopped waiting.
    pub reason: Option<String>,
}

/// Seats that are held for a party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferRecord {
    /// The hold's id.
    pub hold: String,
    /// When the offer was made.
    pub made_ms: i64,
}

impl WaiterRecord {
    /// Makes the record from a party in the ledger.
    #[must_use]
    pub fn from_waiter(waiter: &Waiter) -> Self {
        let party = &waiter.party;
        let any = party.categories.is_empty() && party.accessible == 0 && party.stretch.is_none();
        Self {
            waiter: waiter.id.to_string(),
            show: waiter.id.show().to_string(),
            visitor: waiter.visitor.to_string(),
            number: waiter.number,
            since_ms: waiter.since_ms,
            until_ms: waiter.until_ms,
            seen_ms: waiter.seen_ms,
            quantity: party.quantity,
            any,
            offers: waiter.offers,
            missed: waiter.missed,
            offer: waiter.offer.as_ref().map(|offer| OfferRecord {
                hold: offer.hold.to_string(),
                made_ms: offer.until_ms - OFFER_MS,
            }),
            ended_ms: waiter.ended.map(|(at_ms, _)| at_ms),
            reason: waiter.ended.map(|(_, why)| why.as_str().to_owned()),
        }
    }
}

//! The waitlist: parties that wait for seats of a show, first come, first served. What comes free
//! meanwhile is kept for them (`store`), and offered to the first of those who are here and whom it
//! fits.

pub mod share;
pub mod wish;

use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::ids::{HoldId, WaiterId};

/// Nobody waits longer: an hour.
pub const WAIT_MS_MAX: i64 = 3_600_000;
/// So long an offer is kept for its party.
pub const OFFER_MS: i64 = 60_000;
/// A party counts as here for so long after its page or its socket was last seen.
pub const HERE_MS: i64 = 15_000;
/// So many offers in a row that nobody took end the waiting.
pub const MISSED_MAX: u32 = 3;

/// What a party wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitlistParty {
    /// How many seats.
    pub quantity: u32,
    /// Category keys or labels, any of them; all where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// How many of the seats are for wheelchairs.
    #[serde(default)]
    pub accessible: u32,
    /// On a train: where it travels, and in which class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<WaitlistStretch>,
}

/// From one station to another in a class.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitlistStretch {
    /// The key of the class.
    pub class: String,
    /// The code of the station where the party gets on.
    pub from: String,
    /// The code of the one where it gets off.
    pub to: String,
}

/// A party on a show's waitlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// The id, which tells the show.
    pub id: WaiterId,
    /// Whose it is.
    pub visitor: Holder,
    /// The room of the pass that it came with.
    pub room: String,
    /// What it wants.
    pub party: WaitlistParty,
    /// Where it stands: lower numbers are served first.
    pub number: u64,
    /// When it came.
    pub since_ms: i64,
    /// When it gives up.
    pub until_ms: i64,
    /// When it was last seen.
    pub seen_ms: i64,
    /// Offers that it was made.
    pub offers: u32,
    /// Those of them that it let pass.
    pub missed: u32,
    /// The offer that it has now.
    pub offer: Option<WaitlistOffer>,
    /// When and why it ended.
    pub ended: Option<(i64, WaitEndReason)>,
}

/// Seats that are held for a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitlistOffer {
    /// The hold.
    pub hold: HoldId,
    /// Until when the party may take it.
    pub until_ms: i64,
    /// The life of the store's data that it was made in: a hold that is lost with it was not let
    /// pass.
    pub life: u64,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitlistOfferEnd {
    /// The party ordered the seats: it waits no longer.
    Taken,
    /// The party let it pass: it waits on behind all others.
    Missed,
    /// It was lost with the store's data: the party waits on where it stood.
    Lost,
}

/// How long seats for a party are sold, milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartySaleEnd {
    /// Until the train leaves the station where the party wants to get on.
    Leaves(i64),
    /// Until the show's sale ends.
    Ends(i64),
}

impl PartySaleEnd {
    /// When.
    #[must_use]
    pub fn at_ms(self) -> i64 {
        match self {
            Self::Leaves(at_ms) | Self::Ends(at_ms) => at_ms,
        }
    }
}

/// Why a party waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEndReason {
    /// It has its seats.
    Taken,
    /// It left.
    Left,
    /// It waited as long as anybody may.
    TimeOver,
    /// Fewer seats than it wants may still come free.
    TooFew,
    /// It let too many offers pass.
    Missed,
    /// It has as many seats as a visitor may have, or too many for these to come on top.
    Limit,
    /// The show was cancelled.
    Cancelled,
    /// The train has left the station where it wanted to get on.
    Departed,
    /// The show's sale has ended.
    SalesEnded,
}

impl WaitEndReason {
    const ALL: [Self; 9] = [
        Self::Taken,
        Self::Left,
        Self::TimeOver,
        Self::TooFew,
        Self::Missed,
        Self::Limit,
        Self::Cancelled,
        Self::Departed,
        Self::SalesEnded,
    ];

    /// The word in the ledger and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Left => "left",
            Self::TimeOver => "time_over",
            Self::TooFew => "too_few",
            Self::Missed => "missed",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Departed => "departed",
            Self::SalesEnded => "sales_ended",
        }
    }

    /// The end that a word tells of.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.as_str() == word)
    }
}

impl Waiter {
    /// Whether it was seen lately.
    #[must_use]
    pub fn is_here(&self, now_ms: i64) -> bool {
        self.seen_ms + HERE_MS > now_ms
    }

    /// Why its time is over, where it is. `sale` is how long seats for it are sold; a show that was
    /// postponed meanwhile is sold longer than it was when the party came.
    #[must_use]
    pub fn time_over(&self, sale: PartySaleEnd, now_ms: i64) -> Option<WaitEndReason> {
        let over = match sale {
            PartySaleEnd::Leaves(at_ms) => (at_ms <= now_ms).then_some(WaitEndReason::Departed),
            PartySaleEnd::Ends(at_ms) => (at_ms <= now_ms).then_some(WaitEndReason::SalesEnded),
        };
        over.or_else(|| (self.until_ms <= now_ms).then_some(WaitEndReason::TimeOver))
    }

    /// Until when it waits, as far as is known now.
    #[must_use]
    pub fn waits_until_ms(&self, sale: PartySaleEnd) -> i64 {
        self.until_ms.min(sale.at_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_that_was_written_before_trains_had_a_waitlist_is_read_as_it_was() {
        let old = r#"{"quantity":2,"categories":["cat1"],"accessible":1}"#;
        let party: WaitlistParty = serde_json::from_str(old).expect("a party");
        assert_eq!((party.quantity, &party.stretch), (2, &None));
        assert_eq!(serde_json::to_string(&party).expect("JSON"), old);
    }

    #[test]
    fn every_end_is_read_from_its_word() {
        for end in WaitEndReason::ALL {
            assert_eq!(WaitEndReason::parse(end.as_str()), Some(end));
        }
    }
}

//! The waitlist: parties that wait for seats of a show, first come, first served. While parties
//! wait, the store keeps freed seats for them. These seats are offered to the first party in the
//! line that is present and whose wishes they meet.

pub mod share;
pub mod wish;

use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::ids::{HoldId, WaiterId};

/// The longest time for which a party may wait, in milliseconds: an hour.
pub const WAIT_MS_MAX: i64 = 3_600_000;
/// How long an offer is open, in milliseconds.
pub const OFFER_MS: i64 = 60_000;
/// How long a party counts as present after its page or socket was last seen, in milliseconds.
pub const HERE_MS: i64 = 15_000;
/// A party that lets this many offers pass is taken off the waitlist.
pub const MISSED_MAX: u32 = 3;

/// The size and the wishes of a party.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitlistParty {
    /// How many seats.
    pub quantity: u32,
    /// Category keys or labels. The party accepts seats of any of them. If the list is empty, it
    /// accepts seats of every category.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// How many of the seats are for wheelchairs.
    #[serde(default)]
    pub accessible: u32,
    /// The journey and the class that the party wants, if the show is a train.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<WaitlistStretch>,
}

/// A journey from one station to another, in one class.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitlistStretch {
    /// The key of the class.
    pub class: String,
    /// The code of the station where the party gets on.
    pub from: String,
    /// The code of the station where the party gets off.
    pub to: String,
}

/// A party on a show's waitlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// The id, which contains the show.
    pub id: WaiterId,
    /// The visitor who waits.
    pub visitor: Holder,
    /// The room of the pass with which the party joined the waitlist.
    pub room: String,
    /// Its size and its wishes.
    pub party: WaitlistParty,
    /// Its number in the line. Lower numbers are served first.
    pub number: u64,
    /// When it joined, in milliseconds since the epoch.
    pub since_ms: i64,
    /// Until when it waits, in milliseconds since the epoch.
    pub until_ms: i64,
    /// When it was last seen, in milliseconds since the epoch.
    pub seen_ms: i64,
    /// How many offers it has had so far.
    pub offers: u32,
    /// How many of its offers it let pass.
    pub missed: u32,
    /// Its present offer, if it has one.
    pub offer: Option<WaitlistOffer>,
    /// When (milliseconds since the epoch) and why it stopped waiting.
    pub ended: Option<(i64, WaitEndReason)>,
}

/// Seats that are held for a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitlistOffer {
    /// The hold with the seats.
    pub hold: HoldId,
    /// Until when the party may accept or order the seats, in milliseconds since the epoch.
    pub until_ms: i64,
    /// The life of the store's data during which the offer was made. If the data is lost, the hold
    /// is lost with it, and the offer does not count as missed.
    pub life: u64,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitlistOfferEnd {
    /// The party accepted the offer or ordered its seats, and waits no longer.
    Taken,
    /// The party let the offer pass. It goes on waiting at the end of the line, unless it has let
    /// [`MISSED_MAX`] offers pass.
    Missed,
    /// The offer was lost with the store's data. The party goes on waiting in its old place.
    Lost,
}

/// When the sale of seats for a party ends, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartySaleEnd {
    /// The sale ends when the train leaves the station where the party wants to get on.
    Leaves(i64),
    /// The sale ends with the show's sale.
    Ends(i64),
}

impl PartySaleEnd {
    /// Returns the moment, in milliseconds since the epoch.
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
    /// It accepted its offer or ordered its seats.
    Taken,
    /// It left the waitlist.
    Left,
    /// It waited as long as is allowed.
    TimeOver,
    /// Too few seats for the party can still come free.
    TooFew,
    /// It let too many offers pass.
    Missed,
    /// The visitor has as many seats of the show as one visitor may have, or would have more with
    /// the party's seats.
    Limit,
    /// The show was cancelled.
    Cancelled,
    /// The train has left the station where the party wanted to get on.
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

    /// Returns the reason's word in the ledger and in answers.
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

    /// Returns the reason with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.as_str() == word)
    }
}

impl Waiter {
    /// Returns whether the party was seen within [`HERE_MS`].
    #[must_use]
    pub fn is_here(&self, now_ms: i64) -> bool {
        self.seen_ms + HERE_MS > now_ms
    }

    /// Returns why the party's time is over, or `None` if it is not over. `sale` is the end of the
    /// sale of seats for the party, by the show's present dates. The show may have been postponed
    /// after the party joined.
    #[must_use]
    pub fn time_over(&self, sale: PartySaleEnd, now_ms: i64) -> Option<WaitEndReason> {
        let sale_end_reason = match sale {
            PartySaleEnd::Leaves(at_ms) => (at_ms <= now_ms).then_some(WaitEndReason::Departed),
            PartySaleEnd::Ends(at_ms) => (at_ms <= now_ms).then_some(WaitEndReason::SalesEnded),
        };
        sale_end_reason.or_else(|| (self.until_ms <= now_ms).then_some(WaitEndReason::TimeOver))
    }

    /// Returns until when the party waits, as known now, in milliseconds since the epoch.
    #[must_use]
    pub fn waits_until_ms(&self, sale: PartySaleEnd) -> i64 {
        self.until_ms.min(sale.at_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_stored_without_a_stretch_is_read_and_written_unchanged() {
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

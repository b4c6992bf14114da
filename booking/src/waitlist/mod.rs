//! The waitlist: parties that wait for seats of a show, first come, first served. What comes free meanwhile is kept for
//! them (`store`), and offered to the first of those who are here and whom it fits.

pub mod here;
pub mod http;
pub mod serve;
pub mod share;

use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::ids::{HoldId, WaiterId};

/// Nobody waits longer: an hour.
pub const WAIT_MS_MAX: i64 = 3_600_000;
/// So long an offer is kept for its party.
pub const OFFER_MS: i64 = 60_000;
/// A party counts as here for so long after its page or its socket was last seen.
pub const HERE_MS: i64 = 15_000;
/// A party that ended is told why for so long: a day.
pub const TOLD_MS: i64 = 86_400_000;
/// So many offers in a row that nobody took end the waiting.
pub const MISSED_MAX: u32 = 3;

/// What a party wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Party {
    /// How many seats.
    pub quantity: u32,
    /// Category keys or labels, any of them; all where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// How many of the seats are for wheelchairs.
    #[serde(default)]
    pub accessible: u32,
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
    pub party: Party,
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
    pub offer: Option<Offered>,
    /// When and why it ended.
    pub ended: Option<(i64, WaitEnd)>,
}

/// Seats that are held for a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The hold.
    pub hold: HoldId,
    /// Until when the party may take it.
    pub until_ms: i64,
    /// The life of the store's data that it was made in: a hold that is lost with it was not let pass.
    pub life: u64,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferEnd {
    /// The party ordered the seats: it waits no longer.
    Taken,
    /// The party let it pass: it waits on behind all others.
    Missed,
    /// It was lost with the store's data: the party waits on where it stood.
    Lost,
}

/// Why a party waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
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
}

impl WaitEnd {
    const ALL: [Self; 7] = [
        Self::Taken,
        Self::Left,
        Self::TimeOver,
        Self::TooFew,
        Self::Missed,
        Self::Limit,
        Self::Cancelled,
    ];

    /// The word in the ledger and in answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Left => "left",
            Self::TimeOver => "time_over",
            Self::TooFew => "too_few",
            Self::Missed => "missed",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
        }
    }

    /// The end that a word tells of.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.word() == word)
    }
}

impl Waiter {
    /// Whether it was seen lately.
    #[must_use]
    pub fn is_here(&self, now_ms: i64) -> bool {
        self.seen_ms + HERE_MS > now_ms
    }
}

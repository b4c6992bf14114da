//! The fast half of a room: who stands at which number, now. One method is one domain transition; every
//! implementation passes the same contract suite.

#[cfg(test)]
pub mod contract;
mod line;
mod memory;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

pub use memory::MemoryStore;

use crate::ledger::{Failure, Freeze, StoredLine};

/// Somebody who wants a place.
#[derive(Debug, Clone, Copy)]
pub struct Entrant {
    /// Who.
    pub holder: Holder,
    /// The code shown.
    pub code: Option<Digest>,
    /// Whether the room asks for a code.
    pub needs_code: bool,
    /// Milliseconds since the epoch.
    pub now: i64,
}

/// A place as the store knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The join number.
    pub number: u64,
    /// Whose.
    pub holder: Holder,
    /// When the number was given, ms.
    pub at: i64,
    /// The code that was used.
    pub code: Option<Digest>,
    /// Expiry of the last pass, unix seconds.
    pub pass_exp: Option<i64>,
    /// An order of this visitor was ticketed.
    pub done: bool,
    /// It was given by this very call.
    pub fresh: bool,
}

/// What stands behind a number that somebody shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// That holder stands there.
    Here(Place),
    /// That holder stood there and left.
    Left,
    /// Nobody, or somebody else.
    Unknown,
}

/// Why nobody got a place.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JoinRefused {
    /// The room asks for a code, and this is none of its codes.
    #[error("the code is not one of this room's codes")]
    CodeInvalid,
    /// Somebody has used it.
    #[error("the code was used before")]
    CodeUsed,
    /// The number that would have been given is void.
    #[error(transparent)]
    Ledger(#[from] Failure),
}

/// Figures of one room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Numbers given so far: the next number.
    pub joined: u64,
    /// Numbers at which nobody stands any more.
    pub absent: u64,
    /// Live passes of visitors whose order is not ticketed.
    pub inside: u64,
    /// Passes that ran out without an order, ever.
    pub ended: u64,
    /// Visitors who ever claimed.
    pub claimed: u64,
    /// Visitors whose order was ticketed.
    pub done: u64,
    /// The cursor of finished orders.
    pub finished: u64,
}

/// Seconds after which somebody who was not seen counts as away; who was never heard of counts as here for as long.
pub const AWAY_AFTER_S: i64 = 60;

/// A set of numbers: a snapshot, one bit a number.
#[derive(Debug, Clone, Default)]
pub struct Numbers(pub(crate) Arc<Vec<u64>>);

impl Numbers {
    /// Whether the number is in it.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        usize::try_from(number / 64)
            .ok()
            .and_then(|at| self.0.get(at))
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Every number in it, rising.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..).zip(self.0.iter()).flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

/// The rooms' store.
#[async_trait]
pub trait RoomStore: Send + Sync + 'static {
    /// Takes up a room, new or after a restart. A room that is open already stays as it is.
    async fn open(&self, room: &str, line: StoredLine);
    /// Replaces the codes of a room nobody has joined.
    async fn put_codes(&self, room: &str, codes: &[Digest]);
    /// The next number, or the one this holder has. Answers when it is durable.
    async fn join(&self, room: &str, entrant: Entrant) -> Result<Place, JoinRefused>;
    /// Who shows this number: is it (still) this holder's?
    async fn standing(&self, room: &str, number: u64, holder: Holder) -> Standing;
    /// The place of a holder.
    async fn place_of(&self, room: &str, holder: Holder) -> Option<Place>;
    /// Gives a place up. Before the freeze its leaf becomes nobody's; answers when it is durable.
    async fn leave(&self, room: &str, number: u64, now: i64) -> Result<(), Failure>;
    /// Fixes the numbers so far; joins from now on come behind them.
    async fn freeze(&self, room: &str, now: i64) -> Result<Freeze, Failure>;
    /// A pass was claimed at this number. Gives whether it is this number's first.
    async fn claimed(&self, room: &str, number: u64, exp_s: i64) -> bool;
    /// Orders of these holders were ticketed, up to that cursor.
    async fn done(&self, room: &str, cursor: u64, holders: &[Holder]);
    /// Figures now.
    async fn counts(&self, room: &str, now_s: i64) -> Counts;
    /// How many of those inside have a pass that ends after each of these times.
    async fn inside_beyond(&self, room: &str, exps_s: &[i64]) -> Vec<u64>;
    /// The numbers at which nobody stands: void or left.
    async fn absent(&self, room: &str) -> Numbers;
    /// These visitors were here just now.
    async fn seen(&self, room: &str, numbers: &[u64], now_s: i64);
    /// The numbers of those who have not been seen for [`AWAY_AFTER_S`]. After a restart nobody is, for as long.
    async fn away(&self, room: &str, now_s: i64) -> Numbers;
}

//! The types that the pace and the admission exchange with the store: claimants, called ranks, and
//! the figures of a tick.

use std::collections::HashSet;

use super::{NetworkToll, TollRefusal};
use crate::ledger::ReleaseRow;
use fairgate_rules::release_cohorts::RankCall;

/// How many visitors of one room joined, left, are inside or are done, and the room's next number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoomCounts {
    /// The next number. It can be far above the count of people: a life that begins after a loss
    /// skips all numbers that an earlier life may have given.
    pub next: u64,
    /// People who were given a number, including those who left.
    pub joined: u64,
    /// People who joined and then left.
    pub left: u64,
    /// Visitors with a valid pass and no ticketed order.
    pub inside: u64,
    /// How many passes have expired without an order.
    pub ended: u64,
    /// Visitors who have claimed a pass.
    pub claimed: u64,
    /// Visitors whose order was ticketed.
    pub done: u64,
    /// The cursor up to which booking's finished orders have been read.
    pub finished: u64,
}

/// A visitor who wants to claim a pass.
#[derive(Debug, Clone, Copy)]
pub struct Claimant {
    /// The join number.
    pub number: u64,
    /// The place's rank.
    pub rank: u64,
    /// The release counter as this node knows it. If the store knows a higher value from another
    /// node, it uses that value.
    pub released: u64,
    /// How many visitors may be inside, at most.
    pub max_inside: u64,
    /// Whether the room has a line. Without a line, no pace limits the admission of latecomers.
    pub line: bool,
    /// After how long without an entry, in milliseconds, a latecomer is let in although the room
    /// left is kept for visitors who are expected.
    pub idle_ms: i64,
    /// The visitor's networks. Claiming a pass does not count as a place.
    pub toll: NetworkToll,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

/// How the store decided about a claimant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// A pass of this number is still valid. The caller gives the visitor the same pass again.
    HasLivePass,
    /// One of the `max_inside` entries is reserved until the claim is written, the admission is
    /// undone, or the reservation lapses.
    Let {
        /// Whether this number has never had a pass.
        first: bool,
    },
    /// The visitor's networks stopped the claim. Nothing was reserved.
    Toll(TollRefusal),
    /// The claimant must wait: the rank is not released yet, `max_inside` visitors are inside, or
    /// the pace lets nobody in at the moment.
    Wait {
        /// In how many milliseconds the pace lets the claimant in. `None` if the rank is not
        /// released, or if it is not known when there is space.
        entry_in_ms: Option<u64>,
    },
}

/// A claim that the ledger has recorded.
#[derive(Debug, Clone, Copy)]
pub struct RecordedPassClaim {
    /// The join number.
    pub number: u64,
    /// The rank that had a reservation. `None` if nothing was reserved, because the number still
    /// had a valid pass.
    pub reserved: Option<u64>,
    /// Expiry of the pass, unix seconds.
    pub exp_s: i64,
    /// When the claim was written, unix seconds.
    pub at_s: i64,
}

/// A claim that could not be written, although its visitor was admitted.
#[derive(Debug, Clone, Copy)]
pub struct FailedPassClaim {
    /// The join number.
    pub number: u64,
    /// The rank that has a reservation.
    pub rank: u64,
    /// The value in [`AdmissionDecision::Let`].
    pub first: bool,
}

/// The request for the figures of a tick.
#[derive(Debug, Clone)]
pub struct TickFiguresRequest {
    /// The current time, milliseconds since the epoch.
    pub now: i64,
    /// How long a called visitor has to claim, milliseconds.
    pub claim_ms: i64,
    /// Times, unix seconds. For each time, the answer has the number of visitors inside whose pass
    /// ends later.
    pub ends_s: Vec<i64>,
    /// This node's measurements of booking. The store does not interpret them. It returns them
    /// together with those of the other nodes.
    pub vitals: String,
}

/// What a tick hands to the next tick, on any node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TickCarryover {
    /// The release counter, exactly as the ledger has it.
    pub row: ReleaseRow,
    /// The memory of the pace. If the tick wrote no row, this memory is newer than that in `row`.
    pub memory: String,
}

/// The figures that a tick starts from.
#[derive(Debug, Clone, Default)]
pub struct TickFigures {
    /// The counts of the line.
    pub counts: RoomCounts,
    /// For each time in [`TickFiguresRequest::ends_s`], the number of visitors inside whose pass
    /// ends later.
    pub beyond: Vec<u64>,
    /// How many more of the called visitors are expected to come before their window ends.
    pub expected: u64,
    /// Visitors whose claim is being written just now.
    pub entering: u64,
    /// Visitors who were called a short time ago, ask to enter, and have to wait.
    pub asking: u64,
    /// The share of called visitors who are expected to come, from 1/4 to 1.
    pub show_up: f64,
    /// The latecomers who were admitted ahead of the line, in millionths of visitors. New releases
    /// wait until the pace has made up for them.
    pub owed_u: u64,
    /// The calls whose window is open, oldest first.
    pub calls: Vec<RankCall>,
    /// The time up to which the pace has counted, milliseconds since the epoch.
    pub counted_until: i64,
    /// Whether the last tick ran on another node.
    pub by_other: bool,
    /// What the last tick handed over, if it ran on another node.
    pub left_by_other: Option<TickCarryover>,
    /// What the nodes measured of booking in the last three seconds, this node included.
    pub vitals: Vec<String>,
}

/// A range of ranks that a tick called.
#[derive(Debug, Clone)]
pub struct CalledRanks {
    /// The first rank.
    pub from: u64,
    /// The rank after the last one.
    pub to: u64,
    /// How many of the called visitors were present.
    pub people: u64,
    /// The called ranks whose visitor was away. They are not expected to claim.
    pub away: HashSet<u64>,
}

/// What a tick writes to the store when it ends.
#[derive(Debug, Clone)]
pub struct TickEnd {
    /// The value of [`TickFigures::counted_until`] when the tick began. If another tick has ended
    /// since, this tick's accounts are dropped.
    pub since: i64,
    /// The time up to which this tick counted, milliseconds since the epoch.
    pub until: i64,
    /// [`TickFigures::owed_u`] after this tick.
    pub owed_u: u64,
    /// The share of the pace that latecomers gained in this tick, in millionths of visitors.
    pub credit_u: u64,
    /// The pace in force, in millionths of visitors a second; `None` in a room without a line. At
    /// most one second of the pace is saved for latecomers, or one visitor if that is more.
    pub rate_u: Option<u64>,
    /// The ranks that were called. The release counter in the ledger is above them already.
    pub called: Option<CalledRanks>,
    /// What the tick hands to the next tick, which may run on another node.
    pub left: TickCarryover,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

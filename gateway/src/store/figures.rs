//! What the pace and the way in say to the store and hear from it: who wants in, who was called,
//! and the figures that one second's tick is made of.

use std::collections::HashSet;

use crate::ledger::ReleaseRow;
use fairgate_rules::cohort::RankCall;

/// Figures of one room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoomCounts {
    /// The next number. After a loss it lies far above the count of people: what an earlier life
    /// may have given is left out.
    pub next: u64,
    /// People who joined: numbers that somebody was given, those who left among them.
    pub joined: u64,
    /// Those of them who left.
    pub left: u64,
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

/// Somebody who wants to claim a pass.
#[derive(Debug, Clone, Copy)]
pub struct Claimant {
    /// The join number.
    pub number: u64,
    /// Its rank.
    pub rank: u64,
    /// The release counter as this node knows it; the store may know that others have moved it on.
    pub released: u64,
    /// The most inside.
    pub max_inside: u64,
    /// Whether the room has a line; without one late comers are not let in by a pace.
    pub line: bool,
    /// Milliseconds since the epoch.
    pub now: i64,
}

/// How a claimant was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// A pass of this number lives, and is to be given again.
    Lives,
    /// Room inside is reserved until the claim is written, given up, or lapses.
    Let {
        /// This number never had a pass.
        first: bool,
    },
    /// Not called yet, or no room for now.
    Wait,
}

/// A claim that was written.
#[derive(Debug, Clone, Copy)]
pub struct RecordedPassClaim {
    /// The join number.
    pub number: u64,
    /// The rank whose way in was reserved; `None` where the pass lived before.
    pub reserved: Option<u64>,
    /// Expiry of the pass, unix seconds.
    pub exp_s: i64,
}

/// What the figures of a tick depend on.
#[derive(Debug, Clone)]
pub struct TickFiguresRequest {
    /// Milliseconds since the epoch.
    pub now: i64,
    /// How long a call is expected to be answered, milliseconds.
    pub claim_ms: i64,
    /// How many inside have a pass that ends after each of these times, unix seconds?
    pub ends_s: Vec<i64>,
    /// What this node measured of booking, to be added up with what others did; opaque to the
    /// store.
    pub vitals: String,
}

/// What a tick leaves to the next one, on whichever node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TickCarryover {
    /// The release counter, exactly as the ledger has it.
    pub row: ReleaseRow,
    /// What the pace remembers by now; newer than the row's where the tick wrote none.
    pub memory: String,
}

/// What a tick starts from.
#[derive(Debug, Clone, Default)]
pub struct TickFigures {
    /// The line's figures.
    pub counts: RoomCounts,
    /// To each of the times asked about, how many inside have a pass that ends after it.
    pub beyond: Vec<u64>,
    /// People called, in their window, not here yet and still expected.
    pub expected: u64,
    /// Visitors whose claim is being written just now.
    pub entering: u64,
    /// How many of those called come, 1/4 to 1.
    pub show_up: f64,
    /// What newcomers wait for: millionths of visitors who were let in ahead of the line.
    pub owed_u: u64,
    /// The calls whose window is open, oldest first.
    pub calls: Vec<RankCall>,
    /// Up to when the pace has counted, ms.
    pub counted_until: i64,
    /// Whether the last tick was another node's,
    pub by_other: bool,
    /// and what that one left.
    pub left_by_other: Option<TickCarryover>,
    /// What the nodes measured of booking, this one's own among it.
    pub vitals: Vec<String>,
}

/// Ranks that were called.
#[derive(Debug, Clone)]
pub struct CalledRanks {
    /// The first.
    pub from: u64,
    /// One behind the last.
    pub to: u64,
    /// How many people that are.
    pub people: u64,
    /// Those of them who were away: nobody waits for them.
    pub away: HashSet<u64>,
}

/// How a tick ended.
#[derive(Debug, Clone)]
pub struct TickEnd {
    /// [`TickFigures::counted_until`] as the tick began: where another tick has ended since, this
    /// one's accounts are void.
    pub since: i64,
    /// Up to when it counted, ms.
    pub until: i64,
    /// Still owed, millionths of visitors.
    pub owed_u: u64,
    /// What late comers earned.
    pub credit_u: u64,
    /// The pace, millionths a second: late comers bank one second of it, and at the least one
    /// visitor.
    pub per_s_u: u64,
    /// Whoever was called; the ledger has the counter behind them already.
    pub called: Option<CalledRanks>,
    /// For the other nodes.
    pub left: TickCarryover,
    /// Milliseconds since the epoch.
    pub now: i64,
}

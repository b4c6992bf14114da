//! What the pace and the admission tell the store and read from it: who wants in, who was called,
//! and the figures of one second's tick.

use std::collections::HashSet;

use crate::ledger::ReleaseRow;
use fairgate_rules::release_cohorts::RankCall;

/// How many visitors of one room joined, left, are inside or are done, and the room's next number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoomCounts {
    /// The next number. After a loss it is far above the count of people, because the numbers that
    /// an earlier life may have given are skipped.
    pub next: u64,
    /// People who were given a number, those who left included.
    pub joined: u64,
    /// People who joined and then left.
    pub left: u64,
    /// Visitors with a live pass and no ticketed order.
    pub inside: u64,
    /// Passes that ever expired without an order.
    pub ended: u64,
    /// Visitors who ever claimed a pass.
    pub claimed: u64,
    /// Visitors whose order was ticketed.
    pub done: u64,
    /// How far booking's finished orders have been read.
    pub finished: u64,
}

/// A visitor who wants to claim a pass.
#[derive(Debug, Clone, Copy)]
pub struct Claimant {
    /// The join number.
    pub number: u64,
    /// The place's rank.
    pub rank: u64,
    /// The release counter as this node knows it. The store may know that another node has moved it
    /// on.
    pub released: u64,
    /// The most visitors who may be inside.
    pub max_inside: u64,
    /// Whether the room has a line. Without one, latecomers are not let in by a pace.
    pub line: bool,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

/// How the store decided about a claimant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// A pass of this number still lives and is to be handed out again.
    Lives,
    /// A place inside is reserved until the claim is written, is given up, or lapses.
    Let {
        /// Whether this number never had a pass.
        first: bool,
    },
    /// The claimant is not called yet, or no place inside is free just now.
    Wait,
}

/// A claim that the ledger has taken.
#[derive(Debug, Clone, Copy)]
pub struct RecordedPassClaim {
    /// The join number.
    pub number: u64,
    /// The rank that had a reservation; `None` if the pass lived before.
    pub reserved: Option<u64>,
    /// Expiry of the pass, unix seconds.
    pub exp_s: i64,
}

/// What a tick asks the store for its figures.
#[derive(Debug, Clone)]
pub struct TickFiguresRequest {
    /// The current time, milliseconds since the epoch.
    pub now: i64,
    /// How long a called visitor has to claim, milliseconds.
    pub claim_ms: i64,
    /// Times, unix seconds. The answer counts for each how many visitors inside have a pass that
    /// ends after it.
    pub ends_s: Vec<i64>,
    /// What this node measured of booking, to be added to what other nodes measured. The store does
    /// not read it.
    pub vitals: String,
}

/// What a tick leaves to the next one, on whichever node that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TickCarryover {
    /// The release counter, exactly as the ledger has it.
    pub row: ReleaseRow,
    /// The memory of the pace. It is newer than the row's if the tick wrote no row.
    pub memory: String,
}

/// The figures that a tick starts from.
#[derive(Debug, Clone, Default)]
pub struct TickFigures {
    /// The counts of the line.
    pub counts: RoomCounts,
    /// For each of the times asked about, how many visitors inside have a pass that ends after it.
    pub beyond: Vec<u64>,
    /// Called visitors within their window who have not come yet and are still expected.
    pub expected: u64,
    /// Visitors whose claim is being written just now.
    pub entering: u64,
    /// The share of called visitors who come, from 1/4 to 1.
    pub show_up: f64,
    /// What newcomers wait for: the visitors let in ahead of the line, in millionths.
    pub owed_u: u64,
    /// The calls whose window is open, oldest first.
    pub calls: Vec<RankCall>,
    /// Up to when the pace has counted, milliseconds since the epoch.
    pub counted_until: i64,
    /// Whether the last tick was another node's.
    pub by_other: bool,
    /// What the last tick left, if it was another node's.
    pub left_by_other: Option<TickCarryover>,
    /// What every node measured of booking, this one included.
    pub vitals: Vec<String>,
}

/// A range of ranks that a tick called.
#[derive(Debug, Clone)]
pub struct CalledRanks {
    /// The first rank.
    pub from: u64,
    /// The rank after the last one.
    pub to: u64,
    /// How many people were called.
    pub people: u64,
    /// The called ranks whose visitor was away. Nobody waits for them.
    pub away: HashSet<u64>,
}

/// What a tick writes to the store when it ends.
#[derive(Debug, Clone)]
pub struct TickEnd {
    /// [`TickFigures::counted_until`] as the tick began. If another tick has ended since, this
    /// tick's accounts are void.
    pub since: i64,
    /// Up to when the tick counted, milliseconds since the epoch.
    pub until: i64,
    /// What newcomers still wait for, in millionths of visitors.
    pub owed_u: u64,
    /// What latecomers have gained, in millionths of visitors.
    pub credit_u: u64,
    /// The pace in millionths of visitors a second. Latecomers save up at most one second of it,
    /// but at least one visitor.
    pub per_s_u: u64,
    /// The ranks that were called. The ledger's counter is past them already.
    pub called: Option<CalledRanks>,
    /// What the tick leaves to the other nodes.
    pub left: TickCarryover,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

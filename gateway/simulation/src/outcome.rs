//! Holds what happened in one simulated sale.

use serde::Serialize;

/// The line is divided into this many parts of equal length, first ranks first.
pub const PARTS: usize = 10;

/// The figures at the end of one second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SecondFigures {
    /// The second after the start.
    pub at_s: u32,
    /// Visitors who have joined.
    pub joined: u64,
    /// Visitors who have joined, were not called, and are still there; an estimate from a sample.
    pub waiting: u64,
    /// The release counter.
    pub released: u64,
    /// Visitors who have entered so far.
    pub entered: u64,
    /// Visitors inside.
    pub inside: u64,
    /// How many visitors may be inside now.
    pub inside_max: u64,
    /// The odds that a seat is left for the last visitor in the line, 0 to 1.
    pub odds_of_last: f64,
    /// Free cells.
    pub free: u64,
    /// Cells in baskets and unpaid orders.
    pub held: u64,
    /// Sold cells.
    pub sold: u64,
    /// The time within which booking answered 99 of 100 calls of the last seconds, in milliseconds.
    pub p99_ms: u64,
    /// Calls of booking so far.
    pub calls: u64,
}

/// What became of the visitors in one tenth of the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LinePart {
    /// Visitors who were called and were there. Also visitors who waited until they were told that
    /// everything is sold or that the room is closed. Visitors who still wait at the end are not
    /// counted, because their outcome is not known.
    pub people: u64,
    /// Those of them for whom a seat was left when they were called, or who got one later.
    pub seat_left: u64,
    /// Those of them who have tickets.
    pub ticketed: u64,
}

/// How many visits of called visitors ended in each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VisitEnds {
    /// The visitor has tickets.
    pub ticketed: u64,
    /// The payment was declined.
    pub declined: u64,
    /// The visitor paid after the time to pay had ended.
    pub too_late: u64,
    /// The visitor abandoned a basket or cancelled an order.
    pub gave_up: u64,
    /// The visitor found no seats.
    pub no_seats: u64,
}

/// What became of seats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SeatEnds {
    /// Cells that were not sold at the end.
    pub left: u64,
    /// Seats whose basket or unpaid order ran out.
    pub lapsed: u64,
    /// Cells that were sold and given back.
    pub given_back: u64,
    /// Seats that were sold to parties of the waitlist.
    pub from_waitlist: u64,
}

/// Visitors who read nearly the same odds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ToldOddsBin {
    /// How many visitors of the sample read these odds.
    pub visitors: u64,
    /// The mean of the odds that they read, 0 to 1.
    pub told: f64,
    /// The share of them for whom a seat was left.
    pub came_true: f64,
}

/// How well told waits came true. In the scores of one room, each told wait counts as one. In the
/// sum over several rooms, each room counts as one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WaitScores {
    /// How often a visitor who was called later looked at its wait while the room was not paused.
    pub told: f64,
    /// How often the wait was known.
    pub known: f64,
    /// How often a known wait lasted at most as long as nine in ten should wait.
    pub within_p90: f64,
    /// How often a known wait was near the one that half of the visitors should wait.
    pub near_p50: f64,
}

impl WaitScores {
    /// Adds the scores of one room, so that long waits of one room do not outweigh other rooms.
    /// Rooms in which nobody waited are left out.
    pub fn add_room(&mut self, room: &Self) {
        if room.told > 0.0 {
            self.add(&Self {
                told: 1.0,
                known: room.known / room.told,
                within_p90: room.within_p90 / room.told,
                near_p50: room.near_p50 / room.told,
            });
        }
    }

    /// Adds other scores to these.
    pub fn add(&mut self, other: &Self) {
        self.told += other.told;
        self.known += other.known;
        self.within_p90 += other.within_p90;
        self.near_p50 += other.near_p50;
    }

    /// Returns the share of the told waits that were known.
    #[must_use]
    pub fn known_share(&self) -> f64 {
        self.known / self.told
    }

    /// Returns the share of the known waits that were within the told p90.
    #[must_use]
    pub fn within_p90_share(&self) -> f64 {
        self.within_p90 / self.known
    }

    /// Returns the share of the known waits that were near the told p50.
    #[must_use]
    pub fn near_p50_share(&self) -> f64 {
        self.near_p50 / self.known
    }
}

/// Returns the value at the given share of the sorted values: with 0.5, the median. Returns `None`
/// if there are no values.
pub(crate) fn percentile_of(sorted: &[f32], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = (share * last as f64).round() as usize;
    sorted.get(at).map(|value| f64::from(*value))
}

/// What happened in one simulated sale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SaleOutcome {
    /// The figures of each second.
    pub seconds: Vec<SecondFigures>,
    /// When for the first time no cell was free or held, in seconds after the beginning of the
    /// sale.
    pub sold_out_s: Option<f64>,
    /// When 99 of 100 cells were sold, in seconds after the beginning of the sale. It is exact to a
    /// second. The last seats take long, because baskets run out and their seats are offered again.
    pub sold_99_s: Option<f64>,
    /// How long each called visitor waited, in seconds, the shortest wait first. A wait begins with
    /// the sale or with the visitor's join, whichever is later.
    pub waits_s: Vec<f32>,
    /// The median and the 90th percentile of the waits of called visitors, in seconds, for each
    /// tenth of the line. `None` for a tenth in which nobody was called.
    pub waits_by_part: [Option<[f64; 2]>; PARTS],
    /// The line by tenths.
    pub parts: [LinePart; PARTS],
    /// The visits that have ended.
    pub ends: VisitEnds,
    /// The mean square of the difference between the odds that visitors read after the draw and
    /// what came true for them. It is measured in a sample of the line.
    pub odds_brier: Option<f64>,
    /// The visitors of the same sample, grouped by the odds that they read.
    pub odds_told: Vec<ToldOddsBin>,
    /// The wishes of a sample of the line, grouped by the odds that were told for them. A wish came
    /// true if it could be met when its visitor first chose seats. A visitor counts once for each
    /// wish. Empty if the sale has no wishes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wishes_told: Vec<ToldOddsBin>,
    /// Visitors in the line who were told that everything is sold or that the room is closed, and
    /// visitors whose visit ended because they found no seats.
    pub told_no: u64,
    /// When one in ten, half and nine in ten of these visitors had learned it, in seconds after the
    /// beginning of the sale.
    pub told_no_by_s: Option<[f64; 3]>,
    /// The most visitors inside at once.
    pub inside_most: u64,
    /// What became of seats.
    pub seats: SeatEnds,
    /// Visitors who joined the waitlist.
    pub waitlisted: u64,
    /// The most calls that booking got in one second.
    pub calls_per_s_most: u64,
}

impl SaleOutcome {
    /// Returns the time that the given share of the called visitors waited at most, in seconds.
    /// Returns `None` if nobody was called.
    #[must_use]
    pub fn wait_s(&self, share: f64) -> Option<f64> {
        percentile_of(&self.waits_s, share)
    }

    /// Returns for each tenth of the line the share of visitors for whom a seat was left. A tenth
    /// without visitors has `None`.
    #[must_use]
    pub fn odds(&self) -> [Option<f64>; PARTS] {
        self.parts
            .map(|part| (part.people > 0).then(|| part.seat_left as f64 / part.people as f64))
    }
}

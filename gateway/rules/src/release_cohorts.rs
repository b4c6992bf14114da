//! Remembers the releases whose window is open: whom each release called, when it called them, and
//! who has claimed or left since. A window is the time (`claim_s`) after a release in which its
//! visitors are expected to claim.

use std::collections::{HashMap, HashSet, VecDeque};

use super::claim_timing::ClaimTiming;
use super::entry_door::EntryDoor;
use super::entry_gate::EntryGate;
use super::pace::{BANKED_MS_MAX, VISITOR_U};

/// A tick counts at most one second. If more time has passed, the next tick also counts the rest,
/// but at most this many milliseconds of it.
const LATE_TICK_MS: i64 = 500;
/// The first guess is that everybody shows up. It counts as much as this many called people.
pub const SHOW_UP_WEIGHT: f64 = 20.0;
/// The lowest expected share of called people who come. It limits the calls to four times as many
/// people as may still enter.
pub const SHOW_UP_MIN: f64 = 0.25;
/// When the window of a release ends, the weight of all releases before it is multiplied by this.
pub const PAST_KEPT: f64 = 0.95;
/// An entry is open while a visitor's claim is written. If the node dies meanwhile, no request ends
/// the entry. So the entry is freed after this time, in milliseconds. The time is longer than any
/// wait for the ledger's answer.
pub const ENTRY_LAPSES_MS: i64 = 30_000;
/// The time between two ticks, in milliseconds. A late comer without a share of the pace gets one
/// with the next tick at the earliest.
pub const TICK_MS: u64 = 1_000;
/// If nobody was let in for this long, in milliseconds, and for the time of one visitor at the
/// pace, people who are only expected no longer keep out a late comer who asks.
const IDLE_MS: u64 = 5_000;

/// The people whom one release called.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReleaseCohort {
    from: u64,
    to: u64,
    at: i64,
    people: u64,
    /// Ranks whose people were away when they were called. These people are not expected.
    away: HashSet<u64>,
    /// How many of the people have claimed.
    came: u64,
    /// Ranks whose visitor claimed or left and is therefore no longer expected. This is a set, so
    /// that a visitor who claims and then leaves counts once.
    no_longer_expected: HashSet<u64>,
}

impl ReleaseCohort {
    fn contains_rank(&self, rank: u64) -> bool {
        (self.from..self.to).contains(&rank)
    }

    fn awaited_people(&self) -> u64 {
        self.people
            .saturating_sub(self.no_longer_expected.len() as u64)
    }
}

/// One release: its ranks, and when they were called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankCall {
    /// The first rank.
    pub from: u64,
    /// The rank after the last one.
    pub to: u64,
    /// The time of the call, in milliseconds since the epoch.
    pub at: i64,
}

/// Returns when the rank was called, or `None` if no call covers it. The `calls` are in the order
/// of their ranks.
#[must_use]
pub fn called_at(calls: &[RankCall], rank: u64) -> Option<i64> {
    let at = calls.partition_point(|call| call.to <= rank);
    calls
        .get(at)
        .filter(|call| call.from <= rank)
        .map(|call| call.at)
}

/// Returns how many milliseconds a tick at `now` (ms) counts, and the time (ms) from which the next
/// tick counts. No time is counted twice, and one tick counts at most one second. If a tick came a
/// little late, the next tick counts the rest.
#[must_use]
pub fn elapsed_ms(counted_until: i64, now: i64) -> (u64, i64) {
    let elapsed_ms = u64::try_from(now - counted_until)
        .unwrap_or(0)
        .min(BANKED_MS_MAX);
    let until = counted_until.saturating_add_unsigned(elapsed_ms);
    (elapsed_ms, until.max(now - LATE_TICK_MS))
}

/// Returns the share of called people who are expected to come, if `came` of `people` came before.
/// The share is 1 before anything is known, and never below a quarter.
#[must_use]
pub fn show_up(people: f64, came: f64) -> f64 {
    ((SHOW_UP_WEIGHT + came) / (SHOW_UP_WEIGHT + people)).clamp(SHOW_UP_MIN, 1.0)
}

/// Returns after how long without an entry, in milliseconds, a late comer is let in although the
/// room left is kept for people who are expected. `per_s_u` is the pace in millionths of a visitor
/// a second, or `None` in a room without a line.
#[must_use]
pub fn idle_ms(per_s_u: Option<u64>) -> i64 {
    let share_ms = per_s_u.map_or(0, |per_s_u| VISITOR_U * 1_000 / per_s_u.max(1));
    i64::try_from(IDLE_MS + share_ms).unwrap_or(i64::MAX)
}

/// The open entries of one rank. Two tabs of a visitor make two requests with the same rank.
#[derive(Debug, Clone, Copy)]
struct EntryReservation {
    /// The number of requests whose claim is being written.
    requests: usize,
    /// When the entries are freed if no request ends them, in milliseconds since the epoch.
    lapses_at: i64,
}

/// The releases whose window is open, the visitors who ask to enter or are entering, the gate, and
/// the debt for late comers.
#[derive(Debug, Default)]
pub struct ReleaseCohorts {
    /// The releases, from the oldest to the newest.
    recent: VecDeque<ReleaseCohort>,
    /// How many people past releases called, and how many of them came within their window. Older
    /// releases weigh less.
    past: (f64, f64),
    /// The ranks whose claim is being written.
    entering: HashMap<u64, EntryReservation>,
    owed_u: u64,
    late_credit_u: u64,
    ticked_at: i64,
    /// When a visitor was last let in, in milliseconds since the epoch.
    let_in_at: i64,
    /// `None` before the first tick, and in a room without a line.
    gate: Option<EntryGate>,
    door: EntryDoor,
}

/// The claim of a pass at a released rank.
#[derive(Debug, Clone, Copy)]
pub struct ClaimToEnter {
    /// The visitor's rank.
    pub rank: u64,
    /// What [`entry_order`](super::claim_timing::entry_order) returns for the visitor.
    pub order: u64,
    /// Whether the claim is for the visitor's first pass.
    pub first: bool,
    /// How many visitors are inside.
    pub inside: u64,
    /// The most visitors that may be inside.
    pub max_inside: u64,
    /// Whether the room has a line.
    pub line: bool,
    /// What [`idle_ms`] returns for the room.
    pub idle_ms: i64,
    /// The time of the claim, in milliseconds since the epoch.
    pub now: i64,
}

/// What a tick leaves for the claims until the next tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TickAccounts {
    /// The time up to which the tick counted, in milliseconds since the epoch.
    pub until: i64,
    /// The debt for late comers after the tick, in millionths of a visitor.
    pub owed_u: u64,
    /// The share of the pace that late comers gained, in millionths of a visitor.
    pub credit_u: u64,
    /// The pace in force, in millionths of a visitor a second; `None` in a room without a line.
    pub rate_u: Option<u64>,
}

/// Whether a visitor with a claim may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryDecision {
    /// The visitor may enter now.
    Enters,
    /// The visitor has to wait.
    Waits {
        /// In how many milliseconds the pace lets the visitor in. `None` if something else keeps
        /// the visitor out, so that the time is not known.
        entry_in_ms: Option<u64>,
    },
}

impl ReleaseCohorts {
    /// Records a release of `people` at `now` (ms). People who were `away` are not expected.
    pub fn note_release(&mut self, from: u64, to: u64, people: u64, away: HashSet<u64>, now: i64) {
        if to > from {
            self.recent.push_back(ReleaseCohort {
                from,
                to,
                at: now,
                people,
                away,
                came: 0,
                no_longer_expected: HashSet::new(),
            });
        }
    }

    /// Closes the windows that ended before `now` (ms), and frees the entries that have lapsed.
    pub fn close_windows(&mut self, now: i64, claim_ms: i64) {
        self.lapse(now);
        while self
            .recent
            .front()
            .is_some_and(|cohort| now - cohort.at > claim_ms)
        {
            if let Some(cohort) = self.recent.pop_front() {
                let (people, came) = self.past;
                self.past = (
                    people * PAST_KEPT + cohort.people as f64,
                    came * PAST_KEPT + cohort.came as f64,
                );
            }
        }
    }

    /// Returns the share of called people who came within their window in past releases.
    #[must_use]
    pub fn show_up(&self) -> f64 {
        let (people, came) = self.past;
        show_up(people, came)
    }

    /// Returns the time up to which the pace has counted, in milliseconds since the epoch.
    #[must_use]
    pub fn counted_until(&self) -> i64 {
        self.ticked_at
    }

    /// Returns the calls whose window is open, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<RankCall> {
        let to_call = |cohort: &ReleaseCohort| RankCall {
            from: cohort.from,
            to: cohort.to,
            at: cohort.at,
        };
        self.recent.iter().map(to_call).collect()
    }

    /// Ends a tick at `now` (ms). Records the time up to which it counted, the debt that is left,
    /// and the pace of the gate. Adds `credit_u` to the credit of late comers. The limit of the
    /// credit is the pace of one second, or one visitor if the pace is lower.
    pub fn end_tick(&mut self, end: &TickAccounts, now: i64) {
        let credit_max = end.rate_u.unwrap_or(0).max(VISITOR_U);
        self.late_credit_u = self
            .late_credit_u
            .saturating_add(end.credit_u)
            .min(credit_max);
        (self.ticked_at, self.owed_u) = (end.until, end.owed_u);
        self.gate = end
            .rate_u
            .map(|rate_u| EntryGate::at_rate(self.gate, rate_u, now));
        self.door.forget_silent(now);
    }

    /// Returns the debt for late comers who were admitted ahead of the line, in millionths of a
    /// visitor.
    #[must_use]
    pub fn owed_u(&self) -> u64 {
        self.owed_u
    }

    /// Counts the visitors who were called a short time ago, ask to enter, and have to wait.
    #[must_use]
    pub fn asking(&self, now: i64) -> u64 {
        self.door.before(ClaimTiming::Late, 0, now)
    }

    /// Returns how many visitors' claims are being written now.
    #[must_use]
    pub fn entering(&self) -> u64 {
        self.entering.len() as u64
    }

    /// Returns how many called people are still expected to come. Each release expects the number
    /// of its people multiplied by the show-up, minus the people who came. For example, with a
    /// show-up of one half, no more people are expected once half of them have come.
    #[must_use]
    pub fn expected(&self) -> u64 {
        let show_up = self.show_up();
        let still_expected = |cohort: &ReleaseCohort| {
            let coming = (cohort.people as f64 * show_up).ceil() as u64;
            coming
                .saturating_sub(cohort.came)
                .min(cohort.awaited_people())
        };
        self.recent.iter().map(still_expected).sum()
    }

    /// Returns how a claim of this rank counts. `first` says whether the claim is for the visitor's
    /// first pass.
    #[must_use]
    pub fn timing(&self, rank: u64, first: bool) -> ClaimTiming {
        let at = self.recent.partition_point(|cohort| cohort.to <= rank);
        let reserved = self
            .recent
            .get(at)
            .is_some_and(|cohort| cohort.contains_rank(rank) && !cohort.away.contains(&rank));
        match (first, reserved) {
            (true, true) => ClaimTiming::InWindow,
            (true, false) => ClaimTiming::Late,
            (false, _) => ClaimTiming::Again,
        }
    }

    /// Decides whether the visitor with this claim may enter now. A visitor who enters takes a
    /// share of the pace from the gate, and a late comer another one from the line.
    pub fn admit(&mut self, claim: &ClaimToEnter) -> EntryDecision {
        let timing = self.timing(claim.rank, claim.first);
        let decision = self.decide_entry(claim, timing);
        match decision {
            EntryDecision::Enters => {
                self.door.remove(claim.rank);
                if let Some(gate) = self.gate.as_mut().filter(|_| claim.line) {
                    gate.take(claim.now);
                }
                if claim.line && timing != ClaimTiming::InWindow {
                    self.charge_late();
                }
            }
            EntryDecision::Waits { entry_in_ms } if claim.line => {
                self.door
                    .note_waiting(timing, (claim.order, claim.rank), entry_in_ms, claim.now);
            }
            EntryDecision::Waits { .. } => {}
        }
        decision
    }

    fn decide_entry(&self, claim: &ClaimToEnter, timing: ClaimTiming) -> EntryDecision {
        let space = claim
            .max_inside
            .saturating_sub(claim.inside + self.entering());
        // The pace calls more ranks than can be inside, because it expects only some of their
        // visitors to come. So the limit is checked even for a visitor who was expected. People who
        // are called and never come must not keep out those who ask for as long as their window is
        // open. So if nobody has entered for a while, a late comer may take an entry that is kept
        // for them.
        let is_free = match timing {
            ClaimTiming::InWindow => true,
            ClaimTiming::Late => claim.now - self.let_in_at >= claim.idle_ms,
            ClaimTiming::Again => false,
        };
        let space = if is_free {
            space
        } else {
            space.saturating_sub(self.expected())
        };
        // A room without a line has no pace, so only `max_inside` limits claims there.
        let before = if claim.line {
            self.door.before(timing, claim.order, claim.now)
        } else {
            0
        };
        if space <= before {
            return EntryDecision::Waits { entry_in_ms: None };
        }
        if !claim.line {
            return EntryDecision::Enters;
        }
        // Before the first tick it is not known how fast visitors may enter.
        let Some(gate) = &self.gate else {
            return EntryDecision::Waits { entry_in_ms: None };
        };
        let opens_in_ms = gate.opens_in_ms(before, claim.now);
        let has_share = is_free || self.late_credit_u >= VISITOR_U;
        let entry_in_ms = opens_in_ms.max(if has_share { 0 } else { TICK_MS });
        if entry_in_ms == 0 {
            return EntryDecision::Enters;
        }
        EntryDecision::Waits {
            entry_in_ms: Some(entry_in_ms),
        }
    }

    /// Charges the pace for one late comer, even if no share is left.
    fn charge_late(&mut self) {
        self.late_credit_u = self.late_credit_u.saturating_sub(VISITOR_U);
        self.owed_u = self.owed_u.saturating_add(VISITOR_U);
    }

    /// Returns whether a claim of this rank is being written.
    #[must_use]
    pub fn is_entering(&self, rank: u64) -> bool {
        self.entering.contains_key(&rank)
    }

    /// Frees the entries that lapse by `now` (ms). Their visitors are no longer expected.
    pub fn lapse(&mut self, now: i64) {
        self.entering
            .retain(|_, reservation| reservation.lapses_at > now);
    }

    /// Reserves an entry for this rank. The entry lasts until [`Self::end_entry`] or
    /// [`Self::entry_failed`] is called, or until it lapses.
    pub fn reserve_entry(&mut self, rank: u64, now: i64) {
        let reservation = self.entering.entry(rank).or_insert(EntryReservation {
            requests: 0,
            lapses_at: 0,
        });
        reservation.requests += 1;
        reservation.lapses_at = now.saturating_add(ENTRY_LAPSES_MS);
        self.let_in_at = now;
        if let Some(cohort) = self.cohort(rank)
            && !cohort.away.contains(&rank)
            && cohort.no_longer_expected.insert(rank)
        {
            cohort.came += 1;
        }
    }

    /// Ends an entry whose claim is written. Other requests of the same visitor no longer need the
    /// reservation, so none of them can undo it.
    pub fn end_entry(&mut self, rank: u64) {
        self.entering.remove(&rank);
    }

    /// Ends an entry whose claim was not written, unless another request of the same visitor still
    /// uses the reservation, or the reservation has ended. If the claim was for the visitor's first
    /// pass, the visitor is expected as before.
    pub fn entry_failed(&mut self, rank: u64, first: bool) {
        let Some(reservation) = self.entering.get_mut(&rank) else {
            return;
        };
        reservation.requests -= 1;
        if reservation.requests > 0 {
            return;
        }
        self.entering.remove(&rank);
        if first
            && let Some(cohort) = self.cohort(rank)
            && cohort.no_longer_expected.remove(&rank)
        {
            cohort.came -= 1;
        }
    }

    /// Records that the visitor at this rank left and is no longer expected.
    pub fn note_departure(&mut self, rank: u64) {
        if let Some(cohort) = self.cohort(rank)
            && !cohort.away.contains(&rank)
        {
            cohort.no_longer_expected.insert(rank);
        }
    }

    fn cohort(&mut self, rank: u64) -> Option<&mut ReleaseCohort> {
        self.recent
            .iter_mut()
            .find(|cohort| cohort.contains_rank(rank))
    }
}

#[cfg(test)]
mod tests;

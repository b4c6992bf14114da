//! One room's line in memory: plain data, and methods that change it without calling the ledger or
//! taking a lock.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fairgate_pass::{Digest, Holder, VOID};

use fairgate_rules::claim_timing::{entry_order, turn_of};
use fairgate_rules::release_cohorts::{ClaimToEnter, EntryDecision, ReleaseCohorts, TickAccounts};
use fairgate_rules::wrong_codes::WrongCodes;

use super::absence::AbsentNumbers;
use super::baskets::LineBaskets;
use super::networks::LineNetworks;
use super::passes::LinePasses;
use super::places::{LineSlot, index};
use super::presence::LinePresence;
use super::wishes::LineWishes;
use crate::ledger::{NetworkKeys, StoredLine};
use crate::store::join_times::JoinTimes;
use crate::store::{
    AdmissionDecision, AwayNumbers, Claimant, CodesPaused, EndedVisit, FailedPassClaim,
    IdleVisitor, LapsedVisit, NotedBasket, NumberSet, Place, PresentedPlaceStatus,
    RecordedPassClaim, RoomCounts, ShownCode, StoreJoinRequest, StoreLeaveRequest, TickEnd,
    TickFigures, TickFiguresRequest, TollRefusal,
};

/// The result of a join in memory, before the join is in the ledger.
pub(super) enum JoinAssignment {
    /// The place that the holder had already.
    Known(Place),
    /// A place with the next number.
    New(Place),
    CodeInvalid {
        recent: u64,
    },
    CodesPaused(CodesPaused),
    CodeUsed,
    Toll(TollRefusal),
}

/// One room's line.
#[derive(Default)]
pub(super) struct RoomLine {
    slots: Vec<LineSlot>,
    by_holder: HashMap<Holder, u64>,
    codes: HashMap<Digest, Option<u64>>,
    /// A restart forgets this.
    wrong_codes: WrongCodes,
    pub(super) frozen: Option<u64>,
    absent: AbsentNumbers,
    presence: LinePresence,
    passes: LinePasses,
    /// How many visitors have a ticketed order.
    done: u64,
    /// The cursor up to which booking's finished orders have been read.
    finished: u64,
    /// The ranks that were called, and the ranks that are being admitted.
    cohorts: ReleaseCohorts,
    pub(super) networks: LineNetworks,
    pub(super) wishes: LineWishes,
    pub(super) baskets: LineBaskets,
    /// When the place of a number was last brought to another device (ms). A restart forgets this.
    pub(super) moved_at: HashMap<u64, i64>,
}

impl RoomLine {
    pub(super) fn restore(stored: &StoredLine) -> Self {
        let mut line = Self {
            codes: stored.codes.iter().copied().collect(),
            passes: LinePasses::of_ledger(&stored.passes),
            finished: stored.finished,
            frozen: stored.frozen,
            ..Self::default()
        };
        let mut join_times = JoinTimes::default();
        for place in &stored.places {
            join_times.note(place.join.number, place.join.at);
            line.fill_up_to(place.join.number);
            line.slots.push(LineSlot {
                holder: if place.void { VOID } else { place.join.holder },
                at: place.join.at,
                code: place.join.code,
                has_visitor: !place.left && !place.void,
                done: place.done,
            });
            line.networks.count(place.join.networks, place.join.at);
            line.done += u64::from(place.done);
            if place.left || place.void {
                line.absent.mark_left(place.join.number);
                line.passes.note_left(place.join.holder, place.join.number);
            } else {
                line.by_holder.insert(place.join.holder, place.join.number);
            }
        }
        let slots = &line.slots;
        line.passes.mark_inside(
            |number| slots.get(index(number)).is_some_and(LineSlot::may_buy),
            |ended_s| join_times.first_after(ended_s),
        );
        // The freeze may be above the last recorded number. The numbers between them are void,
        // because their write failed. If the room was in Redis before, Redis may have given numbers
        // that never reached the ledger. All of them are below the life's ceiling. They are void,
        // too.
        line.fill_up_to(stored.frozen.unwrap_or_default());
        line.fill_up_to(stored.life.map_or(0, |life| life.ceiling));
        line
    }

    fn fill_up_to(&mut self, number: u64) {
        while self.next_number() < number {
            let void = self.next_number();
            self.slots.push(LineSlot::VOID);
            self.absent.mark_void(void);
        }
    }

    pub(super) fn next_number(&self) -> u64 {
        self.slots.len() as u64
    }

    fn living_place(&self, number: u64) -> Option<Place> {
        let slot = self
            .slots
            .get(index(number))
            .filter(|slot| slot.has_visitor)?;
        Some(Place {
            number,
            holder: slot.holder,
            at: slot.at,
            code: slot.code,
            pass_exp: self.passes.expiry_s(number),
            called_behind: self.passes.called_behind(number, self.next_number()),
            done: slot.done,
            fresh: false,
        })
    }

    pub(super) fn put_codes(&mut self, codes: &[Digest]) {
        self.codes = codes.iter().map(|code| (*code, None)).collect();
    }

    pub(super) fn assign(&mut self, entrant: &StoreJoinRequest) -> JoinAssignment {
        let number = self.next_number();
        if let Some(place) = self.place_of(entrant.holder) {
            return JoinAssignment::Known(place);
        }
        let shown = entrant.code.filter(|_| entrant.needs_code);
        if entrant.needs_code
            && let Err(refused) = self.look_at_code(shown, entrant.now)
        {
            return refused;
        }
        let code = shown.map(|shown| shown.digest);
        if let Err(refusal) = self.networks.check(&entrant.toll, entrant.now) {
            return JoinAssignment::Toll(refusal);
        }
        self.networks.use_up(entrant.toll.solved, entrant.now);
        self.networks.count(entrant.toll.keys, entrant.now);
        if let Some(code) = code {
            self.codes.insert(code, Some(number));
        }
        self.slots.push(LineSlot {
            holder: entrant.holder,
            at: entrant.now,
            code,
            has_visitor: true,
            done: false,
        });
        self.by_holder.insert(entrant.holder, number);
        let place = Place {
            number,
            holder: entrant.holder,
            at: entrant.now,
            code,
            pass_exp: None,
            called_behind: None,
            done: false,
            fresh: true,
        };
        JoinAssignment::New(place)
    }

    fn look_at_code(&mut self, shown: Option<ShownCode>, now: i64) -> Result<(), JoinAssignment> {
        let Some(shown) = shown else {
            let recent = self.wrong_codes.in_last_minute(now);
            return Err(JoinAssignment::CodeInvalid { recent });
        };
        let wait_ms = self.wrong_codes.wait_ms(shown.kept, now);
        if wait_ms > 0 {
            let recent = self.wrong_codes.in_last_minute(now);
            return Err(JoinAssignment::CodesPaused(CodesPaused { wait_ms, recent }));
        }
        match self.codes.get(&shown.digest) {
            Some(None) => Ok(()),
            Some(Some(_)) => Err(JoinAssignment::CodeUsed),
            None => {
                if shown.is_counted {
                    self.wrong_codes.note(now);
                }
                let recent = self.wrong_codes.in_last_minute(now);
                Err(JoinAssignment::CodeInvalid { recent })
            }
        }
    }

    /// Makes a number void because its join was not written to the ledger. Its holder may join
    /// again with the same code.
    pub(super) fn void_number(&mut self, number: u64, networks: NetworkKeys) {
        let Some(slot) = self.slots.get_mut(index(number)) else {
            return;
        };
        self.networks.uncount(networks, slot.at);
        let (holder, code) = (slot.holder, slot.code);
        (slot.has_visitor, slot.holder) = (false, VOID);
        if let Entry::Occupied(entry) = self.by_holder.entry(holder)
            && *entry.get() == number
        {
            entry.remove();
        }
        if let Some(used) = code.and_then(|code| self.codes.get_mut(&code))
            && *used == Some(number)
        {
            *used = None;
        }
        self.absent.mark_void(number);
    }

    /// Gives a place up. Returns whether the ledger must make its leaf void.
    pub(super) fn leave(&mut self, leaving: &StoreLeaveRequest) -> bool {
        self.end_place(leaving);
        // A leaf is made void only before the freeze. After the freeze, the leaves below the frozen
        // count are in the published root, and later leaves are in no draw.
        self.frozen.is_none()
    }

    /// Takes a number from its visitor.
    pub(super) fn end_place(&mut self, ending: &StoreLeaveRequest) {
        let number = ending.number;
        self.passes.free_entry(number, ending.stopped_s());
        if let Some(rank) = ending.rank {
            self.cohorts.note_departure(rank);
        }
        if let Some(slot) = self
            .slots
            .get_mut(index(number))
            .filter(|slot| slot.has_visitor)
        {
            slot.has_visitor = false;
            let holder = slot.holder;
            self.by_holder.remove(&holder);
            self.passes.note_left(holder, number);
            self.absent.mark_left(number);
            self.wishes.forget(number);
        }
    }

    pub(super) fn place_of(&self, holder: Holder) -> Option<Place> {
        self.by_holder
            .get(&holder)
            .and_then(|number| self.living_place(*number))
    }

    pub(super) fn place_status(&self, number: u64, holder: Holder) -> PresentedPlaceStatus {
        match self.slots.get(index(number)) {
            Some(slot) if slot.has_visitor && slot.holder == holder => self
                .living_place(number)
                .map_or(PresentedPlaceStatus::Unknown, PresentedPlaceStatus::Here),
            // The holder of a void number is not stored. The visitor's signed place proves that the
            // number was theirs, so the place counts as left.
            Some(slot) if !slot.has_visitor && (slot.holder == holder || slot.holder == VOID) => {
                PresentedPlaceStatus::Left
            }
            _ => PresentedPlaceStatus::Unknown,
        }
    }

    /// Freezes the line unless it is frozen already, and returns how many numbers are frozen.
    pub(super) fn freeze(&mut self) -> u64 {
        *self.frozen.get_or_insert(self.slots.len() as u64)
    }

    /// Decides whether a visitor may claim a pass now. If so, reserves one of the `max_inside`
    /// entries.
    pub(super) fn admit_claimant(&mut self, claimant: &Claimant) -> AdmissionDecision {
        let Claimant { rank, now, .. } = *claimant;
        let now_s = now.div_euclid(1000);
        // Another tab of the same visitor may have claimed since the place was read.
        let pass_exp = self.passes.expiry_s(claimant.number);
        if pass_exp.is_some_and(|exp| exp > now_s) {
            return AdmissionDecision::HasLivePass;
        }
        let behind = self
            .passes
            .called_behind(claimant.number, self.next_number());
        let turn = turn_of(rank, behind);
        // The visitor may have left since the place was read.
        if turn >= claimant.released || self.has_left(claimant.number) {
            return AdmissionDecision::Wait { entry_in_ms: None };
        }
        if let Err(refusal) = self.networks.check(&claimant.toll, now) {
            return AdmissionDecision::Toll(refusal);
        }
        let first = pass_exp.is_none();
        // A new pass of this visitor takes the entry of the old one.
        let all = self.counts(now_s).inside;
        let inside = all - u64::from(self.passes.is_inside(claimant.number));
        let cohorts = &mut self.cohorts;
        cohorts.lapse(now);
        let claim = ClaimToEnter {
            rank,
            order: entry_order(turn, behind, pass_exp),
            first,
            inside,
            max_inside: claimant.max_inside,
            line: claimant.line,
            idle_ms: claimant.idle_ms,
            now,
        };
        let decision = if cohorts.is_entering(rank) {
            EntryDecision::Enters
        } else {
            cohorts.admit(&claim)
        };
        match decision {
            EntryDecision::Enters => {
                cohorts.reserve_entry(rank, now);
                self.networks.use_up(claimant.toll.solved, now);
                AdmissionDecision::Let { first }
            }
            EntryDecision::Waits { entry_in_ms } => AdmissionDecision::Wait { entry_in_ms },
        }
    }

    fn has_left(&self, number: u64) -> bool {
        let slot = self.slots.get(index(number));
        slot.is_some_and(|slot| !slot.has_visitor)
    }

    pub(super) fn undo_admission(&mut self, failed: FailedPassClaim) {
        self.cohorts.entry_failed(failed.rank, failed.first);
        // The visitor may have left while the claim was being written.
        if self.has_left(failed.number) {
            self.cohorts.note_departure(failed.rank);
        }
    }

    pub(super) fn tick_figures(&mut self, request: TickFiguresRequest) -> TickFigures {
        let counts = self.counts(request.now.div_euclid(1000));
        self.cohorts.close_windows(request.now, request.claim_ms);
        TickFigures {
            counts,
            beyond: self.passes.inside_beyond(&request.ends_s),
            expected: self.cohorts.expected(),
            entering: self.cohorts.entering(),
            asking: self.cohorts.asking(request.now),
            show_up: self.cohorts.show_up(),
            owed_u: self.cohorts.owed_u(),
            calls: self.cohorts.calls(),
            counted_until: self.cohorts.counted_until(),
            by_other: false,
            left_by_other: None,
            vitals: vec![request.vitals],
        }
    }

    pub(super) fn end_tick(&mut self, end: TickEnd) -> bool {
        let is_current = self.cohorts.counted_until() == end.since;
        if is_current {
            let accounts = TickAccounts {
                until: end.until,
                owed_u: end.owed_u,
                credit_u: end.credit_u,
                rate_u: end.rate_u,
            };
            self.cohorts.end_tick(&accounts, end.now);
        }
        if let Some(called) = end.called {
            self.cohorts
                .note_release(called.from, called.to, called.people, called.away, end.now);
        }
        is_current
    }

    /// Notes that a claim was written. Counts its visitor as inside, unless an order was already
    /// ticketed. Returns whether this was the number's first pass.
    pub(super) fn note_claim(&mut self, claimed: &RecordedPassClaim) -> bool {
        let RecordedPassClaim {
            number,
            exp_s,
            at_s,
            ..
        } = *claimed;
        if let Some(rank) = claimed.reserved {
            self.cohorts.end_entry(rank);
        }
        let slot = self.slots.get(index(number)).copied();
        let is_inside = slot.as_ref().is_some_and(LineSlot::may_buy);
        let first = self.passes.note_pass(number, exp_s, at_s, is_inside);
        // The visitor may have left while the claim was being written.
        if let Some(slot) = slot.filter(|slot| first && !slot.has_visitor) {
            self.passes.note_left(slot.holder, number);
        }
        first
    }

    pub(super) fn mark_ticketed(&mut self, cursor: u64, holders: &[Holder]) {
        self.finished = self.finished.max(cursor);
        let next = self.next_number();
        for holder in holders {
            let left = self.passes.take_left(*holder);
            for number in self.by_holder.get(holder).copied().into_iter().chain(left) {
                // A place without a pass cannot have led to the order. Its holder bought with the
                // pass of an earlier place.
                if self.passes.expiry_s(number).is_some()
                    && let Some(slot) = self.slots.get_mut(index(number))
                    && !slot.done
                {
                    slot.done = true;
                    self.done += 1;
                    self.passes.note_bought(number, next);
                }
            }
        }
    }

    pub(super) fn counts(&mut self, now_s: i64) -> RoomCounts {
        self.passes.expire(now_s, self.next_number());
        RoomCounts {
            next: self.next_number(),
            joined: self.next_number() - self.absent.voids(),
            left: self.absent.left_count(),
            inside: self.passes.inside(),
            ended: self.passes.ended(),
            claimed: self.passes.claimed_ever(),
            done: self.done,
            finished: self.finished,
        }
    }

    pub(super) fn absent_numbers(&self) -> NumberSet {
        self.absent.numbers()
    }

    pub(super) fn note_seen(&mut self, numbers: &[u64], now_s: i64) {
        self.presence.note_seen(self.slots.len(), numbers, now_s);
    }

    pub(super) fn note_active(&mut self, active: &[(u64, i64)]) {
        for (number, at_s) in active {
            self.passes.note_active(*number, *at_s);
        }
    }

    pub(super) fn idle_visitors(&self, until_s: i64, max: u32) -> Vec<IdleVisitor> {
        let to_visitor = |(active_s, number): (i64, u64)| {
            Some(IdleVisitor {
                number,
                holder: self.slots.get(index(number))?.holder,
                active_s,
                pass_exp_s: self.passes.expiry_s(number)?,
            })
        };
        let idle = self.passes.idle_since(until_s).filter_map(to_visitor);
        idle.take(max as usize).collect()
    }

    pub(super) fn end_visits(&mut self, ended: &[EndedVisit]) {
        let next = self.next_number();
        for visit in ended {
            self.passes.end_visit(visit, next);
        }
    }

    pub(super) fn excuse_visit(&mut self, number: u64) {
        self.passes.excuse(number);
    }

    pub(super) fn note_basket(&mut self, number: u64, basket: NotedBasket) {
        self.passes.count_visit(number);
        self.baskets.note(number, basket);
    }

    /// Notes that a basket of a holder has lapsed.
    pub(super) fn note_lapse(&mut self, holder: Holder, hold: &str) -> Option<LapsedVisit> {
        let number = *self.by_holder.get(&holder)?;
        let pass_exp_s = self.passes.expiry_s(number)?;
        let is_new = self.baskets.note_lapsed(number, hold)?;
        Some(LapsedVisit {
            number,
            lapses: self.passes.count_lapse(number, is_new),
            pass_exp_s,
        })
    }

    pub(super) fn seen_since(&self, numbers: &[u64], since_s: i64) -> Vec<u64> {
        self.presence.seen_since(numbers, since_s)
    }

    pub(super) fn away_numbers(&mut self, now_s: i64, is_ordered: bool) -> AwayNumbers {
        self.presence.away_numbers(&self.slots, now_s, is_ordered)
    }
}

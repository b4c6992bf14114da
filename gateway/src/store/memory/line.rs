//! One room's line in memory: plain data and pure transitions, without the ledger and without a lock.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use fairgate_pass::{Digest, Holder, VOID};

use crate::ledger::StoredLine;
use crate::store::{
    AWAY_AFTER_S, Claimant, Claimed, Counts, Entered, Figures, Leaving, Moment, Numbers, Place,
    Standing, TickEnd,
};
use fairgate_rules::cohort::{Cohorts, Timing};

#[derive(Clone, Copy)]
struct Slot {
    holder: Holder,
    at: i64,
    code: Option<Digest>,
    here: bool,
    done: bool,
}

/// What a holder's join came to, before the ledger has it.
pub(super) enum Assigned {
    /// The holder had this one.
    Known(Place),
    /// The next number.
    New(Place),
    CodeInvalid,
    CodeUsed,
}

#[derive(Default)]
pub(super) struct Line {
    slots: Vec<Slot>,
    by_holder: HashMap<Holder, u64>,
    codes: HashMap<Digest, Option<u64>>,
    passes: HashMap<u64, i64>,
    /// Expiry and number of whoever is inside, soonest first: counting never walks the whole line.
    inside: BTreeSet<(i64, u64)>,
    /// Numbers that were left with a pass: it opens booking all the same, so they count until it ends or is used.
    left_with_pass: HashMap<Holder, Vec<u64>>,
    absent: Arc<Vec<u64>>,
    absent_count: u64,
    /// How many of them are nobody's at all; at the others somebody stood and left.
    void_count: u64,
    /// When each number was last seen, unix seconds; 0 where this life of the store has not heard of it.
    seen_at: Vec<u32>,
    /// Since when this life of the store has looked, unix seconds.
    looking_since: Option<i64>,
    ended: u64,
    done: u64,
    finished: u64,
    pub(super) frozen: Option<u64>,
    /// Who was called, and who is on the way in.
    cohorts: Cohorts,
}

/// Seconds since the epoch, as small as they are kept: until the year 2106.
fn seconds(at_s: i64) -> u32 {
    u32::try_from(at_s.max(0)).unwrap_or(u32::MAX)
}

fn index(number: u64) -> usize {
    // Numbers are given one by one from memory, so they fit its addresses.
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Line {
    pub(super) fn restore(stored: &StoredLine) -> Self {
        let mut line = Self {
            codes: stored.codes.iter().copied().collect(),
            passes: stored.passes.iter().copied().collect(),
            finished: stored.finished,
            frozen: stored.frozen,
            ..Self::default()
        };
        for place in &stored.places {
            line.fill_up_to(place.join.number);
            line.slots.push(Slot {
                holder: if place.void { VOID } else { place.join.holder },
                at: place.join.at,
                code: place.join.code,
                here: !place.left && !place.void,
                done: place.done,
            });
            line.done += u64::from(place.done);
            if place.left || place.void {
                line.mark_absent(place.join.number);
                line.note_left(place.join.holder, place.join.number);
            } else {
                line.by_holder.insert(place.join.holder, place.join.number);
            }
        }
        let passes = &line.passes;
        line.inside = passes
            .iter()
            .filter(|(number, _)| {
                line.slots
                    .get(index(**number))
                    .is_some_and(|slot| !slot.done)
            })
            .map(|(number, exp)| (*exp, *number))
            .collect();
        // The freeze may lie above the last durable number: what failed between them stays void. So does what a store
        // with lives may have given and not brought into the ledger.
        line.fill_up_to(stored.frozen.unwrap_or_default());
        line.fill_up_to(stored.life.map_or(0, |life| life.ceiling));
        line
    }

    fn fill_up_to(&mut self, number: u64) {
        while self.next() < number {
            let void = self.next();
            self.slots.push(Slot {
                holder: VOID,
                at: 0,
                code: None,
                here: false,
                done: false,
            });
            self.void_count += u64::from(self.mark_absent(void));
        }
    }

    /// Gives whether somebody stood there until now, as far as is known.
    fn mark_absent(&mut self, number: u64) -> bool {
        let bits = Arc::make_mut(&mut self.absent);
        let word = index(number / 64);
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        let bit = 1 << (number % 64);
        let is_new = bits[word] & bit == 0;
        self.absent_count += u64::from(is_new);
        bits[word] |= bit;
        is_new
    }

    fn next(&self) -> u64 {
        self.slots.len() as u64
    }

    fn place(&self, number: u64) -> Option<Place> {
        let slot = self.slots.get(index(number)).filter(|slot| slot.here)?;
        Some(Place {
            number,
            holder: slot.holder,
            at: slot.at,
            code: slot.code,
            pass_exp: self.passes.get(&number).copied(),
            done: slot.done,
            fresh: false,
        })
    }

    pub(super) fn put_codes(&mut self, codes: &[Digest]) {
        self.codes = codes.iter().map(|code| (*code, None)).collect();
    }

    pub(super) fn assign(&mut self, entrant: &crate::store::Entrant) -> Assigned {
        let number = self.next();
        if let Some(known) = self.place_of(entrant.holder) {
            return Assigned::Known(known);
        }
        if entrant.needs_code {
            let Some(code) = entrant.code else {
                return Assigned::CodeInvalid;
            };
            match self.codes.get_mut(&code) {
                None => return Assigned::CodeInvalid,
                Some(Some(_)) => return Assigned::CodeUsed,
                Some(free) => *free = Some(number),
            }
        }
        let code = entrant.code.filter(|_| entrant.needs_code);
        self.slots.push(Slot {
            holder: entrant.holder,
            at: entrant.now,
            code,
            here: true,
            done: false,
        });
        self.by_holder.insert(entrant.holder, number);
        let place = Place {
            number,
            holder: entrant.holder,
            at: entrant.now,
            code,
            pass_exp: None,
            done: false,
            fresh: true,
        };
        Assigned::New(place)
    }

    /// The ledger did not take the number: it is nobody's, and holder and code are free again.
    pub(super) fn void(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(index(number)) else {
            return;
        };
        let (holder, code) = (slot.holder, slot.code);
        (slot.here, slot.holder) = (false, VOID);
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
        self.void_count += u64::from(self.mark_absent(number));
    }

    fn note_left(&mut self, holder: Holder, number: u64) {
        if self.passes.contains_key(&number) {
            self.left_with_pass.entry(holder).or_default().push(number);
        }
    }

    fn no_longer_inside(&mut self, number: u64) {
        if let Some(exp) = self.passes.get(&number) {
            self.inside.remove(&(*exp, number));
        }
    }

    /// Gives a place up; answers whether its leaf becomes nobody's.
    pub(super) fn leave(&mut self, leaving: &Leaving) -> bool {
        let number = leaving.number;
        if let Some(rank) = leaving.rank {
            self.cohorts.left(rank);
        }
        // After the freeze a leaf below n is part of the published root, and one from n on is nobody's business.
        let void = self.frozen.is_none();
        if let Some(slot) = self.slots.get_mut(index(number)).filter(|slot| slot.here) {
            slot.here = false;
            let holder = slot.holder;
            self.by_holder.remove(&holder);
            self.note_left(holder, number);
            self.mark_absent(number);
        }
        void
    }

    pub(super) fn place_of(&self, holder: Holder) -> Option<Place> {
        self.by_holder
            .get(&holder)
            .and_then(|number| self.place(*number))
    }

    pub(super) fn standing(&self, number: u64, holder: Holder) -> Standing {
        match self.slots.get(index(number)) {
            Some(slot) if slot.here && slot.holder == holder => {
                self.place(number).map_or(Standing::Unknown, Standing::Here)
            }
            // A void leaf no longer says whose it was; the signed place does.
            Some(slot) if !slot.here && (slot.holder == holder || slot.holder == VOID) => {
                Standing::Left
            }
            _ => Standing::Unknown,
        }
    }

    /// Fixes the numbers so far.
    pub(super) fn freeze(&mut self) -> u64 {
        *self.frozen.get_or_insert(self.slots.len() as u64)
    }

    /// Whether a visitor may come in now; then the room inside is reserved.
    pub(super) fn enter(&mut self, claimant: &Claimant) -> Entered {
        let Claimant { rank, now, .. } = *claimant;
        let now_s = now.div_euclid(1000);
        // Another tab of the same visitor may have claimed since the place was read.
        let pass_exp = self.passes.get(&claimant.number).copied();
        if pass_exp.is_some_and(|exp| exp > now_s) {
            return Entered::Lives;
        }
        if rank >= claimant.released {
            return Entered::Wait;
        }
        let first = pass_exp.is_none();
        let inside = self.counts(now_s).inside;
        let cohorts = &mut self.cohorts;
        cohorts.lapse(now);
        let let_in = cohorts.is_entering(rank)
            || match cohorts.timing(rank, first) {
                // More may have been called than there is room for, because some of them were not expected to come.
                Timing::InWindow => inside + cohorts.entering() < claimant.max_inside,
                // Without a line only the room inside binds.
                Timing::Late => {
                    inside + cohorts.entering() + cohorts.expected() < claimant.max_inside
                        && (!claimant.line || cohorts.take_late())
                }
            };
        if let_in {
            cohorts.enter(rank, now);
            Entered::Let { first }
        } else {
            Entered::Wait
        }
    }

    pub(super) fn turned_back(&mut self, rank: u64, first: bool) {
        self.cohorts.turned_back(rank, first);
    }

    pub(super) fn figures(&mut self, moment: Moment) -> Figures {
        let counts = self.counts(moment.now.div_euclid(1000));
        self.cohorts.expire(moment.now, moment.claim_ms);
        Figures {
            counts,
            beyond: self.inside_beyond(&moment.ends_s),
            expected: self.cohorts.expected(),
            entering: self.cohorts.entering(),
            show_up: self.cohorts.show_up(),
            owed_u: self.cohorts.owed_u(),
            calls: self.cohorts.calls(),
            counted_until: self.cohorts.counted_until(),
            by_other: false,
            left_by_other: None,
            vitals: vec![moment.vitals],
        }
    }

    pub(super) fn ticked(&mut self, end: TickEnd) -> bool {
        let stands = self.cohorts.counted_until() == end.since;
        if stands {
            self.cohorts
                .ticked(end.until, end.owed_u, end.credit_u, end.per_s_u);
        }
        if let Some(called) = end.called {
            self.cohorts
                .released(called.from, called.to, called.people, called.away, end.now);
        }
        stands
    }

    /// A claim was written; answers whether it is this number's first.
    pub(super) fn claimed(&mut self, claimed: &Claimed) -> bool {
        let Claimed { number, exp_s, .. } = *claimed;
        if let Some(rank) = claimed.reserved {
            self.cohorts.entered(rank);
        }
        self.no_longer_inside(number);
        let slot = self.slots.get(index(number)).copied();
        if slot.is_some_and(|slot| !slot.done) {
            self.inside.insert((exp_s, number));
        }
        let first = self.passes.insert(number, exp_s).is_none();
        // The place may have been left while its claim was being written.
        if let Some(slot) = slot.filter(|slot| first && !slot.here) {
            self.note_left(slot.holder, number);
        }
        first
    }

    pub(super) fn done(&mut self, cursor: u64, holders: &[Holder]) {
        self.finished = self.finished.max(cursor);
        for holder in holders {
            let left = self.left_with_pass.remove(holder).unwrap_or_default();
            for number in self.by_holder.get(holder).copied().into_iter().chain(left) {
                // A place without a pass bought nothing: its holder had another one before.
                if self.passes.contains_key(&number)
                    && let Some(slot) = self.slots.get_mut(index(number))
                    && !slot.done
                {
                    slot.done = true;
                    self.done += 1;
                    self.no_longer_inside(number);
                }
            }
        }
    }

    pub(super) fn counts(&mut self, now_s: i64) -> Counts {
        while self.inside.first().is_some_and(|(exp, _)| *exp <= now_s) {
            self.inside.pop_first();
            self.ended += 1;
        }
        Counts {
            next: self.next(),
            joined: self.next() - self.void_count,
            left: self.absent_count - self.void_count,
            inside: self.inside.len() as u64,
            ended: self.ended,
            claimed: self.passes.len() as u64,
            done: self.done,
            finished: self.finished,
        }
    }

    fn inside_beyond(&self, exps_s: &[i64]) -> Vec<u64> {
        let mut counts = vec![0; exps_s.len()];
        for (exp, _) in &self.inside {
            for (count, beyond) in counts.iter_mut().zip(exps_s) {
                *count += u64::from(exp > beyond);
            }
        }
        counts
    }

    pub(super) fn absent(&self) -> Numbers {
        Numbers(Arc::clone(&self.absent))
    }

    pub(super) fn seen(&mut self, numbers: &[u64], now_s: i64) {
        let joined = self.slots.len();
        self.seen_at.resize(joined, 0);
        for number in numbers {
            if let Some(at) = self.seen_at.get_mut(index(*number)) {
                *at = (*at).max(seconds(now_s));
            }
        }
    }

    /// Whoever joined is seen by joining; whoever is not known here counts as here until this store has looked for
    /// long enough.
    pub(super) fn away(&mut self, now_s: i64) -> Numbers {
        let since = *self.looking_since.get_or_insert(now_s);
        let (since, gone) = (seconds(since), seconds(now_s - AWAY_AFTER_S));
        let mut bits = vec![0_u64; self.slots.len().div_ceil(64)];
        for (at, slot) in self.slots.iter().enumerate() {
            let seen = self.seen_at.get(at).copied().unwrap_or(0);
            let joined = seconds(slot.at.div_euclid(1000));
            let away = slot.here && seen.max(joined).max(since) <= gone;
            bits[at / 64] |= u64::from(away) << (at % 64);
        }
        Numbers(Arc::new(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::RoomLife;
    use crate::store::Entrant;

    fn number(assigned: &Assigned) -> Option<u64> {
        match assigned {
            Assigned::New(place) | Assigned::Known(place) => Some(place.number),
            Assigned::CodeInvalid | Assigned::CodeUsed => None,
        }
    }

    #[test]
    fn after_a_loss_the_figures_count_people_and_not_the_numbers_that_were_skipped() {
        let life = RoomLife {
            incarnation: 2,
            first: 100,
            ceiling: 100,
            begun_at: 0,
        };
        let mut line = Line::restore(&StoredLine {
            life: Some(life),
            ..StoredLine::default()
        });
        let entrant = Entrant {
            holder: Holder([1; 32]),
            code: None,
            needs_code: false,
            now: 0,
        };
        assert_eq!(number(&line.assign(&entrant)), Some(100));
        let counts = line.counts(0);
        assert_eq!((counts.next, counts.joined, counts.left), (101, 1, 0));
    }

    #[test]
    fn a_number_whose_write_failed_is_nobodys_and_its_holder_and_code_are_free_again() {
        let code = Digest::of(b"code");
        let mut line = Line::default();
        line.put_codes(&[code]);
        let entrant = Entrant {
            holder: Holder([1; 32]),
            code: Some(code),
            needs_code: true,
            now: 0,
        };
        assert_eq!(number(&line.assign(&entrant)), Some(0));
        line.void(0);
        assert_eq!(line.standing(0, entrant.holder), Standing::Left);
        let again = line.assign(&entrant);
        assert!(matches!(again, Assigned::New(_)));
        assert_eq!(number(&again), Some(1), "no number is given twice");
        // The failure of the first write comes late, after the second join: it takes nothing away from that.
        line.void(0);
        assert!(
            line.place_of(entrant.holder)
                .is_some_and(|place| place.number == 1)
        );
    }

    #[test]
    fn a_freeze_above_the_last_written_number_leaves_voids_between_them() {
        let line = Line::restore(&StoredLine {
            frozen: Some(3),
            ..StoredLine::default()
        });
        assert_eq!(line.absent().iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(line.next(), 3);
    }
}

//! The passes of a line in memory: which visitors are inside, and which left with a pass.

use std::collections::{BTreeSet, HashMap, HashSet};

use fairgate_pass::{Holder, LEEWAY_S};

use super::activity::LineActivity;
use crate::store::EndedVisit;

/// The passes that were claimed in one line.
#[derive(Default)]
pub(super) struct LinePasses {
    /// Expiry of each number's last pass, unix seconds.
    expires_s: HashMap<u64, i64>,
    /// When the entry of each visitor inside is free again (unix seconds), and the number, the
    /// soonest first. Counting therefore never walks the whole line. Passes are taken for
    /// [`LEEWAY_S`] longer than they last.
    inside: BTreeSet<(i64, u64)>,
    /// The same by number.
    free_at_s: HashMap<u64, i64>,
    /// For each holder, the numbers that the holder gave up after claiming a pass. What was begun
    /// with the pass can still be paid.
    left_with: HashMap<Holder, Vec<u64>>,
    /// How many passes have expired without an order.
    ended: u64,
    /// When the visitors inside last did something.
    activity: LineActivity,
    /// The visitors inside whom the ledger had when the line was restored. It is not known when
    /// they last did something.
    unwatched: Vec<u64>,
    /// For each number whose last visit has ended: the ranks below this are called first.
    called_behind: HashMap<u64, u64>,
    /// The numbers whose last visit does not count, because no seats that fitted were free.
    excused: HashSet<u64>,
    /// How many baskets of each number's last visit have lapsed.
    lapses: HashMap<u64, u64>,
}

impl LinePasses {
    /// Builds this from the number and the expiry (unix seconds) of each pass in the ledger. No
    /// visitor counts as inside yet.
    pub(super) fn of_ledger(passes: &[(u64, i64)]) -> Self {
        Self {
            expires_s: passes.iter().copied().collect(),
            ..Self::default()
        }
    }

    /// Counts the visitor of each number with a pass as inside, if `is_counted` returns true for
    /// the number. `called_behind` returns below which rank all are called before a visitor whose
    /// pass ended at a time (unix seconds), if that is known.
    pub(super) fn mark_inside(
        &mut self,
        is_counted: impl Fn(u64) -> bool,
        called_behind: impl Fn(i64) -> Option<u64>,
    ) {
        for (number, exp_s) in self.expires_s.clone() {
            if let Some(behind) = called_behind(exp_s) {
                self.called_behind.insert(number, behind);
            }
            if is_counted(number) {
                self.count_inside(number, exp_s + LEEWAY_S);
                self.unwatched.push(number);
            }
        }
    }

    fn count_inside(&mut self, number: u64, free_at_s: i64) {
        self.inside.insert((free_at_s, number));
        self.free_at_s.insert(number, free_at_s);
    }

    /// Returns the expiry of the last pass of a number, unix seconds.
    pub(super) fn expiry_s(&self, number: u64) -> Option<i64> {
        self.expires_s.get(&number).copied()
    }

    /// Returns below which rank all are called before this number is called again, or `None` if it
    /// never had a pass. `next` is the line's next number. If the last visit has not ended yet, it
    /// ends now.
    pub(super) fn called_behind(&self, number: u64, next: u64) -> Option<u64> {
        self.expires_s.get(&number)?;
        let known = self.called_behind.get(&number).copied();
        Some(known.unwrap_or_else(|| self.behind_now(number, next)))
    }

    fn behind_now(&self, number: u64, next: u64) -> u64 {
        if self.excused.contains(&number) {
            0
        } else {
            next
        }
    }

    /// Notes a pass that was claimed at `at_s`, and counts its visitor as inside if `is_inside`.
    /// Returns whether it is the number's first pass.
    pub(super) fn note_pass(
        &mut self,
        number: u64,
        exp_s: i64,
        at_s: i64,
        is_inside: bool,
    ) -> bool {
        let before = self.expires_s.insert(number, exp_s);
        let active_s = self.activity.active_s(number);
        self.no_longer_inside(number);
        if before != Some(exp_s) {
            self.called_behind.remove(&number);
            self.excused.remove(&number);
            self.lapses.remove(&number);
        }
        if is_inside {
            self.count_inside(number, exp_s + LEEWAY_S);
            let active_s = active_s.filter(|_| before == Some(exp_s));
            self.activity.begin(number, active_s.unwrap_or(at_s));
        }
        before.is_none()
    }

    /// Notes that a visitor inside did something.
    pub(super) fn note_active(&mut self, number: u64, at_s: i64) {
        self.activity.note(number, at_s);
    }

    /// Returns the visitors who have done nothing since `until_s`: when each last did something,
    /// and the number, the longest idle first.
    pub(super) fn idle_since(&self, until_s: i64) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.activity.idle_since(until_s)
    }

    /// Notes that the visit of a number does not count.
    pub(super) fn excuse(&mut self, number: u64) {
        self.excused.insert(number);
    }

    /// Notes that the visitor of a number makes a basket, so that its visit counts.
    pub(super) fn count_visit(&mut self, number: u64) {
        self.excused.remove(&number);
    }

    /// Counts a basket that has lapsed, and returns how many baskets of the visit have.
    pub(super) fn count_lapse(&mut self, number: u64, is_new: bool) -> u64 {
        let lapses = self.lapses.entry(number).or_default();
        *lapses += u64::from(is_new);
        *lapses
    }

    /// Ends a visit before its pass runs out, unless the number has another pass by now.
    pub(super) fn end_visit(&mut self, ended: &EndedVisit, next: u64) {
        let number = ended.number;
        if self.expiry_s(number) != Some(ended.pass_exp_s) {
            return;
        }
        self.expires_s.insert(number, ended.ended_s);
        let behind = self.behind_now(number, next);
        self.called_behind.insert(number, behind);
        self.activity.end(number);
        self.free_entry(number, ended.stopped_s());
    }

    /// Notes that a holder gave a number up. Does nothing if the number never had a pass.
    pub(super) fn note_left(&mut self, holder: Holder, number: u64) {
        if self.expires_s.contains_key(&number) {
            self.left_with.entry(holder).or_default().push(number);
        }
    }

    /// Removes and returns the numbers that a holder gave up after claiming a pass.
    pub(super) fn take_left(&mut self, holder: Holder) -> Vec<u64> {
        self.left_with.remove(&holder).unwrap_or_default()
    }

    pub(super) fn no_longer_inside(&mut self, number: u64) {
        if let Some(free_at) = self.free_at_s.remove(&number) {
            self.inside.remove(&(free_at, number));
            self.activity.end(number);
        }
    }

    /// Notes that the visitor of a number has bought. Whoever wants more is called again behind all
    /// who stand in line. `next` is the line's next number.
    pub(super) fn note_bought(&mut self, number: u64, next: u64) {
        self.no_longer_inside(number);
        self.called_behind.insert(number, next);
    }

    /// Frees the entry of a number whose pass is stopped at every node from this time on.
    pub(super) fn free_entry(&mut self, number: u64, stopped_s: i64) {
        if let Some(free_at) = self.free_at_s.get(&number).copied()
            && stopped_s < free_at
        {
            self.no_longer_inside(number);
            self.count_inside(number, stopped_s);
        }
    }

    /// Stops counting visitors whose entry is free again at `now_s`. `next` is the line's next
    /// number.
    pub(super) fn expire(&mut self, now_s: i64, next: u64) {
        while let Some((_, number)) = self.inside.first().copied().filter(|(at, _)| *at <= now_s) {
            self.no_longer_inside(number);
            let behind = self.behind_now(number, next);
            self.called_behind.entry(number).or_insert(behind);
            self.ended += 1;
        }
        for number in std::mem::take(&mut self.unwatched) {
            if self.is_inside(number) {
                self.activity.begin(number, now_s);
            }
        }
    }

    /// Returns whether the visitor of this number counts as inside.
    pub(super) fn is_inside(&self, number: u64) -> bool {
        self.free_at_s.contains_key(&number)
    }

    /// Returns how many visitors are inside.
    pub(super) fn inside(&self) -> u64 {
        self.inside.len() as u64
    }

    /// Returns for each of these times the number of visitors inside whose pass ends later.
    pub(super) fn inside_beyond(&self, exps_s: &[i64]) -> Vec<u64> {
        let mut counts = vec![0; exps_s.len()];
        for (free_at, _) in &self.inside {
            for (count, beyond) in counts.iter_mut().zip(exps_s) {
                *count += u64::from(*free_at > beyond + LEEWAY_S);
            }
        }
        counts
    }

    /// Returns how many passes have expired without an order.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// Returns how many numbers have or had a pass.
    pub(super) fn claimed_ever(&self) -> u64 {
        self.expires_s.len() as u64
    }
}

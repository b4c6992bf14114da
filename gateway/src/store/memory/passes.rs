//! Passes of a line in memory: who is inside, and who left with one.

use std::collections::{BTreeSet, HashMap};

use fairgate_pass::Holder;

/// The passes that were claimed.
#[derive(Default)]
pub(super) struct LinePasses {
    /// Expiry by number, unix seconds.
    expires_s: HashMap<u64, i64>,
    /// Expiry and number of whoever is inside, soonest first: counting never walks the whole line.
    inside: BTreeSet<(i64, u64)>,
    /// Numbers that were left with a pass: it opens booking all the same, so they count until it
    /// ends or is used.
    left_with: HashMap<Holder, Vec<u64>>,
    /// How many ran out without an order, ever.
    ended: u64,
}

impl LinePasses {
    /// Passes of the ledger, before anybody counts as inside.
    pub(super) fn of_ledger(passes: &[(u64, i64)]) -> Self {
        Self {
            expires_s: passes.iter().copied().collect(),
            ..Self::default()
        }
    }

    /// Counts those as inside of whom `may_be` says so.
    pub(super) fn count_inside(&mut self, may_be: impl Fn(u64) -> bool) {
        let inside = self.expires_s.iter().filter(|(number, _)| may_be(**number));
        self.inside = inside.map(|(number, exp)| (*exp, *number)).collect();
    }

    /// Expiry of the last pass of a number.
    pub(super) fn expiry_s(&self, number: u64) -> Option<i64> {
        self.expires_s.get(&number).copied()
    }

    /// Notes a pass, whose visitor is inside unless done; gives whether it is the number's first.
    pub(super) fn note_pass(&mut self, number: u64, exp_s: i64, is_inside: bool) -> bool {
        self.no_longer_inside(number);
        if is_inside {
            self.inside.insert((exp_s, number));
        }
        self.expires_s.insert(number, exp_s).is_none()
    }

    /// Notes who left a number, where that was with a pass.
    pub(super) fn note_left(&mut self, holder: Holder, number: u64) {
        if self.expires_s.contains_key(&number) {
            self.left_with.entry(holder).or_default().push(number);
        }
    }

    /// Takes the numbers that a holder left with a pass.
    pub(super) fn take_left(&mut self, holder: Holder) -> Vec<u64> {
        self.left_with.remove(&holder).unwrap_or_default()
    }

    pub(super) fn no_longer_inside(&mut self, number: u64) {
        if let Some(exp) = self.expires_s.get(&number) {
            self.inside.remove(&(*exp, number));
        }
    }

    /// Counts out those whose pass ran out.
    pub(super) fn expire(&mut self, now_s: i64) {
        while self.inside.first().is_some_and(|(exp, _)| *exp <= now_s) {
            self.inside.pop_first();
            self.ended += 1;
        }
    }

    /// How many are inside.
    pub(super) fn inside(&self) -> u64 {
        self.inside.len() as u64
    }

    /// How many have a pass that ends after each of these times.
    pub(super) fn inside_beyond(&self, exps_s: &[i64]) -> Vec<u64> {
        let mut counts = vec![0; exps_s.len()];
        for (exp, _) in &self.inside {
            for (count, beyond) in counts.iter_mut().zip(exps_s) {
                *count += u64::from(exp > beyond);
            }
        }
        counts
    }

    /// How many ran out without an order, ever.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// How many numbers ever had one.
    pub(super) fn claimed_ever(&self) -> u64 {
        self.expires_s.len() as u64
    }
}

//! The passes of a line in memory: which visitors are inside, and which left with a pass.

use std::collections::{BTreeSet, HashMap};

use fairgate_pass::Holder;

/// The passes that were claimed in one line.
#[derive(Default)]
pub(super) struct LinePasses {
    /// Expiry of each number's last pass, unix seconds.
    expires_s: HashMap<u64, i64>,
    /// The expiry and the number of each visitor inside, soonest expiry first. Counting therefore
    /// never walks the whole line.
    inside: BTreeSet<(i64, u64)>,
    /// For each holder, the numbers that the holder gave up after claiming a pass. The pass is
    /// still valid at booking, so its visitor counts as inside until the pass expires or an order
    /// is ticketed.
    left_with: HashMap<Holder, Vec<u64>>,
    /// How many passes have expired without an order.
    ended: u64,
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
    /// the number.
    pub(super) fn mark_inside(&mut self, is_counted: impl Fn(u64) -> bool) {
        let inside = self
            .expires_s
            .iter()
            .filter(|(number, _)| is_counted(**number));
        self.inside = inside.map(|(number, exp)| (*exp, *number)).collect();
    }

    /// Returns the expiry of the last pass of a number, unix seconds.
    pub(super) fn expiry_s(&self, number: u64) -> Option<i64> {
        self.expires_s.get(&number).copied()
    }

    /// Notes a pass, and counts its visitor as inside if `is_inside`. Returns whether it is the
    /// number's first pass.
    pub(super) fn note_pass(&mut self, number: u64, exp_s: i64, is_inside: bool) -> bool {
        self.no_longer_inside(number);
        if is_inside {
            self.inside.insert((exp_s, number));
        }
        self.expires_s.insert(number, exp_s).is_none()
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
        if let Some(exp) = self.expires_s.get(&number) {
            self.inside.remove(&(*exp, number));
        }
    }

    /// Stops counting visitors whose pass has expired.
    pub(super) fn expire(&mut self, now_s: i64) {
        while self.inside.first().is_some_and(|(exp, _)| *exp <= now_s) {
            self.inside.pop_first();
            self.ended += 1;
        }
    }

    /// Returns how many visitors are inside.
    pub(super) fn inside(&self) -> u64 {
        self.inside.len() as u64
    }

    /// Returns for each of these times the number of visitors inside whose pass ends later.
    pub(super) fn inside_beyond(&self, exps_s: &[i64]) -> Vec<u64> {
        let mut counts = vec![0; exps_s.len()];
        for (exp, _) in &self.inside {
            for (count, beyond) in counts.iter_mut().zip(exps_s) {
                *count += u64::from(exp > beyond);
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

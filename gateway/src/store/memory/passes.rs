//! The passes of a line in memory: which visitors are inside, and which left with a pass.

use std::collections::{BTreeSet, HashMap};

use fairgate_pass::{Holder, LEEWAY_S};

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
        let counted: Vec<(u64, i64)> = self
            .expires_s
            .iter()
            .filter(|(number, _)| is_counted(**number))
            .map(|(number, exp)| (*number, exp + LEEWAY_S))
            .collect();
        for (number, free_at) in counted {
            self.count_inside(number, free_at);
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

    /// Notes a pass, and counts its visitor as inside if `is_inside`. Returns whether it is the
    /// number's first pass.
    pub(super) fn note_pass(&mut self, number: u64, exp_s: i64, is_inside: bool) -> bool {
        self.no_longer_inside(number);
        if is_inside {
            self.count_inside(number, exp_s + LEEWAY_S);
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
        if let Some(free_at) = self.free_at_s.remove(&number) {
            self.inside.remove(&(free_at, number));
        }
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

    /// Stops counting visitors whose entry is free again.
    pub(super) fn expire(&mut self, now_s: i64) {
        while let Some((_, number)) = self.inside.first().copied().filter(|(at, _)| *at <= now_s) {
            self.no_longer_inside(number);
            self.ended += 1;
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

//! Tracks in memory which visitors are here.

use std::sync::Arc;

use super::places::{LineSlot, index};
use crate::store::{AWAY_AFTER_S, AwayNumbers, NumberSet};

/// When the visitor of each number was last seen.
#[derive(Default)]
pub(super) struct LinePresence {
    /// Unix seconds by number; 0 if this process has not seen the visitor.
    seen_at_s: Vec<u32>,
    /// When [`Self::away_numbers`] first ran in this process, unix seconds.
    watched_since_s: Option<i64>,
    /// The numbers whose visitors were away once the line was ordered.
    ever_away: Arc<Vec<u64>>,
}

/// Converts unix seconds to 32 bits. These are enough until the year 2106.
fn seconds(at_s: i64) -> u32 {
    u32::try_from(at_s.max(0)).unwrap_or(u32::MAX)
}

impl LinePresence {
    pub(super) fn note_seen(&mut self, joined: usize, numbers: &[u64], now_s: i64) {
        self.seen_at_s.resize(joined, 0);
        for number in numbers {
            if let Some(at) = self.seen_at_s.get_mut(index(*number)) {
                *at = (*at).max(seconds(now_s));
            }
        }
    }

    /// Returns those of the numbers whose visitors were seen at `since_s` or later.
    pub(super) fn seen_since(&self, numbers: &[u64], since_s: i64) -> Vec<u64> {
        let is_seen = |number: &&u64| {
            let seen_at_s = self.seen_at_s.get(index(**number));
            seen_at_s.is_some_and(|at| i64::from(*at) >= since_s)
        };
        numbers.iter().filter(is_seen).copied().collect()
    }

    /// Returns the numbers whose visitors are away, and remembers them if the line is ordered. A
    /// join counts as seeing the visitor. For [`AWAY_AFTER_S`] after the first call, every visitor
    /// counts as here.
    pub(super) fn away_numbers(
        &mut self,
        slots: &[LineSlot],
        now_s: i64,
        is_ordered: bool,
    ) -> AwayNumbers {
        let since = *self.watched_since_s.get_or_insert(now_s);
        let (since, away_before_s) = (seconds(since), seconds(now_s - AWAY_AFTER_S));
        let mut bits = vec![0_u64; slots.len().div_ceil(64)];
        for (at, slot) in slots.iter().enumerate() {
            let seen = self.seen_at_s.get(at).copied().unwrap_or(0);
            let joined = seconds(slot.at.div_euclid(1000));
            let away = slot.has_visitor && seen.max(joined).max(since) <= away_before_s;
            bits[at / 64] |= u64::from(away) << (at % 64);
        }
        if is_ordered && bits.iter().any(|word| *word != 0) {
            let ever = Arc::make_mut(&mut self.ever_away);
            ever.resize(bits.len().max(ever.len()), 0);
            for (ever, now) in ever.iter_mut().zip(&bits) {
                *ever |= now;
            }
        }
        AwayNumbers {
            now: NumberSet(Arc::new(bits)),
            ever: NumberSet(Arc::clone(&self.ever_away)),
        }
    }
}

//! Compares the waits that visitors are told with the waits that came true.

use std::collections::BTreeMap;

use fairgate_rules::estimate::{UnknownWait, WaitEstimate};

use crate::outcome::WaitScores;

/// A visitor reads its wait this often, in seconds.
pub const READ_EVERY_S: u32 = 10;
/// The visitors read their waits first after this time from the beginning of the sale, in seconds.
pub const READ_FROM_S: u32 = 2;
/// At most this many visitors of a line are followed.
const FOLLOWED_MAX: u64 = 64;
/// A told wait is near the real one if neither is more than this many times the other.
const NEAR: f64 = 1.5;
/// A difference of at most this, in seconds, is near, too: a turn comes with a tick.
const NEAR_S: f64 = 2.0;

/// A span in which the promoter has paused the room, in seconds after the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedPause {
    /// When it begins.
    pub from_s: f64,
    /// When it ends.
    pub until_s: f64,
}

impl PlannedPause {
    /// Returns whether the room is paused at a time, in seconds after the start.
    #[must_use]
    pub fn is_at(&self, now_s: f64) -> bool {
        (self.from_s..self.until_s).contains(&now_s)
    }

    /// Returns for how many of the seconds between two times the room was paused.
    fn part_of(&self, from_s: f64, until_s: f64) -> f64 {
        (self.until_s.min(until_s) - self.from_s.max(from_s)).max(0.0)
    }
}

/// What one visitor was told, and what came true.
#[derive(Debug, Clone, Default)]
struct FollowedVisitor {
    /// When the visitor read its wait, in seconds after the start, and what it read.
    told: Vec<(f64, WaitEstimate)>,
    called_s: Option<f64>,
    claimed_s: Option<f64>,
    entered_s: Option<f64>,
}

/// The waits that a sample of the line was told.
#[derive(Debug, Clone)]
pub struct ToldWaits {
    /// The pause of the room, if it has one.
    pub pause: Option<PlannedPause>,
    /// Every rank that this divides is followed.
    each: u64,
    claim_s: f64,
    followed: BTreeMap<u64, FollowedVisitor>,
}

impl ToldWaits {
    /// Begins to follow visitors of a line of `ranks` ranks. Called visitors are expected to claim
    /// within `claim_s` seconds.
    #[must_use]
    pub fn new(pause: Option<PlannedPause>, ranks: u64, claim_s: u32) -> Self {
        Self {
            pause,
            each: ranks.div_ceil(FOLLOWED_MAX).max(1),
            claim_s: f64::from(claim_s),
            followed: BTreeMap::new(),
        }
    }

    /// Returns whether the room is paused at a time, in seconds after the start.
    #[must_use]
    pub fn is_paused(&self, now_s: f64) -> bool {
        self.pause.is_some_and(|pause| pause.is_at(now_s))
    }

    /// Returns whether the visitor at a rank is followed.
    #[must_use]
    pub fn is_followed(&self, rank: u64) -> bool {
        rank.is_multiple_of(self.each)
    }

    /// Tells the visitor at a rank its wait.
    pub fn tell(&mut self, rank: u64, now_s: f64, wait: WaitEstimate) {
        self.followed
            .entry(rank)
            .or_default()
            .told
            .push((now_s, wait));
    }

    /// Notes that the visitor at a rank is called.
    pub fn note_call(&mut self, rank: u64, now_s: f64) {
        if let Some(visitor) = self.followed.get_mut(&rank) {
            visitor.called_s = Some(now_s);
        }
    }

    /// Notes that the visitor at a rank claims its pass.
    pub fn note_claim(&mut self, rank: u64, now_s: f64) {
        if let Some(visitor) = self.followed.get_mut(&rank) {
            visitor.claimed_s.get_or_insert(now_s);
        }
    }

    /// Notes that the visitor at a rank enters.
    pub fn note_entry(&mut self, rank: u64, now_s: f64) {
        if let Some(visitor) = self.followed.get_mut(&rank) {
            visitor.entered_s.get_or_insert(now_s);
        }
    }

    /// Returns how well the told waits came true.
    #[must_use]
    pub fn scores(&self) -> WaitScores {
        let mut scores = WaitScores::default();
        for visitor in self.followed.values() {
            let Some(called_s) = visitor.called_s else {
                continue;
            };
            let at_the_door_s = self.waited_at_the_door_s(visitor, called_s);
            for (told_s, wait) in &visitor.told {
                let waited_s = self.waited_s(*told_s, called_s) + at_the_door_s;
                note(&mut scores, wait, waited_s);
            }
        }
        scores
    }

    /// Returns how long a called visitor waited from its first claim until it was let in. Whoever
    /// claims too late does so by its own choice, so that wait was not told.
    fn waited_at_the_door_s(&self, visitor: &FollowedVisitor, called_s: f64) -> f64 {
        let claimed_s = visitor
            .claimed_s
            .filter(|claimed_s| claimed_s - called_s <= self.claim_s);
        claimed_s
            .zip(visitor.entered_s)
            .map_or(0.0, |(claimed_s, entered_s)| {
                self.waited_s(claimed_s, entered_s)
            })
    }

    /// Returns the time between two moments, without the time in which the room was paused.
    fn waited_s(&self, from_s: f64, until_s: f64) -> f64 {
        let paused_s = self
            .pause
            .map_or(0.0, |pause| pause.part_of(from_s, until_s));
        (until_s - from_s - paused_s).max(0.0)
    }
}

/// Adds one told wait to the scores.
fn note(scores: &mut WaitScores, wait: &WaitEstimate, waited_s: f64) {
    if wait.unknown == Some(UnknownWait::Paused) {
        return;
    }
    scores.told += 1.0;
    let (Some(p50_s), Some(p90_s)) = (wait.p50_s, wait.p90_s) else {
        return;
    };
    scores.known += 1.0;
    scores.within_p90 += f64::from(u8::from(waited_s <= p90_s));
    let is_near = (p50_s - waited_s).abs() <= NEAR_S
        || (p50_s <= waited_s * NEAR && waited_s <= p50_s * NEAR);
    scores.near_p50 += f64::from(u8::from(is_near));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_compared_without_the_pause_and_with_the_time_at_the_door() {
        let pause = PlannedPause {
            from_s: 20.0,
            until_s: 50.0,
        };
        let mut told = ToldWaits::new(Some(pause), 10, 30);
        told.tell(3, 10.0, WaitEstimate::between(30.0, 36.0));
        told.tell(3, 20.0, WaitEstimate::unknown(UnknownWait::Paused));
        told.tell(3, 60.0, WaitEstimate::between(40.0, 60.0));
        told.tell(3, 60.0, WaitEstimate::unknown(UnknownWait::FewSeats));
        told.tell(4, 10.0, WaitEstimate::between(1.0, 2.0));
        told.note_call(3, 70.0);
        told.note_claim(3, 75.0);
        told.note_claim(3, 77.0);
        told.note_entry(3, 80.0);
        let expected = WaitScores {
            told: 3.0,
            known: 2.0,
            within_p90: 2.0,
            near_p50: 1.0,
        };
        // The waits were 35 s and 15 s. Rank 4 was never called.
        assert_eq!(told.scores(), expected);
        let mut late = told.clone();
        late.claim_s = 3.0;
        assert_eq!(late.scores().near_p50, 1.0);
    }
}

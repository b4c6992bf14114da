//! The lives of all rooms as the ledger has them, and how long this node may rely on them. A node
//! gives numbers only within a second after it asked for the lives. So no node gives a number of an
//! older life once the new life is more than a second old.
//!
//! A ledger that failed over to an older copy may have lost blocks that it had reserved. This node
//! uses the lives of such a ledger, but remembers the lost blocks, so that none of their numbers is
//! given again.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::ledger::RoomLife;

/// How long lives are valid after the request for them was sent.
pub const LEASE: Duration = Duration::from_secs(1);

/// What this node knows of the rooms' lives.
#[derive(Debug, Default)]
pub struct LivesLease {
    inner: Mutex<LivesLeaseState>,
}

#[derive(Debug, Default)]
struct LivesLeaseState {
    /// When the request for these lives was sent.
    asked_at: Option<Instant>,
    lives: HashMap<String, KnownLife>,
    /// For each room: numbers below this one may have been given, even if the ledger has lost their
    /// block.
    issued: HashMap<String, u64>,
}

#[derive(Debug, Clone, Copy)]
struct KnownLife {
    life: RoomLife,
    /// The time at which the ledger is known to have had this life.
    at: Instant,
}

impl LivesLease {
    /// Stores the lives from the answer to a request that was sent at `asked_at`. Does nothing if
    /// the answer to a later request is already stored. Returns the rooms of which the ledger has
    /// lost a life or a block that this node knows. Such a ledger is an older copy.
    pub fn renew(&self, asked_at: Instant, lives: Vec<(String, RoomLife)>) -> Vec<String> {
        let mut state = self.inner.lock();
        if state.asked_at.is_some_and(|earlier| earlier > asked_at) {
            return Vec::new();
        }
        state.asked_at = Some(asked_at);
        let mut earlier_lives = std::mem::take(&mut state.lives);
        let mut lost_rooms = Vec::new();
        for (room, life) in lives {
            let known_life = earlier_lives.remove(&room);
            let newer =
                known_life.filter(|known_life| life_order(&known_life.life) > life_order(&life));
            let kept = match newer {
                // The life began or got a new block while the ledger was answering.
                Some(known_life) if known_life.at >= asked_at => known_life,
                Some(_) => {
                    lost_rooms.push(room.clone());
                    KnownLife { life, at: asked_at }
                }
                None => KnownLife { life, at: asked_at },
            };
            state.insert_life(room, kept);
        }
        for (room, known_life) in earlier_lives {
            if known_life.at >= asked_at {
                state.insert_life(room, known_life);
            } else {
                lost_rooms.push(room);
            }
        }
        lost_rooms
    }

    /// Stores a life that began or got a new block, unless a later life is known. The ledger's
    /// answer came at `now`.
    pub fn learn(&self, room: &str, life: RoomLife, now: Instant) {
        let mut state = self.inner.lock();
        let known_life = state.lives.get(room);
        if known_life.is_none_or(|known_life| life_order(&known_life.life) <= life_order(&life)) {
            state.insert_life(room.to_owned(), KnownLife { life, at: now });
        }
    }

    /// Returns whether a request that was sent after `since` has been answered.
    pub fn asked_after(&self, since: Instant) -> bool {
        self.inner
            .lock()
            .asked_at
            .is_some_and(|asked_at| asked_at > since)
    }

    /// Returns the life of a room as last read or learned, even if that was long ago.
    pub fn last_known_life(&self, room: &str) -> Option<RoomLife> {
        self.inner
            .lock()
            .lives
            .get(room)
            .map(|known_life| known_life.life)
    }

    /// Returns the life of a room if it is still valid at `now`.
    pub fn leased_life(&self, room: &str, now: Instant) -> Option<RoomLife> {
        let state = self.inner.lock();
        let asked_at = state.asked_at?;
        (now.saturating_duration_since(asked_at) < LEASE)
            .then(|| state.lives.get(room).map(|known_life| known_life.life))
            .flatten()
    }

    /// Returns all lives as last read or learned.
    pub fn lives(&self) -> Vec<RoomLife> {
        self.inner
            .lock()
            .lives
            .values()
            .map(|known_life| known_life.life)
            .collect()
    }

    /// Returns the number below which numbers of the room may have been given.
    pub fn issued(&self, room: &str) -> u64 {
        self.inner.lock().issued.get(room).copied().unwrap_or(0)
    }
}

impl LivesLeaseState {
    fn insert_life(&mut self, room: String, known: KnownLife) {
        let issued = self.issued.entry(room.clone()).or_default();
        *issued = known.life.ceiling.max(*issued);
        self.lives.insert(room, known);
    }
}

/// Returns a sort key. Of two lives of a room, the later one has the greater key.
fn life_order(life: &RoomLife) -> (u64, u64) {
    (life.incarnation, life.ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(incarnation: u64, ceiling: u64) -> RoomLife {
        RoomLife {
            incarnation,
            first: 0,
            ceiling,
            begun_at: 0,
        }
    }

    fn read(incarnation: u64, ceiling: u64) -> Vec<(String, RoomLife)> {
        vec![("r".into(), life(incarnation, ceiling))]
    }

    #[test]
    fn a_life_is_valid_for_a_second_after_the_ledger_was_asked() {
        let (lease, asked) = (LivesLease::default(), Instant::now());
        assert_eq!(lease.leased_life("r", asked), None);
        assert!(lease.renew(asked, read(1, 10)).is_empty());
        let almost = asked + LEASE - Duration::from_millis(1);
        assert_eq!(lease.leased_life("r", almost), Some(life(1, 10)));
        assert_eq!(lease.leased_life("r", asked + LEASE), None);
        assert_eq!(lease.last_known_life("r"), Some(life(1, 10)));
        assert_eq!(lease.leased_life("other", asked), None);
    }

    #[test]
    fn a_late_answer_or_an_older_life_does_not_replace_the_known_life() {
        let (lease, asked) = (LivesLease::default(), Instant::now());
        lease.renew(asked + LEASE, read(2, 10));
        assert!(lease.renew(asked, read(1, 10)).is_empty());
        lease.learn("r", life(1, 10), asked + LEASE);
        assert_eq!(lease.leased_life("r", asked + LEASE), Some(life(2, 10)));
        lease.learn("r", life(3, 10), asked + LEASE * 3);
        assert_eq!(lease.last_known_life("r"), Some(life(3, 10)));
        let between = lease.renew(asked + LEASE * 2, read(2, 10));
        assert_eq!(
            lease.last_known_life("r"),
            Some(life(3, 10)),
            "the third life began after this request"
        );
        assert!(between.is_empty());
    }

    #[test]
    fn the_life_of_a_ledger_that_lost_a_block_is_used_and_the_block_is_remembered() {
        let (lease, asked) = (LivesLease::default(), Instant::now());
        lease.renew(asked, read(1, 5000));
        for (step, lives) in (1..).zip([read(1, 2000), read(0, 9000), Vec::new()]) {
            let lost = lease.renew(asked + LEASE * step, lives.clone());
            let expected = match step {
                1 => life(1, 2000),
                2 => life(0, 9000),
                _ => {
                    assert_eq!(
                        (lost, lease.last_known_life("r")),
                        (vec!["r".to_owned()], None)
                    );
                    continue;
                }
            };
            assert_eq!(
                (lost, lease.last_known_life("r")),
                (vec!["r".to_owned()], Some(expected))
            );
        }
        assert_eq!(lease.issued("r"), 9000);
        assert_eq!(lease.issued("other"), 0);
    }
}

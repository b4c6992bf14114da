//! The lives of all rooms as the ledger has them, and for how long this node may believe it: numbers are given only
//! while that was read less than a second ago, so that whoever waits out a second knows that nobody gives one of an
//! older life.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ledger::RoomLife;

/// How long what was read may be believed.
pub const LEASE: Duration = Duration::from_secs(1);

/// What this node knows of the rooms' lives.
#[derive(Debug, Default)]
pub struct Lease {
    inner: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    /// When the ledger was asked, which is before it answered.
    asked: Option<Instant>,
    lives: HashMap<String, RoomLife>,
}

impl Lease {
    /// Takes over what the ledger said, asked at `asked`. An answer that was overtaken by a later one is dropped.
    pub fn renew(&self, asked: Instant, lives: Vec<(String, RoomLife)>) {
        let mut read = self.lock();
        if read.asked.is_none_or(|before| before <= asked) {
            read.asked = Some(asked);
            read.lives = lives.into_iter().collect();
        }
    }

    /// Takes over a life that was begun or stretched just now, unless a later one is known.
    pub fn learn(&self, room: &str, life: RoomLife) {
        let mut read = self.lock();
        let known = read.lives.entry(room.to_owned()).or_insert(life);
        if known.incarnation <= life.incarnation {
            *known = life;
        }
    }

    /// Whether the ledger was asked after `since`.
    pub fn asked_after(&self, since: Instant) -> bool {
        self.lock().asked.is_some_and(|asked| asked > since)
    }

    /// The life of a room as last heard, however long ago.
    pub fn life(&self, room: &str) -> Option<RoomLife> {
        self.lock().lives.get(room).copied()
    }

    /// The same, while it may be believed at `now`.
    pub fn held(&self, room: &str, now: Instant) -> Option<RoomLife> {
        let read = self.lock();
        let asked = read.asked?;
        (now.saturating_duration_since(asked) < LEASE)
            .then(|| read.lives.get(room).copied())
            .flatten()
    }

    fn lock(&self) -> MutexGuard<'_, Read> {
        // Both fields are whole whatever panicked beside them.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(incarnation: u64) -> RoomLife {
        RoomLife {
            incarnation,
            first: 0,
            ceiling: 10,
            begun_at: 0,
        }
    }

    #[test]
    fn a_life_is_believed_for_a_second_from_when_the_ledger_was_asked() {
        let (lease, asked) = (Lease::default(), Instant::now());
        assert_eq!(lease.held("r", asked), None);
        lease.renew(asked, vec![("r".into(), life(1))]);
        let almost = asked + LEASE - Duration::from_millis(1);
        assert_eq!(lease.held("r", almost), Some(life(1)));
        assert_eq!(lease.held("r", asked + LEASE), None);
        assert_eq!(lease.life("r"), Some(life(1)));
        assert_eq!(lease.held("other", asked), None);
    }

    #[test]
    fn neither_an_overtaken_answer_nor_an_older_life_replaces_what_is_known() {
        let (lease, asked) = (Lease::default(), Instant::now());
        lease.renew(asked + LEASE, vec![("r".into(), life(2))]);
        lease.renew(asked, vec![("r".into(), life(1))]);
        lease.learn("r", life(1));
        assert_eq!(lease.held("r", asked + LEASE), Some(life(2)));
        lease.learn("r", life(3));
        assert_eq!(lease.life("r"), Some(life(3)));
    }
}

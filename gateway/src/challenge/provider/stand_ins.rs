//! Remembers the visitors about whom the provider could not be asked. If the provider is not away,
//! only these visitors get a proof of work in place of its check.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fairgate_pass::Holder;

/// How long a remembered visitor gets work in place of the check.
const STANDS_IN_FOR: Duration = Duration::from_secs(300);
/// How many visitors are remembered, at most. Further visitors get the provider's check again.
const REMEMBERED_MAX: usize = 10_000;

/// The visitors, and until when each gets work. Pure.
#[derive(Debug, Default)]
pub(super) struct StandIns {
    until: HashMap<Holder, Instant>,
}

impl StandIns {
    /// Remembers a visitor.
    pub(super) fn add(&mut self, holder: Holder, now: Instant) {
        if self.until.len() >= REMEMBERED_MAX {
            self.until.retain(|_, until| *until > now);
        }
        if self.until.len() < REMEMBERED_MAX {
            self.until.insert(holder, now + STANDS_IN_FOR);
        }
    }

    /// Returns whether a visitor gets work in place of the check.
    pub(super) fn has(&self, holder: Holder, now: Instant) -> bool {
        self.until.get(&holder).is_some_and(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(number: usize) -> Holder {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Holder(bytes)
    }

    #[test]
    fn a_visitor_gets_work_for_a_while_and_others_do_not() {
        let (mut visitors, now) = (StandIns::default(), Instant::now());
        visitors.add(holder(1), now);
        assert!(visitors.has(holder(1), now));
        assert!(!visitors.has(holder(2), now));
        assert!(!visitors.has(holder(1), now + STANDS_IN_FOR));
    }

    #[test]
    fn only_so_many_are_remembered_and_old_ones_make_space() {
        let (mut visitors, now) = (StandIns::default(), Instant::now());
        for number in 0..=REMEMBERED_MAX {
            visitors.add(holder(number), now);
        }
        assert_eq!(visitors.until.len(), REMEMBERED_MAX);
        assert!(!visitors.has(holder(REMEMBERED_MAX), now));
        let later = now + STANDS_IN_FOR;
        visitors.add(holder(REMEMBERED_MAX), later);
        assert!(visitors.has(holder(REMEMBERED_MAX), later));
        assert_eq!(visitors.until.len(), 1);
    }
}

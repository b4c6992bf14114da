//! Limits how often the visitor of a place may change its wishes. A person changes them a few
//! times.

use std::num::NonZeroU32;
use std::sync::Arc;

use fairgate_pass::Holder;
use governor::clock::{Clock, DefaultClock};
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use super::GuardRefusal;

/// How many changes a visitor may make at once, and again in each minute.
const CHANGES: NonZeroU32 = NonZeroU32::new(12).expect("not 0");

type VisitorQuotas<C> = RateLimiter<Holder, DefaultKeyedStateStore<Holder>, C>;

/// The limits of changed wishes; a cheap handle.
#[derive(Clone)]
pub struct WishGuard {
    quotas: Arc<VisitorQuotas<DefaultClock>>,
}

impl Default for WishGuard {
    fn default() -> Self {
        Self {
            quotas: Arc::new(RateLimiter::keyed(Quota::per_minute(CHANGES))),
        }
    }
}

impl WishGuard {
    /// Counts a change of a visitor's wishes.
    ///
    /// # Errors
    /// Fails if the visitor has used up its quota.
    pub fn admit(&self, holder: Holder) -> Result<(), GuardRefusal> {
        self.quotas.check_key(&holder).map_err(|not_until| {
            let wait = not_until.wait_time_from(DefaultClock::default().now());
            GuardRefusal::TooManyWishes {
                wait_s: wait.as_secs() + 1,
            }
        })
    }

    /// Forgets the visitors who have their whole quota again.
    pub fn evict(&self) {
        self.quotas.retain_recent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_visitor_may_change_its_wishes_some_times() {
        let guard = WishGuard::default();
        let (ana, ben) = (Holder([1; 32]), Holder([2; 32]));
        for _ in 0..CHANGES.get() {
            assert_eq!(guard.admit(ana), Ok(()));
        }
        let refused = guard.admit(ana);
        assert!(
            matches!(refused, Err(GuardRefusal::TooManyWishes { wait_s: 1..=6 })),
            "{refused:?}"
        );
        assert_eq!(guard.admit(ben), Ok(()), "the quota is Ana's own");
        guard.evict();
        assert!(guard.admit(ana).is_err(), "nothing is forgotten too early");
    }
}

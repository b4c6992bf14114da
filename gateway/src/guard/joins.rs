//! Limits how fast visitors of one network join.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::Quota;
use governor::clock::{Clock, DefaultClock, Reference};

use super::GuardRefusal;
use super::networks::{NetworkQuotas, QuotaExceeded, QuotaSlot};
use crate::load::ReturnSchedule;
use crate::web::ClientNetwork;

/// The limit of joins for each network; a cheap handle.
#[derive(Clone)]
pub struct JoinGuard<C: Clock = DefaultClock> {
    inner: Arc<JoinGuardState<C>>,
}

struct JoinGuardState<C: Clock> {
    networks: NetworkQuotas<C>,
    /// When refused visitors are expected back, by quota.
    return_schedules: Mutex<HashMap<QuotaSlot, ReturnSchedule>>,
    /// How many returning visitors of one quota can be admitted in one second.
    back_per_s: u64,
    begun: C::Instant,
    clock: C,
}

impl JoinGuard {
    /// Makes a guard that lets each network join `per_s` times a second, and `burst` times at once.
    #[must_use]
    pub fn new(per_s: NonZeroU32, burst: NonZeroU32) -> Self {
        Self::with_clock(per_s, burst, DefaultClock::default())
    }
}

impl<C: Clock + Clone> JoinGuard<C> {
    fn with_clock(per_s: NonZeroU32, burst: NonZeroU32, clock: C) -> Self {
        let quota = Quota::per_second(per_s).allow_burst(burst);
        Self {
            inner: Arc::new(JoinGuardState {
                networks: NetworkQuotas::new(quota, clock.clone()),
                return_schedules: Mutex::default(),
                back_per_s: u64::from(per_s.min(burst).get()),
                begun: clock.now(),
                clock,
            }),
        }
    }

    /// Counts one join, or refuses it.
    ///
    /// # Errors
    /// [`GuardRefusal::TooManyJoins`] if the network has used up its quota. The times at which
    /// refused visitors should come back are spread, so that all who obey them are admitted.
    pub fn admit(&self, network: ClientNetwork) -> Result<(), GuardRefusal> {
        let inner = &*self.inner;
        let Err(QuotaExceeded { slot, wait }) = inner.networks.check(network) else {
            return Ok(());
        };
        let now = inner.since_begun(inner.clock.now());
        let wait = self
            .inner
            .return_schedules
            .lock()
            .entry(slot)
            .or_default()
            .reserve_return(now, wait, inner.back_per_s);
        let wait_s = wait.as_secs_f64().ceil().max(1.0) as u64;
        metrics::counter!("fairgate_joins_limited_total").increment(1);
        Err(GuardRefusal::TooManyJoins { wait_s })
    }

    /// Forgets the networks that have their whole quota again. Also forgets the times to come back,
    /// once they are over.
    pub fn evict(&self) {
        self.inner.networks.evict();
        let now = self.inner.since_begun(self.inner.clock.now());
        self.inner
            .return_schedules
            .lock()
            .retain(|_, schedule| !schedule.all_due_by(now));
    }
}

impl<C: Clock> JoinGuardState<C> {
    fn since_begun(&self, now: C::Instant) -> Duration {
        now.duration_since(self.begun).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::WebRequestPolicy;

    fn network(address: &str) -> ClientNetwork {
        WebRequestPolicy::new(crate::web::WebSettings::default()).network(
            &axum::http::HeaderMap::new(),
            address.parse().expect("an address"),
        )
    }

    #[test]
    fn a_visitor_who_comes_back_at_the_given_time_is_admitted() {
        use governor::clock::FakeRelativeClock;
        for (per_s, burst) in [(100, 2000), (7, 3), (1, 1)] {
            let clock = FakeRelativeClock::default();
            let count = |n| NonZeroU32::new(n).expect("not zero");
            let guard = JoinGuard::with_clock(count(per_s), count(burst), clock.clone());
            let one = network("10.0.0.1:1");
            let crowd = burst + 15 * per_s;
            let mut back: Vec<u64> = (0..crowd)
                .filter_map(|_| guard.admit(one).err())
                .map(|refused| match refused {
                    GuardRefusal::TooManyJoins { wait_s } => wait_s,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(back.len() as u32, crowd - burst);
            back.sort_unstable();
            let mut second = 0;
            for at in back {
                clock.advance(Duration::from_secs(at - second));
                second = at;
                assert!(
                    guard.admit(one).is_ok(),
                    "{per_s}/s: refused again after the given {at} s"
                );
            }
            clock.advance(Duration::from_secs(3600));
            guard.evict();
            assert!(guard.inner.return_schedules.lock().is_empty());
        }
    }

    #[test]
    fn a_burst_is_admitted_and_further_joins_of_that_network_are_refused() {
        let guard = JoinGuard::new(NonZeroU32::MIN, NonZeroU32::new(3).expect("not zero"));
        let (one, other) = (network("10.0.0.1:1"), network("10.0.0.2:1"));
        assert!((0..3).all(|_| guard.admit(one).is_ok()));
        let refused = guard.admit(one).expect_err("the fourth");
        assert!(matches!(refused, GuardRefusal::TooManyJoins { .. }));
        assert!(guard.admit(other).is_ok(), "another network is not limited");
    }
}

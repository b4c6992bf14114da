//! One quota for each network, and one for all those that there is no memory left to tell apart.

use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use crate::web::Network;

/// More networks than this are not told apart: the rest share one quota, so that memory stays
/// bounded.
const NETWORKS_MAX: usize = 100_000;

type Keyed<C> =
    RateLimiter<Network, DefaultKeyedStateStore<Network>, C, NoOpMiddleware<<C as Clock>::Instant>>;
type Direct<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The quotas.
pub(super) struct Networks<C: Clock = DefaultClock> {
    each: Keyed<C>,
    rest: Direct<C>,
    clock: C,
}

/// A quota that is used up.
pub(super) struct UsedUp {
    /// Whose it is; `None` for those that are not told apart.
    pub network: Option<Network>,
    /// Until it lets one through again.
    pub wait: Duration,
}

impl<C: Clock + Clone> Networks<C> {
    pub(super) fn new(quota: Quota, clock: C) -> Self {
        Self {
            each: RateLimiter::new(quota, DefaultKeyedStateStore::default(), clock.clone()),
            rest: RateLimiter::direct_with_clock(quota, clock.clone()),
            clock,
        }
    }

    /// Counts one of a network's.
    pub(super) fn check(&self, network: Network) -> Result<(), UsedUp> {
        let told_apart = self.each.len() < NETWORKS_MAX;
        let checked = if told_apart {
            self.each.check_key(&network)
        } else {
            self.rest.check()
        };
        checked.map_err(|until| UsedUp {
            network: told_apart.then_some(network),
            wait: until.wait_time_from(self.clock.now()),
        })
    }

    /// Forgets networks that are back at rest.
    pub(super) fn evict(&self) {
        self.each.retain_recent();
        self.each.shrink_to_fit();
    }
}

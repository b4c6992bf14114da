//! One quota for each network, and one shared quota while there are too many networks.

use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use crate::web::ClientNetwork;

/// The most networks that are tracked, so that memory stays bounded. While this many are tracked,
/// all networks share one quota.
const NETWORKS_MAX: usize = 100_000;

type PerNetworkLimiter<C> = RateLimiter<
    ClientNetwork,
    DefaultKeyedStateStore<ClientNetwork>,
    C,
    NoOpMiddleware<<C as Clock>::Instant>,
>;
type SharedRestLimiter<C> =
    RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The quotas of all networks.
pub(super) struct NetworkQuotas<C: Clock = DefaultClock> {
    each: PerNetworkLimiter<C>,
    rest: SharedRestLimiter<C>,
    clock: C,
}

/// The refusal of a call whose quota is used up.
pub(super) struct QuotaExceeded {
    /// The network of the quota; `None` for the shared quota.
    pub network: Option<ClientNetwork>,
    /// The time until the quota admits a call again.
    pub wait: Duration,
}

impl<C: Clock + Clone> NetworkQuotas<C> {
    pub(super) fn new(quota: Quota, clock: C) -> Self {
        Self {
            each: RateLimiter::new(quota, DefaultKeyedStateStore::default(), clock.clone()),
            rest: RateLimiter::direct_with_clock(quota, clock.clone()),
            clock,
        }
    }

    /// Counts one call of a network, or refuses it.
    pub(super) fn check(&self, network: ClientNetwork) -> Result<(), QuotaExceeded> {
        let has_own_quota = self.each.len() < NETWORKS_MAX;
        let checked = if has_own_quota {
            self.each.check_key(&network)
        } else {
            self.rest.check()
        };
        checked.map_err(|until| QuotaExceeded {
            network: has_own_quota.then_some(network),
            wait: until.wait_time_from(self.clock.now()),
        })
    }

    /// Forgets the networks that have their whole quota again.
    pub(super) fn evict(&self) {
        self.each.retain_recent();
        self.each.shrink_to_fit();
    }
}

//! One quota for each network. While too many networks are tracked, further networks share quotas.
//! Each gets one of 65,536 shared quotas, so that strangers seldom use up the quota of somebody who
//! has just come.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::{DefaultKeyedStateStore, ShrinkableKeyedStateStore};
use governor::{Quota, RateLimiter};

use crate::web::ClientNetwork;

/// How many networks have a quota of their own, at most. This keeps the memory bounded.
const NETWORKS_MAX: usize = 100_000;

/// Whose quota a call counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum QuotaSlot {
    /// The network's own quota.
    Network(ClientNetwork),
    /// A quota that the network shares with others.
    Shared(u16),
}

/// The state of every quota that is in use. The limiter changes it, and this module looks up which
/// networks are in it.
#[derive(Clone, Default)]
struct SlotStates(Arc<DefaultKeyedStateStore<QuotaSlot>>);

impl StateStore for SlotStates {
    type Key = QuotaSlot;

    fn measure_and_replace<T, F, E>(&self, key: &QuotaSlot, change: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0.measure_and_replace(key, change)
    }
}

impl ShrinkableKeyedStateStore<QuotaSlot> for SlotStates {
    fn retain_recent(&self, drop_below: Nanos) {
        ShrinkableKeyedStateStore::retain_recent(&*self.0, drop_below);
    }

    fn shrink_to_fit(&self) {
        ShrinkableKeyedStateStore::shrink_to_fit(&*self.0);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The quotas of all networks.
pub(super) struct NetworkQuotas<C: Clock = DefaultClock> {
    limiter: RateLimiter<QuotaSlot, SlotStates, C, NoOpMiddleware<<C as Clock>::Instant>>,
    states: SlotStates,
    /// Chooses the shared quota of a network. It differs in each process, so nobody can choose
    /// networks that share the quota of a victim.
    hash: RandomState,
    /// What a network may use at once.
    burst: NonZeroU32,
    clock: C,
}

/// The refusal of a call whose quota is used up.
pub(super) struct QuotaExceeded {
    /// Whose quota it is.
    pub slot: QuotaSlot,
    /// The time until the quota admits a call again.
    pub wait: Duration,
}

impl<C: Clock + Clone> NetworkQuotas<C> {
    pub(super) fn new(quota: Quota, clock: C) -> Self {
        let states = SlotStates::default();
        Self {
            limiter: RateLimiter::new(quota, states.clone(), clock.clone()),
            states,
            hash: RandomState::new(),
            burst: quota.burst_size(),
            clock,
        }
    }

    /// Returns whose quota a call of the network counts against. A network that has its own quota
    /// keeps it, however many other networks come.
    pub(super) fn slot(&self, network: ClientNetwork) -> QuotaSlot {
        let own_slot = QuotaSlot::Network(network);
        if self.states.0.contains_key(&own_slot) || self.states.0.len() < NETWORKS_MAX {
            return own_slot;
        }
        let bits = self.hash.hash_one(network).to_le_bytes();
        QuotaSlot::Shared(u16::from_le_bytes([bits[0], bits[1]]))
    }

    /// Counts one call of a network, or refuses it.
    pub(super) fn check(&self, network: ClientNetwork) -> Result<(), QuotaExceeded> {
        self.check_units(network, NonZeroU32::MIN)
    }

    /// Counts a call that uses up this much of the quota, or refuses it. A call never uses more
    /// than the whole quota.
    pub(super) fn check_units(
        &self,
        network: ClientNetwork,
        units: NonZeroU32,
    ) -> Result<(), QuotaExceeded> {
        let slot = self.slot(network);
        let counted = self.limiter.check_key_n(&slot, units.min(self.burst));
        counted.unwrap_or(Ok(())).map_err(|until| QuotaExceeded {
            slot,
            wait: until.wait_time_from(self.clock.now()),
        })
    }

    /// Forgets the networks that have their whole quota again.
    pub(super) fn evict(&self) {
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn network(at: u32) -> ClientNetwork {
        ClientNetwork::from_address(std::net::Ipv4Addr::from_bits(at).into())
    }

    fn quotas(clock: &FakeRelativeClock) -> NetworkQuotas<FakeRelativeClock> {
        let quota = Quota::per_second(NonZeroU32::MIN);
        NetworkQuotas::new(quota, clock.clone())
    }

    #[test]
    fn a_call_uses_up_what_it_costs_and_one_that_costs_more_than_everything_waits_for_everything() {
        let clock = FakeRelativeClock::default();
        let units = |units| NonZeroU32::new(units).expect("not zero");
        let quota = Quota::per_second(units(20)).allow_burst(units(60));
        let quotas = NetworkQuotas::new(quota, clock.clone());
        let one = network(0x0a00_0001);
        assert!((0..3).all(|_| quotas.check_units(one, units(20)).is_ok()));
        let refused = quotas.check_units(one, units(20)).err();
        assert_eq!(refused.map(|refused| refused.wait.as_secs()), Some(1));
        clock.advance(Duration::from_millis(150));
        assert!(quotas.check_units(one, units(2)).is_ok());
        assert!(quotas.check_units(one, units(2)).is_err());
        clock.advance(Duration::from_secs(3));
        assert!(quotas.check_units(one, units(500)).is_ok());
        assert!(quotas.check(one).is_err(), "everything is used up");
    }

    #[test]
    fn while_the_table_is_full_known_networks_keep_their_quota_and_fresh_ones_are_admitted() {
        let clock = FakeRelativeClock::default();
        let quotas = quotas(&clock);
        let known = network(0x0a00_0001);
        assert!(quotas.check(known).is_ok());
        let foreign = (0..150_000).map(|at| network(0xc000_0000 + at));
        for (at, network) in foreign.enumerate() {
            let admitted = quotas.check(network).is_ok();
            assert!(admitted || at >= NETWORKS_MAX, "{at}");
        }
        assert_eq!(quotas.slot(known), QuotaSlot::Network(known));
        assert!(quotas.states.0.len() <= NETWORKS_MAX + (1 << 16));
        clock.advance(Duration::from_millis(500));
        assert!(quotas.check(known).is_err(), "its own quota is used up");
        // About 50,000 strangers used up at most 50,000 of the 65,536 shared quotas.
        let fresh = (0..1_000).map(|at| network(0x0b00_0000 + at));
        let admitted = fresh.filter(|network| quotas.check(*network).is_ok());
        assert!(admitted.count() > 300, "less than the chance of a free one");
        // A second later each quota is whole again.
        clock.advance(Duration::from_millis(1_500));
        assert!(quotas.check(known).is_ok());
        assert!(quotas.check(network(0x0c00_0000)).is_ok());
        clock.advance(Duration::from_secs(3600));
        quotas.evict();
        assert_eq!(quotas.states.0.len(), 0);
    }
}

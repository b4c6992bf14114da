//! Limits how many waits one network begins. A wait replaces a challenge. It takes a turn in the
//! queue of the wider network, so one address must not take all turns.

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::Quota;
use governor::clock::{Clock, DefaultClock};

use super::GuardRefusal;
use super::networks::NetworkQuotas;
use crate::web::ClientNetwork;

/// How many waits a network may begin a minute. The queue of the widest network around it serves
/// twice as many.
const PER_MINUTE: NonZeroU32 = NonZeroU32::new(2).expect("not zero");
/// How many waits a network may begin at once: enough for a household.
const BURST: NonZeroU32 = NonZeroU32::new(4).expect("not zero");

/// The limit of waits for each network; a cheap handle.
#[derive(Clone)]
pub struct WaitGuard<C: Clock = DefaultClock> {
    networks: Arc<NetworkQuotas<C>>,
}

impl Default for WaitGuard {
    fn default() -> Self {
        Self::with_clock(DefaultClock::default())
    }
}

impl<C: Clock + Clone> WaitGuard<C> {
    fn with_clock(clock: C) -> Self {
        let quota = Quota::per_minute(PER_MINUTE).allow_burst(BURST);
        Self {
            networks: Arc::new(NetworkQuotas::new(quota, clock)),
        }
    }

    /// Counts one wait that a visitor of the network begins, or refuses it.
    ///
    /// # Errors
    /// [`GuardRefusal::TooManyWaits`].
    pub fn admit(&self, network: ClientNetwork) -> Result<(), GuardRefusal> {
        self.networks
            .check(network)
            .map_err(|exceeded| GuardRefusal::TooManyWaits {
                wait_s: exceeded.wait.as_secs_f64().ceil().max(1.0) as u64,
            })
    }

    /// Forgets the networks that have their whole quota again.
    pub fn evict(&self) {
        self.networks.evict();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use governor::clock::FakeRelativeClock;

    use super::*;

    #[test]
    fn an_address_begins_a_few_waits_at_once_and_then_two_a_minute() {
        let clock = FakeRelativeClock::default();
        let guard = WaitGuard::with_clock(clock.clone());
        let network = |last| ClientNetwork::from_address([192, 0, 2, last].into());
        for _ in 0..BURST.get() {
            assert_eq!(guard.admit(network(1)), Ok(()));
        }
        let refused = Err(GuardRefusal::TooManyWaits { wait_s: 30 });
        assert_eq!(guard.admit(network(1)), refused);
        assert_eq!(guard.admit(network(2)), Ok(()), "another address");
        clock.advance(Duration::from_secs(30));
        assert_eq!(guard.admit(network(1)), Ok(()));
        assert_eq!(guard.admit(network(1)), refused);
        clock.advance(Duration::from_secs(3600));
        guard.evict();
        assert_eq!(guard.admit(network(1)), Ok(()));
    }
}

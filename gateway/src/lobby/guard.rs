//! Slows down a network that joins faster than people can. governor is named only here.

use std::num::NonZeroU32;
use std::sync::Arc;

use booking::http::Problem;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::web::Network;

/// More networks than this are not told apart: the rest share one limit, so that memory stays bounded.
const NETWORKS_MAX: usize = 100_000;

/// The join limit; a cheap handle.
#[derive(Clone)]
pub struct Guard {
    inner: Arc<Inner>,
}

struct Inner {
    networks: DefaultKeyedRateLimiter<Network>,
    overflow: DefaultDirectRateLimiter,
    clock: DefaultClock,
}

impl Guard {
    /// Lets each network join `per_s` times a second, and `burst` times at once.
    #[must_use]
    pub fn new(per_s: NonZeroU32, burst: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_s).allow_burst(burst);
        Self {
            inner: Arc::new(Inner {
                networks: RateLimiter::keyed(quota),
                overflow: RateLimiter::direct(quota),
                clock: DefaultClock::default(),
            }),
        }
    }

    /// Counts one join.
    ///
    /// # Errors
    /// 429 `too_many_joins` with `Retry-After`.
    pub fn admit(&self, network: Network) -> Result<(), Problem> {
        let Inner {
            networks,
            overflow,
            clock,
        } = &*self.inner;
        let crowded = networks.len() >= NETWORKS_MAX;
        let refused = if crowded {
            overflow.check().err()
        } else {
            networks.check_key(&network).err()
        };
        let Some(until) = refused else {
            return Ok(());
        };
        let wait_s = until.wait_time_from(clock.now()).as_secs() + 1;
        metrics::counter!("fairgate_joins_limited_total").increment(1);
        Err(Problem::new(
            429,
            "too_many_joins",
            "Too many people join from your network at once",
            format!("You have no place yet, and nobody has lost one. Try again in {wait_s} s; before the draw the order of joining does not matter."),
        )
        .retry_after(wait_s))
    }

    /// Forgets networks that are back at rest.
    pub fn evict(&self) {
        self.inner.networks.retain_recent();
        self.inner.networks.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::Web;

    fn network(address: &str) -> Network {
        Web::new(crate::web::Settings::default()).network(
            &axum::http::HeaderMap::new(),
            address.parse().expect("an address"),
        )
    }

    #[test]
    fn a_burst_is_let_through_and_the_rest_told_when_to_come_back() {
        let guard = Guard::new(NonZeroU32::MIN, NonZeroU32::new(3).expect("not zero"));
        let (one, other) = (network("10.0.0.1:1"), network("10.0.0.2:1"));
        assert!((0..3).all(|_| guard.admit(one).is_ok()));
        let refused = guard.admit(one).expect_err("the fourth");
        assert_eq!(
            (refused.status.as_u16(), refused.code),
            (429, "too_many_joins")
        );
        assert!(
            guard.admit(other).is_ok(),
            "another network is not held back"
        );
    }
}

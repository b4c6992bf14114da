//! Limits lists and searches: `/v1/rooms`, `/v1/shows`, `/v1/rail/…`, `/v1/cinema/…`, and the pages
//! that search. Each network has a quota that is larger than people need. A partner's programs send
//! a key, which has its own quota. Each call uses up what it costs.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use fairgate_base::config::SecretSetting;
use fairgate_pass::Digest;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use super::networks::NetworkQuotas;
use super::{GuardRefusal, SEARCH_UNITS};
use crate::web::ClientNetwork;

/// The most units a second that a quota can have, because it counts in nanoseconds.
const UNITS_MAX: u32 = 1_000_000_000;

/// The header that carries a partner's key.
pub const API_KEY: &str = "x-api-key";

/// A key for a partner's programs, with its own quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The partner's name, which metrics show.
    pub name: String,
    /// The secret key.
    pub key: SecretSetting,
    /// Searches a second.
    pub per_s: NonZeroU32,
    /// Searches at once (the burst).
    pub burst: NonZeroU32,
}

impl ApiKey {
    /// Reads `name:key:per_s:burst`. The name is a slug; the key has 16 to 200 characters of A–Z,
    /// a–z, 0–9, `-` and `_`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let [name, key, per_s, burst] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let is_valid = fairgate_model::ids::is_slug(name)
            && (16..=200).contains(&key.len())
            && key.bytes().all(is_word);
        is_valid.then_some(())?;
        Some(Self {
            name: name.to_owned(),
            key: SecretSetting(key.to_owned()),
            per_s: per_s.parse().ok()?,
            burst: burst.parse().ok()?,
        })
    }
}

/// The limits of searches; a cheap handle.
#[derive(Clone)]
pub struct SearchQuotas {
    inner: Arc<SearchQuotasState>,
}

struct SearchQuotasState {
    networks: NetworkQuotas,
    /// The partners' quotas by the digest of their key. Because of the digest, the time of a
    /// look-up reveals nothing about other keys.
    partners: HashMap<Digest, PartnerQuota>,
    clock: DefaultClock,
}

struct PartnerQuota {
    name: String,
    limit: DefaultDirectRateLimiter,
    /// The most units that may be used at once.
    burst: NonZeroU32,
}

/// Returns a quota of this many ordinary searches, in units.
fn quota(per_s: NonZeroU32, burst: NonZeroU32) -> Quota {
    let units = |searches: NonZeroU32| {
        let units = searches.get().saturating_mul(SEARCH_UNITS).min(UNITS_MAX);
        NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN)
    };
    Quota::per_second(units(per_s)).allow_burst(units(burst))
}

impl SearchQuotas {
    /// Makes quotas that let each network make `per_s` ordinary searches a second, and `burst` at
    /// once. Each key has its own rate and burst.
    #[must_use]
    pub fn new(per_s: NonZeroU32, burst: NonZeroU32, keys: &[ApiKey]) -> Self {
        let clock = DefaultClock::default();
        let partner = |key: &ApiKey| {
            let quota = quota(key.per_s, key.burst);
            let partner = PartnerQuota {
                name: key.name.clone(),
                burst: quota.burst_size(),
                limit: RateLimiter::direct_with_clock(quota, clock.clone()),
            };
            (Digest::of_bytes(key.key.0.as_bytes()), partner)
        };
        Self {
            inner: Arc::new(SearchQuotasState {
                networks: NetworkQuotas::new(quota(per_s, burst), clock.clone()),
                partners: keys.iter().map(partner).collect(),
                clock,
            }),
        }
    }

    /// Counts a call that costs this many units, or refuses it.
    ///
    /// # Errors
    /// [`GuardRefusal::ApiKeyUnknown`] for an unknown key; otherwise a refusal if a quota is used
    /// up.
    pub fn admit(
        &self,
        headers: &HeaderMap,
        network: ClientNetwork,
        units: NonZeroU32,
    ) -> Result<(), GuardRefusal> {
        let inner = &*self.inner;
        let Some(key) = headers.get(API_KEY) else {
            return self.admit_by_network(network, units);
        };
        let Some(partner) = inner.partners.get(&Digest::of_bytes(key.as_bytes())) else {
            return Err(GuardRefusal::ApiKeyUnknown);
        };
        let name = partner.name.clone();
        metrics::counter!("fairgate_searches_total", "key" => name).increment(1);
        let counted = partner.limit.check_n(units.min(partner.burst));
        counted.unwrap_or(Ok(())).map_err(|until| {
            let wait_s = count_refusal(until.wait_time_from(inner.clock.now()));
            GuardRefusal::KeyQuotaUsed { wait_s }
        })
    }

    fn admit_by_network(
        &self,
        network: ClientNetwork,
        units: NonZeroU32,
    ) -> Result<(), GuardRefusal> {
        let checked = self.inner.networks.check_units(network, units);
        checked.map_err(|exceeded| GuardRefusal::NetworkQuotaUsed {
            wait_s: count_refusal(exceeded.wait),
        })
    }

    /// Forgets the networks that have their whole quota again.
    pub fn evict(&self) {
        self.inner.networks.evict();
    }
}

/// Counts a refused search, and returns the whole seconds until the next search is admitted.
fn count_refusal(wait: Duration) -> u64 {
    metrics::counter!("fairgate_searches_limited_total").increment(1);
    wait.as_secs_f64().ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{WebRequestPolicy, WebSettings};

    fn count(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).expect("not zero")
    }

    fn network(address: &str) -> ClientNetwork {
        let peer = address.parse().expect("an address");
        WebRequestPolicy::new(WebSettings::default()).network(&HeaderMap::new(), peer)
    }

    fn with(key: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(API_KEY, key.parse().expect("a header"));
        headers
    }

    #[test]
    fn a_key_has_a_quota_and_calls_without_a_key_use_their_networks_quota() {
        let text = "agency:a-key-of-an-agency-1:1:5";
        let keys = [ApiKey::parse(text).expect("good")];
        let searches = SearchQuotas::new(count(1), count(2), &keys);
        let (one, other) = (network("10.0.0.1:1"), network("10.0.0.2:1"));
        let none = HeaderMap::new();
        let search = count(SEARCH_UNITS);
        assert!((0..2).all(|_| searches.admit(&none, one, search).is_ok()));
        let refused = searches.admit(&none, one, search).expect_err("the third");
        assert!(matches!(refused, GuardRefusal::NetworkQuotaUsed { .. }));
        assert!(
            searches.admit(&none, other, search).is_ok(),
            "another network"
        );
        let key = with("a-key-of-an-agency-1");
        assert!((0..5).all(|_| searches.admit(&key, one, search).is_ok()));
        assert!(
            searches.admit(&key, other, search).is_err(),
            "the quota of a key counts in all networks"
        );
        let refused = searches
            .admit(&with("another"), other, search)
            .expect_err("an unknown key");
        assert_eq!(refused, GuardRefusal::ApiKeyUnknown);
    }

    #[test]
    fn a_search_uses_up_as_much_as_ten_prepared_lists() {
        let searches = SearchQuotas::new(count(1), count(2), &[]);
        let (none, one) = (HeaderMap::new(), network("10.0.0.1:1"));
        let admit = |path: &str, query: Option<&str>| {
            let units = crate::guard::call_units(&axum::http::Method::GET, path, query);
            searches
                .admit(&none, one, units.expect("it counts"))
                .is_ok()
        };
        assert!((0..10).all(|_| admit("/v1/rooms", None)));
        assert!(admit("/v1/rooms", Some("q=night")));
        assert!(!admit("/v1/rooms", Some("q=night")));
    }

    #[test]
    fn a_malformed_key_setting_is_refused() {
        for bad in [
            "",
            "agency",
            "agency:short:1:1",
            "agency:a-key-of-an-agency-1:0:5",
            "agency:a-key-of-an-agency-1:1",
            "agency:a-key-of-an-agency-1:1:5:6",
            "Agency:a-key-of-an-agency-1:1:5",
            "agency:a key of an agency 1:1:5",
        ] {
            assert_eq!(ApiKey::parse(bad), None, "{bad}");
        }
    }
}

//! Decides what a network pays for places in a room. The first places of a network are free. From
//! the soft limit on, a place costs work. The work grows with the number of places, up to an amount
//! that a phone can do. From the hard limit on, work alone gives no place.
//!
//! A network is one IPv4 address or one IPv6 /64. The wider networks around it (/24, /56, /48) have
//! a soft limit ten times as high, and no hard limit. So a crowded wider network only raises the
//! price. The same is true of an IPv6 /40 and an IPv6 /32, with limits of 100 and 1,000 times the
//! soft limit. Only their places of the last minutes count (`recent_places`), because a /32 may be
//! a carrier with millions of customers.

use serde::{Deserialize, Serialize};

use super::faults::RoomInputFaults;

/// The soft limit of a wider network (/24, /56, /48) is this many times as high.
const WIDER_FACTOR: u64 = 10;
/// The soft limit of an IPv6 /40 is this many times as high.
const SLASH_40_FACTOR: u64 = 100;
/// The soft limit of an IPv6 /32 is this many times as high.
const SLASH_32_FACTOR: u64 = 1000;

/// The number of places at each level of work is the soft limit divided by this. So the price
/// reaches its maximum at one and a half times the soft limit.
const LEVELS_IN_SOFT: u64 = 8;

/// The most that a promoter may set as a limit.
const LIMIT_MAX: u64 = 10_000_000;

/// How many places a room gives to one network for nothing, and how many for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PerNetwork)]
pub struct NetworkLimits {
    /// From this many places on, joining and claiming cost work.
    pub soft: u64,
    /// From this many places on, work alone gives no place. A place then needs a code or a
    /// provider's check.
    pub hard: u64,
}

impl Default for NetworkLimits {
    fn default() -> Self {
        Self {
            soft: 30,
            hard: 2000,
        }
    }
}

impl NetworkLimits {
    /// Notes what is wrong with the limits, and returns them.
    #[must_use]
    pub fn checked(self, faults: &mut RoomInputFaults) -> Self {
        if self.hard == 0 || self.soft > self.hard || self.hard > LIMIT_MAX {
            faults.note_bad_value(
                "per_network",
                format!("soft must be at most hard, and hard must be between 1 and {LIMIT_MAX}"),
            );
        }
        self
    }

    fn soft_times(self, factor: u64) -> u64 {
        self.soft.saturating_mul(factor)
    }
}

/// How much work a challenge asks for. Each level asks for more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkLevel(u8);

impl WorkLevel {
    /// The least work.
    pub const FIRST: Self = Self(1);
    /// The most work. No network pays more.
    pub const LAST: Self = Self(5);

    /// Returns the longest time that an average phone works on a challenge of this level, in
    /// seconds.
    #[must_use]
    pub fn phone_s(self) -> u64 {
        match self.0 {
            0 => 0,
            1 => 1,
            2 => 2,
            3 => 4,
            4 => 8,
            _ => 15,
        }
    }
}

/// What a visitor has proved to get a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinProof {
    /// Nothing.
    None,
    /// The solution of a challenge with this level.
    Work(WorkLevel),
    /// A provider's confirmation that the visitor is a person.
    Person,
}

/// What a room asks for a join or a claim. It does not depend on the places of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TollDemand {
    /// Whether everybody must solve a challenge.
    pub challenge: bool,
    /// Whether work is enough even from the hard limit on. This is so for a join with a code, and
    /// for the claim of a pass.
    pub beyond_hard: bool,
}

/// How many places a network and the networks around it may have before a join is refused. A join
/// is refused if any of them has as many places as its bound, or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkBounds {
    /// The bound of the network itself.
    pub own: u64,
    /// The bound of each wider network around it.
    pub wider: u64,
    /// The bound of the recent places of its IPv6 /40.
    pub slash_40: u64,
    /// The bound of the recent places of its IPv6 /32.
    pub slash_32: u64,
}

impl NetworkBounds {
    /// The bounds of a network that is not counted.
    pub const NONE: Self = Self {
        own: u64::MAX,
        wider: u64::MAX,
        slash_40: u64::MAX,
        slash_32: u64::MAX,
    };

    /// Returns the numbers of places below which `proof` is enough for one more place.
    ///
    /// Other visitors of the same network may join between the challenge and its solution. So a
    /// solution of one level is also enough for the places of the next level. The last level covers
    /// any number of places. A solution of the level below it is enough only for the first of these
    /// places, as many as any other level has. Otherwise a bot could collect challenges while they
    /// are cheaper.
    #[must_use]
    pub fn of_proof(limits: NetworkLimits, proof: JoinProof, demand: TollDemand) -> Self {
        let limit_for = |soft: u64| match proof {
            JoinProof::None if demand.challenge => 0,
            JoinProof::None => soft,
            JoinProof::Work(WorkLevel::LAST) | JoinProof::Person => u64::MAX,
            JoinProof::Work(WorkLevel(level)) => {
                soft.saturating_add(step(soft).saturating_mul(u64::from(level) + 1))
            }
        };
        let hard_limit = if demand.beyond_hard || proof == JoinProof::Person {
            u64::MAX
        } else {
            limits.hard
        };
        Self {
            own: limit_for(limits.soft).min(hard_limit),
            wider: limit_for(limits.soft_times(WIDER_FACTOR)),
            slash_40: limit_for(limits.soft_times(SLASH_40_FACTOR)),
            slash_32: limit_for(limits.soft_times(SLASH_32_FACTOR)),
        }
    }
}

/// How many places a network has in a room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkPlaces {
    /// The places of the network itself.
    pub own: u64,
    /// The places of the wider network that has the most.
    pub wider: u64,
    /// The recent places of its IPv6 /40.
    pub slash_40: u64,
    /// The recent places of its IPv6 /32.
    pub slash_32: u64,
}

/// What a network must do for one more place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkPrice {
    /// Nothing.
    Free,
    /// Solve a challenge of this level.
    Work(WorkLevel),
    /// Work does not help, because the network already has as many places as it can get for work. A
    /// provider's check may help.
    Full,
}

/// Returns the price of one more place for a network that has `places`.
#[must_use]
pub fn price(limits: NetworkLimits, places: NetworkPlaces, demand: TollDemand) -> NetworkPrice {
    if places.own >= limits.hard && !demand.beyond_hard {
        return NetworkPrice::Full;
    }
    let level = [
        (places.own, 1),
        (places.wider, WIDER_FACTOR),
        (places.slash_40, SLASH_40_FACTOR),
        (places.slash_32, SLASH_32_FACTOR),
    ]
    .into_iter()
    .map(|(places, factor)| level_at(places, limits.soft_times(factor)))
    .fold(u8::from(demand.challenge), u8::max);
    match level {
        0 => NetworkPrice::Free,
        level => NetworkPrice::Work(WorkLevel(level)),
    }
}

/// Returns the number of places for which one level of work is the price.
fn step(soft: u64) -> u64 {
    (soft / LEVELS_IN_SOFT).max(1)
}

fn level_at(places: u64, soft: u64) -> u8 {
    let Some(beyond) = places.checked_sub(soft) else {
        return 0;
    };
    u8::try_from(beyond / step(soft) + 1)
        .map_or(WorkLevel::LAST.0, |level| level.min(WorkLevel::LAST.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recent_places::RecentPlaces;

    const LIMITS: NetworkLimits = NetworkLimits {
        soft: 30,
        hard: 2000,
    };
    const NOTHING: TollDemand = TollDemand {
        challenge: false,
        beyond_hard: false,
    };

    fn price_of(own: u64, wider: u64, demand: TollDemand) -> NetworkPrice {
        let places = NetworkPlaces {
            own,
            wider,
            ..NetworkPlaces::default()
        };
        price(LIMITS, places, demand)
    }

    /// Returns how many seconds of a phone a place costs, or 0 if it is free.
    fn phone_s(price: NetworkPrice) -> u64 {
        match price {
            NetworkPrice::Free => 0,
            NetworkPrice::Work(level) => level.phone_s(),
            NetworkPrice::Full => panic!("full"),
        }
    }

    fn proof_of(price: NetworkPrice) -> Option<JoinProof> {
        match price {
            NetworkPrice::Free => Some(JoinProof::None),
            NetworkPrice::Work(level) => Some(JoinProof::Work(level)),
            NetworkPrice::Full => None,
        }
    }

    #[test]
    fn places_are_free_up_to_the_soft_limit_and_then_cost_more_each_time() {
        let at = |own| price_of(own, 0, NOTHING);
        assert_eq!(at(29), NetworkPrice::Free);
        let seconds = [30, 33, 36, 39, 42, 1999].map(|own| phone_s(at(own)));
        assert_eq!(seconds, [1, 2, 4, 8, 15, 15]);
        assert_eq!(at(2000), NetworkPrice::Full);
    }

    #[test]
    fn whoever_pays_the_price_is_within_the_bounds() {
        for demand in [
            NOTHING,
            TollDemand {
                challenge: true,
                ..NOTHING
            },
            TollDemand {
                beyond_hard: true,
                ..NOTHING
            },
        ] {
            for own in 0..2100 {
                for wider in [0, 299, 300, 337, 375, 450, 5000] {
                    for (slash_40, slash_32) in [(0, 0), (3370, 0), (9, 33_760), (20_000, 90_000)] {
                        let places = NetworkPlaces {
                            own,
                            wider,
                            slash_40,
                            slash_32,
                        };
                        let Some(proof) = proof_of(price(LIMITS, places, demand)) else {
                            continue;
                        };
                        let bounds = NetworkBounds::of_proof(LIMITS, proof, demand);
                        assert!(own < bounds.own && wider < bounds.wider, "{places:?}");
                        let is_within = slash_40 < bounds.slash_40 && slash_32 < bounds.slash_32;
                        assert!(is_within, "{places:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_and_cheap_work_give_only_so_many_places() {
        let own = |proof| NetworkBounds::of_proof(LIMITS, proof, NOTHING).own;
        assert_eq!(own(JoinProof::None), 30);
        assert_eq!(own(JoinProof::Work(WorkLevel::FIRST)), 36);
        assert_eq!(own(JoinProof::Work(WorkLevel(4))), 45);
        assert_eq!(own(JoinProof::Work(WorkLevel::LAST)), 2000);
        assert_eq!(own(JoinProof::Person), u64::MAX, "beyond hard, too");
    }

    #[test]
    fn a_crowded_wider_network_raises_the_price_and_is_never_full() {
        assert_eq!(price_of(0, 299, NOTHING), NetworkPrice::Free);
        assert_eq!(
            price_of(0, 300, NOTHING),
            NetworkPrice::Work(WorkLevel::FIRST)
        );
        assert_eq!(
            price_of(0, 1_000_000, NOTHING),
            NetworkPrice::Work(WorkLevel::LAST)
        );
    }

    #[test]
    fn a_slash_40_pays_from_100_times_soft_on_and_a_slash_32_from_1000_times() {
        let of_40 = |slash_40| NetworkPlaces {
            slash_40,
            ..NetworkPlaces::default()
        };
        let of_32 = |slash_32| NetworkPlaces {
            slash_32,
            ..NetworkPlaces::default()
        };
        let seconds = |places| phone_s(price(LIMITS, places, NOTHING));
        let of_40 = [0, 2999, 3000, 3375, 3750, 4125, 4500, 20_000].map(|at| seconds(of_40(at)));
        assert_eq!(of_40, [0, 0, 1, 2, 4, 8, 15, 15]);
        let of_32 = [0, 29_999, 30_000, 33_750, 45_000, 9_000_000].map(|at| seconds(of_32(at)));
        assert_eq!(of_32, [0, 0, 1, 2, 15, 15]);
        let bounds = NetworkBounds::of_proof(LIMITS, JoinProof::None, NOTHING);
        assert_eq!((bounds.slash_40, bounds.slash_32), (3000, 30_000));
    }

    #[test]
    fn of_20000_places_in_one_slash_40_all_but_the_first_3000_cost_more_and_more() {
        let (mut recent, mut paid) = (RecentPlaces::default(), Vec::new());
        for now in (0..20_000).map(|of| of * 25) {
            let places = NetworkPlaces {
                slash_40: recent.count_at(now),
                ..NetworkPlaces::default()
            };
            paid.push(phone_s(price(LIMITS, places, NOTHING)));
            recent.count(now);
        }
        assert!(paid.is_sorted(), "the price never falls");
        assert_eq!(paid.iter().filter(|seconds| **seconds == 0).count(), 3000);
        // A crowd that joins no faster than 3,000 in eleven minutes pays nothing.
        let mut recent = RecentPlaces::default();
        for now in (0..20_000).map(|of| of * 221) {
            assert!(recent.count_at(now) < 3000, "{now}");
            recent.count(now);
        }
    }

    #[test]
    fn limits_that_contradict_each_other_are_refused() {
        for (soft, hard) in [(31, 30), (0, 0), (1, LIMIT_MAX + 1)] {
            let mut faults = RoomInputFaults::default();
            let _ = NetworkLimits { soft, hard }.checked(&mut faults);
            assert!(faults.into_result().is_err(), "{soft} {hard}");
        }
    }
}

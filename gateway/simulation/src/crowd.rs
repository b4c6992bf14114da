//! Describes when visitors come: the section `[crowd]` of a scenario or of an on-sale file.

use rand::{Rng, RngExt};
use serde::Deserialize;

/// How arrivals are spread over the time in which visitors arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// Arrivals are independent of each other. Their mean rate stays the same.
    #[default]
    Poisson,
    /// Arrivals are evenly spaced.
    Uniform,
    /// Arrivals are independent of each other. Their rate grows evenly from zero.
    Ramp,
}

/// `[crowd]`: who comes, and when.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrowdSettings {
    /// The number of visitors.
    pub visitors: usize,
    /// The earliest arrival, in seconds after the lobby opens.
    #[serde(default)]
    pub from_s: f64,
    /// The length of the time in which visitors arrive, in seconds; 0 means all at once.
    pub over_s: f64,
    /// How arrivals are spread over that time.
    #[serde(default)]
    pub arrivals: ArrivalPattern,
    /// The share of visitors who come in a rush just before the draw.
    #[serde(default)]
    pub rush: f64,
    /// How long the rush lasts, in seconds. It ends with the draw.
    #[serde(default = "default_rush_s")]
    pub rush_s: f64,
    /// The share of visitors who arrive only after the draw, over as many seconds as the others.
    #[serde(default)]
    pub after_draw: f64,
    /// The share of visitors with a live socket; the others poll.
    #[serde(default = "default_socket_share")]
    pub socket: f64,
    /// The number of visitors who open a socket, watch the seats, and never read from the socket.
    #[serde(default)]
    pub mute: usize,
    /// The number of bots, who come in addition to the visitors. They do what visitors do, but many
    /// come from one network, and no bot solves a challenge.
    #[serde(default)]
    pub bots: usize,
    /// How many networks the bots come from. Each visitor who is no bot has a network of its own.
    #[serde(default = "default_bot_networks")]
    pub bot_networks: usize,
}

/// The most visitors of one crowd.
pub const VISITORS_MAX: usize = 1_000_000_000;
/// The most networks of bots.
pub const BOT_NETWORKS_MAX: usize = 60_000;
/// The longest time that a crowd or a visitor may name, in seconds: two days.
pub const SECONDS_MAX: f64 = 48.0 * 3_600.0;

fn default_socket_share() -> f64 {
    0.8
}

fn default_bot_networks() -> usize {
    1
}

fn default_rush_s() -> f64 {
    60.0
}

/// A span in which a share of the visitors comes, all in one pattern.
#[derive(Debug, Clone, Copy)]
struct ArrivalSpan {
    share: f64,
    from_s: f64,
    over_s: f64,
    pattern: ArrivalPattern,
}

impl ArrivalSpan {
    /// Returns the share of this span's visitors who have come before a time.
    fn share_before(&self, at_s: f64) -> f64 {
        if self.over_s <= 0.0 {
            return f64::from(u8::from(at_s > self.from_s));
        }
        let share_passed = ((at_s - self.from_s) / self.over_s).clamp(0.0, 1.0);
        match self.pattern {
            ArrivalPattern::Poisson | ArrivalPattern::Uniform => share_passed,
            ArrivalPattern::Ramp => share_passed * share_passed,
        }
    }

    /// Returns the time before which the share `share_passed` of this span's visitors has come.
    fn time_of(&self, share_passed: f64) -> f64 {
        let share_of_time = match self.pattern {
            ArrivalPattern::Poisson | ArrivalPattern::Uniform => share_passed,
            ArrivalPattern::Ramp => share_passed.sqrt(),
        };
        self.from_s + share_of_time * self.over_s
    }
}

/// The bots that have a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacedBots {
    /// How many bots have a place.
    pub placed: usize,
    /// How many of them are refused at the claim. Their network has used up its free places, so
    /// they would have to solve a challenge for a pass.
    pub refused: usize,
}

impl CrowdSettings {
    /// Returns how many bots get a place, and how many of these are refused at the claim. The room
    /// gives each network `free_places` places without a challenge, and bots solve no challenge.
    #[must_use]
    pub fn placed_bots(&self, free_places: u64) -> PlacedBots {
        let free = usize::try_from(free_places).unwrap_or(usize::MAX);
        let placed = self.bots.min(self.bot_networks.saturating_mul(free));
        // The bots are spread evenly, so the first networks can have one bot more than the others.
        let bots_per_network = self.bots.checked_div(self.bot_networks).unwrap_or(0);
        let larger_networks = self.bots.checked_rem(self.bot_networks).unwrap_or(0);
        let full_networks = if bots_per_network >= free {
            self.bot_networks
        } else if bots_per_network + 1 >= free {
            larger_networks
        } else {
            0
        };
        PlacedBots {
            placed,
            refused: placed.min(full_networks.saturating_mul(free)),
        }
    }

    /// Returns when the visitor with the number `visitor`, from 0, arrives, in seconds after the
    /// start. The lobby opens at `opens_s`, and the draw is at `draw_s`.
    pub fn arrival_s(&self, visitor: usize, opens_s: f64, draw_s: f64, rng: &mut impl Rng) -> f64 {
        let share_passed = match self.arrivals {
            // If the number of arrivals of a Poisson process is known, their times are independent
            // of each other and uniformly distributed.
            ArrivalPattern::Poisson | ArrivalPattern::Ramp => rng.random::<f64>(),
            ArrivalPattern::Uniform => visitor as f64 / self.visitors as f64,
        };
        let [main, rush, after] = self.spans(opens_s, draw_s);
        let mut rolls = |share: f64| share > 0.0 && rng.random::<f64>() < share;
        if rolls(self.after_draw) {
            after.time_of(share_passed)
        } else if rolls(self.rush) {
            rush.time_of(share_passed)
        } else {
            main.time_of(share_passed)
        }
    }

    /// Returns the share of all visitors who have come before a time, in seconds after the start.
    #[must_use]
    pub fn share_before(&self, at_s: f64, opens_s: f64, draw_s: f64) -> f64 {
        let spans = self.spans(opens_s, draw_s);
        spans
            .iter()
            .map(|span| span.share * span.share_before(at_s))
            .sum()
    }

    /// Returns the latest time at which a visitor can come, in seconds after the start.
    #[must_use]
    pub fn last_s(&self, opens_s: f64, draw_s: f64) -> f64 {
        let spans = self.spans(opens_s, draw_s);
        let used_spans = spans.iter().filter(|span| span.share > 0.0);
        used_spans
            .map(|span| span.from_s + span.over_s)
            .fold(opens_s, f64::max)
    }

    /// Returns three spans: of the main crowd, of the rush, and of the visitors who come after the
    /// draw.
    fn spans(&self, opens_s: f64, draw_s: f64) -> [ArrivalSpan; 3] {
        let share_before_draw = 1.0 - self.after_draw;
        let rush_from_s = (draw_s - self.rush_s).max(opens_s);
        [
            ArrivalSpan {
                share: share_before_draw * (1.0 - self.rush),
                from_s: opens_s + self.from_s,
                over_s: self.over_s,
                pattern: self.arrivals,
            },
            ArrivalSpan {
                share: share_before_draw * self.rush,
                from_s: rush_from_s,
                over_s: draw_s - rush_from_s,
                pattern: ArrivalPattern::Poisson,
            },
            ArrivalSpan {
                share: self.after_draw,
                from_s: draw_s,
                over_s: self.over_s,
                pattern: ArrivalPattern::Poisson,
            },
        ]
    }

    /// Returns a message for every invalid value. The message names the values that are valid.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=VISITORS_MAX).contains(&self.visitors) || self.mute > self.visitors {
            faults.push(format!(
                "crowd.visitors must be between 1 and {VISITORS_MAX}, and crowd.mute not above it"
            ));
        }
        if self.bots > VISITORS_MAX || !(1..=BOT_NETWORKS_MAX).contains(&self.bot_networks) {
            faults.push(format!(
                "crowd.bots must be at most {VISITORS_MAX}, and crowd.bot_networks between 1 and {BOT_NETWORKS_MAX}"
            ));
        }
        let shares = [
            ("socket", self.socket),
            ("after_draw", self.after_draw),
            ("rush", self.rush),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                faults.push(format!(
                    "crowd.{name}: {share} is not a share between 0 and 1"
                ));
            }
        }
        let times = [
            ("from_s", self.from_s),
            ("over_s", self.over_s),
            ("rush_s", self.rush_s),
        ];
        for (name, time_s) in times {
            if !(0.0..=SECONDS_MAX).contains(&time_s) {
                faults.push(format!(
                    "crowd.{name}: {time_s} is not between 0 and {SECONDS_MAX} seconds"
                ));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    use super::*;

    const CROWD: CrowdSettings = CrowdSettings {
        visitors: 1_000,
        from_s: 10.0,
        over_s: 100.0,
        arrivals: ArrivalPattern::Ramp,
        rush: 0.5,
        rush_s: 20.0,
        after_draw: 0.2,
        socket: 0.8,
        mute: 0,
        bots: 0,
        bot_networks: 1,
    };

    #[test]
    fn as_many_visitors_have_come_by_each_time_as_arrivals_that_are_drawn_one_by_one_say() {
        for arrivals in [
            ArrivalPattern::Poisson,
            ArrivalPattern::Uniform,
            ArrivalPattern::Ramp,
        ] {
            let crowd = CrowdSettings { arrivals, ..CROWD };
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let came: Vec<f64> = (0..20_000)
                .map(|who| crowd.arrival_s(who % 1_000, 5.0, 200.0, &mut rng))
                .collect();
            for at_s in [5.0, 40.0, 80.0, 115.0, 190.0, 199.9, 250.0, 301.0] {
                let drawn = came.iter().filter(|came_s| **came_s < at_s).count() as f64 / 20_000.0;
                let told = crowd.share_before(at_s, 5.0, 200.0);
                assert!(
                    (drawn - told).abs() < 0.02,
                    "{arrivals:?} {at_s}: {drawn} {told}"
                );
            }
            assert!((crowd.last_s(5.0, 200.0) - 300.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_bot_gets_no_pass_if_its_network_has_all_the_places_that_it_gets_for_nothing() {
        let placed = |bots, bot_networks, free| {
            let crowd = CrowdSettings {
                bots,
                bot_networks,
                ..CROWD
            };
            let placed = crowd.placed_bots(free);
            (placed.placed, placed.refused)
        };
        assert_eq!(placed(4_000, 40, 30), (1_200, 1_200));
        assert_eq!(placed(1_200, 40, 30), (1_200, 1_200));
        assert_eq!(
            placed(1_162, 40, 30),
            (1_162, 60),
            "29 each, and two have 30"
        );
        assert_eq!(placed(100, 40, 30), (100, 0));
        assert_eq!(placed(100, 40, 0), (0, 0), "everybody solves a challenge");
        assert_eq!(placed(0, 0, 30), (0, 0));
    }

    #[test]
    fn every_invalid_value_is_a_fault() {
        let bad = CrowdSettings {
            visitors: 0,
            rush: 1.5,
            over_s: f64::NAN,
            ..CROWD
        };
        let faults = bad.faults().join("\n");
        for name in ["visitors", "rush: 1.5", "over_s"] {
            assert!(faults.contains(name), "{faults}");
        }
    }
}

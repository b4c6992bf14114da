//! Plans a crowd from a seed: when each visitor arrives and what it will do. The plan is complete
//! before the first visitor arrives, so a slow server does not change when visitors arrive (an open
//! model). The same seed gives the same crowd again.

use std::net::Ipv4Addr;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::scenario::{Scenario, VisitorBehaviour};

/// The number of /24 networks in 10.0.0.0/8.
const NETWORKS_MAX: usize = 65_536;

/// When the promoter ends a visitor's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedRevocation {
    /// While the visitor waits, or when it is called.
    BeforeTheClaim,
    /// When the visitor has its pass.
    Inside,
}

/// The plan of one visitor.
#[derive(Debug, Clone)]
pub struct VisitorPlan {
    /// The visitor's number in the swarm, from 0.
    pub visitor: usize,
    /// When the visitor arrives, in seconds after the start.
    pub arrives_s: f64,
    /// Whether the visitor opens a socket; otherwise it polls.
    pub socket: bool,
    /// Whether the visitor opens a socket and never reads from it.
    pub mute: bool,
    /// Whether the visitor joins and then disappears. If the scenario sets `no_show_head`, the
    /// visitor disappears only if its rank is below that.
    pub no_show: bool,
    /// Whether the visitor claims its pass late.
    pub late: bool,
    /// Whether the visitor leaves the line while it waits.
    pub leaves: bool,
    /// Whether the visitor's socket drops while the visitor waits.
    pub drops: bool,
    /// When the promoter ends the visitor's place; `None` if the promoter does not.
    pub revoked: Option<PlannedRevocation>,
    /// Whether the visitor is a bot.
    pub bot: bool,
    /// The address that a proxy reports as the visitor's, if the scenario has bots.
    pub address: Option<Ipv4Addr>,
    /// The visitor's own random number generator. It makes all other decisions.
    pub rng: ChaCha8Rng,
}

/// Returns the random number generator of one visitor.
fn rng_of(seed: u64, visitor: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(visitor as u64 + 1);
    rng
}

/// Plans the whole crowd.
pub fn crowd(scenario: &Scenario, seed: u64) -> Vec<VisitorPlan> {
    let crowd = &scenario.crowd;
    let opens_s = scenario.onsale.at_s("opens_at").unwrap_or_default();
    let draw_s = scenario.onsale.at_s("draw_at").unwrap_or_default();
    let plan = |visitor: usize| {
        let mut rng = rng_of(seed, visitor);
        // Bots arrive over the same period as people.
        let arrives_s = crowd.arrival_s(visitor % crowd.visitors, opens_s, draw_s, &mut rng);
        plan_visitor(scenario, visitor, arrives_s, rng)
    };
    (0..scenario.comers()).map(plan).collect()
}

fn plan_visitor(
    scenario: &Scenario,
    visitor: usize,
    arrives_s: f64,
    mut rng: ChaCha8Rng,
) -> VisitorPlan {
    let behaviour = &scenario.behaviour;
    let mut roll = |share| VisitorBehaviour::roll(share, &mut rng);
    VisitorPlan {
        visitor,
        arrives_s,
        mute: visitor < scenario.crowd.mute,
        socket: roll(scenario.crowd.socket),
        no_show: roll(behaviour.no_show),
        late: roll(behaviour.late),
        leaves: roll(behaviour.leave),
        drops: roll(behaviour.drop_socket),
        revoked: roll(behaviour.revoked).then(|| {
            if roll(0.5) {
                PlannedRevocation::BeforeTheClaim
            } else {
                PlannedRevocation::Inside
            }
        }),
        bot: visitor >= scenario.crowd.visitors,
        address: (scenario.crowd.bots > 0).then(|| address_of(scenario, visitor)),
        rng,
    }
}

/// Returns the address of one visitor. Each person has its own /24 network. After [`NETWORKS_MAX`]
/// people the networks repeat. Bots share the scenario's bot networks, and all bots of one network
/// have the same address.
fn address_of(scenario: &Scenario, visitor: usize) -> Ipv4Addr {
    let crowd = &scenario.crowd;
    let (base, network) = match visitor.checked_sub(crowd.visitors) {
        None => (Ipv4Addr::new(10, 0, 0, 1), visitor % NETWORKS_MAX),
        Some(bot) => (Ipv4Addr::new(11, 0, 0, 1), bot % crowd.bot_networks),
    };
    #[expect(clippy::cast_possible_truncation, reason = "at most 65,536 networks")]
    let network = network as u32;
    Ipv4Addr::from_bits(base.to_bits() + (network << 8))
}

/// Returns 32 random bytes as hex.
pub fn secret(rng: &mut impl Rng) -> String {
    hex::encode(rng.random::<[u8; 32]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_person_has_a_network_alone_and_bots_share_theirs() {
        let text = include_str!("../../scenarios/flood.toml");
        let mut scenario = crate::swarm::scenario_of("flood", text).expect("a scenario");
        (scenario.crowd.visitors, scenario.crowd.bots) = (3, 5);
        scenario.crowd.bot_networks = 2;
        let crowd = crowd(&scenario, 1);
        let told: Vec<_> = crowd
            .iter()
            .map(|one| (one.bot, one.address.expect("an address").to_string()))
            .collect();
        let people = ["10.0.0.1", "10.0.1.1", "10.0.2.1"].map(|at| (false, at.to_owned()));
        let bots = ["11.0.0.1", "11.0.1.1", "11.0.0.1", "11.0.1.1", "11.0.0.1"];
        let bots = bots.map(|at| (true, at.to_owned()));
        assert_eq!(told, [&people[..], &bots[..]].concat());
    }
}

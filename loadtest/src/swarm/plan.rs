//! Plans from the seed when each visitor comes and what it will do, before the first visitor comes.
//! A slow server therefore does not change when visitors arrive (an open model), and the same seed
//! gives the same crowd again.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::scenario::{Scenario, VisitorBehaviour};

/// The plan of one visitor.
#[derive(Debug, Clone)]
pub struct VisitorPlan {
    /// The visitor's number in the swarm, from 0.
    pub who: usize,
    /// When the visitor comes, in seconds after the start.
    pub arrives_s: f64,
    /// Whether the visitor opens a socket; otherwise it polls.
    pub socket: bool,
    /// Whether the visitor opens a socket and never reads from it.
    pub mute: bool,
    /// Whether the visitor joins and then disappears. If the scenario sets `no_show_head`, only a
    /// visitor with a rank below it disappears.
    pub no_show: bool,
    /// Whether the visitor claims its pass late.
    pub late: bool,
    /// Whether the visitor leaves the line while waiting.
    pub leaves: bool,
    /// Whether the visitor's socket drops while waiting.
    pub drops: bool,
    /// The visitor's own generator, for everything else.
    pub rng: ChaCha8Rng,
}

/// Returns the generator of one visitor.
fn rng_of(seed: u64, who: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(who as u64 + 1);
    rng
}

/// Plans the whole crowd.
pub fn crowd(scenario: &Scenario, seed: u64) -> Vec<VisitorPlan> {
    let crowd = &scenario.crowd;
    let opens_s = scenario.onsale.at_s("opens_at").unwrap_or_default();
    let draw_s = scenario.onsale.at_s("draw_at").unwrap_or_default();
    let plan = |who: usize| {
        let mut rng = rng_of(seed, who);
        let arrives_s = crowd.arrival_s(who, opens_s, draw_s, &mut rng);
        plan_visitor(scenario, who, arrives_s, rng)
    };
    (0..crowd.visitors).map(plan).collect()
}

fn plan_visitor(
    scenario: &Scenario,
    who: usize,
    arrives_s: f64,
    mut rng: ChaCha8Rng,
) -> VisitorPlan {
    let behaviour = &scenario.behaviour;
    let mut roll = |share| VisitorBehaviour::roll(share, &mut rng);
    VisitorPlan {
        who,
        arrives_s,
        mute: who < scenario.crowd.mute,
        socket: roll(scenario.crowd.socket),
        no_show: roll(behaviour.no_show),
        late: roll(behaviour.late),
        leaves: roll(behaviour.leave),
        drops: roll(behaviour.drop_socket),
        rng,
    }
}

/// Returns 32 random bytes as hex.
pub fn secret(rng: &mut impl Rng) -> String {
    hex::encode(rng.random::<[u8; 32]>())
}

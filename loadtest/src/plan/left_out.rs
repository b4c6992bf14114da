//! Names the settings of a file that the swarm uses and the simulation ignores.

use crate::swarm::Scenario;

/// Returns the settings of `[behaviour]` and the sections of the file that a plan ignores.
pub fn left_out(scenario: &Scenario) -> Vec<&'static str> {
    let behaviour = &scenario.behaviour;
    let words = [
        ("wish", behaviour.wish > 0.0),
        ("exchange", behaviour.exchange > 0.0),
        ("scan", behaviour.scan > 0.0),
        ("one_card", behaviour.one_card > 0.0),
        ("foreign", behaviour.foreign > 0.0),
        ("two_bodies", behaviour.two_bodies > 0.0),
        ("leave_called", behaviour.leave_called > 0.0),
        ("leave_inside", behaviour.leave_inside > 0.0),
        ("revoked", behaviour.revoked > 0.0),
        ("wanted", !behaviour.wanted.is_empty()),
        ("[cancel]", scenario.cancel.is_some()),
        ("[[live]]", !scenario.live_changes.is_empty()),
    ];
    let used = words.into_iter().filter(|(_, is_used)| *is_used);
    used.map(|(word, _)| word).collect()
}

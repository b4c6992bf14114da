//! Plans the loss of a gateway: `--kill gateway@draw+60s`.

use fairgate_simulation::crowd::SECONDS_MAX;
use fairgate_simulation::outcome::SaleOutcome;
use fairgate_simulation::sale::{LostGateway, PlannedSale};
use serde::Serialize;

use super::grouped::grouped;
use super::needs::NeededMachines;
use crate::rig::{KillTarget, KillTime, PlannedKill};
use crate::swarm::Scenario;

/// What the loss of a gateway means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LostGatewayReport {
    /// When the gateway is lost, in seconds after the beginning of the sale.
    at_s: f64,
    /// How many sockets break.
    sockets: f64,
    /// How long it takes until all of these sockets are open again, in seconds.
    back_s: f64,
    /// The share of all sockets that break.
    #[serde(skip)]
    share: f64,
}

/// Plans that one of the sale's `gateways` gateways is lost.
///
/// # Errors
/// A sentence that says why this kill cannot be planned.
pub fn lose_gateway(
    sale: &mut PlannedSale,
    scenario: &Scenario,
    kill: PlannedKill,
    gateways: u32,
) -> Result<(), String> {
    if kill.what != KillTarget::Gateway {
        return Err(
            "a plan can lose only a gateway; run `loadtest swarm --kill` for the others".to_owned(),
        );
    }
    let has_duration = scenario.planned_s < SECONDS_MAX;
    if matches!(kill.when, KillTime::Share(_)) && !has_duration {
        return Err(
            "this file has no planned_s to take a share of; say gateway@draw+60s".to_owned(),
        );
    }
    let at_s = kill.when.at_s(scenario.planned_s, sale.room.draw_s);
    if at_s >= f64::from(sale.until_s) {
        return Err(format!(
            "the plan ends {} s after the start, before that",
            sale.until_s
        ));
    }
    sale.lost_gateway = Some(LostGateway {
        at_s,
        share: 1.0 / f64::from(gateways),
    });
    Ok(())
}

impl LostGatewayReport {
    /// Works out what the loss means in a simulated sale; `None` if no gateway is lost.
    pub fn of(sale: &PlannedSale, outcome: &SaleOutcome) -> Option<Self> {
        let lost = sale.lost_gateway?;
        let mut seconds = outcome.seconds.iter();
        let second = seconds.find(|second| f64::from(second.at_s) >= lost.at_s);
        // After the end of the sale, nobody has a socket.
        let people = second.map_or(0, |second| second.waiting + second.inside) as f64;
        Some(Self {
            at_s: lost.at_s - sale.room.draw_s,
            sockets: people * sale.crowd.socket * lost.share,
            back_s: sale.behaviour.drop_s.1,
            share: lost.share,
        })
    }

    /// Raises `back_s` if the measured machines need longer to reopen the sockets.
    pub fn on(&mut self, machines: &NeededMachines) {
        self.back_s = self.back_s.max(machines.reconnect_s * self.share);
    }

    /// Returns the answer as a line of text.
    pub fn line(&self) -> String {
        let when = if self.at_s < 0.0 { "before" } else { "after" };
        let when = format!("{:.0} s {when} the beginning of the sale", self.at_s.abs());
        if self.sockets < 1.0 {
            return format!("  gateway lost     {when}: no socket is open then");
        }
        format!(
            "  gateway lost     {when}: {} sockets break, and are open again within {:.1} s; no place and no basket is lost",
            grouped(self.sockets),
            self.back_s
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sale::planned_sale;
    use crate::swarm::scenario_of;
    use fairgate_simulation::simulate;

    const CALM: &str = include_str!("../../scenarios/calm.toml");

    #[test]
    fn only_a_gateway_is_lost_and_only_while_the_plan_lasts() {
        let mut scenario = scenario_of("calm", CALM).expect("a scenario");
        let mut sale = planned_sale(&scenario, None).expect("a sale");
        let mut lose = |kill: &str, scenario: &Scenario| {
            lose_gateway(&mut sale, scenario, kill.parse().expect("a kill"), 4)
        };
        for (kill, told) in [
            ("booking@30%", "only a gateway"),
            ("gateway@draw+100000s", "the plan ends"),
        ] {
            let fault = lose(kill, &scenario).expect_err(kill);
            assert!(fault.contains(told), "{fault}");
        }
        assert_eq!(lose("gateway@draw+60s", &scenario), Ok(()));
        scenario.planned_s = SECONDS_MAX;
        let fault = lose("gateway@30%", &scenario).expect_err("no duration");
        assert!(fault.contains("planned_s"), "{fault}");
        let lost = sale.lost_gateway.expect("a gateway");
        assert!((lost.at_s - sale.room.draw_s - 60.0).abs() < 1e-9);
        let outcome = simulate(&sale, 1);
        let told = LostGatewayReport::of(&sale, &outcome).expect("it is lost during the sale");
        let there = outcome.seconds[lost.at_s.ceil() as usize - 1];
        let sockets = (there.waiting + there.inside) as f64 * sale.crowd.socket / 4.0;
        assert!(
            (told.sockets - sockets).abs() < 1e-6 && sockets > 1.0,
            "{told:?}"
        );
    }
}

//! A small sale that the tests vary.

use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::pace_settings::{PaceSettings, TRICKLE_MIN_U};
use fairgate_rules::room_document::{LineMethod, PaceMode};
use fairgate_simulation::behaviour::{SecondsRange, VisitorBehaviour};
use fairgate_simulation::crowd::{ArrivalPattern, CrowdSettings, PlacedBots};
use fairgate_simulation::sale::{
    PlannedCategories, PlannedRoom, PlannedSale, PlannedServer, PlannedShow,
};

/// Returns a sale with a thousand visitors, a hall of a hundred seats, and a pace of ten visitors a
/// second. Nobody changes its mind.
pub fn sale() -> PlannedSale {
    PlannedSale {
        room: PlannedRoom {
            method: LineMethod::Draw,
            pace: PaceSettings {
                mode: PaceMode::Fixed,
                line: true,
                per_s_u: 10 * VISITOR_U,
                trickle_min_u: TRICKLE_MIN_U,
                max_inside: 5_000,
                p99_ms: 300,
                pass_s: 600,
            },
            opens_s: 0.0,
            draw_s: 20.0,
            closes_s: None,
            claim_s: 120,
            away_s: 60,
        },
        shows: vec![PlannedShow {
            seats: 100,
            legs: 1,
            hold_s: 300,
            grace_s: 5,
            pay_s: 120,
            claim_grace_s: 30,
            seats_per_visitor: 4,
            categories: PlannedCategories::default(),
        }],
        crowd: CrowdSettings {
            visitors: 1_000,
            from_s: 0.0,
            over_s: 10.0,
            arrivals: ArrivalPattern::Poisson,
            rush: 0.0,
            rush_s: 60.0,
            after_draw: 0.0,
            socket: 1.0,
            mute: 0,
            bots: 0,
            bot_networks: 1,
        },
        bots: PlacedBots::default(),
        arrivals: None,
        behaviour: VisitorBehaviour {
            claim_s: SecondsRange(1.0, 1.0),
            choose_s: SecondsRange(5.0, 5.0),
            order_s: SecondsRange(2.0, 2.0),
            pay_s: SecondsRange(3.0, 3.0),
            ..VisitorBehaviour::default()
        },
        wishes: None,
        server: PlannedServer {
            calls_per_s: None,
            answer_ms: 5.0,
            slow: None,
        },
        lost_gateway: None,
        so_far: None,
        until_s: 7_200,
    }
}

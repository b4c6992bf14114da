//! Makes rooms that differ in everything that bears on the waits of their lines: the pace, the room
//! inside, the seats, the length of visits, and what goes wrong.

use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::pace_settings::{PaceSettings, TRICKLE_MIN_U};
use fairgate_rules::room_document::{LineMethod, PaceMode};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::behaviour::{SecondsRange, VisitorBehaviour};
use crate::crowd::{ArrivalPattern, CrowdSettings, PlacedBots};
use crate::sale::{
    PlannedCategories, PlannedRoom, PlannedSale, PlannedServer, PlannedShow, PlannedSlowSpan,
};
use crate::told_waits::PlannedPause;

/// What is special about a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoomKind {
    /// Fewer may be inside than the pace lets in.
    Full,
    /// The promoter pauses the room for a while.
    Paused,
    /// Booking is slow for a while, or always.
    SlowBooking,
    /// Many have left their page, or do not answer their call.
    NoShows,
    /// Many answer their call late, all at the same time.
    LateComers,
}

impl RoomKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Paused,
        Self::SlowBooking,
        Self::NoShows,
        Self::LateComers,
    ];
}

/// One of the rooms.
#[derive(Debug, Clone)]
pub struct VariedRoom {
    /// What is special about it.
    pub kind: RoomKind,
    /// Its sale.
    pub sale: PlannedSale,
    /// Its pause, if it has one.
    pub pause: Option<PlannedPause>,
}

/// Draws a room of a kind from a seed.
#[must_use]
pub fn varied_room(kind: RoomKind, seed: u64) -> VariedRoom {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let behaviour = behaviour(&mut dice);
    let visitors = dice.log(200.0, 3_000.0) as usize;
    let per_s = dice.log(1.0, 40.0);
    let over_s = dice.even(30.0, 300.0);
    let draw_s = (over_s + dice.even(0.0, 90.0)).ceil();
    let sale = PlannedSale {
        room: room(kind, &behaviour, per_s, draw_s, &mut dice),
        shows: vec![show(visitors, &mut dice)],
        crowd: crowd(visitors, over_s, &mut dice),
        bots: PlacedBots::default(),
        arrivals: None,
        behaviour,
        wishes: None,
        server: PlannedServer {
            calls_per_s: None,
            answer_ms: 20.0,
            slow: None,
        },
        lost_gateway: None,
        so_far: None,
        until_s: 14_400,
    };
    let mut room = VariedRoom {
        kind,
        sale,
        pause: None,
    };
    room.add_trouble(per_s, &mut dice);
    room
}

/// Draws the settings of a room with this pace, whose sale begins at `draw_s`.
fn room(
    kind: RoomKind,
    behaviour: &VisitorBehaviour,
    per_s: f64,
    draw_s: f64,
    dice: &mut Dice,
) -> PlannedRoom {
    let visit_s: f64 = [behaviour.choose_s, behaviour.order_s, behaviour.pay_s]
        .iter()
        .map(|range| f64::midpoint(range.0, range.1))
        .sum();
    let room_for = if kind == RoomKind::Full {
        dice.even(0.2, 0.9)
    } else {
        dice.even(1.2, 4.0)
    };
    let pass_s = [120, 300, 600, 900][dice.0.random_range(0..4)];
    let is_auto = kind == RoomKind::SlowBooking || dice.is(0.3);
    let is_drawn = dice.is(0.5);
    PlannedRoom {
        method: if is_drawn {
            LineMethod::Draw
        } else {
            LineMethod::Fifo
        },
        pace: PaceSettings {
            mode: if is_auto {
                PaceMode::Auto
            } else {
                PaceMode::Fixed
            },
            line: true,
            per_s_u: (per_s * VISITOR_U as f64) as u64,
            trickle_min_u: TRICKLE_MIN_U,
            max_inside: (per_s * visit_s * room_for).ceil().max(3.0) as u64,
            p99_ms: 300,
            pass_s,
        },
        opens_s: 0.0,
        draw_s,
        closes_s: None,
        claim_s: dice.even(20.0, 120.0) as u32,
        away_s: 60,
    }
}

/// Draws a show. In one of five rooms seats are scarce.
fn show(visitors: usize, dice: &mut Dice) -> PlannedShow {
    let seats_each = if dice.is(0.2) {
        dice.even(1.0, 2.5)
    } else {
        4.0
    };
    PlannedShow {
        seats: (visitors as f64 * seats_each) as u32,
        legs: 1,
        hold_s: dice.even(60.0, 300.0) as u32,
        grace_s: 5,
        pay_s: 120,
        claim_grace_s: 30,
        seats_per_visitor: 4,
        categories: PlannedCategories::ONE,
    }
}

/// Draws when the visitors come.
fn crowd(visitors: usize, over_s: f64, dice: &mut Dice) -> CrowdSettings {
    CrowdSettings {
        visitors,
        from_s: 0.0,
        over_s,
        arrivals: ArrivalPattern::Poisson,
        rush: 0.0,
        rush_s: 60.0,
        after_draw: if dice.is(0.5) {
            dice.even(0.0, 0.4)
        } else {
            0.0
        },
        socket: 0.8,
        mute: 0,
        bots: 0,
        bot_networks: 1,
    }
}

/// Draws what visitors do.
fn behaviour(dice: &mut Dice) -> VisitorBehaviour {
    // Some crowds buy within seconds, others within minutes.
    let scale_s = dice.log(2.0, 90.0);
    let range = |dice: &mut Dice| {
        let most_s = scale_s * dice.even(0.5, 1.5);
        SecondsRange(most_s * dice.even(0.1, 0.8), most_s)
    };
    VisitorBehaviour {
        party: vec![1.0, 4.0, 1.0, 1.0],
        // In some rooms hardly anybody finishes.
        give_up: if dice.is(0.1) {
            dice.even(0.7, 1.0)
        } else {
            dice.even(0.0, 0.35)
        },
        decline: dice.even(0.0, 0.1),
        leave: dice.even(0.0, 0.1),
        claim_s: SecondsRange(0.5, dice.log(1.0, 20.0)),
        choose_s: range(dice),
        order_s: range(dice),
        pay_s: range(dice),
        tries: 5,
        ..VisitorBehaviour::default()
    }
}

impl VariedRoom {
    /// Adds what goes wrong in rooms of this kind.
    fn add_trouble(&mut self, per_s: f64, dice: &mut Dice) {
        let sale = &mut self.sale;
        let visitors = sale.crowd.visitors as f64;
        let draw_s = sale.room.draw_s;
        match self.kind {
            RoomKind::Full => {}
            RoomKind::Paused => {
                let from_s = draw_s + dice.even(5.0, 60.0);
                let until_s = from_s + dice.even(20.0, 200.0);
                self.pause = Some(PlannedPause { from_s, until_s });
            }
            RoomKind::SlowBooking => {
                sale.server.calls_per_s = Some(per_s * dice.even(3.0, 12.0));
                let from_s = draw_s + dice.even(5.0, 60.0);
                sale.server.slow = Some(PlannedSlowSpan {
                    from_s,
                    until_s: from_s + dice.even(40.0, 300.0),
                    factor: dice.even(2.0, 5.0),
                });
            }
            RoomKind::NoShows => {
                sale.behaviour.no_show = dice.even(0.1, 0.6);
                sale.crowd.mute = (visitors * dice.even(0.0, 0.2)) as usize;
            }
            RoomKind::LateComers => {
                sale.behaviour.late = dice.even(0.1, 0.5);
                sale.behaviour.late_at_s = dice.even(20.0, 150.0);
            }
        }
    }
}

/// The numbers of a room, drawn from its seed.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Draws a number between two others.
    fn even(&mut self, from: f64, to: f64) -> f64 {
        SecondsRange(from, to).draw(&mut self.0)
    }

    /// Draws a number between two others, so that each doubling is as likely.
    fn log(&mut self, from: f64, to: f64) -> f64 {
        self.even(from.ln(), to.ln()).exp()
    }

    /// Returns true with this probability.
    fn is(&mut self, share: f64) -> bool {
        VisitorBehaviour::roll(share, &mut self.0)
    }
}

//! Makes the sales for which the odds are checked. Every seed makes a different sale, because
//! nobody knows beforehand how many people give up, or what people want if they do not say it. Odds
//! are right if they are right over many such sales.

use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::pace_settings::{PaceSettings, TRICKLE_MIN_U};
use fairgate_rules::room_document::{LineMethod, PaceMode};
use fairgate_simulation::behaviour::{SecondsRange, VisitorBehaviour};
use fairgate_simulation::crowd::{ArrivalPattern, CrowdSettings, PlacedBots};
use fairgate_simulation::sale::{
    PlannedCategories, PlannedRoom, PlannedSale, PlannedServer, PlannedShow, PlannedWishes,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// How long after the draw the odds are read, in seconds.
const READ_AFTER_S: f64 = 2.0;
/// How long before the draw the odds are read in the lobby, in seconds.
const READ_BEFORE_S: f64 = 20.0;

/// A kind of sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaleKind {
    /// A hall of 1,000 to 3,000 seats in four categories.
    Hall,
    /// The same as [`Self::Hall`], but the odds are read before the draw.
    Lobby,
    /// Two evenings of 600 to 1,500 seats in six categories. Fewer people say their wishes, and
    /// they take longer to choose.
    Evenings,
}

impl SaleKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Hall, Self::Lobby, Self::Evenings];

    /// Returns what the kind is called in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hall => "one hall, four categories",
            Self::Lobby => "one hall, before the draw",
            Self::Evenings => "two evenings, six categories",
        }
    }

    /// Returns the sale of a seed. `part` scales its seats, visitors and pace: 0.1 makes a tenth of
    /// each.
    pub fn sale(self, seed: u64, part: f64) -> PlannedSale {
        let mut range = RandomRange(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5EED_0FA5));
        match self {
            Self::Hall => hall(&mut range, part),
            Self::Lobby => {
                let mut sale = hall(&mut range, part);
                if let Some(wishes) = &mut sale.wishes {
                    wishes.read_after_s = -READ_BEFORE_S;
                }
                sale
            }
            Self::Evenings => evenings(&mut range, part),
        }
    }
}

/// Draws numbers from ranges.
struct RandomRange(Xoshiro256PlusPlus);

impl RandomRange {
    fn of(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.0.random::<f64>()
    }
}

fn hall(range: &mut RandomRange, part: f64) -> PlannedSale {
    let seats = range.of(1_000.0, 3_000.0) * part;
    let shares = [1.0, 2.0, 2.0, 3.0].map(|share| share + range.of(0.0, 2.0));
    let behaviour = VisitorBehaviour {
        party: vec![
            range.of(0.0, 3.0),
            range.of(1.0, 5.0),
            range.of(0.0, 3.0),
            range.of(0.0, 3.0),
        ],
        no_show: range.of(0.0, 0.2),
        leave: range.of(0.0, 0.06),
        late: range.of(0.0, 0.06),
        late_at_s: range.of(100.0, 1_000.0),
        give_up: range.of(0.0, 0.31),
        decline: range.of(0.0, 0.08),
        cancel: range.of(0.0, 0.05),
        claim_s: SecondsRange(1.0, 20.0),
        choose_s: SecondsRange(5.0, 40.0),
        order_s: SecondsRange(5.0, 30.0),
        pay_s: SecondsRange(10.0, 60.0),
        ..VisitorBehaviour::default()
    };
    let wishes = PlannedWishes {
        said: range.of(0.2, 0.95),
        unsaid: range.of(0.4, 1.0),
        popularity: [
            range.of(2.0, 8.0),
            range.of(1.0, 4.0),
            range.of(1.0, 4.0),
            range.of(0.3, 3.0),
            0.0,
            0.0,
        ],
        more: [range.of(0.2, 0.9), range.of(0.2, 0.9)],
        read_after_s: READ_AFTER_S,
    };
    let visitors = seats * range.of(0.7, 2.5);
    let per_s = range.of(3.0, 30.0) * part;
    sale(&[show(seats, &shares)], visitors, per_s, behaviour, wishes)
}

fn evenings(range: &mut RandomRange, part: f64) -> PlannedSale {
    let shows = [(); 2].map(|()| {
        let seats = range.of(600.0, 1_500.0) * part;
        show(seats, &[1.0; 6].map(|share| share + range.of(0.0, 3.0)))
    });
    let behaviour = VisitorBehaviour {
        party: vec![3.0, range.of(2.0, 8.0), range.of(0.0, 2.0)],
        no_show: range.of(0.0, 0.3),
        leave: range.of(0.0, 0.08),
        give_up: range.of(0.05, 0.25),
        decline: range.of(0.0, 0.1),
        change: range.of(0.0, 0.2),
        claim_s: SecondsRange(1.0, 30.0),
        choose_s: SecondsRange(10.0, 60.0),
        order_s: SecondsRange(10.0, 40.0),
        pay_s: SecondsRange(15.0, 60.0),
        tries: 5,
        retry_s: SecondsRange(2.0, 8.0),
        ..VisitorBehaviour::default()
    };
    let wishes = PlannedWishes {
        said: range.of(0.1, 0.6),
        unsaid: range.of(0.3, 1.0),
        popularity: [4.0, 3.0, 2.0, 1.0, 1.0, 1.0].map(|weight| weight * range.of(0.3, 1.5)),
        more: [range.of(0.3, 1.0), range.of(0.3, 1.0)],
        read_after_s: READ_AFTER_S,
    };
    let seats: u32 = shows.iter().map(|show| show.seats).sum();
    let visitors = f64::from(seats) * range.of(0.6, 4.0);
    let per_s = range.of(4.0, 40.0) * part;
    sale(&shows, visitors, per_s, behaviour, wishes)
}

/// Makes a show whose categories have these shares of the seats.
fn show(seats: f64, shares: &[f64]) -> PlannedShow {
    let total: f64 = shares.iter().sum();
    let of_category = |share: &f64| (seats * share / total) as u32;
    let categories: Vec<u32> = shares.iter().map(of_category).collect();
    PlannedShow {
        seats: categories.iter().sum(),
        legs: 1,
        hold_s: 300,
        grace_s: 5,
        pay_s: 120,
        claim_grace_s: 30,
        seats_per_visitor: 4,
        categories: PlannedCategories::new(&categories),
    }
}

fn sale(
    shows: &[PlannedShow],
    visitors: f64,
    per_s: f64,
    behaviour: VisitorBehaviour,
    wishes: PlannedWishes,
) -> PlannedSale {
    PlannedSale {
        room: PlannedRoom {
            method: LineMethod::Draw,
            pace: PaceSettings {
                mode: PaceMode::Fixed,
                line: true,
                per_s_u: (per_s * VISITOR_U as f64) as u64,
                trickle_min_u: TRICKLE_MIN_U,
                max_inside: 5_000,
                p99_ms: 300,
                pass_s: 600,
            },
            opens_s: 0.0,
            draw_s: 120.0,
            closes_s: None,
            claim_s: 120,
            away_s: 60,
        },
        shows: shows.to_vec(),
        crowd: CrowdSettings {
            visitors: visitors as usize,
            from_s: 0.0,
            over_s: 40.0,
            arrivals: ArrivalPattern::Poisson,
            rush: 0.0,
            rush_s: 60.0,
            after_draw: 0.0,
            socket: 0.9,
            mute: 0,
            bots: 0,
            bot_networks: 1,
        },
        bots: PlacedBots::default(),
        arrivals: None,
        behaviour,
        wishes: Some(wishes),
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

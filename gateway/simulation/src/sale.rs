//! Describes what is simulated. Times are seconds after the start of the simulation.

use fairgate_rules::pace_settings::PaceSettings;
use fairgate_rules::room_document::LineMethod;

use crate::arrivals::ArrivalCounts;
use crate::behaviour::VisitorBehaviour;
use crate::crowd::{CrowdSettings, PlacedBots};

/// One on-sale.
#[derive(Debug, Clone)]
pub struct PlannedSale {
    /// The room that guards the shows.
    pub room: PlannedRoom,
    /// The shows of the room; at least one.
    pub shows: Vec<PlannedShow>,
    /// Who comes, and when.
    pub crowd: CrowdSettings,
    /// How many of the crowd's visitors are bots with a place, and how many of these are refused at
    /// the claim.
    pub bots: PlacedBots,
    /// How many visitors came in each second of a past sale. If this is given, the crowd's own
    /// times and number of visitors are not used for the arrivals.
    pub arrivals: Option<ArrivalCounts>,
    /// What visitors do.
    pub behaviour: VisitorBehaviour,
    /// Which categories visitors wish for; if `None`, they take any.
    pub wishes: Option<PlannedWishes>,
    /// How fast booking answers.
    pub server: PlannedServer,
    /// The gateway that is lost, if any.
    pub lost_gateway: Option<LostGateway>,
    /// The calls of a sale that is already running. The first seconds of the simulation repeat
    /// them.
    pub so_far: Option<CalledSoFar>,
    /// When the simulation ends at the latest, in seconds after the start.
    pub until_s: u32,
}

/// A gateway that is lost for good, together with the sockets that it had. The visitors of these
/// sockets connect to the other gateways, each after a time from [`VisitorBehaviour::drop_s`].
/// Places, passes and baskets are in the stores, so nobody loses them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostGateway {
    /// When it is lost, in seconds after the start.
    pub at_s: f64,
    /// The share of all sockets that it had.
    pub share: f64,
}

/// The wishes of a crowd. Categories are the same in all shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedWishes {
    /// The share of visitors who say their wishes while they wait.
    pub said: f64,
    /// The share of the other visitors who also have wishes but do not say them. The remaining
    /// visitors take any category, in proportion to its free seats.
    pub unsaid: f64,
    /// The weights with which visitors choose the category of a wish.
    pub popularity: [f64; CATEGORIES_MAX],
    /// The share of visitors with a wish who have a second one, and the share of visitors with two
    /// wishes who have a third one. Each wish is for another category.
    pub more: [f64; 2],
    /// When visitors read the odds that are compared with the outcome, in seconds after the draw. A
    /// negative number is a time before the draw. The odds are then those of a random place in the
    /// line.
    pub read_after_s: f64,
}

/// The calls of a running sale since the start of its simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledSoFar {
    /// How many visitors had been called by the end of each second.
    pub called: Vec<u64>,
    /// The cells that were free or in baskets at the end of the last of these seconds.
    pub cells_left: u64,
}

impl CalledSoFar {
    /// Returns how many visitors had been called by the end of a second, from 1; `None` after the
    /// last one.
    #[must_use]
    pub fn by(&self, second: u32) -> Option<u64> {
        let at = (second as usize).checked_sub(1)?;
        self.called.get(at).copied()
    }
}

/// The room of a sale.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRoom {
    /// How the order of the line is made.
    pub method: LineMethod,
    /// The promoter's settings of the pace.
    pub pace: PaceSettings,
    /// When the lobby opens.
    pub opens_s: f64,
    /// When the line is drawn and the sale begins.
    pub draw_s: f64,
    /// When the room closes, if it does.
    pub closes_s: Option<f64>,
    /// For how long after the call a visitor is expected to claim, in seconds.
    pub claim_s: u32,
    /// After how long the basket of a visitor who is gone lapses, in seconds.
    pub away_s: u32,
}

/// The seats of one show and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedShow {
    /// How many seats are for sale.
    pub seats: u32,
    /// How many legs a seat has, 1 to 64. A hall has 1, a train has one less than it has stops.
    pub legs: u32,
    /// How long seats stay in a basket according to what the buyer sees, in seconds.
    pub hold_s: u32,
    /// How much longer than that the seats really stay, in seconds.
    pub grace_s: u32,
    /// The shortest time for which an order can be paid, in seconds.
    pub pay_s: u32,
    /// How long an order keeps its seats after its time to pay has ended, in seconds.
    pub claim_grace_s: u32,
    /// How many seats one visitor may have.
    pub seats_per_visitor: u32,
    /// The categories of a hall. A train has one.
    pub categories: PlannedCategories,
}

/// The most categories of a planned hall.
pub const CATEGORIES_MAX: usize = 6;

/// How a hall's seats are divided into categories. By default all seats are in one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlannedCategories {
    seats: [u32; CATEGORIES_MAX],
}

impl PlannedCategories {
    /// All seats are in one category.
    pub const ONE: Self = Self {
        seats: [0; CATEGORIES_MAX],
    };

    /// Makes categories with these numbers of seats. Categories after the sixth are left out.
    #[must_use]
    pub fn new(categories: &[u32]) -> Self {
        let mut seats = [0; CATEGORIES_MAX];
        for (stored, count) in seats.iter_mut().zip(categories) {
            *stored = *count;
        }
        Self { seats }
    }

    /// Returns the number of seats in each category of a hall with `all` seats. The first category
    /// has all seats that are in no other one.
    #[must_use]
    pub fn of(&self, all: u32) -> Vec<u32> {
        let last = self.seats.iter().rposition(|seats| *seats > 0).unwrap_or(0);
        let mut seats = self.seats[..=last].to_vec();
        let seats_of_others: u32 = seats[1..].iter().sum();
        seats[0] = all.saturating_sub(seats_of_others);
        seats
    }
}

/// How fast booking answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedServer {
    /// How many calls booking answers in a second; `None` if it is never the limit.
    pub calls_per_s: Option<f64>,
    /// How long one call takes besides its time in the queue and the work that `calls_per_s`
    /// limits, in milliseconds.
    pub answer_ms: f64,
    /// A span in which booking is slower, if there is one.
    pub slow: Option<PlannedSlowSpan>,
}

/// A span in which booking is slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedSlowSpan {
    /// When it begins, in seconds after the start.
    pub from_s: f64,
    /// When it ends, in seconds after the start.
    pub until_s: f64,
    /// How many times longer each call takes.
    pub factor: f64,
}

impl PlannedServer {
    /// Returns how many times longer a call takes at a time, in milliseconds after the start.
    #[must_use]
    pub fn slowdown(&self, now_ms: i64) -> f64 {
        let now_s = now_ms as f64 / 1e3;
        let slow = self
            .slow
            .filter(|slow| (slow.from_s..slow.until_s).contains(&now_s));
        slow.map_or(1.0, |slow| slow.factor)
    }
}

impl PlannedSale {
    /// Returns how many visitors come.
    #[must_use]
    pub fn visitors(&self) -> u64 {
        let arrivals = self.arrivals.as_ref();
        arrivals.map_or(self.crowd.visitors as u64, ArrivalCounts::total)
    }

    /// Returns how many cells are for sale: seats by legs.
    #[must_use]
    pub fn cells(&self) -> u64 {
        let cells = |show: &PlannedShow| u64::from(show.seats) * u64::from(show.legs);
        self.shows.iter().map(cells).sum()
    }
}

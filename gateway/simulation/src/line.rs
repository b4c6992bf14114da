//! Works out the visitor at a rank from the seed and the rank. So the visitors of the line need not
//! be stored.

use fairgate_rules::pace::RankPresence;
use fairgate_rules::room_document::LineMethod;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::arrivals::ArrivalCounts;
use crate::behaviour::VisitorBehaviour;
use crate::sale::PlannedSale;

/// A visitor who was not seen for this long counts as away, in seconds.
const AWAY_AFTER_S: f64 = 60.0;
/// The most ranks in the sample. The number of visitors who are still there is estimated from it.
const SAMPLED_MAX: u64 = 4_096;
/// The same for the forecast of a running sale. A forecast uses no figure from the sample.
const SAMPLED_RUNNING_MAX: u64 = 128;

/// The line of one simulated sale.
pub struct SimulatedLine<'a> {
    sale: &'a PlannedSale,
    arrivals: &'a ArrivalCounts,
    /// How many ranks were shuffled; 0 without a draw.
    shuffled: u64,
    seed: u64,
    /// A sample of ranks at equal distances. Each entry has a rank, when its visitor joins, and
    /// until when that visitor is there, in seconds after the start.
    sampled: Vec<(u64, f64, f64)>,
}

/// The visitor at a rank.
#[derive(Debug, Clone)]
pub struct RankedVisitor {
    /// When the visitor joined, in seconds after the start.
    pub joined_s: f64,
    /// When the visitor leaves the line; infinity if it waits until the end.
    pub leaves_s: f64,
    /// Whether the visitor disappears right after the join.
    pub no_show: bool,
    /// Whether the visitor never enters. Such a visitor does not read from its socket, or is a bot
    /// that is refused at the claim. The line counts it as present.
    pub never_enters: bool,
    /// Whether the visitor claims its pass late.
    pub late: bool,
    /// Whether the visitor has a socket; otherwise it polls.
    pub socket: bool,
    /// The visitor's own generator for everything after the call.
    pub rng: Xoshiro256PlusPlus,
}

impl<'a> SimulatedLine<'a> {
    /// Draws the line of a sale from its seed.
    #[must_use]
    pub fn new(sale: &'a PlannedSale, arrivals: &'a ArrivalCounts, seed: u64) -> Self {
        let shuffled = match sale.room.method {
            LineMethod::Draw => arrivals.before(sale.room.draw_s),
            LineMethod::Fifo | LineMethod::Open => 0,
        };
        let mut line = Self {
            sale,
            arrivals,
            shuffled,
            seed,
            sampled: Vec::new(),
        };
        let total = arrivals.total();
        let sample_max = match sale.so_far {
            None => SAMPLED_MAX,
            Some(_) => SAMPLED_RUNNING_MAX,
        };
        let step = total.div_ceil(sample_max).max(1);
        let sample = |rank| {
            let visitor = line.visitor(rank);
            let until_s = if visitor.no_show {
                visitor.joined_s
            } else {
                visitor.leaves_s
            };
            (rank, visitor.joined_s, until_s)
        };
        line.sampled = (0..total).step_by(step as usize).map(sample).collect();
        line
    }

    /// Returns the number of ranks that exist at a time, in seconds after the start.
    #[must_use]
    pub fn end(&self, now_s: f64) -> u64 {
        self.arrivals.before(now_s).max(self.shuffled)
    }

    /// Returns how many visitors have joined by a time, in seconds after the start.
    #[must_use]
    pub fn joined(&self, now_s: f64) -> u64 {
        self.arrivals.before(now_s)
    }

    /// Returns the number of all visitors.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.arrivals.total()
    }

    /// Returns the visitor at a rank.
    #[must_use]
    pub fn visitor(&self, rank: u64) -> RankedVisitor {
        // Neighbouring seeds give unrelated generators, because the seed is hashed.
        let visitor_seed = self.seed ^ rank.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(visitor_seed);
        let nth = if rank < self.shuffled {
            rng.random::<f64>() * self.shuffled as f64
        } else {
            rank as f64 + rng.random::<f64>()
        };
        let behaviour = &self.sale.behaviour;
        let joined_s = self.arrivals.time_of(nth);
        let socket = VisitorBehaviour::roll(self.sale.crowd.socket, &mut rng);
        let no_show = VisitorBehaviour::roll(behaviour.no_show, &mut rng)
            && (behaviour.no_show_head == 0 || rank < behaviour.no_show_head);
        let late = VisitorBehaviour::roll(behaviour.late, &mut rng);
        let crowd = &self.sale.crowd;
        let never_enter = (crowd.mute + self.sale.bots.refused) as f64;
        let never_enters =
            VisitorBehaviour::roll(never_enter / crowd.visitors.max(1) as f64, &mut rng);
        let leaves = VisitorBehaviour::roll(behaviour.leave, &mut rng);
        let from_s = joined_s.max(self.sale.room.draw_s);
        let leaves_s = behaviour
            .leaves_after_s(leaves, &mut rng)
            .map_or(f64::INFINITY, |after_s| from_s + after_s);
        RankedVisitor {
            joined_s,
            leaves_s,
            no_show,
            never_enters,
            late,
            socket,
            rng,
        }
    }

    /// Returns whether the visitor at a rank is present at a time, in seconds after the start.
    #[must_use]
    pub fn presence(&self, rank: u64, now_s: f64) -> RankPresence {
        let visitor = self.visitor(rank);
        if visitor.leaves_s <= now_s {
            RankPresence::Nobody
        } else if visitor.no_show && now_s - visitor.joined_s > AWAY_AFTER_S {
            RankPresence::Away
        } else {
            RankPresence::Here
        }
    }

    /// Returns whether the visitor at a rank has joined and is still there.
    #[must_use]
    pub fn is_there(&self, rank: u64, now_s: f64) -> bool {
        let visitor = self.visitor(rank);
        visitor.joined_s <= now_s && now_s < visitor.leaves_s && !visitor.no_show
    }

    /// Returns the sampled ranks that are not below `from` and whose visitors have joined and are
    /// still there.
    pub fn sampled_there(&self, from: u64, now_s: f64) -> impl Iterator<Item = u64> {
        let there = self
            .sampled
            .iter()
            .filter(move |(rank, joined_s, leaves_s)| {
                *rank >= from && *joined_s <= now_s && now_s < *leaves_s
            });
        there.map(|(rank, _, _)| *rank)
    }

    /// Estimates how many visitors with ranks `from..to` have joined and are still there.
    #[must_use]
    pub fn people_there(&self, from: u64, to: u64, now_s: f64) -> u64 {
        let first_from = |limit: u64| self.sampled.partition_point(|(rank, _, _)| *rank < limit);
        let ranks = &self.sampled[first_from(from)..first_from(to.max(from))];
        let (mut all, mut there) = (0_u64, 0_u64);
        for (_, joined_s, leaves_s) in ranks {
            all += 1;
            there += u64::from(*joined_s <= now_s && now_s < *leaves_s);
        }
        if all == 0 {
            return 0;
        }
        let share = there as f64 / all as f64;
        (share * to.saturating_sub(from) as f64).round() as u64
    }
}

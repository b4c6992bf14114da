//! Describes which categories visitors wish for, and whether they say so while they wait.

use fairgate_rules::wishes::SeatWish;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

use crate::behaviour::VisitorBehaviour;
use crate::sale::PlannedSale;

/// Seats that a visitor wishes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WishedSeats {
    /// The index of the show.
    pub show: usize,
    /// The index of the category.
    pub category: usize,
    /// How many seats.
    pub quantity: u32,
}

impl WishedSeats {
    /// Returns the wish as a gateway keeps it.
    pub fn seat_wish(&self) -> SeatWish {
        SeatWish {
            show: Some(self.show.to_string()),
            quantity: self.quantity,
            categories: vec![self.category.to_string()],
            accessible: 0,
        }
    }
}

/// The wishes of one visitor, the most wanted first.
#[derive(Debug, Clone, Default)]
pub(crate) struct VisitorWishes {
    /// The wishes; none if the visitor takes any category.
    pub seats: Vec<WishedSeats>,
    /// Whether the visitor has said them.
    pub said: bool,
}

/// Returns the wishes of the visitor at a rank. They follow from the seed and the rank alone.
pub(crate) fn wishes_of(sale: &PlannedSale, seed: u64, rank: u64) -> VisitorWishes {
    let Some(planned) = &sale.wishes else {
        return VisitorWishes::default();
    };
    // Wishes have a generator of their own. So they do not change what else the visitor draws.
    let visitor_seed =
        seed.rotate_left(32) ^ rank.wrapping_add(1).wrapping_mul(0xD1B5_4A32_D192_ED03);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(visitor_seed);
    let said = VisitorBehaviour::roll(planned.said, &mut rng);
    let has_some = said || VisitorBehaviour::roll(planned.unsaid, &mut rng);
    if !has_some {
        return VisitorWishes::default();
    }
    let show = rng.random_range(0..sale.shows.len());
    let hall = &sale.shows[show];
    let quantity = (sale.behaviour.party(&mut rng) as u32).min(hall.seats_per_visitor);
    let mut weights_left = planned.popularity;
    weights_left[hall.categories.of(hall.seats).len()..].fill(0.0);
    let mut seats = Vec::new();
    for share in [1.0].into_iter().chain(planned.more) {
        if !VisitorBehaviour::roll(share, &mut rng) {
            break;
        }
        let Some(category) = by_weight(&weights_left, &mut rng) else {
            break;
        };
        weights_left[category] = 0.0;
        seats.push(WishedSeats {
            show,
            category,
            quantity,
        });
    }
    VisitorWishes { seats, said }
}

/// Draws an index. Its probability is in proportion to its weight. Returns `None` if all weights
/// are 0.
pub(crate) fn by_weight(weights: &[f64], rng: &mut impl Rng) -> Option<usize> {
    let mut weight_left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let chosen = weights.iter().position(|weight| {
        weight_left -= weight;
        weight_left < 0.0
    });
    chosen.or_else(|| weights.iter().rposition(|weight| *weight > 0.0))
}

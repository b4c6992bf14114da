//! Compares the odds that visitors were told for each of their wishes with what came true.

use std::collections::{BTreeMap, HashMap};

use fairgate_rules::odds::SeatDemand;
use fairgate_rules::wishes::{CategorySupply, SeatWish, WishForecast, WishingLine};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::outcome::ToldOddsBin;
use crate::sale::PlannedSale;
use crate::stock::SeatStock;
use crate::wishes::{VisitorWishes, WishedSeats};

/// Odds are told in tenths: 0, 10, 20 … 100 %.
const BINS: usize = 11;
/// The most visitors whose odds are checked.
const CHECKED_MAX: usize = 4_096;

/// Visitors who wait, by rank, with their wishes.
pub type WaitingVisitors = Vec<(u64, VisitorWishes)>;

/// The odds that a sample of the line was told for its wishes.
#[derive(Debug, Clone, Default)]
pub struct ToldWishes {
    /// The wishes that were not checked yet, with their odds, by rank.
    odds_by_rank: BTreeMap<u64, Vec<(WishedSeats, f64)>>,
    bins: [ToldOddsBin; BINS],
}

impl ToldWishes {
    /// Forecasts the wishes as the gateway does, and tells the odds. `waiting` has the visitors
    /// whose ranks are not released yet, in the order of their ranks.
    pub fn tell(
        &mut self,
        sale: &PlannedSale,
        stock: &SeatStock,
        demand: &SeatDemand,
        waiting: &WaitingVisitors,
        is_drawn: bool,
    ) {
        let stated_wishes = |(_, wishes): &(u64, VisitorWishes)| -> Vec<SeatWish> {
            let seats = wishes.seats.iter().filter(|_| wishes.said);
            seats.map(WishedSeats::seat_wish).collect()
        };
        let lists: Vec<Vec<SeatWish>> = waiting.iter().map(stated_wishes).collect();
        let people: Vec<&[SeatWish]> = lists.iter().map(Vec::as_slice).collect();
        let basket_s = sale.shows.iter().map(|show| show.hold_s).max().unwrap_or(0);
        let line = WishingLine {
            people: &people,
            is_drawn,
            basket_people: sale.room.pace.per_s_u * u64::from(basket_s) / 1_000_000,
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(waiting.len() as u64);
        let forecast = WishForecast::make(&supply(sale, stock), demand, &line, &mut rng);
        let mut odds_by_wish: HashMap<(WishedSeats, u64), f64> = HashMap::new();
        let checked = waiting.iter().enumerate();
        for (ahead, (rank, wishes)) in checked.step_by(waiting.len().div_ceil(CHECKED_MAX).max(1)) {
            if !wishes.said {
                continue;
            }
            // Before the draw the odds are the same at every place.
            let place = if is_drawn { ahead as u64 } else { 0 };
            let odds = |seats: &WishedSeats| {
                let entry = odds_by_wish.entry((*seats, place));
                let odds = entry.or_insert_with(|| forecast.told_odds(&seats.seat_wish(), place));
                (*seats, *odds)
            };
            self.odds_by_rank
                .insert(*rank, wishes.seats.iter().map(odds).collect());
        }
    }

    /// Notes for each wish of the visitor at a rank whether it can be met. Ignores a rank whose
    /// visitor was told no odds, or that was noted before.
    pub fn note(&mut self, rank: u64, can_be_met: impl Fn(&WishedSeats) -> bool) {
        for (seats, odds) in self.odds_by_rank.remove(&rank).unwrap_or_default() {
            let bin = &mut self.bins[(odds * (BINS - 1) as f64).round() as usize];
            bin.visitors += 1;
            bin.told += odds;
            bin.came_true += f64::from(u8::from(can_be_met(&seats)));
        }
    }

    /// Notes for all visitors with the rank `from` or a later one that their wishes were not met.
    pub fn note_in_vain(&mut self, from: u64) {
        let ranks: Vec<u64> = self
            .odds_by_rank
            .range(from..)
            .map(|(rank, _)| *rank)
            .collect();
        for rank in ranks {
            self.note(rank, |_| false);
        }
    }

    /// Returns the wishes by the odds that were told, the lowest first. Odds that nobody was told
    /// are left out.
    #[must_use]
    pub fn bins(&self) -> Vec<ToldOddsBin> {
        let used_bins = self.bins.iter().filter(|bin| bin.visitors > 0);
        used_bins
            .map(|bin| ToldOddsBin {
                told: bin.told / bin.visitors as f64,
                came_true: bin.came_true / bin.visitors as f64,
                ..*bin
            })
            .collect()
    }
}

/// Returns the categories of all shows in the form in which the gateway gets them from booking.
fn supply(sale: &PlannedSale, stock: &SeatStock) -> Vec<CategorySupply> {
    let shows = 0..sale.shows.len();
    let of_show = |show: usize| {
        let categories = stock.categories(show).enumerate();
        categories.map(move |(category, [free, held])| CategorySupply {
            show: show.to_string(),
            key: category.to_string(),
            free,
            accessible: 0,
            held,
        })
    };
    shows.flat_map(of_show).collect()
}

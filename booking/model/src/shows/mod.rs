//! Shows: their documents, the terms and rules that their seats are sold under, the rooms that
//! cover them, and what happens to them after the sale.

pub mod closure;
pub mod coverage;
pub mod document;
pub mod fate;
pub mod free_list;
pub mod patterns;
pub mod rules;
pub mod sale;
pub mod terms;

use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::grid::{CellGrid, CellState, ClaimedCell};
use crate::ids::ShowId;
use crate::plans::pinned::SeatingPlan;
use crate::plans::seatmap::SeatMap;
use crate::runs::TrainRun;
use document::{CategoryPrices, ShowDocument};
use fate::ShowFate;
use terms::{CategoryNames, SaleTerms};

/// Returns what the classes of a plan cost over a whole run. The price of a class is its fare for
/// the whole run. If there is no such fare, the price is its highest fare for any stretch. A class
/// without any fare is not for sale.
#[must_use]
pub fn prices_of_run(run: &TrainRun, map: &SeatMap) -> CategoryPrices {
    let legs = run.leg_count();
    let dearest = |class: &str| {
        let stretches = (0..legs).flat_map(|from| (from + 1..=legs).map(move |to| from..to));
        stretches
            .filter_map(|stretch| run.fare(class, &stretch))
            .max()
    };
    let price = |class: &str| run.fare(class, &(0..legs)).or_else(|| dearest(class));
    map.categories
        .iter()
        .map(|category| price(&category.key))
        .collect()
}

/// How many of the lower bits of an edition are computed from prices. The bits above them are the
/// version of the plan.
const EDITION_PRICE_BITS: u32 = 31;

/// Returns the plan version of an edition. See [`Show::edition`].
#[must_use]
pub fn plan_version_of(edition: u64) -> u32 {
    u32::try_from(edition >> EDITION_PRICE_BITS).unwrap_or(u32::MAX)
}

/// A show as it is sold now.
#[derive(Debug, Clone)]
pub struct Show {
    /// The slug.
    pub id: ShowId,
    /// What the promoter wrote. A departure's document is made from the timetable.
    pub document: ShowDocument,
    /// The pinned plan.
    pub plan: Arc<SeatingPlan>,
    /// Prices by category index, in minor units. For a run, see [`prices_of_run`].
    pub prices: CategoryPrices,
    /// A train's run on one date: its legs, and what they cost. None if the show is not a train.
    pub run: Option<Arc<TrainRun>>,
    /// Whether the show is a departure of which no seat was ever held. Such a departure has no row
    /// in the ledger and no keys in the store.
    pub untouched: bool,
    /// Whether it was cancelled or postponed; none if it takes place as planned.
    pub fate: Option<ShowFate>,
    /// The version number of the terms in its document. It is [`terms::UNNUMBERED`] while the show
    /// has no row in the ledger.
    pub terms: u32,
}

impl Show {
    /// Returns the size of its grid of cells. A show that is not a train has one leg.
    #[must_use]
    pub fn grid(&self) -> CellGrid {
        CellGrid {
            seats: self.plan.map.cell_count(),
            legs: self.run.as_ref().map_or(1, |run| run.leg_count().max(1)),
        }
    }

    /// Returns the run to whose stops the legs of an order belong that was made for this plan
    /// version. Returns `None` if they belong to an earlier list of stops, or if the show is no
    /// train.
    #[must_use]
    pub fn run_of_plan(&self, plan_version: u32) -> Option<&TrainRun> {
        let run = self.run.as_deref();
        run.filter(|_| self.plan.version == plan_version)
    }

    /// Returns whether the show is sold through `everyday` while no other room names it. Imported
    /// timetables count as saying so for their departures; imported programmes say so in the
    /// documents of their showings.
    #[must_use]
    pub fn is_walk_in(&self) -> bool {
        self.document.walk_in || self.run.is_some()
    }

    /// Returns all its legs.
    #[must_use]
    pub fn legs(&self) -> Range<u16> {
        0..self.grid().legs
    }

    /// Returns a number that is computed from the plan's version and the prices. The store keeps
    /// the number with a show's picture of the seats. If the stored number differs from this one,
    /// the picture was made from another plan or other prices. The number does not depend on a
    /// run's stops, because a run whose stops change pins a larger plan version.
    #[must_use]
    pub fn edition(&self) -> u64 {
        let mut hasher = Sha256::new();
        for price in &self.prices {
            hasher.update(price.unwrap_or(i64::MIN).to_be_bytes());
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let [a, b, c, d, ..] = digest;
        let of_prices = u64::from(u32::from_be_bytes([a, b, c, d]) >> 1);
        // A number of 63 bits also fits into a signed integer of 64 bits.
        u64::from(self.plan.version) << EDITION_PRICE_BITS | of_prices
    }

    /// Returns what the seat costs over all legs, in minor units, if it is for sale.
    #[must_use]
    pub fn price(&self, seat: u32) -> Option<i64> {
        let category = self.plan.map.seats.get(seat as usize)?.category;
        self.prices.get(usize::from(category)).copied().flatten()
    }

    /// Returns what the seat costs over some legs, in minor units, if it is for sale there.
    #[must_use]
    pub fn fare(&self, seat: u32, legs: &Range<u16>) -> Option<i64> {
        let Some(run) = &self.run else {
            return self.price(seat);
        };
        let map = &self.plan.map;
        let category = map.seats.get(seat as usize)?.category;
        let category = map.categories.get(usize::from(category))?;
        run.fare(&category.key, legs)
    }

    /// Returns what the seat costs over some legs under some terms of the show; none if these terms
    /// do not sell it there.
    #[must_use]
    pub fn price_under(&self, terms: &SaleTerms, seat: u32, legs: &Range<u16>) -> Option<i64> {
        terms.price(self.category_names(seat)?, legs, self.run.as_deref())
    }

    /// Returns the terms under which it is sold now.
    #[must_use]
    pub fn present_terms(&self) -> SaleTerms {
        SaleTerms::from_document(&self.document, self.run.clone())
    }

    /// Returns both names of a seat's category.
    #[must_use]
    pub fn category_names(&self, seat: u32) -> Option<CategoryNames<'_>> {
        let map = &self.plan.map;
        let category = map.seats.get(seat as usize)?.category;
        let category = map.categories.get(usize::from(category))?;
        Some(CategoryNames {
            key: &category.key,
            label: &category.label,
        })
    }

    /// Returns the cells that are not for sale, because their category has no price.
    #[must_use]
    pub fn blocked(&self) -> Vec<u32> {
        let grid = self.grid();
        let seats = (0..grid.seats).filter(|seat| self.price(*seat).is_none());
        let mut cells: Vec<u32> = seats
            .flat_map(|seat| grid.cells_of(seat, self.legs()))
            .collect();
        cells.sort_unstable();
        cells
    }

    /// Returns the state of each cell, by cell index, while nothing is held or sold. A cell is
    /// blocked if it is not for sale, and free otherwise.
    #[must_use]
    pub fn unsold(&self) -> Vec<CellState> {
        let mut states = vec![CellState::Free; self.grid().cell_count() as usize];
        for cell in self.blocked() {
            if let Some(state) = states.get_mut(cell as usize) {
                *state = CellState::Blocked;
            }
        }
        states
    }

    /// Returns the state of each cell, by cell index, according to the ledger's claims alone. A
    /// claimed cell is sold or held. Each other cell is as in [`Self::unsold`], even if it is in a
    /// basket, because only the store knows baskets.
    #[must_use]
    pub fn claimed_only(&self, claimed: &[ClaimedCell]) -> Vec<CellState> {
        let mut states = self.unsold();
        let seats = self.grid().seats;
        for (seat, leg, sold) in claimed {
            let cell = u32::from(*leg) * seats + seat;
            if let Some(state) = states.get_mut(cell as usize) {
                *state = if *sold {
                    CellState::Sold
                } else {
                    CellState::Held
                };
            }
        }
        states
    }

    /// Returns a seat's label. It is empty for seats beyond the plan.
    #[must_use]
    pub fn seat_label(&self, seat: u32) -> &str {
        self.plan
            .map
            .seats
            .get(seat as usize)
            .map_or("", |seat| seat.label.as_str())
    }

    /// Returns the label of a seat's category.
    #[must_use]
    pub fn category(&self, seat: u32) -> &str {
        self.category_names(seat).map_or("", |names| names.label)
    }
}

//! Collects what the visitors in a line learn about seats: what the seats of each category cost,
//! and how many of them are left.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairgate_model::shows::Show;
use serde::{Deserialize, Serialize};

use super::{SeatInventory, SeatsLeft};
use crate::ledger::LedgerError;

/// The most price tiers that a room has.
const TIERS_MAX: usize = 12;
/// A room with more shows than this has no price tiers. Its visitors search for one show, and read
/// that show's prices.
const SHOWS_MAX: usize = 200;
/// Visitors of a room with more shows than this cannot state wishes.
const WISHED_SHOWS_MAX: usize = 50;

/// What the seats of one category cost, in all shows of a room that have a category of this name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PriceTier {
    /// The category's label.
    pub label: String,
    /// The lowest price, in minor units.
    pub from: i64,
    /// The highest price, in minor units.
    pub to: i64,
    /// The currency, as ISO 4217 names it.
    pub currency: String,
    /// Free seats.
    pub free: u64,
}

/// The seats of one show that visitors in its line may wish for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowSeatsLeft {
    /// The show's slug.
    pub show: String,
    /// How many seats one visitor may have.
    pub seats_per_visitor: u32,
    /// How long seats stay in a basket, in seconds.
    pub hold_s: u32,
    /// The categories that have seats for sale.
    pub categories: Vec<CategorySeatsLeft>,
}

/// The seats of one category of one show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategorySeatsLeft {
    /// The category's key.
    pub key: String,
    /// Free seats.
    pub free: u32,
    /// How many of the free seats are accessible.
    pub accessible: u32,
    /// Seats in baskets and unpaid orders.
    pub held: u32,
}

/// What the visitors in a line learn about seats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatsForLine {
    /// The prices, cheapest first. Empty if there are more than two hundred shows.
    pub tiers: Vec<PriceTier>,
    /// The seats left of each show. Empty if there are more than fifty shows.
    pub shows: Vec<ShowSeatsLeft>,
}

impl SeatInventory {
    /// Returns what the line learns about these shows. Trains and shows that are over are left out.
    ///
    /// # Errors
    /// Returns an error if the ledger is needed and does not answer.
    pub async fn seats_for_line(
        &self,
        shows: &[Arc<Show>],
        now_ms: i64,
    ) -> Result<SeatsForLine, LedgerError> {
        let on_sale = |show: &&Arc<Show>| show.run.is_none() && !show.is_over(now_ms);
        let shows: Vec<_> = shows.iter().filter(on_sale).cloned().collect();
        if shows.len() > SHOWS_MAX {
            return Ok(SeatsForLine::default());
        }
        let seats_left = self.seats_left_for_line(&shows).await?;
        let mut seats = SeatsForLine {
            tiers: collect_price_tiers(&shows, &seats_left),
            shows: Vec::new(),
        };
        if shows.len() <= WISHED_SHOWS_MAX {
            let each = shows.iter().zip(&seats_left);
            seats.shows = each
                .map(|(show, seats_left)| show_seats_left(show, seats_left))
                .collect();
        }
        Ok(seats)
    }
}

fn show_seats_left(show: &Show, seats_left: &[SeatsLeft]) -> ShowSeatsLeft {
    let of_category = show.plan.map.categories.iter().zip(seats_left);
    ShowSeatsLeft {
        show: show.id.to_string(),
        seats_per_visitor: show.document.seats_per_visitor,
        hold_s: show.document.hold_s,
        categories: of_category
            .filter(|(_, seats_left)| seats_left.of > 0)
            .map(|(category, seats_left)| CategorySeatsLeft {
                key: category.key.clone(),
                free: seats_left.free,
                accessible: seats_left.accessible,
                held: seats_left.held,
            })
            .collect(),
    }
}

/// Collects the price tiers of these shows, none of which is a train. `seats_left` has the seats
/// left of each show, by category. The cheapest tier comes first. If there are more than twelve
/// tiers, those with the most seats are kept. Sold seats count here, so that the list stays the
/// same while seats are sold.
fn collect_price_tiers(shows: &[Arc<Show>], seats_left: &[Arc<[SeatsLeft]>]) -> Vec<PriceTier> {
    let mut by_name: BTreeMap<(String, String), (PriceTier, u64)> = BTreeMap::new();
    for (show, seats_left) in shows.iter().zip(seats_left) {
        let currency = show.document.currency.as_str();
        let priced = show.plan.map.categories.iter().zip(&show.prices);
        for ((category, price), seats_left) in priced.zip(seats_left.iter()) {
            let Some(price) = *price else { continue };
            let fresh = || PriceTier {
                label: category.label.clone(),
                from: price,
                to: price,
                currency: currency.to_owned(),
                free: 0,
            };
            let name = (category.label.clone(), currency.to_owned());
            let (tier, seats) = by_name.entry(name).or_insert_with(|| (fresh(), 0));
            tier.from = tier.from.min(price);
            tier.to = tier.to.max(price);
            tier.free += u64::from(seats_left.free);
            *seats += u64::from(seats_left.of);
        }
    }
    let mut tiers: Vec<_> = by_name.into_values().collect();
    tiers.retain(|(_, seats)| *seats > 0);
    tiers.sort_by_key(|(_, seats)| std::cmp::Reverse(*seats));
    tiers.truncate(TIERS_MAX);
    let mut tiers: Vec<_> = tiers.into_iter().map(|(tier, _)| tier).collect();
    tiers.sort_by(|a, b| (a.from, a.to, &a.label).cmp(&(b.from, b.to, &b.label)));
    tiers
}

#[cfg(test)]
mod tests {
    use fairgate_model::plans::parse_grid;
    use fairgate_model::plans::pinned::{EncodedGeometry, SeatingPlan};

    use super::*;

    fn show(id: &str, prices: [Option<i64>; 2]) -> Arc<Show> {
        let plan = Arc::new(SeatingPlan {
            version: 1,
            geometry: EncodedGeometry {
                json: Default::default(),
                packed: Default::default(),
                digest: String::new(),
            },
            map: parse_grid("4x10").expect("a grid"),
        });
        let document = serde_json::json!({
            "venue": "hall", "title": "A night", "starts_at": "2027-06-01T20:00:00Z",
            "currency": "EUR", "prices": {"cat1": 1_000},
        });
        Arc::new(Show {
            fate: None,
            terms: 1,
            id: id.parse().expect("a slug"),
            document: serde_json::from_value(document).expect("a document"),
            plan,
            prices: prices.to_vec(),
            run: None,
            untouched: false,
        })
    }

    fn seats_left(free: [u32; 2]) -> Arc<[SeatsLeft]> {
        free.map(|free| SeatsLeft {
            free,
            of: 20,
            ..SeatsLeft::default()
        })
        .into()
    }

    #[test]
    fn a_tier_has_the_range_of_prices_and_the_seats_of_all_shows() {
        let shows = [
            show("n-1", [Some(9_000), Some(5_000)]),
            show("n-2", [Some(8_000), None]),
        ];
        let labels: Vec<_> = shows[0].plan.map.categories.iter().collect();
        let tiers = collect_price_tiers(&shows, &[seats_left([3, 4]), seats_left([2, 20])]);
        let tier = |category: usize, from, to, free| PriceTier {
            label: labels[category].label.clone(),
            from,
            to,
            currency: "EUR".to_owned(),
            free,
        };
        assert_eq!(tiers, [tier(1, 5_000, 5_000, 4), tier(0, 8_000, 9_000, 5)]);
    }

    #[test]
    fn a_category_that_is_not_for_sale_has_no_tier_and_a_sold_out_one_stays() {
        let shows = [show("n-1", [Some(9_000), None])];
        let tiers = collect_price_tiers(&shows, &[seats_left([0, 20])]);
        assert_eq!(tiers.len(), 1);
        assert_eq!((tiers[0].from, tiers[0].free), (9_000, 0));
    }
}

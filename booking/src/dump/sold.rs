//! Everything about a show that a judge needs to check a price: the category of each seat, the
//! prices and departure times of a train's stretches, and whether the show was cancelled or
//! postponed.

use fairgate_databases::LedgerError;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::fate::ShowFate;
use serde::Serialize;

/// How a show's seats are sold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeatSaleRecord {
    /// The plan's categories. For a train they are its classes.
    pub categories: Vec<CategoryRecord>,
    /// The category of each seat, as an index into `categories`.
    pub seat_categories: Vec<u16>,
    /// The prices of a train's stretches. The train sells no other stretches. Empty for all other
    /// shows.
    pub fares: Vec<FareRecord>,
    /// The departure time of each leg of a train, in milliseconds since the epoch. Null if the
    /// timetable has no time for the leg. Empty for all other shows.
    pub departs_ms: Vec<Option<i64>>,
}

/// A category of seats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CategoryRecord {
    /// The category's key, as requests for holds write it.
    pub key: String,
    /// The label that people read.
    pub label: String,
}

/// The price of a class over a stretch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FareRecord {
    /// An index into the show's categories.
    pub category: usize,
    /// The index of the first leg.
    pub from: u16,
    /// The index after the last leg.
    pub to: u16,
    /// The price in minor units.
    pub amount: i64,
}

/// A cancellation or a postponement of a show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FateRecord {
    /// `cancelled` or `postponed`.
    pub fate: String,
    /// The time until which tickets can be given back without a fee. Null if there is no time
    /// limit.
    pub refunds_until_ms: Option<i64>,
}

impl SeatSaleRecord {
    /// Makes the record from a plan and, for a departure, its run.
    #[must_use]
    pub fn from_plan(map: &SeatMap, run: Option<&TrainRun>) -> Self {
        let category = |category: &fairgate_model::plans::seatmap::PriceCategory| CategoryRecord {
            key: category.key.clone(),
            label: category.label.clone(),
        };
        Self {
            categories: map.categories.iter().map(category).collect(),
            seat_categories: map.seats.iter().map(|seat| seat.category).collect(),
            fares: run.map_or_else(Vec::new, |run| fares(map, run)),
            departs_ms: run.map_or_else(Vec::new, departures),
        }
    }
}

/// Returns the price of every stretch that the run offers, for each class.
fn fares(map: &SeatMap, run: &TrainRun) -> Vec<FareRecord> {
    let legs = run.leg_count();
    let mut fares = Vec::new();
    for (category, class) in map.categories.iter().enumerate() {
        for from in 0..legs {
            for to in from + 1..=legs {
                if let Some(amount) = run.fare(&class.key, &(from..to)) {
                    fares.push(FareRecord {
                        category,
                        from,
                        to,
                        amount,
                    });
                }
            }
        }
    }
    fares
}

fn departures(run: &TrainRun) -> Vec<Option<i64>> {
    let leaves = |leg: u16| run.departs_at(&(leg..leg + 1));
    let legs = (0..run.leg_count()).map(leaves);
    legs.map(|at| at.map(|at| at.as_millisecond())).collect()
}

impl FateRecord {
    /// Makes the record from its stored form. Returns `None` for a show that is neither cancelled
    /// nor postponed.
    ///
    /// # Errors
    /// Returns an error if the stored word is unknown.
    pub fn read(
        word: Option<String>,
        refunds_until_ms: Option<i64>,
    ) -> Result<Option<Self>, LedgerError> {
        let Some(word) = word else { return Ok(None) };
        let fate = ShowFate::from_stored(&word, refunds_until_ms)
            .ok_or_else(|| LedgerError::Corrupt(format!("no fate is called {word:?}")))?;
        Ok(Some(Self {
            fate: word,
            refunds_until_ms: fate.refunds_until_ms(),
        }))
    }
}

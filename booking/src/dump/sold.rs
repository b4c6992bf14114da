//! What a judge needs of a show to work every price out: which seat is of which category, what a
//! train's stretches cost and when they begin, and what became of the show.

use fairgate_databases::LedgerError;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::fate::ShowFate;
use serde::Serialize;

/// How a show's seats are sold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeatSaleRecord {
    /// The plan's categories; of a train, its classes.
    pub categories: Vec<CategoryRecord>,
    /// The category of each seat, as a position in `categories`.
    pub seat_categories: Vec<u16>,
    /// What a train's stretches cost; it sells no others. Empty for everything else.
    pub fares: Vec<FareRecord>,
    /// When a train leaves the stop at which each leg begins; null where its timetable does not
    /// say.
    pub departs_ms: Vec<Option<i64>>,
}

/// A kind of seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CategoryRecord {
    /// As holds name it.
    pub key: String,
    /// As people read it.
    pub label: String,
}

/// What a class costs over a stretch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FareRecord {
    /// A position in the show's categories.
    pub category: usize,
    /// The first leg.
    pub from: u16,
    /// The leg behind the last one.
    pub to: u16,
    /// Minor units.
    pub amount: i64,
}

/// What became of a show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FateRecord {
    /// `cancelled` or `postponed`.
    pub fate: String,
    /// Until when tickets go back without a fee, where that ends.
    pub refunds_until_ms: Option<i64>,
}

impl SeatSaleRecord {
    /// By its plan and, of a departure, its run.
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

/// Every stretch that is offered of a run, by class.
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
    /// As it is stored.
    ///
    /// # Errors
    /// Where there is no such fate.
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

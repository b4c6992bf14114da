//! Everything about a show that a judge needs to check a price: the category of each seat, the
//! prices and departure times of a train's stretches, and whether the show was cancelled or
//! postponed.

use fairgate_databases::LedgerError;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::fate::ShowFate;
use jiff::Timestamp;
use serde::Serialize;

/// How a show's seats are sold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeatSaleRecord {
    /// The plan's categories. For a train they are its classes.
    pub categories: Vec<CategoryRecord>,
    /// The category of each seat, as an index into `categories`.
    pub seat_categories: Vec<u16>,
    /// The prices and times of a train. Empty for all other shows.
    #[serde(flatten)]
    pub rides: RidesRecord,
}

/// The prices and times of a train, by its legs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RidesRecord {
    /// The prices of its stretches. It sells no other stretches.
    pub fares: Vec<FareRecord>,
    /// When it leaves the station where each leg begins, in milliseconds since the epoch. Null if
    /// the timetable has no time there.
    pub departs_ms: Vec<Option<i64>>,
    /// When it arrives at the station where each leg ends, likewise.
    pub arrives_ms: Vec<Option<i64>>,
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
    /// When the show was cancelled or postponed.
    pub at_ms: i64,
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
            rides: run.map_or_else(RidesRecord::default, |run| {
                RidesRecord::of_sold_run(map, run, run)
            }),
        }
    }
}

impl RidesRecord {
    /// Makes the record of a run that was sold, by the legs of the train's present run.
    #[must_use]
    pub fn of_sold_run(map: &SeatMap, sold: &TrainRun, present: &TrainRun) -> Self {
        let legs = present.leg_count();
        let mut rides = Self::default();
        for leg in 0..legs {
            let ms = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
            let from = sold.call_sold(present, leg);
            let leaves = from.and_then(|call| sold.departs_at(&(call..call)));
            let to = sold.call_sold(present, leg + 1);
            let arrives = to.and_then(|call| sold.arrives_at(&(call..call)));
            rides.departs_ms.push(ms(leaves));
            rides.arrives_ms.push(ms(arrives));
        }
        for (category, class) in map.categories.iter().enumerate() {
            for from in 0..legs {
                for to in from + 1..=legs {
                    let own = sold.ride_sold(present, &(from..to));
                    let fare = own.and_then(|own| sold.fare(&class.key, &own));
                    rides.fares.extend(fare.map(|amount| FareRecord {
                        category,
                        from,
                        to,
                        amount,
                    }));
                }
            }
        }
        rides
    }

    /// Returns the lines of a digest over the record, as `TermsRecord` documents them.
    pub(super) fn lines(&self) -> String {
        let fares = self.fares.iter().map(|fare| {
            let FareRecord {
                category,
                from,
                to,
                amount,
            } = fare;
            format!("{category}:{from}:{to}={amount};")
        });
        let times = |times: &[Option<i64>]| -> String {
            let text = |ms: &Option<i64>| ms.map_or_else(String::new, |ms| ms.to_string()) + ";";
            times.iter().map(text).collect()
        };
        format!(
            "{}\n{}\n{}",
            fares.collect::<String>(),
            times(&self.departs_ms),
            times(&self.arrives_ms)
        )
    }
}

impl FateRecord {
    /// Makes the record from its stored form. Returns `None` for a show that is neither cancelled
    /// nor postponed.
    ///
    /// # Errors
    /// Returns an error if the stored word is unknown.
    pub fn read(
        word: Option<String>,
        at_ms: Option<i64>,
        refunds_until_ms: Option<i64>,
    ) -> Result<Option<Self>, LedgerError> {
        let Some(word) = word else { return Ok(None) };
        let at_ms = at_ms.unwrap_or(0);
        let fate = ShowFate::from_stored(&word, at_ms, refunds_until_ms)
            .ok_or_else(|| LedgerError::Corrupt(format!("no fate is called {word:?}")))?;
        Ok(Some(Self {
            fate: word,
            at_ms,
            refunds_until_ms: fate.refunds_until_ms(),
        }))
    }
}

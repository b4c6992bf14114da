//! A timetable made by hand: one train, one class, and stops an hour apart.

use std::sync::Arc;

use booking::catalogue::departures::{DepartureShow, DepartureSource};
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::plans::parse_grid;
use fairgate_model::plans::seatmap::{SeatMap, SeatMapParts};
use fairgate_model::runs::{DistanceRate, StationCall, TrainFares, TrainRun};
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::timetables::DepartureOnSale;
use jiff::{SignedDuration, Timestamp};

/// The number of seats in a row.
const ACROSS: u32 = 5;
/// The key of the only class that has seats.
pub const CLASS: &str = "cat1";
/// The price of a kilometre, in hundredths of a minor unit.
const PER_KM: i64 = 4_600;
/// The distance from stop to stop, in metres.
const LEG_M: u64 = 50_000;

/// Returns a map of at least `seats` seats of one class, in full rows of five.
pub fn carriages(seats: u32) -> SeatMap {
    let rows = seats.div_ceil(ACROSS);
    let mut parts: SeatMapParts =
        (*parse_grid(&format!("{rows}x{ACROSS}")).expect("a grid")).clone();
    for seat in &mut parts.seats {
        seat.category = 0;
    }
    SeatMap::new(parts).expect("sound")
}

/// A timetable with a departure for every id that begins with `t1-`, such as `t1-2027-02-01`. All
/// these departures leave at the same moment.
pub struct Daily {
    pub stock: VenueId,
    pub stops: u16,
    pub seats_per_visitor: u32,
    /// When the train leaves its first stop.
    pub leaves: Timestamp,
}

/// Returns the code of a stop.
pub fn code(stop: u16) -> String {
    format!("S{stop:02}")
}

impl Daily {
    fn run(&self) -> TrainRun {
        let at = |stop: u16, minutes: i64| {
            let after = SignedDuration::from_mins(i64::from(stop) * 60 + minutes);
            self.leaves.checked_add(after).ok()
        };
        let last = self.stops - 1;
        let call = |stop: u16| StationCall {
            station: code(stop),
            name: format!("Stop {stop}"),
            time_zone: None,
            arrives: at(stop, -5).filter(|_| stop > 0),
            departs: at(stop, 0).filter(|_| stop < last),
            at_m: u64::from(stop) * LEG_M,
            no_boarding: false,
            no_alighting: false,
        };
        let rate = DistanceRate {
            base: 200,
            per_km: PER_KM,
            least: 500,
        };
        TrainRun {
            train: "T1".to_owned(),
            date: jiff::civil::date(2027, 2, 1),
            time_zone: None,
            calls: (0..self.stops).map(call).collect(),
            fares: Arc::new(TrainFares::ByDistance([(CLASS.to_owned(), rate)].into())),
        }
    }
}

impl DepartureSource for Daily {
    fn departure(&self, show: &ShowId) -> Option<DepartureShow> {
        if !show.as_str().starts_with("t1-") {
            return None;
        }
        let document = serde_json::json!({
            "venue": self.stock, "title": "T1 Stop 0 – the end", "starts_at": self.leaves, "currency": "EUR",
            "prices": {}, "seats_per_visitor": self.seats_per_visitor, "exchange": {"cheaper": "refund"},
        });
        let document: ShowDocument = serde_json::from_value(document).expect("a document");
        Some(DepartureShow {
            document,
            plan_version: 1,
            run: Arc::new(self.run()),
            timetable: None,
        })
    }

    fn on_sale(&self, _: &[String], _: i64, _: &mut dyn FnMut(DepartureOnSale)) {}

    fn stocks(&self) -> Vec<(VenueId, u32)> {
        vec![(self.stock.clone(), 1)]
    }

    fn version(&self) -> u64 {
        1
    }
}

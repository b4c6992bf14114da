//! The answers about stations, trains and journeys. A departure that somebody touched is shown as
//! its row in the ledger has it, because baskets, orders and tickets use that row. Any other
//! departure is shown as the timetable has it.

use std::ops::Range;
use std::sync::Arc;

use fairgate_model::ids::ShowId;
use fairgate_model::money::Money;
use fairgate_model::shows::Show;
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::timetables::{CHANGE_S_MIN, Timetable, TrainRide, TransferJourney};
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;

use crate::rail::free::DepartureFreeSeats;

/// The days on which the timetable has trains on sale, and its time zone.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TimetableView {
    /// The IANA name of the time zone of its days and times.
    pub(super) time_zone: String,
    /// The first day on sale: today in this time zone.
    #[schema(value_type = String)]
    pub(super) first: Date,
    /// The last day on sale.
    #[schema(value_type = String)]
    pub(super) last: Date,
    /// The first of these days on which a train still leaves. Null if there is none.
    #[schema(value_type = Option<String>)]
    pub(super) next: Option<Date>,
}

/// A station.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StationView {
    /// Its code, which `from` and `to` accept.
    pub(super) station: String,
    pub(super) name: String,
    /// The IANA name of the zone in which its clocks run.
    pub(super) time_zone: String,
    /// Empty if the name is in Latin letters.
    pub(super) pinyin: String,
    pub(super) lon: f64,
    pub(super) lat: f64,
    /// The distance from the point that was asked for, in metres. Left out if no point was asked
    /// for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) distance_m: Option<u32>,
}

/// A train between two stations.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TripView {
    #[schema(value_type = String)]
    pub(super) show: ShowId,
    pub(super) train: String,
    pub(super) from: String,
    pub(super) to: String,
    #[schema(value_type = String)]
    pub(super) departs: Timestamp,
    #[schema(value_type = String)]
    pub(super) arrives: Timestamp,
    pub(super) duration_s: i64,
    /// How many legs the ride has.
    pub(super) stops: u16,
    /// Whether the train has left `from`. Such a train is listed, but not sold any more.
    pub(super) departed: bool,
    /// `cancelled`, or null if the train runs.
    pub(super) fate: Option<&'static str>,
    /// The IANA name of the timetable's time zone.
    pub(super) time_zone: String,
    /// The IANA name of the zone in which the clocks run at `from`.
    pub(super) from_time_zone: String,
    /// The IANA name of the zone in which the clocks run at `to`.
    pub(super) to_time_zone: String,
    pub(super) classes: Vec<ClassView>,
    /// Whether the numbers of free seats may be wrong, because they are old or the held seats are
    /// not known.
    pub(super) degraded: bool,
    /// When the free seats were counted.
    #[schema(value_type = String)]
    pub(super) as_of: Timestamp,
}

/// A class of a train.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ClassView {
    pub(super) class: String,
    pub(super) label: String,
    /// `{amount, currency}`.
    #[schema(value_type = Object)]
    pub(super) price: Money,
    /// Seats that are free on all legs of the ride. 0 if the train has left or is cancelled.
    pub(super) free: u32,
}

/// Two trains, and the station where travellers change.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct JourneyView {
    #[schema(value_type = String)]
    pub(super) departs: Timestamp,
    #[schema(value_type = String)]
    pub(super) arrives: Timestamp,
    pub(super) duration_s: i64,
    /// Whether the first train has left `from`. Such a journey is listed, but not sold any more.
    pub(super) departed: bool,
    pub(super) change: TrainChangeView,
    /// The two trains, in the order of travel.
    pub(super) trips: Vec<TripView>,
}

/// The station where travellers change trains.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = ChangeView)]
pub struct TrainChangeView {
    pub(super) station: String,
    pub(super) name: String,
    /// The IANA name of the zone in which its clocks run.
    pub(super) time_zone: String,
    /// Seconds between the trains.
    pub(super) wait_s: i64,
}

/// A ride as it is sold.
pub(super) struct ShownRide<'r> {
    /// The departure's show.
    pub(super) show: ShowId,
    /// The legs of the show.
    pub(super) legs: Range<u16>,
    ride: &'r TrainRide,
    departs: Timestamp,
    arrives: Timestamp,
    /// The departure's row, if somebody touched it.
    touched: Option<Arc<Show>>,
}

impl<'r> ShownRide<'r> {
    /// Finds how a ride of the timetable is sold. Returns `None` if it is not sold.
    pub(super) fn find(
        timetable: &Timetable,
        ride: &'r TrainRide,
        touched: impl Fn(&ShowId) -> Option<Arc<Show>>,
    ) -> Option<Self> {
        let show = timetable.show_id(ride.trip, ride.date)?;
        let Some(row) = touched(&show) else {
            return Some(Self {
                show,
                legs: ride.legs.clone(),
                ride,
                departs: ride.departs,
                arrives: ride.arrives,
                touched: None,
            });
        };
        let stops = timetable.stops(&timetable.trips[ride.trip as usize]);
        let station = |call: u16| {
            let stop = &stops[usize::from(call)];
            timetable.stations[stop.station as usize].code.as_str()
        };
        let rides = row
            .run
            .as_ref()?
            .rides(station(ride.legs.start), station(ride.legs.end));
        let timed = rides.into_iter().filter_map(|legs| {
            let (departs, arrives) = (row.departs_at(&legs)?, row.arrives_at(&legs)?);
            Some((legs, departs, arrives))
        });
        // A train may call at a station twice.
        let apart = |departs: Timestamp| departs.duration_since(ride.departs).abs();
        let (legs, departs, arrives) = timed.min_by_key(|(_, departs, _)| apart(*departs))?;
        Some(Self {
            show,
            legs,
            ride,
            departs,
            arrives,
            touched: Some(row),
        })
    }

    pub(super) fn view(
        self,
        timetable: &Timetable,
        free: Option<DepartureFreeSeats>,
        now: Timestamp,
    ) -> TripView {
        let trip = &timetable.trips[self.ride.trip as usize];
        let stops = timetable.stops(trip);
        let station = |call: u16| stops[usize::from(call)].station;
        let (from, to) = (station(self.ride.legs.start), station(self.ride.legs.end));
        let code = |station: u32| timetable.stations[station as usize].code.clone();
        let departed = self.departs <= now;
        let has_ended = |show: &Arc<Show>| show.sale_has_ended(&self.legs, now.as_millisecond());
        let is_sold = !departed && !self.touched.as_ref().is_some_and(has_ended);
        let cancelled = free.as_ref().is_some_and(|free| free.cancelled);
        let mut classes = match &self.touched {
            Some(row) => touched_classes(row, &self.legs, free.as_ref()),
            None => untouched_classes(timetable, self.ride),
        };
        if !is_sold {
            classes.iter_mut().for_each(|class| class.free = 0);
        }
        let run = self.touched.as_ref().and_then(|row| row.run.as_deref());
        TripView {
            classes,
            show: self.show,
            train: run.map_or_else(|| trip.train.clone(), |run| run.train.clone()),
            from: code(from),
            to: code(to),
            departs: self.departs,
            arrives: self.arrives,
            duration_s: self.arrives.as_second() - self.departs.as_second(),
            stops: self.legs.end - self.legs.start,
            departed,
            fate: cancelled.then(|| ShowFate::Cancelled.as_str()),
            time_zone: timetable.timezone.clone(),
            from_time_zone: timetable.zone_name(from).to_owned(),
            to_time_zone: timetable.zone_name(to).to_owned(),
            degraded: free.as_ref().is_some_and(|free| free.degraded),
            as_of: free.map_or(now, |free| free.as_of),
        }
    }
}

/// Returns the classes of a departure that somebody touched, with the seats that are free.
fn touched_classes(
    row: &Show,
    legs: &Range<u16>,
    free: Option<&DepartureFreeSeats>,
) -> Vec<ClassView> {
    let classes = row.plan.map.categories.iter().filter_map(|category| {
        let amount = row.run.as_ref()?.fare(&category.key, legs)?;
        let counted = free.and_then(|free| free.by_class.get(&category.key));
        Some(ClassView {
            class: category.key.clone(),
            label: category.label.clone(),
            price: row.document.currency.with_amount(amount),
            free: counted.copied().unwrap_or(0),
        })
    });
    classes.collect()
}

/// Returns the classes of a departure that nobody touched, so that all its seats are free.
fn untouched_classes(timetable: &Timetable, ride: &TrainRide) -> Vec<ClassView> {
    let trip = &timetable.trips[ride.trip as usize];
    let stock = &timetable.stocks[usize::from(trip.stock)];
    let classes = timetable.classes.iter().zip(0_u16..);
    let classes = classes.filter_map(|(class, at)| {
        let capacity = stock.capacity(&class.key);
        let amount = timetable.fare(trip, at, ride.legs.start, ride.legs.end)?;
        (capacity > 0).then(|| ClassView {
            class: class.key.clone(),
            label: class.label.clone(),
            price: timetable.currency.with_amount(amount),
            free: capacity,
        })
    });
    classes.collect()
}

/// Returns the view of a journey. Returns `None` if the trains do not connect at the times at which
/// they are sold.
pub(super) fn journey_view(
    timetable: &Timetable,
    journey: &TransferJourney,
    trips: [TripView; 2],
    now_ms: i64,
) -> Option<JourneyView> {
    let [first, second] = &trips;
    let wait_s = second.departs.as_second() - first.arrives.as_second();
    if wait_s < CHANGE_S_MIN {
        return None;
    }
    let station = &timetable.stations[journey.change as usize];
    Some(JourneyView {
        departs: first.departs,
        arrives: second.arrives,
        duration_s: second.arrives.as_second() - first.departs.as_second(),
        departed: first.departs.as_millisecond() <= now_ms,
        change: TrainChangeView {
            station: station.code.clone(),
            name: station.name.clone(),
            time_zone: timetable.zone_name(journey.change).to_owned(),
            wait_s,
        },
        trips: trips.into(),
    })
}

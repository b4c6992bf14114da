//! A timetable: stations, trips over shared lists of calls (stops), services, fares and carriages.
//! Its indexes make it quick to find the trains between two stations on a date.
//!
//! A timetable is immutable. Its [`TimetableParts`] come from an importer, or from the JSON that
//! the ledger stores. The timetable is built from all of them, checked once, and never changed.

mod calendar;
mod clocks;
mod departure;
pub mod geo;
mod journeys;
mod matching;
mod names;
mod on_sale;
mod rides;
pub mod settings;
mod stations;
pub mod stock;
mod stop;

use std::collections::HashMap;
use std::ops::Deref;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use calendar::{EVERY_DAY, ServiceCalendar};
pub use departure::Departure;
pub use journeys::{CHANGE_S_MIN, TransferJourney};
pub use matching::{APART_MAX, MatchOutcome, SoldDeparture, match_departures, possible_trips};
pub use names::{KeptDeparture, slug};
pub use on_sale::DepartureOnSale;
pub use rides::TrainRide;
pub use stations::NearbyStation;
pub use stop::TripStop;

use crate::money::Currency;
use crate::timetables::settings::DepartureTerms;
use crate::timetables::stock::{RollingStock, TravelClass};

/// Seconds of a service day. The time of a call may be greater, because a train may run past
/// midnight.
pub const DAY_S: u32 = 86_400;

/// How many service days the run of a train may take, the first day included.
/// [`Timetable::next_day`] and [`Timetable::on_sale`] do not find trains that began their run
/// earlier.
const SERVICE_DAYS_MAX: i64 = 4;

/// A station where trains call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// The station's code, which calls refer to.
    pub code: String,
    /// The name that people read.
    pub name: String,
    /// The name in Latin letters, if the name is in other letters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pinyin: String,
    /// The name in other languages and scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub translations: Vec<String>,
    /// Short forms that people type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<String>,
    /// Codes of its platforms. Calls may also refer to the station by these codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    /// The IANA name of the zone in which its clocks run. `None` if that is the timetable's zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Degrees east of Greenwich.
    pub lon: f64,
    /// Degrees north of the equator.
    pub lat: f64,
}

/// A train that runs on the dates of its service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trip {
    /// The trip's id, unique in the timetable.
    pub id: String,
    /// The train's code, as people say it. Several trips may have the same code.
    pub train: String,
    /// The line that it runs on, such as `S 3`. Empty if the feed has no lines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// Index into [`TimetableParts::services`].
    pub service: u32,
    /// Index into [`TimetableParts::stocks`].
    pub stock: u16,
    /// Index into [`TimetableParts::tariffs`].
    pub tariff: u32,
    /// Index into [`TimetableParts::patterns`].
    pub pattern: u32,
    /// How many seconds the trip runs later than the pattern's times. This lets all departures of a
    /// train that runs at regular intervals share one pattern.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift_s: u32,
    /// Whether the feed gives the train a number with which the trip's id begins, as where both are
    /// `101`. It is only stored then: all other trips show by their ids whether they have a number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_id_numbered: bool,
}

impl Trip {
    /// Returns whether the train has a number of its own. Trains without one are called by the ids
    /// of their trips, which a feed may give to another train.
    #[must_use]
    pub fn has_number(&self) -> bool {
        self.is_id_numbered || !self.id.starts_with(&self.train)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The ways to price stretches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tariff {
    /// By distance, with the rates of the classes.
    Distance,
    /// A table of (class, from, to, minor units), with indices for class and stations, in ascending
    /// order.
    Table(Vec<(u16, u32, u32, i64)>),
}

/// The parts that a timetable is made from and stored as.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimetableParts {
    /// The IANA name of the time zone from which all times are counted.
    pub timezone: String,
    /// The currency of all fares.
    pub currency: Currency,
    /// The terms on which all departures are sold.
    pub terms: DepartureTerms,
    /// The classes of travel.
    pub classes: Vec<TravelClass>,
    /// The kinds of train.
    pub stocks: Vec<RollingStock>,
    /// The stations.
    pub stations: Vec<Station>,
    /// The calendars of services.
    pub services: Vec<ServiceCalendar>,
    /// The prices of stretches.
    pub tariffs: Vec<Tariff>,
    /// The lists of calls that trips share.
    pub patterns: Vec<Vec<TripStop>>,
    /// The trips.
    pub trips: Vec<Trip>,
}

/// Why parts do not make a timetable. Importers find these faults earlier and say where they are.
/// This is the last check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimetableError {
    /// The time zone of the timetable or of a station does not exist.
    #[error("there is no time zone {0:?}; an IANA name is meant, such as Asia/Shanghai")]
    Zone(String),
    /// An index points to something that does not exist, or a list of calls is too short or too
    /// long.
    #[error("{what} number {at} of the timetable points at something that does not exist")]
    Dangling {
        /// The list that the fault is in.
        what: &'static str,
        /// The position in that list.
        at: usize,
    },
    /// Two stations or platforms have the same code.
    #[error("the station code {0:?} occurs twice")]
    DuplicateStation(String),
}

/// A checked timetable with its indexes. It can be read like its [`TimetableParts`] but not
/// changed.
#[derive(Debug)]
pub struct Timetable {
    parts: TimetableParts,
    zone: TimeZone,
    /// The zones of the stations that are not in the timetable's zone, by station.
    station_zones: HashMap<u32, TimeZone>,
    /// Stations by code and by their platforms' codes.
    by_code: HashMap<Box<str>, u32>,
    /// Stations by name. A name that several stations have is left out.
    by_name: HashMap<Box<str>, u32>,
    /// Stations by their names in all languages, as [`SearchText`](crate::search_text::SearchText)
    /// joins them. A name that several stations have is left out.
    by_plain_name: HashMap<Box<str>, u32>,
    /// The trips that call at a station, ascending, each once.
    trips_by_station: Vec<Box<[u32]>>,
    /// The trips of each train.
    trains: names::TrainTrips,
    /// The ids that departures keep from earlier timetables.
    kept: names::KeptIds,
    /// The search terms of each station.
    search_terms: Vec<stations::StationSearchTerms>,
}

impl Deref for Timetable {
    type Target = TimetableParts;
    fn deref(&self) -> &TimetableParts {
        &self.parts
    }
}

impl Timetable {
    /// Checks the parts and indexes them.
    ///
    /// # Errors
    /// [`TimetableError`] for the first fault.
    pub fn new(parts: TimetableParts) -> Result<Self, TimetableError> {
        let zone = TimeZone::get(&parts.timezone)
            .map_err(|_| TimetableError::Zone(parts.timezone.clone()))?;
        check_parts(&parts)?;
        let mut by_code: HashMap<Box<str>, u32> = HashMap::with_capacity(parts.stations.len());
        for (station, at) in parts.stations.iter().zip(0..) {
            for code in std::iter::once(&station.code).chain(&station.platforms) {
                if by_code.insert(code.as_str().into(), at).is_some() {
                    return Err(TimetableError::DuplicateStation(code.clone()));
                }
            }
        }
        let mut calling = vec![Vec::new(); parts.stations.len()];
        for (trip, at) in parts.trips.iter().zip(0_u32..) {
            for stop in &parts.patterns[trip.pattern as usize] {
                let trips_here = &mut calling[stop.station as usize];
                if trips_here.last() != Some(&at) {
                    trips_here.push(at);
                }
            }
        }
        let counts: Vec<usize> = calling.iter().map(Vec::len).collect();
        let search_terms = stations::search_terms(&parts.stations, &counts);
        Ok(Self {
            zone,
            station_zones: clocks::station_zones(&parts.stations)?,
            by_code,
            by_name: stations::by_name(&parts.stations),
            by_plain_name: stations::by_plain_name(&search_terms),
            trips_by_station: calling.into_iter().map(Vec::into_boxed_slice).collect(),
            trains: names::TrainTrips::new(&parts.trips),
            kept: names::KeptIds::default(),
            search_terms,
            parts,
        })
    }

    /// Reads a timetable from the JSON that the ledger stores.
    ///
    /// # Errors
    /// If the text is not a timetable.
    pub fn read(text: &str) -> Result<Self, String> {
        let parts: TimetableParts =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        Self::new(parts).map_err(|error| error.to_string())
    }

    /// Returns the first date on sale on which a train will still leave a station, in the
    /// timetable's time zone. Returns `None` if there is no such date.
    #[must_use]
    pub fn next_day(&self, now_ms: i64) -> Option<Date> {
        let (mut date, last) = self.window(now_ms);
        while date <= last {
            if self.any_train_leaves(date, now_ms) {
                return Some(date);
            }
            date = add_days(date, 1);
        }
        None
    }

    /// Returns whether a train leaves any station on a date, after a moment.
    fn any_train_leaves(&self, date: Date, now_ms: i64) -> bool {
        // A train that leaves on this date may have begun its run some days before. For each such
        // day, this list has the moment at which the service day began, and which services ran on
        // it.
        let began: Vec<(i64, Vec<bool>)> = (0..SERVICE_DAYS_MAX)
            .map(|nights| add_days(date, -nights))
            .map(|date| {
                let ran = self
                    .parts
                    .services
                    .iter()
                    .map(|service| service.runs_on(date));
                (self.day_start(date).as_millisecond(), ran.collect())
            })
            .collect();
        let leaves = |trip: &Trip, seconds: u32| {
            let seconds = seconds + trip.shift_s;
            began
                .get((seconds / DAY_S) as usize)
                .is_some_and(|(start_ms, ran)| {
                    ran[trip.service as usize] && start_ms + i64::from(seconds) * 1_000 > now_ms
                })
        };
        self.parts.trips.iter().any(|trip| {
            let mut departs = self.stops(trip).iter().filter_map(|stop| stop.departs);
            departs.any(|seconds| leaves(trip, seconds))
        })
    }

    /// Returns the trips that run on a service date, by their indices.
    pub fn trips_on(&self, date: Date) -> impl Iterator<Item = u32> + '_ {
        let services = self.services.iter();
        let runs: Vec<bool> = services.map(|service| service.runs_on(date)).collect();
        let trips = self.trips.iter().zip(0_u32..);
        let trips = trips.filter(move |(trip, _)| runs[trip.service as usize]);
        trips.map(|(_, at)| at)
    }

    /// Returns the calls of a trip.
    #[must_use]
    pub fn stops(&self, trip: &Trip) -> &[TripStop] {
        &self.parts.patterns[trip.pattern as usize]
    }

    /// Returns the price of a seat of a class on a trip between two calls, in minor units. Returns
    /// `None` if the stretch is not sold in this class, or if nobody may get on or off there.
    #[must_use]
    pub fn fare(&self, trip: &Trip, class: u16, from: u16, to: u16) -> Option<i64> {
        let stops = self.stops(trip);
        let (from, to) = (stops.get(usize::from(from))?, stops.get(usize::from(to))?);
        if from.no_boarding || to.no_alighting {
            return None;
        }
        match &self.parts.tariffs[trip.tariff as usize] {
            Tariff::Distance => {
                let class = self.parts.classes.get(usize::from(class))?;
                Some(
                    class
                        .rate
                        .fare_for_distance(u64::from(to.at_m.saturating_sub(from.at_m))),
                )
            }
            Tariff::Table(table) => {
                let key = (class, from.station, to.station);
                let found = table.binary_search_by_key(&key, |row| (row.0, row.1, row.2));
                found.ok().map(|at| table[at].3)
            }
        }
    }
}

/// Checks that every index of a call or a trip points to something, and that every list of calls
/// has at least two calls, and no more than 16 bits can number.
fn check_parts(parts: &TimetableParts) -> Result<(), TimetableError> {
    let dangling = |what, at| Err(TimetableError::Dangling { what, at });
    for (at, pattern) in parts.patterns.iter().enumerate() {
        let known = |stop: &TripStop| (stop.station as usize) < parts.stations.len();
        // Legs are numbered in 16 bits.
        if !(2..usize::from(u16::MAX)).contains(&pattern.len()) || !pattern.iter().all(known) {
            return dangling("list of calls", at);
        }
    }
    for (at, trip) in parts.trips.iter().enumerate() {
        let sound = (trip.service as usize) < parts.services.len()
            && usize::from(trip.stock) < parts.stocks.len()
            && (trip.tariff as usize) < parts.tariffs.len()
            && (trip.pattern as usize) < parts.patterns.len();
        if !sound {
            return dangling("trip", at);
        }
    }
    Ok(())
}

/// Returns the date `days` later. The result stays within the possible dates.
fn add_days(date: Date, days: i64) -> Date {
    date.saturating_add(jiff::Span::new().days(days))
}

/// Returns the moment `seconds` later.
fn add_seconds(moment: Timestamp, seconds: u32) -> Timestamp {
    moment
        .checked_add(SignedDuration::from_secs(i64::from(seconds)))
        .unwrap_or(moment)
}

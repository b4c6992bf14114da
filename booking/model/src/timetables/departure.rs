//! Makes the departure of a trip on a date, with all data that its sale needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;

use super::{Tariff, Timetable, Trip, add_seconds};
use crate::ids::{ShowId, VenueId};
use crate::money::Currency;
use crate::runs::{StationCall, TrainFares, TrainRun};
use crate::timetables::settings::DepartureTerms;

/// A train's departure on a date: its run, the plan of its carriages, and the terms of sale.
#[derive(Debug, Clone)]
pub struct Departure {
    /// Its show.
    pub show: ShowId,
    /// Its calls and fares.
    pub run: TrainRun,
    /// The venue whose plan has its carriages.
    pub stock: VenueId,
    /// The version of that plan.
    pub plan_version: u32,
    /// The title that buyers see: the train, and where it goes.
    pub title: String,
    /// When it leaves its first station.
    pub starts_at: Timestamp,
    /// The currency of all fares.
    pub currency: Currency,
    /// The terms of sale, such as how long holds last and how many seats a visitor may have.
    pub terms: DepartureTerms,
}

impl Timetable {
    /// Returns a trip's run on a date.
    #[must_use]
    pub fn run_on_date(&self, trip: u32, date: Date) -> Option<TrainRun> {
        let trip_details = self.trips.get(trip as usize)?;
        Some(TrainRun {
            train: trip_details.train.clone(),
            date,
            time_zone: Some(self.timezone.clone()),
            calls: self.calls_on_date(trip, date),
            fares: Arc::new(self.fares(trip_details)),
        })
    }

    /// Returns the calls of a trip on a date, with their times.
    ///
    /// # Panics
    /// If the timetable has no such trip.
    #[must_use]
    pub fn calls_on_date(&self, trip: u32, date: Date) -> Vec<StationCall> {
        let trip = &self.trips[trip as usize];
        let start = self.day_start(date);
        let moment = |seconds: Option<u32>| Some(add_seconds(start, seconds? + trip.shift_s));
        let calls = self.stops(trip).iter().map(|stop| {
            let station = &self.stations[stop.station as usize];
            StationCall {
                station: station.code.clone(),
                name: station.name.clone(),
                time_zone: station.time_zone.clone(),
                arrives: moment(stop.arrives),
                departs: moment(stop.departs),
                at_m: u64::from(stop.at_m),
                no_boarding: stop.no_boarding,
                no_alighting: stop.no_alighting,
            }
        });
        calls.collect()
    }

    /// Returns the fares of all stretches of a trip.
    fn fares(&self, trip: &Trip) -> TrainFares {
        let stock = self.stocks[usize::from(trip.stock)].clone();
        let classes = (0_u16..).zip(&self.classes);
        let classes = classes.filter(|(_, class)| stock.capacity(&class.key) > 0);
        if self.tariffs[trip.tariff as usize] == Tariff::Distance {
            let rates = classes.map(|(_, class)| (class.key.clone(), class.rate));
            return TrainFares::ByDistance(rates.collect());
        }
        let stops = self.stops(trip);
        let mut table = BTreeMap::new();
        for (at, class) in classes {
            for (from, start) in (0_u16..).zip(stops) {
                for (to, end) in (0_u16..).zip(stops).skip(usize::from(from) + 1) {
                    if let Some(amount) = self.fare(trip, at, from, to) {
                        let code = |station: u32| self.stations[station as usize].code.clone();
                        let key = (class.key.clone(), code(start.station), code(end.station));
                        table.insert(key, amount);
                    }
                }
            }
        }
        TrainFares::Table(table)
    }

    /// Returns the title of a trip's departures.
    #[must_use]
    pub fn title(&self, trip: &Trip) -> String {
        let stops = self.stops(trip);
        let name = |stop: Option<&super::TripStop>| {
            stop.map_or("", |stop| &self.stations[stop.station as usize].name)
        };
        let (from, to) = (name(stops.first()), name(stops.last()));
        let title = format!("{} {from} – {to}", trip.train);
        title
            .chars()
            .filter(|char| !char.is_control())
            .take(200)
            .collect()
    }

    /// Returns the departure for a show's id. `plan` returns the venue and the plan version for the
    /// index of a kind of train.
    #[must_use]
    pub fn departure_for_show(
        &self,
        id: &ShowId,
        plan: impl Fn(usize) -> Option<(VenueId, u32)>,
    ) -> Option<Departure> {
        let (trip, date) = self.trip_of_show(id)?;
        let trip_details = &self.trips[trip as usize];
        let (stock, plan_version) = plan(usize::from(trip_details.stock))?;
        let run = self.run_on_date(trip, date)?;
        Some(Departure {
            show: id.clone(),
            starts_at: run.calls.first()?.departs?,
            run,
            stock,
            plan_version,
            title: self.title(trip_details),
            currency: self.currency,
            terms: self.terms.clone(),
        })
    }
}

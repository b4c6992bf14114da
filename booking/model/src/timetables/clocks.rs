//! The clocks of stations. Every time of a timetable is counted from the beginning of a service day
//! in the timetable's zone. The clocks of a station may run in another zone, and travellers go by
//! these clocks: a day of the search is a day at the station where one gets on.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{DAY_S, ServiceCalendar, Station, Timetable, TimetableError, add_days, add_seconds};

/// By how many days two clocks differ at most. They are up to 26 hours apart.
const DAYS_APART_MAX: i64 = 2;

/// Reads the zones of the stations that have one of their own, by station.
pub(super) fn station_zones(
    stations: &[Station],
) -> Result<HashMap<u32, TimeZone>, TimetableError> {
    let stations = stations.iter().zip(0..);
    let named = stations.filter_map(|(station, at)| Some((at, station.time_zone.as_ref()?)));
    let zones = named.map(|(at, name)| {
        let zone = TimeZone::get(name).map_err(|_| TimetableError::Zone(name.clone()))?;
        Ok((at, zone))
    });
    zones.collect()
}

impl Timetable {
    /// Returns the IANA name of the zone in which a station's clocks run.
    ///
    /// # Panics
    /// If the timetable has no such station.
    #[must_use]
    pub fn zone_name(&self, station: u32) -> &str {
        let own = self.stations[station as usize].time_zone.as_deref();
        own.unwrap_or(&self.timezone)
    }

    /// Returns whether any station is not in the timetable's zone.
    pub(super) fn has_other_zones(&self) -> bool {
        !self.station_zones.is_empty()
    }

    /// Returns the date at a moment, in the timetable's time zone.
    #[must_use]
    pub fn today(&self, now_ms: i64) -> Date {
        today_in(&self.zone, now_ms)
    }

    /// Returns the first and the last date on sale at a moment, in the timetable's time zone.
    #[must_use]
    pub fn window(&self, now_ms: i64) -> (Date, Date) {
        self.window_from(self.today(now_ms))
    }

    /// Returns the first and the last date on sale at a moment, by a station's clocks. A train that
    /// leaves there on one of these dates is not on sale if its service date is after the last date
    /// of [`Self::window`].
    #[must_use]
    pub fn window_at(&self, station: u32, now_ms: i64) -> (Date, Date) {
        let zone = self.station_zones.get(&station).unwrap_or(&self.zone);
        self.window_from(today_in(zone, now_ms))
    }

    fn window_from(&self, first: Date) -> (Date, Date) {
        let days = i64::from(self.parts.terms.window_days) - 1;
        (first, add_days(first, days))
    }

    /// Returns the moment at which a service day begins: twelve hours before its noon.
    pub(super) fn day_start(&self, date: Date) -> Timestamp {
        let noon = date.at(12, 0, 0, 0).to_zoned(self.zone.clone());
        let noon = noon.map_or(Timestamp::UNIX_EPOCH, |noon| noon.timestamp());
        noon.checked_sub(SignedDuration::from_hours(12))
            .unwrap_or(noon)
    }
}

fn today_in(zone: &TimeZone, now_ms: i64) -> Date {
    let now = Timestamp::from_millisecond(now_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    now.to_zoned(zone.clone()).date()
}

/// A date on which a service runs.
pub(super) struct ServiceDay {
    pub(super) date: Date,
    /// The moment from which the times of calls are counted.
    pub(super) start: Timestamp,
}

/// Caches, for one search, the moment at which each service day begins.
pub(super) struct ServiceDayStarts<'a> {
    timetable: &'a Timetable,
    known: Vec<(Date, Timestamp)>,
}

impl<'a> ServiceDayStarts<'a> {
    pub(super) fn new(timetable: &'a Timetable) -> Self {
        Self {
            timetable,
            known: Vec::new(),
        }
    }

    /// Finds the days of a service whose trains leave a station on `date` by its clocks, `departs`
    /// seconds after the beginning of the service day. There is at most one, except where the
    /// station's zone turns its clocks back.
    pub(super) fn days_leaving(
        &mut self,
        station: u32,
        departs: u32,
        service: &ServiceCalendar,
        date: Date,
    ) -> impl Iterator<Item = ServiceDay> {
        let zone = self.timetable.station_zones.get(&station);
        let apart = if zone.is_some() { DAYS_APART_MAX } else { 0 };
        let in_timetables_zone = add_days(date, -i64::from(departs / DAY_S));
        (-apart..=apart).filter_map(move |days| {
            let began = add_days(in_timetables_zone, days);
            if !service.runs_on(began) {
                return None;
            }
            let start = self.day_start(began);
            let leaves = add_seconds(start, departs);
            let is_on_date = |zone: &TimeZone| leaves.to_zoned(zone.clone()).date() == date;
            zone.is_none_or(is_on_date)
                .then_some(ServiceDay { date: began, start })
        })
    }

    fn day_start(&mut self, date: Date) -> Timestamp {
        if let Some((_, start)) = self.known.iter().find(|(known, _)| *known == date) {
            return *start;
        }
        let start = self.timetable.day_start(date);
        self.known.push((date, start));
        start
    }
}

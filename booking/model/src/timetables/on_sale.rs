//! Lists the departures that are on sale at a moment, so that their seats can be counted.

use jiff::Timestamp;
use jiff::civil::Date;

use super::{SERVICE_DAYS_MAX, Timetable, Trip, TripStop, add_days, add_seconds};
use crate::ids::ShowId;
use crate::shows::coverage::matches;

/// A departure on sale. Its seats are counted as if none were held or sold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepartureOnSale {
    /// Its show.
    pub show: ShowId,
    /// How many seats can still be sold over some stretch whose first stop the train has not left
    /// yet.
    pub free: u32,
    /// How many seats can no longer be sold over any stretch.
    pub gone: u32,
}

impl Timetable {
    /// Calls `each` with the departures that the patterns name, from today to the last date on
    /// sale. Departures that began their run earlier are included while some of their seats can
    /// still be sold.
    pub fn on_sale(&self, patterns: &[String], now_ms: i64, each: &mut dyn FnMut(DepartureOnSale)) {
        let (today, last) = self.window(now_ms);
        let mut days: Vec<(Date, Timestamp)> = Vec::new();
        let mut date = add_days(today, 1 - SERVICE_DAYS_MAX);
        while date <= last {
            days.push((date, self.day_start(date)));
            date = add_days(date, 1);
        }
        for (train, trips) in self.trains.iter() {
            let may_be_named = |pattern: &String| may_name(pattern, train);
            if !self.kept.has_any(trips) && !patterns.iter().any(may_be_named) {
                continue;
            }
            let seat_counts: Vec<u32> = trips
                .iter()
                .map(|trip| self.seats_from(&self.trips[*trip as usize], 0))
                .collect();
            for (date, start) in &days {
                let runs = |trip: u32| {
                    let service = self.trips[trip as usize].service;
                    self.services[service as usize].runs_on(*date)
                };
                for (trip, seat_count) in trips
                    .iter()
                    .zip(&seat_counts)
                    .filter(|(trip, _)| runs(**trip))
                {
                    let Some(show) = self.show_id(*trip, *date) else {
                        continue;
                    };
                    let is_named = |pattern: &String| matches(pattern, show.as_str());
                    if !patterns.iter().any(is_named) {
                        continue;
                    }
                    let trip_details = &self.trips[*trip as usize];
                    let free = match self.next_call(trip_details, *start, now_ms) {
                        Some(0) => *seat_count,
                        Some(call) => self.seats_from(trip_details, call),
                        None => 0,
                    };
                    if free > 0 || *date >= today {
                        let gone = seat_count - free;
                        each(DepartureOnSale { show, free, gone });
                    }
                }
            }
        }
    }

    /// Returns the first call that the train has not left at a moment.
    fn next_call(&self, trip: &Trip, start: Timestamp, now_ms: i64) -> Option<usize> {
        let leaves_later = |stop: &TripStop| {
            stop.departs.is_some_and(|seconds| {
                add_seconds(start, seconds + trip.shift_s).as_millisecond() > now_ms
            })
        };
        self.stops(trip).iter().position(leaves_later)
    }

    /// Counts the seats that can be sold over a stretch that begins at `call` or later.
    fn seats_from(&self, trip: &Trip, call: usize) -> u32 {
        let stock = &self.stocks[usize::from(trip.stock)];
        let calls = u16::try_from(self.stops(trip).len()).unwrap_or(u16::MAX);
        let first = u16::try_from(call).unwrap_or(u16::MAX);
        let is_offered = |class: u16| {
            let mut stretches =
                (first..calls).flat_map(|from| (from + 1..calls).map(move |to| (from, to)));
            stretches.any(|(from, to)| self.fare(trip, class, from, to).is_some())
        };
        let classes = (0_u16..).zip(&self.classes);
        let offered = classes.filter(|(at, _)| is_offered(*at));
        offered.map(|(_, class)| stock.capacity(&class.key)).sum()
    }
}

/// Returns whether a pattern may name departures of a train, judging by the text before its first
/// star.
fn may_name(pattern: &str, train: &str) -> bool {
    let fixed = pattern.split('*').next().unwrap_or_default();
    match fixed.strip_prefix(train) {
        Some(rest) => rest.is_empty() || rest.starts_with('-'),
        None => fixed.len() < pattern.len() && train.starts_with(fixed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_may_name_the_trains_that_fit_its_text_before_the_star() {
        for (pattern, train, may) in [
            ("*", "g1", true),
            ("g*", "g1", true),
            ("g1-*", "g1", true),
            ("g1-2027-01-*", "g1", true),
            ("g1-2027-01-10", "g1", true),
            ("g1*", "g1", true),
            ("g1-*", "g12", false),
            ("g12-*", "g1", false),
            ("k*", "g1", false),
            ("g", "g1", false),
        ] {
            assert_eq!(may_name(pattern, train), may, "{pattern} {train}");
        }
    }
}

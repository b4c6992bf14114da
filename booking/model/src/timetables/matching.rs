//! Matches the departures that somebody touched with a new timetable. A departure that matches
//! keeps its id, so its seats are never sold a second time under another id.
//!
//! A departure is the same if its number, its date and every stop between which something is sold
//! stay, and it leaves within [`APART_MAX`]. If the new timetable has no train of its number on
//! that date, the line takes the place of the number, for trains whose number is new. Matches are
//! one to one. Where two ways to match are possible, none is taken: a person decides. A train that
//! may have lost a stop is such a second way.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use super::{Timetable, Trip};
use crate::ids::ShowId;
use crate::runs::{StationCall, TrainRun};

/// How far a departure may move and still be the same one.
pub const APART_MAX: SignedDuration = SignedDuration::from_mins(60);

/// A departure that somebody touched, as it was sold.
#[derive(Debug, Clone, Copy)]
pub struct SoldDeparture<'a> {
    /// Its show.
    pub show: &'a ShowId,
    /// Its stops and times.
    pub run: &'a TrainRun,
    /// The stretches over which something is sold.
    pub stretches: &'a BTreeSet<(u16, u16)>,
}

/// What became of a departure in the new timetable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchOutcome {
    /// It is this trip, by its index, on the same date.
    Same(u32),
    /// No trip is surely the same. Has the trips that may be, by their indices.
    Unsure(Vec<u32>),
}

/// Finds each of the departures in the new timetable. Departures that the earlier timetable does
/// not have are left out: it was decided before what becomes of them.
#[must_use]
pub fn match_departures(
    earlier: &Timetable,
    new: &Timetable,
    sold: &[SoldDeparture<'_>],
) -> BTreeMap<ShowId, MatchOutcome> {
    let mut by_date: BTreeMap<Date, (BTreeSet<u32>, Vec<Old<'_>>)> = BTreeMap::new();
    for departure in sold {
        let Some((trip, date)) = earlier.trip_of_show(departure.show) else {
            continue;
        };
        let details = &earlier.trips[trip as usize];
        let old = Old::of_trip(details, departure.run.calls.clone(), Some(*departure));
        let (trips, touched) = by_date.entry(date).or_default();
        trips.insert(trip);
        touched.push(old);
    }
    let mut outcomes = BTreeMap::new();
    for (date, (trips, touched)) in by_date {
        let untouched = earlier.trips_on(date).filter(|at| !trips.contains(at));
        let untouched = untouched.filter(|at| {
            let trip = &earlier.trips[*at as usize];
            touched.iter().any(|old| old.is_near(trip))
        });
        let untouched = untouched.map(|at| {
            let calls = earlier.calls_on_date(at, date);
            Old::of_trip(&earlier.trips[at as usize], calls, None)
        });
        let day = DayMatch {
            untouched: untouched.collect(),
            trips: trips_near(new, date, &touched),
            new,
            touched,
        };
        outcomes.extend(day.outcomes());
    }
    outcomes
}

/// Finds the trips of the new timetable that may be a departure which goes on as it was sold. Its
/// seats might be sold twice if these trips were sold.
#[must_use]
pub fn possible_trips(new: &Timetable, line: &str, sold: SoldDeparture<'_>) -> Vec<u32> {
    let old = Old {
        train: &sold.run.train,
        has_number: true,
        trip_id: "",
        line,
        calls: sold.run.calls.clone(),
        sold: Some(sold),
    };
    let day = DayMatch {
        trips: trips_near(new, sold.run.date, std::slice::from_ref(&old)),
        new,
        touched: Vec::new(),
        untouched: Vec::new(),
    };
    let possible = day.candidates(&old, &day.trips.keys().copied().collect());
    if !possible.is_empty() {
        return possible;
    }
    // A train at the same times may be the same one, with another number on another line.
    let date = sold.run.date;
    let is_same = |at: &u32| have_same_times(&sold.run.calls, &new.calls_on_date(*at, date));
    new.trips_on(date).filter(is_same).collect()
}

/// A departure of the earlier timetable.
struct Old<'a> {
    train: &'a str,
    /// Whether that is a number of its own.
    has_number: bool,
    trip_id: &'a str,
    line: &'a str,
    calls: Vec<StationCall>,
    /// What is sold of it; `None` if nobody touched it.
    sold: Option<SoldDeparture<'a>>,
}

impl<'a> Old<'a> {
    fn of_trip(trip: &'a Trip, calls: Vec<StationCall>, sold: Option<SoldDeparture<'a>>) -> Self {
        Self {
            train: &trip.train,
            has_number: trip.has_number(),
            trip_id: &trip.id,
            line: &trip.line,
            calls,
            sold,
        }
    }
}

impl Old<'_> {
    fn is_same_number(&self, trip: &Trip) -> bool {
        self.train == trip.train
    }

    fn is_same_line(&self, trip: &Trip) -> bool {
        !self.line.is_empty() && self.line == trip.line
    }

    fn is_same_number_and_id(&self, trip: &Trip) -> bool {
        self.is_same_number(trip) && self.trip_id == trip.id
    }

    fn is_near(&self, trip: &Trip) -> bool {
        self.is_same_number(trip) || self.is_same_line(trip)
    }

    /// Returns whether the new trip calls at the same stations at the same times, and goes by the
    /// same number. For trains without numbers, the line must be the same instead.
    fn is_unchanged_as(&self, trip: &Trip, calls: &[StationCall]) -> bool {
        let is_same_name =
            self.is_same_number(trip) || (!self.has_number && self.is_same_line(trip));
        is_same_name && have_same_times(&self.calls, calls)
    }

    /// Returns whether some ride of the departure is possible on the new calls, at most
    /// [`APART_MAX`] earlier or later. Such a train may be the same, with other stops.
    fn is_near_in_time(&self, calls: &[StationCall]) -> bool {
        self.calls.iter().enumerate().any(|(at, from)| {
            let mut later = self.calls[at + 1..].iter();
            later.any(|to| leaves_within(from, to, calls))
        })
    }

    /// Returns whether all that is sold of the departure can be ridden on the new calls, each ride
    /// at most [`APART_MAX`] earlier or later.
    fn fits(&self, calls: &[StationCall]) -> bool {
        let mut stretches = self.sold.iter().flat_map(|sold| sold.stretches);
        stretches.all(|(from, to)| {
            let ends = (
                self.calls.get(usize::from(*from)),
                self.calls.get(usize::from(*to)),
            );
            let (Some(from), Some(to)) = ends else {
                return false;
            };
            leaves_within(from, to, calls)
        })
    }
}

/// Returns whether the calls have a ride between the stations of two earlier calls, and leave the
/// first of them at most [`APART_MAX`] earlier or later than it did.
fn leaves_within(from: &StationCall, to: &StationCall, calls: &[StationCall]) -> bool {
    calls.iter().enumerate().any(|(at, call)| {
        let mut later = calls[at + 1..].iter();
        is_near_call(from, call)
            && later.any(|call| call.station == to.station && !call.no_alighting)
    })
}

/// Returns whether one may get on at a call, at the station of an earlier one, and it leaves at
/// most [`APART_MAX`] earlier or later than that.
fn is_near_call(earlier: &StationCall, call: &StationCall) -> bool {
    let apart = |left: Timestamp| Some(leaves(call)?.duration_since(left).abs());
    call.station == earlier.station
        && !call.no_boarding
        && leaves(earlier)
            .and_then(apart)
            .is_some_and(|apart| apart <= APART_MAX)
}

fn leaves(call: &StationCall) -> Option<Timestamp> {
    call.departs.or(call.arrives)
}

/// Returns whether two lists of calls have the same stations, times and rules.
fn have_same_times(one: &[StationCall], other: &[StationCall]) -> bool {
    let is_same = |(one, other): (&StationCall, &StationCall)| {
        (one.arrives, one.departs) == (other.arrives, other.departs)
            && (one.no_boarding, one.no_alighting) == (other.no_boarding, other.no_alighting)
            && one.station == other.station
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// The departures of one date, in the earlier and in the new timetable.
struct DayMatch<'a> {
    new: &'a Timetable,
    touched: Vec<Old<'a>>,
    /// Departures that nobody touched, of the numbers and lines of those that somebody did.
    untouched: Vec<Old<'a>>,
    /// The trips of the new timetable that run on the date and have one of these numbers or lines.
    trips: BTreeMap<u32, Vec<StationCall>>,
}

/// Returns the trips that run on a date and have the number or the line of one of the departures,
/// with their calls.
fn trips_near(new: &Timetable, date: Date, olds: &[Old<'_>]) -> BTreeMap<u32, Vec<StationCall>> {
    let is_near = |at: &u32| {
        let trip = &new.trips[*at as usize];
        olds.iter().any(|old| old.is_near(trip))
    };
    let trips = new.trips_on(date).filter(is_near);
    trips.map(|at| (at, new.calls_on_date(at, date))).collect()
}

impl<'a> DayMatch<'a> {
    fn trip(&self, at: u32) -> &'a Trip {
        &self.new.trips[at as usize]
    }

    fn outcomes(&self) -> Vec<(ShowId, MatchOutcome)> {
        let mut same = self.unchanged();
        let taken: BTreeSet<u32> = same.values().copied().collect();
        let goes_on = |at: &u32| {
            let calls = &self.trips[at];
            let is_it = |old: &Old<'_>| old.is_unchanged_as(self.trip(*at), calls);
            self.untouched.iter().any(is_it)
        };
        let open: BTreeSet<u32> = self
            .trips
            .keys()
            .copied()
            .filter(|at| !taken.contains(at) && !goes_on(at))
            .collect();
        let left = self.touched.iter().enumerate();
        let left: Vec<(usize, Vec<u32>)> = left
            .filter(|(index, _)| !same.contains_key(index))
            .map(|(index, old)| (index, self.rivals(old, &open)))
            .collect();
        let is_gone = |old: &&Old<'_>| self.alike(old).next().is_none();
        let others = self.untouched.iter().filter(is_gone);
        let others = others.map(|old| (old, self.rivals(old, &open)));
        let touched = left
            .iter()
            .map(|(index, candidates)| (&self.touched[*index], candidates.clone()));
        let searching: Vec<(&Old<'_>, Vec<u32>)> = others.chain(touched).collect();
        // A train that moved far may still be the one whose number and id the trip has.
        let may_be = |(old, candidates): &&(&Old<'_>, Vec<u32>), at: u32| {
            candidates.contains(&at) || old.is_same_number_and_id(self.trip(at))
        };
        let claims = |at: u32| searching.iter().filter(|one| may_be(one, at)).count();
        let mut unsure = BTreeMap::new();
        for (index, candidates) in left {
            match candidates[..] {
                [only] if claims(only) == 1 && self.touched[index].fits(&self.trips[&only]) => {
                    same.insert(index, only);
                }
                _ => {
                    unsure.insert(index, candidates);
                }
            }
        }
        let outcome = |(index, old): (usize, &Old<'_>)| {
            let found = same.get(&index).map(|at| MatchOutcome::Same(*at));
            let found = found
                .or_else(|| unsure.get(&index).cloned().map(MatchOutcome::Unsure))
                .unwrap_or(MatchOutcome::Unsure(Vec::new()));
            old.sold.map(|sold| (sold.show.clone(), found))
        };
        self.touched
            .iter()
            .enumerate()
            .filter_map(outcome)
            .collect()
    }

    /// Matches the touched departures whose calls did not change at all. Several that are alike are
    /// matched by the ids of their trips. The rest is matched in any order, since nobody could tell
    /// them apart, but only if there is a trip for each of them.
    fn unchanged(&self) -> BTreeMap<usize, u32> {
        let mut same = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (index, old) in self.touched.iter().enumerate() {
            let found = self.alike(old).find(|at| self.trip(*at).id == old.trip_id);
            if let Some(at) = found.filter(|at| taken.insert(*at)) {
                same.insert(index, at);
            }
        }
        let by_id = same.clone();
        for (index, old) in self.touched.iter().enumerate() {
            let open: Vec<u32> = self.alike(old).filter(|at| !taken.contains(at)).collect();
            let Some(first) = open.first().filter(|_| !same.contains_key(&index)) else {
                continue;
            };
            let is_rival = |(index, old): &(usize, &Old<'_>)| {
                !by_id.contains_key(index) && self.alike(old).any(|at| at == *first)
            };
            let rivals = self.touched.iter().enumerate().filter(is_rival);
            let rivals = rivals
                .filter(|(index, _)| !same.contains_key(index))
                .count();
            if rivals <= open.len() {
                taken.insert(*first);
                same.insert(index, *first);
            }
        }
        same
    }

    /// Returns the trips whose calls are those of a departure of the earlier timetable.
    fn alike<'s>(&'s self, old: &'s Old<'_>) -> impl Iterator<Item = u32> + 's {
        let alike = self
            .trips
            .iter()
            .filter(|(at, calls)| old.is_unchanged_as(self.trip(**at), calls));
        alike.map(|(at, _)| *at)
    }

    /// Returns the open trips that may be this departure. Not everything that is sold of it can be
    /// ridden on each of them, because it may have lost stops.
    fn candidates(&self, old: &Old<'_>, open: &BTreeSet<u32>) -> Vec<u32> {
        let mut of_number = self
            .trips
            .keys()
            .filter(|at| old.is_same_number(self.trip(**at)));
        let is_number_known = of_number.next().is_some();
        let by_number = is_number_known && (old.has_number || self.keeps_ids());
        let may_be = |at: &&u32| {
            let trip = self.trip(**at);
            let by_line = !by_number && old.is_same_line(trip) && !self.is_known_number(trip);
            let is_named = old.is_same_number(trip) || by_line;
            is_named && old.is_near_in_time(&self.trips[*at])
        };
        open.iter().filter(may_be).copied().collect()
    }

    /// Returns the candidates, and the open trips that may be this departure with another number,
    /// although there is a train of its number: they keep its id or all its times.
    fn rivals(&self, old: &Old<'_>, open: &BTreeSet<u32>) -> Vec<u32> {
        let mut rivals: BTreeSet<u32> = self.candidates(old, open).into_iter().collect();
        rivals.extend(open.iter().filter(|at| {
            let (trip, calls) = (self.trip(**at), &self.trips[*at]);
            let is_alike = old.trip_id == trip.id || have_same_times(&old.calls, calls);
            let is_renumbered = old.has_number && !self.is_known_number(trip);
            is_alike && is_renumbered && old.is_same_line(trip) && old.is_near_in_time(calls)
        }));
        rivals.into_iter().collect()
    }

    /// Returns whether a departure of the earlier timetable had the number of a new trip. Such a
    /// trip is no train that got another number.
    fn is_known_number(&self, trip: &Trip) -> bool {
        let mut olds = self.touched.iter().chain(&self.untouched);
        olds.any(|old| old.has_number && old.is_same_number(trip))
    }

    /// Returns whether trips keep their ids, as far as departures without numbers show it whose
    /// calls did not change. Some feeds give all ids anew with each edition, to other trains.
    fn keeps_ids(&self) -> bool {
        let olds = self.touched.iter().chain(&self.untouched);
        let mut unnumbered = olds.filter(|old| !old.has_number);
        unnumbered.all(|old| {
            let mut alike = self.alike(old).peekable();
            alike.peek().is_none() || alike.any(|at| self.trip(at).id == old.trip_id)
        })
    }
}

#[cfg(test)]
mod tests;

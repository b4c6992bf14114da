//! Says why the new timetable does not surely have a departure, and names the trains that a person
//! may choose for it, by the ids that a choice takes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use fairgate_model::counted::{counted, first_names};
use fairgate_model::ids::ShowId;
use fairgate_model::runs::TrainRun;
use fairgate_model::runs::recut::Recut;
use fairgate_model::timetables::APART_MAX;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::Succession;
use crate::ledger::TouchedDeparture;

/// A train that leaves so much earlier or later is told with its dates and the hours between,
/// because its time of day alone misleads.
const HALF_A_DAY: SignedDuration = SignedDuration::from_hours(12);
/// How many trains of the number, and of the line, are named.
const NAMED_MAX: usize = 3;

/// A departure that is looked for in the new timetable.
#[derive(Clone, Copy)]
pub(super) struct SoughtDeparture<'a> {
    pub departure: &'a TouchedDeparture,
    pub run: &'a TrainRun,
    /// Its service date.
    pub date: Date,
}

impl SoughtDeparture<'_> {
    /// Returns the rides that are sold, or the whole way if none is.
    fn rides(&self) -> Vec<Range<u16>> {
        let stretches = self.departure.stretches.iter();
        let rides: Vec<Range<u16>> = stretches.map(|(from, to)| *from..*to).collect();
        if rides.is_empty() {
            return std::iter::once(0..self.run.leg_count()).collect();
        }
        rides
    }
}

/// A train of the new timetable that a person may choose for a departure.
struct TrainToChoose {
    id: ShowId,
    /// By how much it leaves the first stop of a ride that is sold earlier or later. `None` if it
    /// does not have all rides that are sold.
    apart: Option<SignedDuration>,
    /// When it leaves there, or which ride it does not have.
    about: String,
}

impl TrainToChoose {
    fn is_near(&self) -> bool {
        self.apart.is_some_and(|apart| apart <= APART_MAX)
    }

    fn is_far(&self) -> bool {
        self.apart.is_some_and(|apart| apart > APART_MAX)
    }
}

impl Succession<'_> {
    /// Says why no trip is surely a departure, though `trips` may be. The trips that are `taken`
    /// are other departures.
    pub(super) fn unsure_why(
        &self,
        sought: SoughtDeparture<'_>,
        trips: &[u32],
        taken: &BTreeMap<(u32, Date), ShowId>,
    ) -> String {
        let trains = trips.iter().filter_map(|at| self.train(sought, *at));
        let mut trains: Vec<TrainToChoose> = trains.collect();
        let others = || self.other_trains(sought, trips, taken);
        match (trips, &mut trains[..]) {
            ([trip], [only]) => {
                let TrainToChoose { id, about, .. } = &*only;
                let begins = format!("only {id} of the new timetable may be the same, and");
                let same = self.same(sought.departure, sought.run, (*trip, sought.date));
                match same {
                    Err(why) => format!("{begins} {why}{}", others()),
                    Ok(_) if only.is_far() => format!("{begins} it {about}{}", others()),
                    Ok(_) => format!(
                        "only {id} ({about}) of the new timetable may be the same, and that may also be another departure"
                    ),
                }
            }
            (_, []) => format!(
                "the new timetable has no train that may be the same{}",
                others()
            ),
            (_, trains) => {
                let count = counted(trains.len(), "departure", "departures");
                let list = listed(trains, usize::MAX);
                format!("{count} of the new timetable may be the same: {list}")
            }
        }
    }

    /// Lists other trains of the departure's number, and trains of its line that leave within an
    /// hour.
    fn other_trains(
        &self,
        sought: SoughtDeparture<'_>,
        named: &[u32],
        taken: &BTreeMap<(u32, Date), ShowId>,
    ) -> String {
        let Some((earlier, date)) = self.earlier.trip_of_show(&sought.departure.show.id) else {
            return String::new();
        };
        let earlier = &self.earlier.trips[earlier as usize];
        let (mut of_number, mut of_line) = (Vec::new(), Vec::new());
        for at in self.new.trips_on(date) {
            let trip = &self.new.trips[at as usize];
            let is_number = trip.train == earlier.train;
            let is_line = !earlier.line.is_empty() && trip.line == earlier.line;
            let is_open = |at| {
                let is_other = taken.contains_key(&(at, date)) || self.is_chosen((at, date));
                !is_other && !named.contains(&at)
            };
            if is_number && is_open(at) {
                of_number.extend(self.train(sought, at));
            } else if is_line && !is_number && self.is_near(sought, at) && is_open(at) {
                of_line.extend(self.train(sought, at).filter(TrainToChoose::is_near));
            }
        }
        let mut told = String::new();
        if !of_number.is_empty() {
            let list = listed(&mut of_number, NAMED_MAX);
            told += &format!("; {} on that day: {list}", earlier.train);
        }
        if !of_line.is_empty() {
            let list = listed(&mut of_line, NAMED_MAX);
            told += &format!("; of the line {} within an hour: {list}", earlier.line);
        }
        told
    }

    /// Returns whether a trip leaves the station of the first sold ride within an hour. This is
    /// quicker than to find all rides.
    fn is_near(&self, sought: SoughtDeparture<'_>, trip: u32) -> bool {
        let rides = sought.rides();
        let from = rides.first().map_or(0, |ride| ride.start);
        let Some(from) = sought.run.calls.get(usize::from(from)) else {
            return false;
        };
        let left = from.departs.or(from.arrives);
        let calls = self.new.calls_on_date(trip, sought.date);
        calls.iter().any(|call| {
            let leaves = call.departs.or(call.arrives);
            let near = |(left, leaves)| apart(left, leaves) <= APART_MAX;
            call.station == from.station && left.zip(leaves).is_some_and(near)
        })
    }

    /// Returns a trip of the new timetable as a train that a person may choose.
    fn train(&self, sought: SoughtDeparture<'_>, trip: u32) -> Option<TrainToChoose> {
        let SoughtDeparture { run, date, .. } = sought;
        let later = TrainRun {
            train: self.new.trips[trip as usize].train.clone(),
            date,
            time_zone: Some(self.new.timezone.clone()),
            calls: self.new.calls_on_date(trip, date),
            fares: Arc::clone(&run.fares),
        };
        let recut = Recut {
            earlier: run,
            later: &later,
        };
        let rides = sought.rides();
        let id = self.new.show_id(trip, date)?;
        if let Some(lost) = rides.iter().find(|legs| !recut.can_be_ridden(legs)) {
            let name = |at: u16| &run.calls[usize::from(at)].name;
            let (from, to) = (name(lost.start), name(lost.end));
            return Some(TrainToChoose {
                id,
                apart: None,
                about: format!("does not surely have the ride from {from} to {to}"),
            });
        }
        let times = |legs: &Range<u16>| {
            let later_legs = recut.legs(legs)?;
            let times = (run.departs_at(legs)?, later.departs_at(&later_legs)?);
            Some((later_legs.start, times))
        };
        let mut rides = rides.iter().filter_map(times);
        let first = rides.next()?;
        let is_far =
            |(_, (left, leaves)): &(u16, (Timestamp, Timestamp))| apart(*left, *leaves) > APART_MAX;
        let far = rides.find(is_far).filter(|_| !is_far(&first));
        let (call, (left, leaves)) = far.unwrap_or(first);
        Some(TrainToChoose {
            id,
            apart: Some(apart(left, leaves)),
            about: leaving(&later, call, (left, leaves)),
        })
    }
}

fn apart(left: Timestamp, leaves: Timestamp) -> SignedDuration {
    leaves.duration_since(left).abs()
}

/// Says when a run leaves a call, and when the departure left there as it was sold, by the clocks
/// of the station.
fn leaving(run: &TrainRun, call: u16, (left, leaves): (Timestamp, Timestamp)) -> String {
    let call = &run.calls[usize::from(call)];
    let zone = run.zone_at(call).unwrap_or("UTC");
    let local = |moment: Timestamp| {
        let zoned = moment.in_tz(zone);
        zoned.unwrap_or_else(|_| moment.to_zoned(jiff::tz::TimeZone::UTC))
    };
    let (was, is) = (local(left), local(leaves));
    let has_other_date = was.date() != is.date() || apart(left, leaves) >= HALF_A_DAY;
    let time = |at: &Zoned| {
        let pattern = if has_other_date {
            "%H:%M on %Y-%m-%d"
        } else {
            "%H:%M"
        };
        at.strftime(pattern).to_string()
    };
    let told = format!("leaves {} at {}", call.name, time(&is));
    if left == leaves {
        return told;
    }
    if apart(left, leaves) < HALF_A_DAY {
        return format!("{told} instead of {}", time(&was));
    }
    let hours = apart(left, leaves).as_hours();
    let way = if leaves < left { "earlier" } else { "later" };
    format!("{told}, {hours} h {way}, instead of {}", time(&was))
}

/// Lists trains with what there is to know about each, the nearest first. Counts those after the
/// first few.
fn listed(trains: &mut [TrainToChoose], named_max: usize) -> String {
    trains.sort_by_key(|train| {
        (
            Reverse(train.apart.is_some()),
            train.apart,
            train.id.clone(),
        )
    });
    let told = |train: &TrainToChoose| format!("{} ({})", train.id, train.about);
    let trains: Vec<String> = trains.iter().map(told).collect();
    first_names(&trains, named_max)
}

//! Expands headways. A trip that departs at equal intervals becomes several trips, one for each
//! departure. All these trips share one list of calls.

use std::path::Path;

use super::draft::{FeedNameIndex, TimetableDraft, TripDetails};
use super::optional::has_table;
use super::table::{RailFeedFaults, each_line};
use super::value::{integer_column, time_column};

const FILE: &str = "frequencies.txt";

/// How many departures the headways of a feed may make together.
const DEPARTURES_MAX: usize = 200_000;

/// One headway: its first departure, its end, the seconds between two departures, and its line in
/// the file. The last train departs before the end.
struct Headway {
    from: u32,
    to: u32,
    every: u32,
    line: u64,
}

/// Replaces each trip that has headways with one trip for each departure.
pub fn expand_headways(
    folder: &Path,
    draft: &mut TimetableDraft,
    trips: &FeedNameIndex,
    faults: &RailFeedFaults,
) {
    if !has_table(folder, FILE) {
        return;
    }
    let mut headways = read_headways(folder, draft.trips.len(), trips, faults);
    // A trip that is left out must not become many trips that are left out.
    for (headways, calls) in headways.iter_mut().zip(&draft.calls) {
        if calls.left_out.is_some() {
            headways.clear();
        }
    }
    let departures = headways.iter().flatten();
    let departures =
        departures.map(|headway| (headway.to - headway.from).div_ceil(headway.every) as usize);
    if departures.sum::<usize>() > DEPARTURES_MAX {
        let message = format!("its headways make more than {DEPARTURES_MAX} departures");
        faults.add(FILE, 0, "too_many_departures", message);
    } else if faults.is_empty() {
        multiply(draft, &headways);
    }
}

/// Reads the headways of each of `count` trips.
fn read_headways(
    folder: &Path,
    count: usize,
    trips: &FeedNameIndex,
    faults: &RailFeedFaults,
) -> Vec<Vec<Headway>> {
    let mut headways: Vec<Vec<Headway>> = Vec::new();
    headways.resize_with(count, Vec::new);
    let columns = ["trip_id", "start_time", "end_time", "headway_secs"];
    each_line(folder, FILE, &columns, faults, |line| {
        let trip = line.needed("trip_id");
        let trip = trip.and_then(|id| trips.resolve_name(line, "trip", id));
        let needed = |column| {
            let seconds = time_column(line, column).ok()?;
            if seconds.is_none() {
                line.fault("missing_value", format!("{column} is empty"));
            }
            seconds
        };
        let (from, to) = (needed("start_time"), needed("end_time"));
        let every = integer_column(line, "headway_secs");
        let (Some(trip), Some(from), Some(to), Some(every)) = (trip, from, to, every) else {
            return;
        };
        if every == 0 {
            line.fault("bad_number", "headway_secs is 0; it must be at least 1");
            return;
        }
        if to <= from {
            line.fault("decreasing_time", "end_time is not after start_time");
            return;
        }
        let of_trip = &mut headways[trip as usize];
        let overlaps = |other: &&Headway| other.from < to && from < other.to;
        if let Some(other) = of_trip.iter().find(overlaps) {
            let message = format!("it overlaps the headway in line {}", other.line);
            line.fault("overlapping_headway", message);
            return;
        }
        of_trip.push(Headway {
            from,
            to,
            every,
            line: line.number,
        });
    });
    headways
}

fn multiply(draft: &mut TimetableDraft, headways: &[Vec<Headway>]) {
    let trips = std::mem::take(&mut draft.trips);
    let details = std::mem::take(&mut draft.details);
    for ((trip, details), headways) in trips.into_iter().zip(details).zip(headways) {
        if headways.is_empty() {
            draft.trips.push(trip);
            draft.details.push(details);
            continue;
        }
        draft.calls[trip.pattern as usize].begin_at_zero();
        for headway in headways {
            for at in (headway.from..headway.to).step_by(headway.every as usize) {
                let (hours, minutes, seconds) = (at / 3_600, at / 60 % 60, at % 60);
                let mut departure = trip.clone();
                departure.shift_s = at;
                departure.id = format!("{}-{hours:02}{minutes:02}{seconds:02}", trip.id);
                departure.train = format!("{}-{hours:02}{minutes:02}", trip.train);
                draft.trips.push(departure);
                draft.details.push(TripDetails {
                    line: details.line,
                    kinds: details.kinds.clone(),
                    calls: None,
                    route: details.route,
                    line_name: String::new(),
                });
            }
        }
    }
}

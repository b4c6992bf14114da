//! The calls of a trip while they are being read. Their lines may come in any order. The number of
//! each call says where it belongs.

use fairgate_model::timetables::geo::metres;
use fairgate_model::timetables::{Station, TripStop};

use super::left_out::LeftOutReason;
use super::table::RailFeedFaults;

/// The calls of a trip that were read so far.
#[derive(Debug, Default)]
pub struct TripCalls {
    /// The calls in the order of their lines, each with its line.
    read: Vec<(TripStop, u64)>,
    /// The calls in the order of travel. Empty until [`Self::put_in_order`].
    pub stops: Vec<TripStop>,
    /// Whether a call of the trip could not be read. If so, the trip as a whole is not checked.
    pub broken: bool,
    /// Why the trip is left out, if it cannot be sold.
    pub left_out: Option<LeftOutReason>,
}

impl TripCalls {
    /// Adds the call of a line.
    pub fn add(&mut self, line: u64, stop: TripStop) {
        self.read.push((stop, line));
    }

    /// Puts the calls in the order of their numbers. Adds a fault for each number that is used
    /// twice and for each time that goes backwards. `file` is the file of the calls.
    pub fn put_in_order(&mut self, trip: &str, file: &str, faults: &RailFeedFaults) {
        let mut read = std::mem::take(&mut self.read);
        read.sort_by_key(|(stop, line)| (stop.sequence, *line));
        let mut latest = (0, 0);
        for at in 0..read.len() {
            let (stop, line) = read[at];
            if let Some((before, first)) = at.checked_sub(1).map(|before| read[before])
                && before.sequence == stop.sequence
            {
                let message = format!(
                    "stop_sequence {} of trip {trip:?} is already in line {first}",
                    stop.sequence
                );
                faults.add(file, line, "duplicate_sequence", message);
                continue;
            }
            for (kind, time) in [("arrival", stop.arrives), ("departure", stop.departs)] {
                let Some(time) = time else { continue };
                let (latest_time, of_line) = latest;
                if time < latest_time {
                    let message = format!(
                        "the {kind} at {} is before the previous time of trip {trip:?}: {} in line \
                         {of_line}",
                        clock_text(time),
                        clock_text(latest_time)
                    );
                    faults.add(file, line, "decreasing_time", message);
                } else {
                    latest = (time, line);
                }
            }
        }
        self.stops = read.into_iter().map(|(stop, _)| stop).collect();
    }

    /// Moves all times so that the first departure is at 0.
    pub fn begin_at_zero(&mut self) {
        let first = self.stops.first().and_then(|stop| stop.departs);
        let first = first.unwrap_or_default();
        for stop in &mut self.stops {
            stop.arrives = stop.arrives.map(|time| time.saturating_sub(first));
            stop.departs = stop.departs.map(|time| time.saturating_sub(first));
        }
    }

    /// Measures the distances along great circles from call to call.
    pub fn measure_distances(&mut self, stations: &[Station]) {
        let point = |stop: &TripStop| {
            let station = &stations[stop.station as usize];
            (station.lon, station.lat)
        };
        let stops = &mut self.stops;
        let mut travelled_m = 0_u32;
        for at in 1..stops.len() {
            travelled_m =
                travelled_m.saturating_add(metres(point(&stops[at - 1]), point(&stops[at])));
            stops[at].at_m = travelled_m;
        }
    }

    /// Fills in missing times. If a call has only an arrival or only a departure, it gets the same
    /// time for both. If a call has neither, both are computed from the distances to the nearest
    /// calls with times. Afterwards the first call has no arrival, and the last call has no
    /// departure. If the first or the last call has no time, the error names the missing time.
    pub fn fill_in_times(&mut self) -> Result<(), &'static str> {
        let stops = &mut self.stops;
        for stop in stops.iter_mut() {
            stop.arrives = stop.arrives.or(stop.departs);
            stop.departs = stop.departs.or(stop.arrives);
        }
        if stops.first().is_none_or(|stop| stop.departs.is_none()) {
            return Err("departure at its first call");
        }
        if stops.last().is_none_or(|stop| stop.arrives.is_none()) {
            return Err("arrival at its last call");
        }
        let mut from = 0;
        for to in 1..stops.len() {
            let (start, end) = (stops[from], stops[to]);
            let (Some(begins), Some(ends)) = (start.departs, end.arrives) else {
                continue;
            };
            let distance_m = u64::from(end.at_m.saturating_sub(start.at_m)).max(1);
            for stop in &mut stops[from + 1..to] {
                let part = u64::from(stop.at_m.saturating_sub(start.at_m)).min(distance_m);
                let after = u64::from(ends.saturating_sub(begins)) * part / distance_m;
                let time = begins + u32::try_from(after).unwrap_or(0);
                (stop.arrives, stop.departs) = (Some(time), Some(time));
            }
            from = to;
        }
        stops[0].arrives = None;
        if let Some(last) = stops.last_mut() {
            last.departs = None;
        }
        Ok(())
    }
}

fn clock_text(seconds: u32) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

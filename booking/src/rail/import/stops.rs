//! The stops of a GTFS feed: stations, and the platforms that belong to them.

use std::collections::HashMap;
use std::path::Path;

use fairgate_model::timetables::Station;

use super::draft::{FeedNameIndex, TimetableDraft};
use super::table::{FeedTableLine, RailFeedFaults, each_line};
use super::value::{degrees, optional_flag_column, zone_name};

const STOPS: &str = "stops.txt";
/// The value of `location_type` for a station. Lower is a platform, or a stop without platforms.
const STATION: u8 = 1;

/// Reads the stops. The returned names map the id of each station and platform to the station's
/// index. Also returns the fare zone of each station. The zone of a station's clocks is kept if it
/// is not `timezone`, that of the agency.
pub fn read_stops(
    folder: &Path,
    timezone: &str,
    draft: &mut TimetableDraft,
    faults: &RailFeedFaults,
) -> (FeedNameIndex, Vec<String>) {
    let mut stops = GtfsStops::default();
    let columns = ["stop_id", "stop_name", "stop_lat", "stop_lon"];
    let read = each_line(folder, STOPS, &columns, faults, |line| {
        stops.read_line(line, timezone, draft);
    });
    stops.attach_platforms(draft, faults);
    stops.names.incomplete = !read;
    (stops.names, stops.zones)
}

/// A line of the file. A platform's line names its station, so it is set aside until all stations
/// are known.
struct GtfsStopRow {
    line: u64,
    id: String,
    parent: String,
    zone: String,
}

/// The stops that were read so far.
#[derive(Default)]
struct GtfsStops {
    /// Stations by their own ids and the ids of their platforms.
    names: FeedNameIndex,
    /// The ids of all lines read so far, so that an id that is used twice is reported.
    ids: FeedNameIndex,
    /// Stations by their own ids.
    stations: HashMap<String, u32>,
    /// The fare zone of each station.
    zones: Vec<String>,
    platforms: Vec<GtfsStopRow>,
}

impl GtfsStops {
    /// Adds a station to the draft, or sets a platform aside for [`Self::attach_platforms`]. A
    /// platform has the clocks of its station, whatever its line says.
    fn read_line(&mut self, line: &FeedTableLine<'_>, timezone: &str, draft: &mut TimetableDraft) {
        // A stop of an unknown type is still added, so that no other line reports it as missing.
        let kind = optional_flag_column(line, "location_type", 0..=4).unwrap_or_default();
        // No train calls at entrances, passages and boarding areas.
        if kind > STATION {
            return;
        }
        let Some(id) = line.needed("stop_id") else {
            return;
        };
        let name = line.needed("stop_name").unwrap_or_default();
        let (lon, lat) = (
            degrees(line, "stop_lon", 180.0),
            degrees(line, "stop_lat", 90.0),
        );
        let time_zone = Some(line.get("stop_timezone")).filter(|zone| !zone.is_empty());
        let time_zone = time_zone.and_then(|zone| zone_name(line, zone));
        let nth = u32::try_from(self.platforms.len() + self.stations.len()).unwrap_or(u32::MAX);
        if !self.ids.register_name(line, "stop", id, nth) {
            return;
        }
        let place = GtfsStopRow {
            line: line.number,
            id: id.to_owned(),
            parent: line.get("parent_station").to_owned(),
            zone: line.get("zone_id").to_owned(),
        };
        if kind != STATION && !place.parent.is_empty() {
            self.platforms.push(place);
            return;
        }
        let at = u32::try_from(draft.stations.len()).unwrap_or(u32::MAX);
        self.names.register_name(line, "stop", id, at);
        self.stations.insert(place.id, at);
        self.zones.push(place.zone);
        let short = Some(line.get("stop_code")).filter(|code| !code.is_empty() && *code != id);
        draft.stations.push(Station {
            code: id.to_owned(),
            name: name.to_owned(),
            pinyin: String::new(),
            translations: Vec::new(),
            short: short.map(ToOwned::to_owned).into_iter().collect(),
            platforms: Vec::new(),
            time_zone: time_zone.filter(|zone| !zone.eq_ignore_ascii_case(timezone)),
            lon: lon.unwrap_or_default(),
            lat: lat.unwrap_or_default(),
        });
    }

    /// Adds each platform to its station. A station without a fare zone gets the zone of its first
    /// platform that has one.
    fn attach_platforms(&mut self, draft: &mut TimetableDraft, faults: &RailFeedFaults) {
        for place in std::mem::take(&mut self.platforms) {
            let Some(at) = self.stations.get(&place.parent).copied() else {
                let message = format!(
                    "parent_station is {:?}; there is no such station",
                    place.parent
                );
                faults.add(STOPS, place.line, "dangling_stop", message);
                continue;
            };
            self.names.alias(&place.id, at, place.line);
            let station = at as usize;
            draft.stations[station].platforms.push(place.id);
            if self.zones[station].is_empty() {
                self.zones[station] = place.zone;
            }
        }
    }
}

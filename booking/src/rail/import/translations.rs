//! The translations of a GTFS feed: the names of stations in other languages and scripts. Other
//! translations are not read.

use std::collections::HashMap;
use std::path::Path;

use super::draft::{FeedNameIndex, TimetableDraft};
use super::optional::has_table;
use super::table::{RailFeedFaults, each_line};

const TRANSLATIONS: &str = "translations.txt";

/// Adds the names in other languages to the stations, if the feed has any. A translation refers to
/// its station by id or by name. Translations of stations that do not exist are left out.
pub fn read_station_names(
    folder: &Path,
    draft: &mut TimetableDraft,
    stops: &FeedNameIndex,
    faults: &RailFeedFaults,
) {
    if !has_table(folder, TRANSLATIONS) {
        return;
    }
    let mut by_name: HashMap<String, Vec<u32>> = HashMap::new();
    for (station, at) in draft.stations.iter().zip(0_u32..) {
        by_name.entry(station.name.clone()).or_default().push(at);
    }
    each_line(folder, TRANSLATIONS, &["translation"], faults, |line| {
        let translation = line.get("translation");
        let is_empty_or = |column: &str, meant: &str| ["", meant].contains(&line.get(column));
        if translation.is_empty()
            || !is_empty_or("table_name", "stops")
            || !is_empty_or("field_name", "stop_name")
        {
            return;
        }
        // In an older form of the file, the original text is in `trans_id`.
        let named = ["field_value", "trans_id"].map(|column| line.get(column));
        let named = named.into_iter().filter_map(|name| by_name.get(name));
        let by_id = stops.get(line.get("record_id"));
        for at in named.flatten().copied().chain(by_id) {
            let station = &mut draft.stations[at as usize];
            if station.name != translation
                && !station
                    .translations
                    .iter()
                    .any(|known| known == translation)
            {
                station.translations.push(translation.to_owned());
            }
        }
    });
}

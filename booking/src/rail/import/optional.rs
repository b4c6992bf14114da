//! The files that a feed in GTFS may lack. Programs that write feeds often write such a file even
//! if they have nothing to put in it, and then it lacks even the column titles. So an empty file
//! counts as missing.

use std::fs;
use std::path::Path;

/// The files that every feed has.
pub const NEEDED_FILES: [&str; 5] = [
    "agency.txt",
    "routes.txt",
    "stop_times.txt",
    "stops.txt",
    "trips.txt",
];

/// The files that are read if the feed has them. It needs one of the first two.
pub const OPTIONAL_FILES: [&str; 15] = [
    "calendar.txt",
    "calendar_dates.txt",
    "areas.txt",
    "fare_attributes.txt",
    "fare_leg_join_rules.txt",
    "fare_leg_rules.txt",
    "fare_products.txt",
    "fare_rules.txt",
    "fare_transfer_rules.txt",
    "frequencies.txt",
    "networks.txt",
    "rider_categories.txt",
    "route_networks.txt",
    "stop_areas.txt",
    "translations.txt",
];

/// A larger file is not searched for text, because it is not empty.
const EMPTY_BYTES_MAX: u64 = 64;

/// Returns whether the folder has a file that is not empty.
pub fn has_table(folder: &Path, file: &str) -> bool {
    folder.join(file).exists() && !is_empty(folder, file)
}

/// Returns whether an empty file counts as missing, because a feed may lack it.
pub fn may_be_empty(file: &str) -> bool {
    OPTIONAL_FILES.contains(&file)
}

/// Returns whether a file has no text. Blank lines and a byte order mark are no text.
pub fn is_empty(folder: &Path, file: &str) -> bool {
    let path = folder.join(file);
    let is_short = fs::metadata(&path).is_ok_and(|file| file.len() <= EMPTY_BYTES_MAX);
    is_short
        && fs::read_to_string(&path)
            .is_ok_and(|text| text.trim_start_matches('\u{feff}').trim().is_empty())
}

/// Returns a note for each empty file that counts as missing.
pub fn empty_file_notes(folder: &Path) -> Vec<String> {
    let empty = OPTIONAL_FILES.iter().filter(|file| is_empty(folder, file));
    let notes = empty.map(|file| format!("{file}: it is empty, so it counts as missing"));
    notes.collect()
}

//! A small GTFS feed for tests: the train RE 101 runs every day from Ahausen via Bedorf to Cestadt.

use booking::rail::import::read_gtfs;
use fairgate_model::timetables::TimetableParts;
use fairgate_model::timetables::settings::RailFile;

/// The files of the feed. It has no fares.
const FEED: [(&str, &str); 6] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\n\
         a,Rail,https://rail.example,Europe/Paris\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon\n\
         aa,Ahausen,50.0,8.0\nbb,Bedorf,50.0,8.5\ncc,Cestadt,50.0,9.0\n",
    ),
    ("routes.txt", "route_id,agency_id,route_type\nr,a,2\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
         s,1,1,1,1,1,1,1,20270101,20271231\n",
    ),
    (
        "trips.txt",
        "route_id,service_id,trip_id,trip_short_name\nr,s,t,RE 101\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
         t,09:00:00,09:00:00,aa,1\nt,09:30:00,09:32:00,bb,2\nt,10:10:00,10:10:00,cc,3\n",
    ),
];

/// Imports the feed with these files added or replaced, and with the `--rail` file `settings`.
pub fn small_feed(files: &[(&str, &str)], settings: &str) -> TimetableParts {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FEED.iter().chain(files) {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let settings = RailFile::parse(settings).expect("settings");
    let feed = read_gtfs(folder.path(), &settings);
    feed.expect("a feed without faults").parts
}

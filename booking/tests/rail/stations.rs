//! Tests the search for stations by typed text and by position.

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;

use super::faults::GTFS;
use super::*;

fn codes(timetable: &Timetable, found: &[u32]) -> Vec<String> {
    let code = |station: &u32| timetable.stations[*station as usize].code.clone();
    found.iter().map(code).collect()
}

#[test]
fn names_pinyin_codes_and_short_forms_find_a_station() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let rail = RailFile::default();
    let timetable = timetable(read_timetable(&folder, "Asia/Shanghai", &rail));
    for typed in [
        "北京南",
        "VNP",
        "vnp",
        "beijingnan",
        "BeijingNan",
        "bjn",
        " 北京南 ",
        "Beijing Nan",
        "beijign nan",
        "BEIJINGNAM",
    ] {
        let found = codes(&timetable, &timetable.find_stations(typed));
        assert_eq!(
            found.first().map(String::as_str),
            Some("VNP"),
            "{typed}: {found:?}"
        );
    }
    let begins = codes(&timetable, &timetable.find_stations("beijing"));
    for code in ["BJP", "VNP", "BXP"] {
        assert!(
            begins.iter().any(|found| found == code),
            "{code} is missing in {begins:?}"
        );
    }
    assert_eq!(
        begins[0], "BJP",
        "the station with exactly this name comes first"
    );
    for typed in [
        "Shanghai Hongqiao",
        "shanghai hongqao",
        "hongqiao",
        "Shànghǎi Hóngqiáo",
    ] {
        let found = codes(&timetable, &timetable.find_stations(typed));
        assert_eq!(
            found.first().map(String::as_str),
            Some("AOH"),
            "{typed}: {found:?}"
        );
    }
    assert_eq!(
        timetable.station("Shanghai Hongqiao"),
        timetable.station("AOH"),
        "only one station has this name"
    );
    let inside = codes(&timetable, &timetable.find_stations("虹桥"));
    assert!(inside.contains(&"AOH".to_owned()), "{inside:?}");
    assert!(timetable.find_stations("zzzz").is_empty());
    assert!(timetable.find_stations("a").len() <= 20);
    for (typed, meant) in [
        ("beijignnan", "VNP"),
        ("北京东南", "VNP"),
        ("shanghaihongqaio", "AOH"),
    ] {
        let like = codes(&timetable, &timetable.names_like(typed));
        assert!(like.contains(&meant.to_owned()), "{typed}: {like:?}");
        assert_eq!(timetable.station(typed), None);
    }
    assert_eq!(timetable.station("vnp"), timetable.station("北京南"));
}

#[test]
fn stations_near_a_point_are_nearest_first() {
    let folder = folder(&SMALL);
    let rail = RailFile::default();
    let timetable = timetable(read_timetable(folder.path(), "Asia/Shanghai", &rail));
    let near = timetable.stations_near((0.9, 0.0), 120_000);
    let told: Vec<_> = near
        .iter()
        .map(|near| {
            (
                timetable.stations[near.station as usize].code.as_str(),
                near.distance_m,
            )
        })
        .collect();
    assert_eq!(told, [("BBB", 11_120), ("AAA", 100_076)]);
    assert_eq!(timetable.stations_near((0.9, 0.0), 122_400).len(), 3);
    assert!(timetable.stations_near((90.0, 0.0), 1_000_000).is_empty());
}

/// Writes a feed of two stations. One name has an accent, and the other is in another script. The
/// feed has no translations yet.
fn translated() -> TempDir {
    let folder = folder(&GTFS);
    write(
        folder.path(),
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,zone_id\n\
        hub,Köln Hbf,50.9,7.0,1,,\nhub-1,Köln Hbf Gleis 1,50.9,7.0,,hub,z1\n\
        end,上海虹桥,31.2,121.3,,,z2\n",
    );
    folder
}

const TRANSLATIONS: &str = "table_name,field_name,language,translation,record_id,record_sub_id,field_value\n\
    stops,stop_name,en,Cologne Main Station,hub,,\n\
    stops,stop_name,fr,Cologne,,,Köln Hbf\n\
    stops,stop_name,en,Shanghai Hongqiao,end,,\n\
    stops,stop_name,ru,Шанхай-Хунцяо,end,,\n\
    stops,stop_desc,en,A place,end,,\n\
    stops,stop_name,en,Nowhere,gone,,\n\
    routes,route_long_name,en,Nowhere,end,,\n";

#[test]
fn translations_other_scripts_accents_and_one_slip_find_a_station() {
    let folder = translated();
    write(folder.path(), "translations.txt", TRANSLATIONS);
    let timetable = timetable(read_gtfs(folder.path(), &RailFile::default()));
    for (typed, expected) in [
        ("koln", "hub"),
        ("Köln", "hub"),
        ("KÖLN HBF", "hub"),
        ("kolm", "hub"),
        ("koeln", "hub"),
        ("Cologne", "hub"),
        ("colonge", "hub"),
        ("main station", "hub"),
        ("Shanghai Hongqiao", "end"),
        ("hongqiao", "end"),
        ("shanghai honqiao", "end"),
        ("шанхай", "end"),
        ("хунцяо", "end"),
        ("虹桥", "end"),
        ("上海红桥", "end"),
    ] {
        let found = codes(&timetable, &timetable.find_stations(typed));
        assert_eq!(found, [expected], "{typed}");
    }
    for (name, code) in [
        ("Cologne", "hub"),
        ("koln hbf", "hub"),
        ("shanghai-hongqiao", "end"),
    ] {
        assert_eq!(timetable.station(name), timetable.station(code), "{name}");
    }
    for typed in ["nowhere", "a place", "kxyz", "..."] {
        assert!(timetable.find_stations(typed).is_empty(), "{typed}");
    }
    assert_eq!(
        timetable.station("kolm"),
        None,
        "a slip is suggested, not taken"
    );
    assert_eq!(codes(&timetable, &timetable.names_like("kolm")), ["hub"]);
}

#[test]
fn translations_in_the_older_form_are_read_too() {
    let folder = translated();
    let older = "trans_id,lang,translation\nKöln Hbf,fr,Cologne\nsomething,fr,quelque chose\n";
    write(folder.path(), "translations.txt", older);
    let timetable = timetable(read_gtfs(folder.path(), &RailFile::default()));
    assert_eq!(
        codes(&timetable, &timetable.find_stations("cologne")),
        ["hub"]
    );
}

#[test]
fn a_timetable_that_was_stored_before_stations_had_translations_is_still_read() {
    let folder = folder(&GTFS);
    let parts = sound(read_gtfs(folder.path(), &RailFile::default())).parts;
    let text = serde_json::to_string(&parts).expect("JSON");
    assert!(
        !text.contains("translations"),
        "nothing is stored where there are none"
    );
    let timetable = Timetable::read(&text).expect("the older form");
    assert!(
        timetable
            .stations
            .iter()
            .all(|station| station.translations.is_empty())
    );
}

//! Tests the search for stations by typed text and by position.

use booking::rail::import::read_timetable;
use fairgate_model::timetables::settings::RailFile;

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

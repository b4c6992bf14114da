//! Tests the seat maps that are made from seats.io charts.

use fairgate_model::plans::seatmap::SeatKind;
use serde_json::{Value, json};

use crate::{chart, parsed, small};

#[test]
fn a_plain_chart_has_rows_and_areas_and_every_standing_place_is_a_cell() {
    let Some(text) = chart("sampleChart") else {
        return;
    };
    let map = parsed(&text);
    assert_eq!(
        (map.rows.len(), map.areas.len(), map.cell_count()),
        (4, 2, 232)
    );
    let a7 = map.index_of("A-7").expect("A-7 is on the chart");
    assert!(map.seats[a7 as usize].accessible);
    assert_eq!(
        map.categories[usize::from(map.seats[a7 as usize].category)].label,
        "Cat1"
    );
    let pit = map.area("GA1").expect("GA1 is on the chart");
    assert_eq!(pit.capacity, 100);
    assert_eq!(map.index_of("GA1-1"), Some(pit.first));
    assert_eq!(map.index_of("GA1-100"), Some(pit.first + 99));
    assert_eq!(
        map.area_of(pit.first + 99).map(|area| area.label.as_str()),
        Some("GA1")
    );
    assert_eq!(map.category_index("string11"), map.category_index("Cat3"));
    assert_eq!(map.focal.map(|at| at.x), Some(225.0));
}

#[test]
fn seats_of_a_section_are_placed_relative_to_it_and_inherit_its_category_and_zone() {
    let Some(text) = chart("sampleChartWithSections") else {
        return;
    };
    let map = parsed(&text);
    assert_eq!(map.cell_count(), 71);
    let seat = &map.seats[map
        .index_of("Section B-A-1")
        .expect("the seat is on the chart") as usize];
    assert!(
        (seat.x - 206.19).abs() < 0.01 && (seat.y - 45.25).abs() < 0.01,
        "{seat:?}"
    );
    assert_eq!(map.categories[usize::from(seat.category)].key, "4");

    let Some(text) = chart("sampleChartWithZones") else {
        return;
    };
    let map = parsed(&text);
    assert_eq!(map.cell_count(), 8_897);
    assert_eq!(map.sections, ["Goal Stand 4", "Goal Stand 3", "MT1", "MT3"]);
    assert_eq!(
        map.benches().len(),
        map.rows.len(),
        "no row of this plan has an aisle"
    );
    let seat = &map.seats[map.index_of("MT3-A-138").expect("the seat is on the chart") as usize];
    assert_eq!(
        map.zones[usize::from(seat.zone.expect("its section has a zone"))].key,
        "midtrack"
    );
}

#[test]
fn tables_are_sections_and_booths_are_single_cells() {
    let mut chart = small();
    let chairs: Vec<Value> = (1..=4)
        .map(|n| json!({"label": n.to_string(), "categoryKey": 1}))
        .collect();
    chart["subChart"]["tables"] =
        json!([{"label": "T1", "center": {"x": 90, "y": 90}, "seats": chairs}]);
    chart["subChart"]["booths"] =
        json!([{"label": "Booth 1", "center": {"x": 200, "y": 90}, "categoryKey": "vip"}]);
    let map = parsed(&chart.to_string());
    let chair = &map.seats[map.index_of("T1-2").expect("a chair of the table") as usize];
    assert_eq!(chair.kind, SeatKind::Table);
    assert_eq!(
        chair.section.map(|at| map.sections[at as usize].as_str()),
        Some("T1")
    );
    let booth = &map.seats[map.index_of("Booth 1").expect("the booth") as usize];
    assert_eq!((booth.kind, booth.row), (SeatKind::Booth, None));
    assert_eq!(map.cell_count(), 5 + 5 + 4 + 1);
}

#[test]
fn unpublished_areas_and_seats_disabled_for_distancing_are_left_out_of_the_map() {
    let mut chart = small();
    chart["subChart"]["rows"][0]["seats"][1]["disabledBySocialDistancingRules"] = json!(true);
    chart["subChart"]["generalAdmissionAreas"][0]["published"] = json!(false);
    let map = parsed(&chart.to_string());
    assert_eq!(map.index_of("A-2"), None);
    assert_eq!(map.index_of("Pit-1"), None);
    assert_eq!(map.cell_count(), 2 + 2);
    let benches: Vec<usize> = map
        .benches()
        .iter()
        .map(|bench| map.on_bench(bench).len())
        .collect();
    assert_eq!(benches, [1, 1, 2], "A-1 and A-3 no longer sit side by side");
}

#[test]
fn a_gap_much_wider_than_a_chair_is_an_aisle() {
    let seats: Vec<Value> = [0, 20, 40, 100, 120, 140]
        .iter()
        .enumerate()
        .map(|(n, x)| json!({"label": (n + 1).to_string(), "x": x, "y": 0, "categoryKey": 1}))
        .collect();
    let mut chart = small();
    chart["subChart"]["rows"] = json!([{"label": "A", "seats": seats}]);
    let map = parsed(&chart.to_string());
    let benches: Vec<usize> = map
        .benches()
        .iter()
        .map(|bench| map.on_bench(bench).len())
        .collect();
    assert_eq!(benches, [3, 3]);
}

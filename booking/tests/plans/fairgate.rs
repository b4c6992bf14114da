//! Tests plans in our own format.

use fairgate_model::plans::seatmap::{Seat, SeatKind, SeatMap};
use fairgate_model::plans::{PLAN_BYTES_MAX, PlanFault, parse_fairgate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{codes, damaged};

/// Returns the example plan in the README.
fn example() -> Value {
    let readme = include_str!("../../README.md");
    let chapter = readme.split("\n## Seating plans\n").nth(1);
    let example =
        chapter.and_then(|chapter| chapter.split("```json\n").nth(1)?.split("```").next());
    serde_json::from_str(example.expect("the README has an example")).expect("JSON")
}

fn map(plan: &Value) -> SeatMap {
    parse_fairgate(&plan.to_string()).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn faults(plan: &Value) -> Vec<PlanFault> {
    parse_fairgate(&plan.to_string()).expect_err("the plan has faults")
}

fn seat<'a>(map: &'a SeatMap, label: &str) -> &'a Seat {
    let cell = map.index_of(label).unwrap_or_else(|| panic!("{label}"));
    &map.seats[cell as usize]
}

#[test]
fn the_example_of_the_readme_is_a_hall_with_bent_rows_flags_and_an_area() {
    let map = map(&example());
    assert_eq!(
        (map.name.as_str(), map.cell_count()),
        ("Small Hall", 50 + 11 + 11 + 3)
    );
    assert_eq!(
        (map.sections.len(), map.rows.len(), map.areas.len()),
        (1, 3, 1)
    );
    let (end, middle) = (seat(&map, "Stalls-A-11"), seat(&map, "Stalls-A-6"));
    assert_eq!((end.x, end.y), (200.0, 0.0));
    assert!(
        (middle.x - 100.0).abs() < 1e-3 && (middle.y - 10.0).abs() < 1e-3,
        "{middle:?}"
    );
    assert!(seat(&map, "Stalls-B-11").x < seat(&map, "Stalls-B-9").x);
    let flags = |label: &str| {
        let seat = seat(&map, label);
        (seat.accessible, seat.companion, seat.restricted_view)
    };
    assert_eq!(flags("Stalls-B-1"), (true, false, false));
    assert_eq!(flags("Stalls-B-3"), (false, true, false));
    assert_eq!(flags("Stalls-B-5"), (false, false, false));
    assert_eq!(flags("Stalls-C-2a"), (false, false, true));
    assert_eq!(seat(&map, "Pit-50").kind, SeatKind::Standing);
    assert_eq!(
        map.categories[usize::from(seat(&map, "Pit-1").category)].key,
        "standing"
    );
    assert_eq!(map.focal.map(|at| (at.x, at.y)), Some((100.0, -60.0)));
    let stage = map.stage.as_ref().expect("a stage");
    assert_eq!(
        (stage.label.as_deref(), stage.points.len()),
        (Some("Stage"), 4)
    );
    assert_eq!(map.outlines[0].points[2], [220.0, 70.0]);
    let benches = map.benches().iter().map(|bench| map.on_bench(bench).len());
    assert_eq!(benches.collect::<Vec<_>>(), [11, 11, 3]);
}

#[test]
fn rows_and_areas_may_be_in_no_section_or_in_one_and_name_their_own_category() {
    let mut plan = example();
    plan["rows"] = json!([{"label": "Z", "category": "standing", "count": 1, "from": [5, 6]}]);
    plan["sections"][0]["areas"] = json!([{"label": "Back", "capacity": 2, "center": [100, 66]}]);
    let map = map(&plan);
    let single = seat(&map, "Z-1");
    assert_eq!((single.section, single.x, single.y), (None, 5.0, 6.0));
    let back = map.area("Stalls-Back").expect("the area");
    assert_eq!((back.section, back.capacity), (Some(0), 2));
    assert_eq!(map.categories[usize::from(back.category)].key, "stalls");
    assert_eq!(map.index_of("Stalls-Back-2"), Some(back.first + 1));
}

#[test]
fn all_faults_of_a_plan_are_reported_at_once_with_their_places() {
    let mut plan = example();
    plan["colour"] = json!("red");
    plan["focal"] = json!([1]);
    plan["stage"] = json!({"points": [[0, 0], [1, 1]]});
    plan["categories"][1]["color"] = json!("url(x);");
    plan["sections"][0]["outline"][3] = json!([1, "2"]);
    let rows = &mut plan["sections"][0]["rows"];
    rows[0]["bend"] = json!(101);
    rows[1]["to"] = Value::Null;
    rows[1]["step"] = json!(0.5);
    rows[2]["seats"][1] = json!([1, 2]);
    rows[2]["restricted_view"] = json!([3, 4]);
    let more = [
        json!({"label": "D", "count": 2, "from": [0, 0], "to": [9, 0], "seats": []}),
        json!({"label": "E"}),
        json!({"label": "F", "count": 3, "from": [0, 0], "to": [0, 0]}),
        json!({"label": "G", "count": 4, "from": [0, 0], "to": [9, 0], "first": 2, "step": -1}),
        json!({"label": "A", "category": "box", "seats": [[9, 0, 0], [9, 5, 0]]}),
        json!({"label": "C", "seats": [[1, 0, 0]], "companion": "all"}),
    ];
    rows.as_array_mut().expect("rows").extend(more);
    let again = json!({"label": "Stalls", "rows": 5});
    plan["sections"]
        .as_array_mut()
        .expect("sections")
        .push(again);
    plan["areas"][0]["capacity"] = json!(0);
    let lawn = json!({"label": "Lawn", "capacity": 5});
    plan["areas"].as_array_mut().expect("areas").push(lawn);
    let found = faults(&plan);
    let told: Vec<_> = found
        .iter()
        .map(|fault| (fault.code, fault.at.as_str()))
        .collect();
    let section = r#"sections[0] "Stalls""#;
    let row = |index: usize, label: &str| format!("{section} › rows[{index}] {label:?}");
    let expected = [
        ("unknown_field", "colour".to_owned()),
        ("bad_color", r#"categories[1] "Standing""#.to_owned()),
        ("bad_coordinate", "focal".to_owned()),
        ("bad_outline", "stage › points".to_owned()),
        ("bad_capacity", r#"areas[0] "Pit""#.to_owned()),
        ("no_category", r#"areas[1] "Lawn""#.to_owned()),
        ("bad_coordinate", r#"areas[1] "Lawn" › center"#.to_owned()),
        ("bad_coordinate", format!("{section} › outline[3]")),
        ("bad_bend", row(0, "A")),
        ("bad_number", row(1, "B") + " › step"),
        ("bad_coordinate", row(1, "B") + " › to"),
        ("bad_seat", row(2, "C") + " › seats[1]"),
        ("unknown_seat", row(2, "C") + " › restricted_view[1]"),
        ("bad_row", row(3, "D")),
        ("no_seats", row(4, "E")),
        ("bad_row", row(5, "F")),
        ("bad_number", row(6, "G")),
        ("unknown_category", row(7, "A")),
        ("duplicate_label", row(7, "A") + r#" › seats[1] "9""#),
        ("bad_flag", row(8, "C") + " › companion"),
        ("duplicate_label", row(8, "C") + r#" › seats[0] "1""#),
        ("duplicate_section", r#"sections[1] "Stalls""#.to_owned()),
        ("bad_list", r#"sections[1] "Stalls""#.to_owned()),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(code, at)| (*code, at.as_str()))
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn a_text_that_is_no_plan_is_one_fault() {
    let one = |text: &str| codes(&parse_fairgate(text).expect_err("this is no plan"));
    assert_eq!(one("{"), ["malformed_json"]);
    assert_eq!(one("[]"), ["not_a_plan"]);
    assert_eq!(one("{}"), ["no_seats"]);
    assert_eq!(one(&" ".repeat(PLAN_BYTES_MAX + 1)), ["too_large"]);
    assert_eq!(one(r#"{"subChart": {}}"#), ["unknown_field"]);
}

#[test]
fn a_short_text_cannot_make_more_seats_than_a_plan_may_have() {
    let mut plan = example();
    let row = &mut plan["sections"][0]["rows"][0];
    row["count"] = json!(500_000);
    assert_eq!(codes(&faults(&plan)), ["too_many_seats"]);
    plan["sections"][0]["rows"][0]["count"] = json!(u64::MAX);
    assert_eq!(codes(&faults(&plan)), ["bad_number"]);
}

#[test]
fn seats_of_an_arc_that_leaves_the_plan_are_faults() {
    let mut plan = example();
    let row = &mut plan["sections"][0]["rows"][0];
    row["from"] = json!([-1_000_000, 999_000]);
    row["to"] = json!([1_000_000, 999_000]);
    row["bend"] = json!(500_000);
    let found = codes(&faults(&plan));
    assert!(
        !found.is_empty() && found.iter().all(|code| *code == "bad_coordinate"),
        "{found:?}"
    );
}

proptest! {
    #[test]
    fn a_damaged_plan_gives_a_map_or_faults(spots in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12), 1..4)) {
        match parse_fairgate(&damaged(example(), spots).to_string()) {
            Ok(map) => prop_assert!(map.cell_count() > 0),
            Err(faults) => prop_assert!(!faults.is_empty() && faults.iter().all(|fault| !fault.message.is_empty())),
        }
    }
}

//! Tests the faults that are reported for a plan that cannot be sold.

use fairgate_model::plans::{PLAN_BYTES_MAX, PlanFault, parse_seatsio};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{chart, codes, damaged, small};

fn faults(chart: &Value) -> Vec<PlanFault> {
    parse_seatsio(&chart.to_string()).expect_err("the chart has faults")
}

#[test]
fn a_faulty_chart_is_refused_with_the_path_of_every_fault() {
    let Some(text) = chart("sampleChartWithErrors") else {
        return;
    };
    let faults = parse_seatsio(&text).expect_err("it is faulty on purpose");
    let found: Vec<(&str, &str)> = faults
        .iter()
        .map(|fault| (fault.code, fault.at.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("duplicate_label", r#"row[0] "A" › seat[1] "1""#),
            ("no_label", r#"row[0] "A" › seat[2]"#),
            ("no_category", r#"row[0] "A" › seat[3] "4""#),
        ]
    );
    assert!(
        faults[0].message.contains(r#"row[0] "A" › seat[0] "1""#),
        "{}",
        faults[0]
    );
}

#[test]
fn a_text_that_is_no_chart_is_one_fault() {
    let one = |text: &str| {
        let faults = parse_seatsio(text).expect_err("this is no chart");
        assert_eq!(faults.len(), 1, "{faults:?}");
        (faults[0].code, faults[0].at.clone())
    };
    assert_eq!(
        one("{\n \"name\": }"),
        ("malformed_json", "line 2 column 10".to_owned())
    );
    assert_eq!(
        one("{\n \"name\": \"Hall\n}"),
        ("malformed_json", "line 2 column 15".to_owned()),
        "the line whose quotes do not end"
    );
    assert_eq!(one("").0, "malformed_json");
    for text in ["[]", "7", "{}", r#"{"subChart": []}"#] {
        assert_eq!(one(text).0, "not_a_chart");
    }
    assert_eq!(one(r#"{"subChart": {}}"#).0, "no_seats");
    assert_eq!(one(&" ".repeat(PLAN_BYTES_MAX + 1)).0, "too_large");
    assert_eq!(one(&"[".repeat(100_000)).0, "malformed_json");
}

#[test]
fn all_faults_are_reported_at_once_and_a_faulty_seat_keeps_its_label() {
    let mut chart = small();
    let rows = &mut chart["subChart"]["rows"];
    rows[0]["seats"][0]["categoryKey"] = json!(99);
    rows[0]["seats"][1]["x"] = json!(1e12);
    rows[0]["seats"][2]["label"] = json!("1");
    rows[1]["label"] = json!("  ");
    rows[1]["seats"][0]["y"] = Value::Null;
    rows[1]["seats"][1]["accessible"] = json!("yes");
    chart["subChart"]["generalAdmissionAreas"][0]["capacity"] = json!(0);
    let faults = faults(&chart);
    assert_eq!(
        codes(&faults),
        [
            "unknown_category",
            "bad_coordinate",
            "duplicate_label",
            "empty_label",
            "bad_coordinate",
            "bad_flag",
            "bad_capacity",
        ]
    );
    assert_eq!(faults[0].at, r#"row[0] "A" › seat[0] "1""#);
}

#[test]
fn impossible_capacities_of_areas_are_refused() {
    for capacity in [
        json!(0),
        json!(-3),
        json!(1_000_001),
        json!(2.5),
        json!("12"),
        Value::Null,
    ] {
        let mut chart = small();
        chart["subChart"]["generalAdmissionAreas"][0]["capacity"] = capacity.clone();
        assert_eq!(codes(&faults(&chart)), ["bad_capacity"], "{capacity}");
    }
    let mut chart = small();
    chart["subChart"]["generalAdmissionAreas"][0]["capacity"] = json!(500_000);
    assert_eq!(codes(&faults(&chart)), ["too_many_seats"]);
}

#[test]
fn one_label_cannot_name_a_seat_and_a_standing_place() {
    let mut chart = small();
    chart["subChart"]["generalAdmissionAreas"][0]["label"] = json!("A");
    assert_eq!(codes(&faults(&chart)), ["duplicate_label"]);
}

#[test]
fn an_unknown_category_of_a_section_is_one_fault_and_not_one_for_each_seat() {
    let seats: Vec<Value> = (0..10)
        .map(|n| json!({"label": n.to_string(), "x": n * 20, "y": 0, "categoryKey": null}))
        .collect();
    let mut chart = small();
    chart["subChart"]["sections"] = json!([{"label": "S", "categoryKey": 7, "zone": "nowhere",
        "subChart": {"rows": [{"label": "A", "seats": seats}]}}]);
    assert_eq!(codes(&faults(&chart)), ["unknown_zone", "unknown_category"]);
}

#[test]
fn tables_and_areas_that_are_sold_as_a_whole_are_refused() {
    let mut chart = small();
    chart["subChart"]["tables"] =
        json!([{"label": "T1", "bookAsAWhole": true, "center": {"x": 0, "y": 0}, "seats": []}]);
    chart["subChart"]["generalAdmissionAreas"][0]["variableOccupancy"] = json!(true);
    assert_eq!(codes(&faults(&chart)), ["not_supported", "not_supported"]);
}

proptest! {
    #[test]
    fn a_damaged_chart_gives_a_map_or_faults(spots in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12), 1..4)) {
        match parse_seatsio(&damaged(small(), spots).to_string()) {
            Ok(map) => prop_assert!(map.cell_count() > 0),
            Err(faults) => prop_assert!(!faults.is_empty() && faults.iter().all(|fault| !fault.message.is_empty())),
        }
    }
}

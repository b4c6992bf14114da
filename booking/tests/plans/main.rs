//! Tests how seating plans become seat maps. This file has what the tests share: access to real
//! charts, and a small chart.

mod charts;
mod fairgate;
mod faults;
mod geometry;
mod grid;
mod shapes;

use std::path::PathBuf;

use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{PlanFault, parse_seatsio};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns a chart of the real data. If the data is not there, prints a message and returns `None`.
fn chart(name: &str) -> Option<String> {
    // Relative folders start at the repository's root, wherever the test runs.
    let folder = std::env::var_os("FAIRGATE_REAL_DATA").unwrap_or_else(|| "../shared/data".into());
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    let path = folder.join("seatmaps").join(format!("seatsio-{name}.json"));
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        #[expect(clippy::print_stdout, reason = "the log must show what was not tested")]
        {
            println!("SKIPPED: {} is not there", path.display());
        }
    }
    text
}

fn parsed(text: &str) -> SeatMap {
    parse_seatsio(text).unwrap_or_else(|faults| panic!("unexpected faults: {faults:#?}"))
}

fn codes(faults: &[PlanFault]) -> Vec<&'static str> {
    faults.iter().map(|fault| fault.code).collect()
}

/// Returns a valid chart. Rows A (three seats) and B (two seats) are of category 1. An area for
/// five people is of category "vip".
fn small() -> Value {
    let seat =
        |number: &str, x: u32, y: u32| json!({"label": number, "x": x, "y": y, "categoryKey": 1});
    json!({
        "name": "Small",
        "categories": {"list": [
            {"key": 1, "label": "Stalls", "color": "#123456"},
            {"key": "vip", "label": "VIP", "color": "gold"},
        ]},
        "subChart": {
            "focalPoint": {"x": 20, "y": -50},
            "rows": [
                {"label": "A", "seats": [seat("1", 0, 0), seat("2", 20, 0), seat("3", 40, 0)]},
                {"label": "B", "seats": [seat("1", 0, 24), seat("2", 20, 24)]},
            ],
            "generalAdmissionAreas": [
                {"label": "Pit", "capacity": 5, "categoryKey": "vip", "center": {"x": 20, "y": -20}},
            ],
        },
    })
}

/// Returns [`small`] with a stage and a section that has an outline and two seats.
fn drawn() -> Value {
    let mut chart = small();
    chart["subChart"]["shapes"] = json!([{"smartType": "stage", "label": "Stage", "type": "rectangle",
        "center": {"x": 20, "y": -60}, "width": 40, "height": 20}]);
    let corner = |x: i32, y: i32| json!({"x": x, "y": y});
    let seat = |number: &str, x: u32| json!({"label": number, "x": x, "y": 10});
    chart["subChart"]["sections"] = json!([{"label": "Balcony", "categoryKey": "vip", "topLeft": corner(-10, 40),
        "points": [corner(-10, 40), corner(50, 40), corner(50, 60), corner(-10, 60)],
        "subChart": {"rows": [{"label": "A", "seats": [seat("1", 10), seat("2", 30)]}]}}]);
    chart
}

/// Replaces values in a plan with other values, which are often invalid there.
fn damaged(mut plan: Value, spots: Vec<(prop::sample::Index, usize)>) -> Value {
    for (spot, value) in spots {
        let values = [
            Value::Null,
            json!(true),
            json!(-1),
            json!(1e300),
            json!(4.5),
            json!(""),
            json!("?"),
            json!("A"),
            json!([]),
            json!({}),
            json!([{}]),
            json!({"x": 1}),
        ];
        let mut all = Vec::new();
        pointers(&plan, "", &mut all);
        let at = spot.get(&all).clone();
        *plan.pointer_mut(&at).expect("it was just listed") = values[value].clone();
    }
    plan
}

/// Collects the JSON pointers of all values in a document.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(list) => (0..)
            .zip(list)
            .for_each(|(n, inner): (u32, _)| pointers(inner, &format!("{at}/{n}"), found)),
        Value::Object(object) => object
            .iter()
            .for_each(|(key, inner)| pointers(inner, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

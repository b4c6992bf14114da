//! Tests how seating plans become seat maps. This file holds what the tests share: real charts and
//! a small one.

mod charts;
mod faults;
mod geometry;
mod grid;

use std::path::PathBuf;

use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{PlanFault, parse_seatsio};
use serde_json::{Value, json};

/// Returns a chart of the real data, or `None`, with a message, if the data is not there.
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

/// Returns a valid chart: rows A (three seats) and B (two seats) of category 1, and an area for
/// five people of category "vip".
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

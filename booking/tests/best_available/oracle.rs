//! Compares choices with answers of the live seats.io engine. The answers were recorded for
//! seats.io's own charts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairgate_model::choosing::{BestSeatsRequest, CellSet, SeatsNotFound, choose};
use fairgate_model::plans::parse_seatsio;
use serde_json::{Value, json};

use crate::{dice, labels, without};

fn real(name: &str) -> Option<String> {
    // Relative folders start at the repository's root, wherever the test runs.
    let folder = std::env::var_os("FAIRGATE_REAL_DATA").unwrap_or_else(|| "../shared/data".into());
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    let path = folder.join("seatmaps").join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        #[expect(clippy::print_stdout, reason = "the log must show what was not tested")]
        {
            println!("SKIPPED: {} is not there", path.display());
        }
    }
    text
}

#[test]
fn the_chosen_seats_are_those_of_the_seats_io_engine_with_every_seed() {
    let Some(oracle) = real("best-available-oracle.json") else {
        return;
    };
    let oracle: Value = serde_json::from_str(&oracle).expect("the oracle is JSON");
    let texts = |value: &Value| -> Vec<String> {
        serde_json::from_value(value.clone()).unwrap_or_default()
    };
    let cases = oracle["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 8);
    for case in cases {
        let Some(chart) = real(case["chart"].as_str().expect("chart")) else {
            return;
        };
        let map = parse_seatsio(&chart).expect("the charts of the oracle are sound");
        let request = &case["request"];
        let mut ask = json!({"quantity": request["number"], "accessible": request["accessibleSeats"].as_u64().unwrap_or(0)});
        for (theirs, ours) in [
            ("sections", "sections"),
            ("zone", "zone"),
            ("channelKeys", "channels"),
        ] {
            if !request[theirs].is_null() {
                ask[ours] = request[theirs].clone();
            }
        }
        let channels: BTreeMap<String, CellSet> = case["channels"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, objects)| {
                (
                    key.clone(),
                    texts(objects)
                        .iter()
                        .filter_map(|label| map.index_of(label))
                        .collect(),
                )
            })
            .collect();
        let wish = serde_json::from_value::<BestSeatsRequest>(ask)
            .expect("a valid request")
            .resolve(&map, &channels)
            .expect("known names");
        let booked = texts(&case["booked"]);
        let free = without(&map, &booked.iter().map(String::as_str).collect::<Vec<_>>());
        for seed in 0..50 {
            let found = choose(&map, &free, &wish, 0, &mut dice(seed));
            if case["error"].is_string() {
                assert_eq!(found, Err(SeatsNotFound::Capacity), "{}", case["name"]);
                continue;
            }
            let choice = found.unwrap_or_else(|reason| panic!("{}: {reason}", case["name"]));
            assert_eq!(
                labels(&map, &choice),
                texts(&case["objects"]),
                "{}",
                case["name"]
            );
            if let Some(expected) = case["nextToEachOther"].as_bool() {
                assert_eq!(choice.next_to_each_other, expected, "{}", case["name"]);
            }
        }
    }
}

//! Tests the forms in which a seat map is sent to clients and stored in the ledger.

use fairgate_model::plans::parse_grid;
use fairgate_model::plans::seatmap::SeatMap;
use serde_json::{Value, json};

use crate::{chart, drawn, parsed, small};

#[test]
fn a_map_is_the_same_after_storing_and_a_damaged_one_is_refused() {
    let map = parse_grid("6x90").expect("a valid hall");
    let stored = serde_json::to_string(&map).expect("a map becomes JSON");
    let back: SeatMap = serde_json::from_str(&stored).expect("the JSON becomes a map");
    assert_eq!(back, map);
    assert_eq!(back.index_of("F-90"), map.index_of("F-90"));

    let mut damaged: Value = serde_json::from_str(&stored).expect("JSON");
    damaged["seats"][3]["label"] = json!("A-1");
    assert!(
        serde_json::from_value::<SeatMap>(damaged.clone()).is_err(),
        "two seats have one label"
    );
    damaged["seats"][3]["label"] = json!("A-4");
    damaged["seats"][3]["category"] = json!(9);
    assert!(
        serde_json::from_value::<SeatMap>(damaged).is_err(),
        "a seat names an unknown category"
    );
}

#[test]
fn the_geometry_has_the_fields_of_the_contract() {
    let map = parsed(&small().to_string());
    let shown: Value = serde_json::to_value(map.geometry_json()).expect("JSON");
    assert_eq!(
        shown["seats"][0],
        json!({"label": "A-1", "x": 0.0, "y": 0.0, "category": "1", "section": null, "row": "A", "number": "1",
            "accessible": false, "companion": false, "restricted_view": false})
    );
    assert_eq!(shown["seats"][5]["kind"], "standing");
    assert_eq!(
        shown["areas"][0],
        json!({"label": "Pit", "category": "vip", "first": 5, "capacity": 5,
        "section": null, "zone": null, "center": {"x": 20.0, "y": -20.0}})
    );
    assert_eq!(
        shown["bounds"],
        json!({"min_x": 0.0, "min_y": -20.0, "max_x": 40.0, "max_y": 24.0})
    );
    assert_eq!((shown.get("stage"), shown.get("outlines")), (None, None));
}

/// Reads the packed form as its documentation describes it. Returns the label, x, y and flags of
/// each seat.
fn unpack(bytes: &[u8]) -> Vec<(String, f64, f64, u8)> {
    let u32_at =
        |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize;
    assert_eq!(&bytes[..8], b"FGSM\x01\0\0\0");
    let (seats, text) = (u32_at(8), u32_at(12));
    let head: Value = serde_json::from_slice(&bytes[16..16 + text]).expect("the head is JSON");
    let start = (16 + text).next_multiple_of(2);
    assert_eq!(bytes.len(), start + seats * 5);
    let column = |from: usize, origin: &Value| -> Vec<f64> {
        let (step, origin) = (
            head["step"].as_f64().expect("step"),
            origin.as_f64().expect("origin"),
        );
        (0..seats)
            .scan(0_i32, |sum, n| {
                let at = from + 2 * n;
                *sum += i32::from(i16::from_le_bytes([bytes[at], bytes[at + 1]]));
                Some(origin + step * f64::from(*sum))
            })
            .collect()
    };
    let (xs, ys) = (
        column(start, &head["origin"]["x"]),
        column(start + 2 * seats, &head["origin"]["y"]),
    );
    let mut labels = Vec::new();
    for run in head["runs"].as_array().expect("runs") {
        let prefix = run["prefix"].as_str().expect("prefix");
        for n in 0..run["n"].as_u64().expect("n") {
            let number = match run["from"].as_u64() {
                Some(from) => (from + n).to_string(),
                None => run["numbers"][usize::try_from(n).expect("small")]
                    .as_str()
                    .expect("number")
                    .to_owned(),
            };
            labels.push(format!("{prefix}{number}"));
        }
    }
    let flags = bytes[start + 4 * seats..].iter().copied();
    labels
        .into_iter()
        .zip(xs)
        .zip(ys)
        .zip(flags)
        .map(|(((label, x), y), flags)| (label, x, y, flags))
        .collect()
}

#[test]
fn the_packed_geometry_unpacks_to_the_same_seats_within_half_a_step() {
    let mut odd = small();
    odd["subChart"]["rows"][0]["seats"][1]["label"] = json!("2a");
    odd["subChart"]["rows"][0]["seats"][2]["accessible"] = json!(true);
    let mut maps = vec![
        parsed(&odd.to_string()),
        parse_grid("20x150").expect("a valid hall"),
        parse_grid("1x1").expect("a seat"),
    ];
    maps.extend(
        [
            "sampleChart",
            "sampleChartWithSections",
            "sampleChartWithZones",
        ]
        .iter()
        .filter_map(|name| Some(parsed(&chart(name)?))),
    );
    for map in maps {
        let bounds = map.bounds();
        let side = f64::from((bounds.max_x - bounds.min_x).max(bounds.max_y - bounds.min_y));
        let packed = map.geometry_packed();
        let seats = unpack(&packed);
        assert_eq!(seats.len(), map.seats.len());
        for (seat, (label, x, y, flags)) in map.seats.iter().zip(seats) {
            assert_eq!(seat.label, label);
            assert!(
                (f64::from(seat.x) - x).abs() <= side / 65_000.0 + 1e-6,
                "{label}"
            );
            assert!(
                (f64::from(seat.y) - y).abs() <= side / 65_000.0 + 1e-6,
                "{label}"
            );
            assert_eq!(flags & 1 == 1, seat.accessible);
        }
    }
}

/// The golden forms of [`drawn`] with one accessible seat. `waitroom-ui/wire/seatmap.md` describes
/// them.
const GOLDEN_PACKED: &[u8] = include_bytes!("../../../waitroom-ui/wire/seatmap.bin");
const GOLDEN_JSON: &str = include_str!("../../../waitroom-ui/wire/seatmap.json");

#[test]
fn a_map_has_the_bytes_of_the_golden_files() {
    let mut chart = drawn();
    chart["subChart"]["rows"][0]["seats"][2]["accessible"] = json!(true);
    let map = parsed(&chart.to_string());
    let shown = serde_json::to_string_pretty(&map.geometry_json()).expect("JSON");
    assert_eq!(format!("{shown}\n"), GOLDEN_JSON);
    let packed = map.geometry_packed();
    assert_eq!(hex::encode(&packed), hex::encode(GOLDEN_PACKED));
    let labels = unpack(GOLDEN_PACKED).into_iter().map(|seat| seat.0);
    let expected = map.seats.iter().map(|seat| seat.label.clone());
    assert!(labels.eq(expected));
}

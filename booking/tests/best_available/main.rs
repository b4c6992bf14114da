//! Tests which seats a party gets. This file holds what the tests share: halls drawn as text, and
//! random numbers from a seed.

mod offers;
mod oracle;
mod properties;
mod rules;
mod wishes;

use std::collections::BTreeSet;

use fairgate_model::choosing::{BestSeatsWish, SeatChoice, choose};
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{parse_grid, parse_seatsio};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::json;

fn dice(seed: u64) -> SmallRng {
    SmallRng::seed_from_u64(seed)
}

fn grid(text: &str) -> SeatMap {
    parse_grid(text).expect("the test writes valid grids")
}

fn cells(map: &SeatMap, labels: &[&str]) -> Vec<u32> {
    labels
        .iter()
        .map(|label| map.index_of(label).expect(label))
        .collect()
}

fn labels<'a>(map: &'a SeatMap, choice: &SeatChoice) -> Vec<&'a str> {
    choice
        .cells
        .iter()
        .map(|cell| map.seats[*cell as usize].label.as_str())
        .collect()
}

/// Returns a function that says which seats are free. All are free except those with these labels.
fn without(map: &SeatMap, taken: &[&str]) -> impl Fn(u32) -> bool + use<> {
    let taken: BTreeSet<u32> = cells(map, taken).into_iter().collect();
    move |cell| !taken.contains(&cell)
}

/// Returns the map of one row drawn as text, and a function that says which seats are free. `.` is
/// a free seat, `x` a taken one, `w` a free accessible one, `c` a free companion seat, and `|` an
/// aisle.
fn row(picture: &str) -> (SeatMap, impl Fn(u32) -> bool + use<>) {
    rows(&[picture])
}

fn rows(pictures: &[&str]) -> (SeatMap, impl Fn(u32) -> bool + use<>) {
    let mut taken = Vec::new();
    let mut drawn = Vec::new();
    for (y, picture) in (0..).zip(pictures) {
        let (mut x, mut seats) = (0, Vec::new());
        for mark in picture.chars() {
            if mark == '|' {
                x += 40;
                continue;
            }
            seats.push(json!({"label": (seats.len() + 1).to_string(), "x": x, "y": y * 24, "categoryKey": 1,
                "accessible": mark == 'w', "companionSeat": mark == 'c'}));
            taken.push(mark == 'x');
            x += 20;
        }
        drawn.push(json!({"label": char::from(b'A' + u8::try_from(y).expect("few rows")).to_string(), "seats": seats}));
    }
    let chart = json!({"categories": {"list": [{"key": 1, "label": "One"}]},
        "subChart": {"focalPoint": {"x": 0, "y": -20}, "rows": drawn}});
    let map = parse_seatsio(&chart.to_string()).expect("the picture is a valid chart");
    (map, move |cell: u32| !taken[cell as usize])
}

/// Chooses with fifty seeds, and returns the different choices.
fn answers(map: &SeatMap, free: &dyn Fn(u32) -> bool, wish: &BestSeatsWish) -> BTreeSet<String> {
    (0..50)
        .map(|seed| match choose(map, free, wish, 0, &mut dice(seed)) {
            Ok(choice) => labels(map, &choice).join(" "),
            Err(reason) => format!("{reason:?}"),
        })
        .collect()
}

fn check(picture: &[&str], wish: &BestSeatsWish, expected: &str) {
    let (map, free) = rows(picture);
    assert_eq!(
        answers(&map, &free, wish),
        BTreeSet::from([expected.to_owned()]),
        "{picture:?} {wish:?}"
    );
}

/// Returns a map. Four seats and a booth are of category "sit". One seat and a standing area for
/// five people are of category "both".
fn with_pit() -> SeatMap {
    let seat = |n: u32, key: &str| json!({"label": n.to_string(), "x": n * 20, "y": 0, "categoryKey": key});
    let chart = json!({
        "categories": {"list": [{"key": "sit", "label": "Sit"}, {"key": "both", "label": "Both"}]},
        "subChart": {
            "rows": [{"label": "A", "seats": [seat(1, "sit"), seat(2, "sit"), seat(3, "sit"), seat(4, "sit"), seat(5, "both")]}],
            "generalAdmissionAreas": [{"label": "Pit", "capacity": 5, "categoryKey": "both", "center": {"x": 0, "y": 90}}],
            "booths": [{"label": "Booth", "categoryKey": "sit", "center": {"x": 0, "y": 1}}],
        },
    });
    parse_seatsio(&chart.to_string()).expect("a valid chart")
}

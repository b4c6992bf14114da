//! Tests which wishes are valid, and how the names in a wish become indices.

use std::collections::{BTreeMap, BTreeSet};

use fairgate_model::choosing::{BestSeatsRequest, BestSeatsWishFault, CellSet};
use serde_json::{Value, json};

use crate::{answers, cells, grid};

#[test]
fn an_unknown_name_or_an_impossible_number_is_refused_with_its_field() {
    let map = grid("4x10");
    let channels = BTreeMap::from([("fan-club".to_owned(), CellSet::from_iter([1, 2]))]);
    let field = |ask: Value| {
        let ask: BestSeatsRequest = serde_json::from_value(ask).expect("a valid request");
        ask.resolve(&map, &channels).map_err(|bad| {
            (
                bad.field(),
                matches!(bad, BestSeatsWishFault::Unknown { .. }),
            )
        })
    };
    for name in ["categories", "sections", "channels"] {
        assert_eq!(
            field(json!({"quantity": 1, name: ["no such"]})),
            Err((name, true))
        );
        assert_eq!(field(json!({"quantity": 1, name: []})), Err((name, false)));
    }
    assert_eq!(
        field(json!({"quantity": 1, "zone": "no such"})),
        Err(("zone", true))
    );
    assert_eq!(field(json!({"quantity": 0})), Err(("quantity", false)));
    assert_eq!(
        field(json!({"quantity": 1, "accessible": 2})),
        Err(("accessible", false))
    );
    assert_eq!(
        field(json!({"quantity": 1, "channels": ["fan-club"], "ignore_channels": true})),
        Err(("ignore_channels", false))
    );
    assert!(
        serde_json::from_value::<BestSeatsRequest>(json!({"quantity": 1, "colour": "red"}))
            .is_err()
    );
    let wish =
        field(json!({"quantity": 1, "categories": ["cat1", "Category 2"]})).expect("key and label");
    assert_eq!(wish.categories, Some(vec![0, 1]));
}

#[test]
fn seats_of_a_channel_go_only_to_wishes_that_name_or_ignore_channels() {
    let map = grid("1x6");
    let channels = BTreeMap::from([(
        "fan-club".to_owned(),
        CellSet::from_iter(cells(&map, &["A-3", "A-4"])),
    )]);
    let answer = |ask: Value| {
        let ask: BestSeatsRequest = serde_json::from_value(ask).expect("a valid request");
        answers(
            &map,
            &|_| true,
            &ask.resolve(&map, &channels).expect("known names"),
        )
    };
    let set = |all: &[&str]| {
        all.iter()
            .map(|one| (*one).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        answer(json!({"quantity": 2, "channels": ["fan-club"]})),
        set(&["A-3 A-4"])
    );
    assert_eq!(
        answer(json!({"quantity": 3, "channels": ["fan-club"]})),
        set(&["Capacity"])
    );
    assert_eq!(answer(json!({"quantity": 2})), set(&["A-1 A-2", "A-5 A-6"]));
    assert_eq!(
        answer(json!({"quantity": 2, "ignore_channels": true})),
        set(&["A-3 A-4"])
    );
}

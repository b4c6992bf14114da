//! Tests the shapes that pages draw: the stage and the outlines of sections.

use fairgate_model::plans::seatmap::SeatMap;
use serde_json::{Value, json};

use crate::{chart, drawn, parsed, small};

#[test]
fn the_stage_and_the_outlines_of_sections_are_in_both_forms_of_a_map() {
    let map = parsed(&drawn().to_string());
    let stage = json!({"label": "Stage", "points": [[0.0, -70.0], [40.0, -70.0], [40.0, -50.0], [0.0, -50.0]]});
    let points = json!([[-10.0, 40.0], [50.0, 40.0], [50.0, 60.0], [-10.0, 60.0]]);
    let shown = serde_json::to_value(map.geometry_json()).expect("JSON");
    assert_eq!(shown["stage"], stage);
    assert_eq!(
        shown["outlines"],
        json!([{"section": "Balcony", "points": points}])
    );
    let packed = map.geometry_packed();
    let text = u32::from_le_bytes(packed[12..16].try_into().expect("4 bytes")) as usize;
    let head: Value = serde_json::from_slice(&packed[16..16 + text]).expect("the head is JSON");
    assert_eq!(head["stage"], stage);
    assert_eq!(head["outlines"], json!([{"section": 0, "points": points}]));
    assert_eq!(head["sections"][0], "Balcony");
}

#[test]
fn a_stored_plan_keeps_its_shapes_and_one_stored_without_them_still_opens() {
    let map = parsed(&drawn().to_string());
    let mut stored = serde_json::to_value(&map).expect("JSON");
    let back: SeatMap = serde_json::from_value(stored.clone()).expect("the JSON becomes a map");
    assert_eq!(back, map);
    assert!(back.stage.is_some() && back.outlines.len() == 1);

    stored["outlines"][0]["section"] = json!(1);
    assert!(
        serde_json::from_value::<SeatMap>(stored.clone()).is_err(),
        "an outline names an unknown section"
    );
    let older = stored.as_object_mut().expect("an object");
    assert!(older.remove("stage").is_some() && older.remove("outlines").is_some());
    let back: SeatMap = serde_json::from_value(stored).expect("an older plan opens");
    assert_eq!((&back.seats, &back.rows), (&map.seats, &map.rows));
    assert!(back.stage.is_none() && back.outlines.is_empty());

    let plain = serde_json::to_value(parsed(&small().to_string())).expect("JSON");
    let newer = ["stage", "outlines"].map(|key| plain.get(key).is_some());
    assert_eq!(
        newer, [false; 2],
        "a plan without shapes is stored as before, so it stays the same version"
    );
}

#[test]
fn a_round_or_turned_stage_is_drawn_with_corners() {
    let stage = |shape: Value| {
        let mut chart = small();
        chart["subChart"]["shapes"] = json!([{"icon": "other", "type": "rectangle"}, shape]);
        parsed(&chart.to_string()).stage.clone()
    };
    let center = json!({"x": 100, "y": 50});
    let round =
        json!({"icon": "stage", "type": "circle", "center": center, "radius1": 30, "radius2": 10});
    let round = stage(round).expect("a stage");
    assert_eq!((round.label, round.points.len()), (None, 48));
    for [x, y] in round.points {
        let on = ((x - 100.0) / 30.0).hypot((y - 50.0) / 10.0);
        assert!((on - 1.0).abs() < 1e-5, "{x} {y}");
    }
    let turned = json!({"smartType": "stage", "type": "rectangle", "center": center, "width": 40, "height": 20,
        "rotationAngle": 90});
    let turned = stage(turned).expect("a stage").points;
    for ([x, y], [right, down]) in
        turned
            .into_iter()
            .zip([[110., 30.], [110., 70.], [90., 70.], [90., 30.]])
    {
        assert!((x - right).abs() < 1e-4 && (y - down).abs() < 1e-4);
    }
    let polygon = json!({"smartType": "stage", "type": "polygon", "points": [{"x": 0, "y": 0}, {"x": 9, "y": 0}, {"x": 0, "y": 9}]});
    let polygon = stage(polygon).expect("a stage").points;
    assert_eq!(polygon, [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]);
}

#[test]
fn odd_shapes_are_left_out_and_never_refuse_a_chart() {
    for odd in [
        json!(null),
        json!(7),
        json!([]),
        json!([1, 2, 3]),
        json!([{"x": 0, "y": 0}, {"x": 1, "y": 1}]),
        json!([{"x": 0, "y": 0}, {"x": "1", "y": 1}, {"x": 2, "y": 2}]),
        json!([{"x": 0, "y": 0}, {"x": 1e12, "y": 1}, {"x": 2, "y": 2}]),
        json!(vec![json!({"x": 0, "y": 0}); 1_001]),
    ] {
        let mut chart = drawn();
        chart["subChart"]["sections"][0]["points"] = odd.clone();
        chart["subChart"]["shapes"] = json!([3, {"smartType": "stage", "points": odd}, {"smartType": "stage",
            "type": "rectangle", "center": odd, "width": 4, "height": -4}]);
        let map = parsed(&chart.to_string());
        assert_eq!(map.cell_count(), 12, "{odd}");
        assert!(map.outlines.is_empty() && map.stage.is_none(), "{odd}");
    }
}

#[test]
fn real_charts_have_their_stage_and_the_seats_of_a_section_are_within_its_outline() {
    if let Some(text) = chart("sampleChart") {
        let stage = parsed(&text)
            .stage
            .clone()
            .expect("the chart draws a stage");
        assert_eq!(
            (stage.label.as_deref(), stage.points.len()),
            (Some("Stage"), 4)
        );
    }
    for (name, sections) in [("sampleChartWithSections", 2), ("sampleChartWithZones", 4)] {
        let Some(text) = chart(name) else {
            continue;
        };
        let map = parsed(&text);
        assert_eq!(map.outlines.len(), sections);
        for outline in &map.outlines {
            let seats = map
                .seats
                .iter()
                .filter(|seat| seat.section == Some(outline.section));
            let outside: Vec<_> = seats
                .filter(|seat| !within(&outline.points, seat.x, seat.y))
                .map(|seat| &seat.label)
                .collect();
            assert!(outside.is_empty(), "{outside:?}");
        }
    }
}

/// Returns whether a point is inside a shape. It is inside if a line from the point to the right
/// crosses the edge an odd number of times.
fn within(shape: &[[f32; 2]], x: f32, y: f32) -> bool {
    let next = shape.iter().cycle().skip(1);
    let crossed = shape.iter().zip(next).filter(|([ax, ay], [bx, by])| {
        (*ay > y) != (*by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)
    });
    crossed.count() % 2 == 1
}

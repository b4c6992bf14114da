//! Tests that the arena could be built: no shapes overlap, and no seats are too close.

use std::collections::{HashMap, HashSet};

use fairgate_model::plans::parse_fairgate;
use fairgate_model::plans::seatmap::{OutlinePoint, SeatMap};

use super::document;
use super::oval::arc_at;

/// The width of a person, 45 centimetres. A chair takes 20 units, 50 centimetres.
const PERSON: f32 = 18.0;

fn arena() -> SeatMap {
    parse_fairgate(&document()).expect("the arena is a plan without faults")
}

fn section_label(map: &SeatMap, section: Option<u32>) -> &str {
    &map.sections[section.expect("every seat is in a section") as usize]
}

/// Returns whether a point is inside a shape. A line from such a point to the right crosses the
/// shape's edge an odd number of times.
fn inside(shape: &[OutlinePoint], [x, y]: OutlinePoint) -> bool {
    let next = shape.iter().cycle().skip(1);
    let crossed = shape.iter().zip(next).filter(|([ax, ay], [bx, by])| {
        (*ay > y) != (*by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)
    });
    crossed.count() % 2 == 1
}

/// Returns whether two straight lines cross: the ends of each lie on different sides of the other.
fn cross([a, b]: [OutlinePoint; 2], [c, d]: [OutlinePoint; 2]) -> bool {
    let side =
        |[from_x, from_y]: OutlinePoint, [to_x, to_y]: OutlinePoint, [x, y]: OutlinePoint| {
            (to_x - from_x) * (y - from_y) - (to_y - from_y) * (x - from_x)
        };
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// Returns whether two shapes overlap: a corner of one is inside the other, or two edges cross.
fn overlap(one: &[OutlinePoint], other: &[OutlinePoint]) -> bool {
    let edges = |shape: &[OutlinePoint]| {
        let next = shape.iter().cycle().skip(1);
        let edges = shape.iter().zip(next).map(|(from, to)| [*from, *to]);
        edges.collect::<Vec<_>>()
    };
    let (edges, other_edges) = (edges(one), edges(other));
    one.iter().any(|corner| inside(other, *corner))
        || other.iter().any(|corner| inside(one, *corner))
        || edges
            .iter()
            .any(|edge| other_edges.iter().any(|other| cross(*edge, *other)))
}

#[test]
fn shapes_that_cross_overlap_even_if_no_corner_is_inside_the_other() {
    let across = [[-2.0, -1.0], [2.0, -1.0], [2.0, 1.0], [-2.0, 1.0]];
    let along = [[-1.0, -2.0], [1.0, -2.0], [1.0, 2.0], [-1.0, 2.0]];
    let beside = along.map(|[x, y]| [x + 3.5, y]);
    assert!(overlap(&across, &along));
    assert!(!overlap(&across, &beside));
}

#[test]
fn the_arena_sells_over_20_000_seats_at_five_prices_and_looks_at_its_stage() {
    let map = arena();
    assert!(map.cell_count() >= 20_000, "{} seats", map.cell_count());
    for category in 0..5_u16 {
        let seats = map.seats.iter().filter(|seat| seat.category == category);
        assert!(seats.count() > 1_000, "category {category}");
    }
    assert_eq!(map.categories.len(), 5);
    let stage = map.stage.as_ref().expect("a stage");
    let focal = map.focal.expect("a focal point");
    let front: Vec<_> = stage.points.iter().filter(|[_, y]| *y == focal.y).collect();
    assert!(
        focal.x == 0.0 && front.len() >= 2,
        "the focal point is at the stage's front"
    );
}

#[test]
fn no_two_seats_are_closer_than_a_person_is_wide() {
    let map = arena();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the arena is far smaller than 2^31"
    )]
    let bucket = |x: f32, y: f32| ((x / PERSON).floor() as i32, (y / PERSON).floor() as i32);
    let mut buckets: HashMap<(i32, i32), Vec<u32>> = HashMap::new();
    for (cell, seat) in (0..).zip(&map.seats) {
        let (column, line) = bucket(seat.x, seat.y);
        for near in
            (-1..=1).flat_map(|right| (-1..=1).map(move |down| (column + right, line + down)))
        {
            for other in buckets.get(&near).into_iter().flatten() {
                let other = &map.seats[*other as usize];
                let apart = (seat.x - other.x).hypot(seat.y - other.y);
                assert!(
                    apart >= PERSON,
                    "{} and {}: {apart}",
                    seat.label,
                    other.label
                );
            }
        }
        buckets.entry((column, line)).or_default().push(cell);
    }
}

#[test]
fn every_seat_is_inside_the_outline_of_its_section_and_of_no_other_and_not_on_the_stage() {
    let map = arena();
    let stage = &map.stage.as_ref().expect("a stage").points;
    for seat in &map.seats {
        let at = [seat.x, seat.y];
        let within = map
            .outlines
            .iter()
            .filter(|outline| inside(&outline.points, at));
        let within: Vec<_> = within.map(|outline| Some(outline.section)).collect();
        assert_eq!(within, [seat.section], "{}", seat.label);
        assert!(!inside(stage, at), "{} is on the stage", seat.label);
    }
    assert_eq!(map.outlines.len(), map.sections.len());
}

#[test]
fn the_outlines_and_the_stage_do_not_overlap() {
    let map = arena();
    let stage = &map.stage.as_ref().expect("a stage").points;
    let shapes: Vec<&[OutlinePoint]> = map
        .outlines
        .iter()
        .map(|outline| outline.points.as_slice())
        .chain([stage.as_slice()])
        .collect();
    for (at, shape) in shapes.iter().enumerate() {
        for (other, other_shape) in shapes.iter().enumerate().skip(at + 1) {
            assert!(!overlap(shape, other_shape), "shapes {at} and {other}");
        }
    }
}

#[test]
fn every_row_of_the_bowl_is_parallel_to_the_oval_and_all_others_are_straight() {
    let map = arena();
    for row in &map.rows {
        let seats: Vec<_> = row
            .cells
            .iter()
            .map(|cell| &map.seats[*cell as usize])
            .collect();
        let label = section_label(&map, row.section);
        let (first, last) = (seats[0], seats[seats.len() - 1]);
        let middle = seats[seats.len() / 2];
        if label.starts_with("Floor") {
            assert!(
                seats.iter().all(|seat| seat.y == first.y),
                "{label}-{}",
                row.label
            );
            continue;
        }
        let outwards: Vec<f64> = seats.iter().map(|seat| outwards(seat.x, seat.y)).collect();
        let parallel = outwards.iter().all(|out| (out - outwards[0]).abs() < 0.2);
        assert!(parallel, "{label}-{}: {outwards:?}", row.label);
        // The row must bulge outwards: its middle is to the right of the straight line from the
        // first seat to the last.
        let (right, down) = (last.x - first.x, last.y - first.y);
        let aside = right * (middle.y - first.y) - down * (middle.x - first.x);
        assert!(aside > 0.0, "{label}-{}", row.label);
    }
}

/// Returns the distance of a point from the oval. Of the four arcs, the nearest is the one whose
/// range of angles contains the point.
fn outwards(x: f32, y: f32) -> f64 {
    let (x, y) = (f64::from(x), f64::from(y));
    let distances = [0.0, 90.0, 180.0, 270.0]
        .into_iter()
        .filter_map(|direction: f64| {
            let arc = arc_at(direction);
            let radius = arc.radius_at(0.0);
            let center = arc.point(direction.to_radians(), -radius);
            let angle = (y - center.1).atan2(x - center.0).to_degrees();
            let same = |angle: f64| arc_at(angle).point(0.0, 0.0) == arc.point(0.0, 0.0);
            let nearest = same(if angle < -90.0 { angle + 360.0 } else { angle });
            nearest.then(|| (x - center.0).hypot(y - center.1) - radius)
        });
    distances.fold(f64::NAN, f64::min)
}

#[test]
fn every_place_for_a_wheelchair_has_a_companion_beside_it() {
    let map = arena();
    let wheelchairs = map.seats.iter().filter(|seat| seat.accessible).count();
    assert!(wheelchairs > 100, "{wheelchairs}");
    for row in &map.rows {
        let seats = row.cells.iter().map(|cell| &map.seats[*cell as usize]);
        let flags: Vec<_> = seats
            .map(|seat| (seat.accessible, seat.companion))
            .collect();
        let accessible = flags.iter().any(|(accessible, _)| *accessible);
        let pairs = flags
            .chunks(2)
            .all(|pair| *pair == [(true, false), (false, true)]);
        assert!(!accessible || pairs, "{}", row.label);
        assert!(accessible || flags.iter().all(|flags| *flags == (false, false)));
    }
}

#[test]
fn seats_beside_the_stage_have_a_restricted_view_and_the_cheapest_price() {
    let map = arena();
    let restricted: HashSet<&str> = map
        .seats
        .iter()
        .filter(|seat| seat.restricted_view)
        .map(|seat| section_label(&map, seat.section))
        .collect();
    assert_eq!(restricted, HashSet::from(["101", "115", "201", "220"]));
    let mut seats = map.seats.iter();
    assert!(seats.all(|seat| !seat.restricted_view || seat.category == 4));
}

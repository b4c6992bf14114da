//! Tests halls that are made from two numbers: the number of rows, and the number of seats in each.

use fairgate_model::plans::parse_grid;

use crate::codes;

#[test]
fn a_grid_is_a_hall_with_blocks_price_bands_and_a_stage() {
    let map = parse_grid("50x400").expect("a valid hall");
    assert_eq!(
        (map.cell_count(), map.categories.len(), map.sections.len()),
        (20_000, 2, 10)
    );
    assert_eq!(map.index_of("A-1"), Some(0));
    assert_eq!(map.index_of("A-400"), Some(399));
    assert_eq!(map.index_of("AX-400"), Some(19_999));
    assert!(
        map.benches()
            .iter()
            .all(|bench| map.on_bench(bench).len() == 40)
    );
    let category = |label: &str| {
        &map.categories[usize::from(map.seats[map.index_of(label).expect(label) as usize].category)]
    };
    assert_eq!(category("A-1").key, "cat1");
    assert_eq!(category("AX-1").key, "cat2");
    let focal = map.focal.expect("a grid has a stage");
    let middle = f32::midpoint(map.bounds().min_x, map.bounds().max_x);
    assert!((focal.x - middle).abs() < 0.1 && focal.y < 0.0);

    let small = parse_grid("3x10").expect("a small hall");
    assert_eq!((small.categories.len(), small.sections.len()), (2, 0));
    assert_eq!(
        parse_grid("500x400").expect("the largest").cell_count(),
        200_000
    );
}

#[test]
fn a_text_that_is_no_grid_is_refused() {
    for (text, code) in [
        ("", "bad_grid"),
        ("50", "bad_grid"),
        ("x", "bad_grid"),
        ("+5x4", "bad_grid"),
        ("-5x4", "bad_grid"),
        ("5x4x3", "bad_grid"),
        ("99999999999x1", "bad_grid"),
        ("0x4", "no_seats"),
        ("4x0", "no_seats"),
        ("501x400", "too_many_seats"),
        ("4294967295x4294967295", "too_many_seats"),
    ] {
        assert_eq!(codes(&parse_grid(text).expect_err(text)), [code], "{text}");
    }
}

//! The demo's on-sale, for a start without settings: an arena, a show in 30 days, a draw in 25
//! seconds.

use fairgate_base::clock::rfc3339;

/// The slug of the demo's room.
pub const ROOM: &str = "demo";

/// The time from the start to the draw, milliseconds.
const DRAW_AFTER_MS: i64 = 25_000;
const HOUR_MS: i64 = 3_600_000;

/// Writes the demo's on-sale file at `now` (ms), in the form that `gateway apply` reads.
#[must_use]
pub fn onsale(now: i64) -> String {
    let (opens, draws, closes) = (
        rfc3339(now),
        rfc3339(now + DRAW_AFTER_MS),
        rfc3339(now + 12 * HOUR_MS),
    );
    let starts = rfc3339(now + 30 * 24 * HOUR_MS);
    format!(
        r#"[[venue]]
id = "demo-arena"
plan = "grid:120x180"
name = "Demo Arena"
city = "Berlin"
time_zone = "Europe/Berlin"

[[show]]
id = "demo-night"
venue = "demo-arena"
title = "Demo night"
starts_at = "{starts}"
currency = "EUR"
prices = {{ cat1 = 12900, cat2 = 6900 }}

[[room]]
id = "{ROOM}"
title = "Demo night"
shows = ["demo-night"]
opens_at = "{opens}"
draw_at = "{draws}"
closes_at = "{closes}"
per_s = 50
message = "This is a demo: nothing is really for sale, and no money moves."
"#
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_demo_is_a_good_on_sale_file() {
        let steps =
            crate::onsale::plan_calls(&super::onsale(1_800_000_000_000), std::path::Path::new("."))
                .expect("good");
        assert_eq!(steps.len(), 3);
    }
}

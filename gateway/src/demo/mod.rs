//! The on-sale of the demo, which the gateway runs if it starts without a command. It has an arena,
//! a show in 30 days, and a draw in 25 seconds.

mod arena;

use fairgate_base::clock::rfc3339;

use crate::onsale::{OnsaleFileCall, calls_with_plans};

/// The slug of the demo's room.
pub const ROOM: &str = "demo";

/// The time from the start to the draw, milliseconds.
const DRAW_AFTER_MS: i64 = 25_000;
const HOUR_MS: i64 = 3_600_000;

/// Returns the calls that put the demo on sale at `now` (ms).
///
/// # Errors
/// Returns every fault of the demo's on-sale file, as [`calls_with_plans`] does.
pub fn calls(now: i64) -> Result<Vec<OnsaleFileCall>, Vec<String>> {
    calls_with_plans(&onsale(now), &|_: &str| Ok(arena::document()))
}

/// Writes the demo's on-sale file at `now` (ms), in the form that `gateway apply` reads. Its only
/// plan is the arena's.
fn onsale(now: i64) -> String {
    let (opens, draws, closes) = (
        rfc3339(now),
        rfc3339(now + DRAW_AFTER_MS),
        rfc3339(now + 12 * HOUR_MS),
    );
    let starts = rfc3339(now + 30 * 24 * HOUR_MS);
    format!(
        r#"[[venue]]
id = "demo-arena"
plan = "fairgate:arena.json"
name = "Demo Arena"
city = "Berlin"
time_zone = "Europe/Berlin"

[[show]]
id = "demo-night"
venue = "demo-arena"
title = "Demo night"
starts_at = "{starts}"
currency = "EUR"
prices = {{ cat1 = 17900, cat2 = 13900, cat3 = 10900, cat4 = 7900, cat5 = 4900 }}

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
        let steps = super::calls(1_800_000_000_000).expect("good");
        let called: Vec<_> = steps.iter().map(|step| step.what.as_str()).collect();
        let venue = "venue \"demo-arena\"";
        assert_eq!(called, [venue, "show \"demo-night\"", "room \"demo\""]);
        assert!(
            steps[0]
                .path
                .contains("?format=fairgate&name=Demo%20Arena&")
        );
    }
}

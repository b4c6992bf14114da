//! The on-sale of the demo, which the gateway runs if it starts without a command. It has an arena,
//! a show in 30 days, and a draw in 25 seconds.

mod arena;

use fairgate_base::clock::rfc3339;

use crate::onsale::client::OnsaleUpload;

/// The slug of the demo's room.
pub const ROOM: &str = "demo";

/// The time from the start to the draw, milliseconds.
const DRAW_AFTER_MS: i64 = 25_000;
const HOUR_MS: i64 = 3_600_000;

/// The name of the arena's plan in the on-sale file.
const ARENA: &str = "arena.json";

/// Returns the demo's on-sale file at `now` (ms), with its plan.
#[must_use]
pub fn upload(now: i64) -> OnsaleUpload {
    let plans = [(ARENA.to_owned(), arena::document())];
    OnsaleUpload::new(onsale(now), plans.into())
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
plan = "fairgate:{ARENA}"
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
    use crate::onsale::file::OnsaleFile;

    #[test]
    fn the_demo_is_a_good_on_sale_file() {
        let plans = [(super::ARENA.to_owned(), super::arena::document())];
        let text = super::onsale(1_800_000_000_000);
        let file = OnsaleFile::from_toml(&text, &plans.into());
        assert_eq!(file.faults, []);
        let ids: Vec<_> = file.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["demo-arena", "demo-night", "demo"]);
    }
}

//! Plays varied rooms and shows how well the waits that visitors are told come true:
//! `telling_waits ROOMS SEED`. The exit code is 1 if they do not come true often enough.

use std::io::Write;
use std::process::ExitCode;

use fairgate_simulation::outcome::WaitScores;
use fairgate_simulation::simulate_told_waits;
use fairgate_simulation::varied_rooms::{RoomKind, varied_room};

/// The least share of the time waited in which the wait is known.
const KNOWN_MIN: f64 = 0.9;
/// The share of told waits that should be within the told p90.
const WITHIN_P90: [f64; 2] = [0.85, 0.95];
/// The least share of told waits whose p50 should be near the real wait.
const NEAR_MIN: f64 = 0.8;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(rooms)), Some(Ok(seed))) = (arguments.next(), arguments.next()) else {
        let _ = writeln!(std::io::stderr(), "expected: telling_waits ROOMS SEED");
        return ExitCode::from(2);
    };
    let kinds = RoomKind::ALL;
    let mut by_kind = kinds.map(|kind| (kind, WaitScores::default()));
    for number in 0..rooms {
        let (kind, scores) = &mut by_kind[(number % kinds.len() as u64) as usize];
        let room_seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let room = varied_room(*kind, room_seed);
        let told = simulate_told_waits(&room.sale, room.pause, room_seed);
        scores.add_room(&told);
    }
    let mut all = WaitScores::default();
    for (kind, scores) in by_kind {
        show(&format!("{kind:?}"), &scores);
        all.add(&scores);
    }
    show("all", &all);
    let is_good = all.known_share() >= KNOWN_MIN
        && (WITHIN_P90[0]..=WITHIN_P90[1]).contains(&all.within_p90_share())
        && all.near_p50_share() >= NEAR_MIN;
    ExitCode::from(u8::from(!is_good))
}

fn show(name: &str, scores: &WaitScores) {
    // It is no error if nobody reads the output any more.
    let _ = writeln!(
        std::io::stdout(),
        "{name}: known {:.1} %, within p90 {:.1} %, p50 near {:.1} %",
        scores.known_share() * 100.0,
        scores.within_p90_share() * 100.0,
        scores.near_p50_share() * 100.0
    );
}

//! Checks that the waits that visitors are told come true.

use fairgate_simulation::outcome::WaitScores;
use fairgate_simulation::simulate_told_waits;
use fairgate_simulation::varied_rooms::{RoomKind, varied_room};

/// Rooms of each kind. `cargo run --release --example telling_waits` plays many more.
const ROOMS_OF_EACH: u64 = 8;

#[test]
fn told_waits_come_true_in_rooms_of_every_kind() {
    let mut all = WaitScores::default();
    for kind in RoomKind::ALL {
        for number in 0..ROOMS_OF_EACH {
            let seed = 40_000 + number;
            let room = varied_room(kind, seed);
            all.add_room(&simulate_told_waits(&room.sale, room.pause, seed));
        }
    }
    // The margins are wider than those of the long form, because the rooms are few.
    let (known, within, near) = (
        all.known_share(),
        all.within_p90_share(),
        all.near_p50_share(),
    );
    assert!(known >= 0.9, "known: {known}");
    assert!((0.8..=0.98).contains(&within), "within p90: {within}");
    assert!(near >= 0.7, "near p50: {near}");
}

//! Tests who enters when others were called and say nothing, and that operators are warned of a
//! room that refuses called visitors although hardly anybody is inside.

mod support;

use std::path::Path;

use fairgate_pass::LEEWAY_S;
use gateway::line::claim::PassClaimRefusal;
use serde_json::json;
use support::site::{Site, two_nodes};

/// How long a pass of the room lives, milliseconds.
const PASS_MS: i64 = 10_000;
/// After this time nobody takes such a pass any more, milliseconds.
const PASS_TAKEN_MS: i64 = PASS_MS + LEEWAY_S * 1_000;
/// How long a called visitor is expected to claim, milliseconds.
const CLAIM_MS: i64 = 120_000;
/// How many seats are free.
const FREE: u64 = 500;

/// Returns the warnings of rooms that refuse called visitors.
fn warnings(site: &Site) -> Vec<String> {
    let warnings = site.node.line.rooms.warnings().into_iter();
    warnings
        .filter(|warning| warning.contains("refused called"))
        .collect()
}

/// Opens a room for four visitors. `method` is the order of its line.
async fn small_room(data: &Path, method: &str) -> [Site; 2] {
    let room =
        json!({"method": method, "per_s": 1_000, "max_inside": 4, "pass_s": PASS_MS / 1_000});
    two_nodes(data, room, FREE).await
}

/// Lets two visitors enter whose passes run out, and calls four others who say nothing.
async fn is_kept_for_silent_people(one: &Site) {
    for of in 0..6 {
        one.join(of).await;
        if of == 1 {
            one.clock.advance_ms(1_000);
            one.tick().await;
            for of in 0..2 {
                one.claim(of).await.expect("a pass");
            }
            one.clock.advance_ms(PASS_TAKEN_MS);
            one.tick().await;
        }
    }
    one.clock.advance_ms(1_000);
    one.tick().await;
}

/// Asks for a second pass every two seconds, until the room warns of it. Returns the seconds until
/// then.
async fn asks_until_warned(site: &Site) -> i64 {
    let begun = site.clock.now_ms();
    loop {
        let refused = site.claim(0).await.expect_err("it is kept for others");
        assert!(
            matches!(refused, PassClaimRefusal::NotCalled(_)),
            "{refused}"
        );
        let waited_s = (site.clock.now_ms() - begun) / 1_000;
        if !warnings(site).is_empty() {
            return waited_s;
        }
        assert!(waited_s < 60, "no warning");
        site.clock.advance_ms(2_000);
        site.tick().await;
    }
}

#[tokio::test]
async fn an_empty_room_that_refuses_called_visitors_is_warned_of_until_somebody_enters() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, _] = small_room(data.path(), "fifo").await;
    is_kept_for_silent_people(&one).await;
    assert_eq!(asks_until_warned(&one).await, 12, "more than 10 s");
    let warned = warnings(&one);
    for word in ["\"sale\"", "12 s", "0 visitors are inside", "4 may be"] {
        assert!(warned[0].contains(word), "{word} is not in {warned:?}");
    }
    one.claim(2).await.expect("a pass");
    one.clock.advance_ms(1_000);
    one.tick().await;
    assert_eq!(warnings(&one), [""; 0]);
}

#[tokio::test]
async fn an_entry_at_one_node_ends_the_warning_of_another() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, other] = small_room(data.path(), "fifo").await;
    is_kept_for_silent_people(&one).await;
    other.tick().await;
    asks_until_warned(&other).await;
    assert_eq!(warnings(&one), [""; 0], "this node has refused nobody");
    one.tick().await;
    one.claim(2).await.expect("a pass");
    other.clock.advance_ms(1_000);
    other.tick().await;
    assert_eq!(warnings(&other), [""; 0]);
}

#[tokio::test]
async fn people_who_join_and_never_claim_keep_nobody_out_of_a_room_without_a_line() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, _] = small_room(data.path(), "open").await;
    for of in 0..6 {
        one.join(of).await;
    }
    one.tick().await;
    one.clock.advance_ms(1_000);
    one.join(6).await;
    let asked = one.clock.now_ms();
    while one.claim(6).await.is_err() {
        assert!(
            one.clock.now_ms() - asked < 10_000,
            "the room is empty, and it lets nobody in"
        );
        one.clock.advance_ms(2_000);
        one.tick().await;
    }
}

#[tokio::test]
async fn a_late_comer_enters_within_ten_seconds_although_those_called_later_say_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, other] = small_room(data.path(), "fifo").await;
    one.join(0).await;
    one.clock.advance_ms(1_000);
    one.tick().await;
    // The window of the first visitor ends, and four others are called.
    one.clock.advance_ms(CLAIM_MS + 1_000);
    one.tick().await;
    for of in 1..6 {
        one.join(of).await;
    }
    one.clock.advance_ms(1_000);
    one.tick().await;
    one.claim(1).await.expect("a pass");
    let asked = one.clock.now_ms();
    while other.claim(0).await.is_err() {
        assert!(
            one.clock.now_ms() - asked < 10_000,
            "three entries are free"
        );
        one.clock.advance_ms(2_000);
        other.tick().await;
    }
    assert!(
        one.clock.now_ms() - asked >= 5_000,
        "those called have a moment to come"
    );
}

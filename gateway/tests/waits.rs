//! Tests what visitors are told about the line: the wait in a room that is full, and that nobody
//! sees more people ahead than before.

mod support;

use std::path::Path;

use gateway::line::place_view::{PlaceView, describe};
use serde_json::json;
use support::site::{Site, two_nodes};

/// Returns what a visitor is told.
async fn told(site: &Site, of: u8) -> PlaceView {
    describe(&site.room, &site.place(of).await, site.clock.now_ms())
}

/// Notes that these visitors are here now.
async fn see(site: &Site, visitors: impl Iterator<Item = u8>) {
    let mut numbers = Vec::new();
    for of in visitors {
        numbers.push(site.place(of).await.number);
    }
    let now_s = site.clock.now_ms().div_euclid(1_000);
    let store = site.node.line.rooms.store();
    let noted = store.note_seen("sale", &numbers, now_s).await;
    noted.expect("noted");
}

/// Opens a room that lets ten a second in and at most `max_inside` at once.
async fn full_room(data: &Path, max_inside: u64) -> [Site; 2] {
    let room = json!({"method": "fifo", "per_s": 10, "max_inside": max_inside, "pass_s": 600});
    two_nodes(data, room, 5_000).await
}

#[tokio::test]
async fn if_nobody_leaves_a_full_room_the_told_wait_is_minutes_and_not_seconds() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, _] = full_room(data.path(), 20).await;
    for of in 0..60 {
        one.join(of).await;
    }
    let mut entered = 0;
    for second in 1..=92 {
        one.clock.advance_ms(1_000);
        see(&one, 0..60).await;
        one.tick().await;
        while u64::from(entered) < one.room.last_tick().released {
            one.claim(entered).await.expect("a pass");
            entered += 1;
        }
        let wait = told(&one, 50).await.wait;
        let p90_s = wait.p90_s.expect("it is known from the first answer on");
        if second > 3 {
            assert!(p90_s > 400.0, "after {second} s: {wait:?}");
        }
    }
    assert_eq!(entered, 20);
    // The passes end 508 s later at the earliest.
    let wait = told(&one, 50).await.wait;
    let p50_s = wait.p50_s.expect("known");
    assert!((250.0..1_200.0).contains(&p50_s), "{wait:?}");
}

#[tokio::test]
async fn nobody_sees_more_people_ahead_while_others_go_away_and_come_back_at_two_nodes() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, other] = full_room(data.path(), 5).await;
    for of in 0..60 {
        one.join(of).await;
    }
    let mut last = [60_u64; 60];
    for second in 0_u8..240 {
        one.clock.advance_ms(1_000);
        // Every third visitor is away in the second minute, and here again from the third on.
        let is_here = |of: &u8| !of.is_multiple_of(3) || !(20..160).contains(&second);
        see(&one, (0..60).filter(is_here)).await;
        let site = if second % 2 == 0 { &one } else { &other };
        site.tick().await;
        for of in 0..60_u8 {
            let ahead = told(site, of).await.ahead.expect("a rank");
            let before = &mut last[usize::from(of)];
            assert!(
                ahead <= *before,
                "visitor {of} after {second} s: {ahead}, before {before}"
            );
            *before = ahead;
        }
    }
    assert!(
        last[59] < 45,
        "those who were away are not counted: {last:?}"
    );
}

//! Tests what visitors are told about the line: the wait in a room that is full, and that nobody
//! sees more people ahead than before.

mod support;

use fairgate_base::clock::Clock;
use fairgate_pass::Holder;
use fairgate_rules::room_document::{RoomDocument, RoomDocumentInput};
use gateway::ledger::RoomAuditEntry;
use gateway::line::claim::claim_pass;
use gateway::line::place_view::{PlaceView, describe};
use gateway::line::release::run_tick;
use gateway::room::Room;
use gateway::store::{NetworkToll, Place, StoreJoinRequest};
use gateway::upstream::BookingPulse;
use serde_json::json;
use support::node::Node;

/// A node and the room, with the clock that all nodes share.
struct Site {
    node: Node,
    room: Room,
    clock: Clock,
}

impl Site {
    async fn tick(&self) {
        let pulse = BookingPulse {
            free: 5_000,
            ..BookingPulse::default()
        };
        let now = self.clock.now_ms();
        run_tick(&self.node.line.rooms, &self.room, Some(pulse), true, now)
            .await
            .expect("it ticks");
    }

    async fn join(&self, of: u8) {
        let entrant = StoreJoinRequest {
            holder: Holder([of; 32]),
            code: None,
            needs_code: false,
            toll: NetworkToll::NONE,
            now: self.clock.now_ms(),
        };
        let store = self.node.line.rooms.store();
        store.join("sale", entrant).await.expect("a place");
    }

    async fn place(&self, of: u8) -> Place {
        let store = self.node.line.rooms.store();
        let place = store.place_of("sale", Holder([of; 32])).await;
        place.expect("it answers").expect("a place")
    }

    /// Returns what a visitor is told.
    async fn told(&self, of: u8) -> PlaceView {
        describe(&self.room, &self.place(of).await, self.clock.now_ms())
    }

    /// Notes that these visitors are here now.
    async fn see(&self, visitors: impl Iterator<Item = u8>) {
        let mut numbers = Vec::new();
        for of in visitors {
            numbers.push(self.place(of).await.number);
        }
        let now_s = self.clock.now_ms().div_euclid(1_000);
        let store = self.node.line.rooms.store();
        store
            .note_seen("sale", &numbers, now_s)
            .await
            .expect("noted");
    }

    async fn claim(&self, of: u8) {
        let place = self.place(of).await;
        let now = self.clock.now_ms();
        let claimed = claim_pass(
            &self.node.line.rooms,
            &self.room,
            &place,
            NetworkToll::NONE,
            now,
        );
        claimed.await.expect("a pass");
    }
}

/// Opens a room that lets ten a second in and at most `max_inside` at once, at two nodes that share
/// the line's store and the ledger.
async fn two_nodes(data: &std::path::Path, max_inside: u64) -> [Site; 2] {
    let clock = Clock::standing_at("2030-01-01T00:00:00Z".parse().expect("a moment"));
    let document = json!({
        "title": "A sale", "shows": ["night"], "opens_at": "2029-01-01T00:00:00Z", "draw_at": "2029-01-01T00:00:00Z",
        "method": "fifo", "mode": "fixed", "per_s": 10, "max_inside": max_inside, "pass_s": 600,
    });
    let document: RoomDocumentInput = serde_json::from_value(document).expect("a document");
    let document = RoomDocument::from_input("sale", document).expect("a valid document");
    let one = Node::start(data, clock.clone()).await;
    let other = one.beside().await;
    let row = one.line.rooms.fresh_row("sale", document);
    let entry = RoomAuditEntry {
        at: clock.now_ms(),
        role: "promoter",
        action: "room_created",
        detail: json!({}),
    };
    let created = one.line.rooms.ledger().create_room(row.clone(), entry);
    assert!(created.await.expect("a room"));
    let mut sites = Vec::new();
    for node in [one, other] {
        let opened = node.line.rooms.take_up(row.clone()).await;
        let room = opened.expect("it opens");
        sites.push(Site {
            node,
            room,
            clock: clock.clone(),
        });
    }
    sites.try_into().ok().expect("two sites")
}

#[tokio::test]
async fn if_nobody_leaves_a_full_room_the_told_wait_is_minutes_and_not_seconds() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, _] = two_nodes(data.path(), 20).await;
    for of in 0..60 {
        one.join(of).await;
    }
    let mut entered = 0;
    for second in 1..=92 {
        one.clock.advance_ms(1_000);
        one.see(0..60).await;
        one.tick().await;
        while u64::from(entered) < one.room.last_tick().released {
            one.claim(entered).await;
            entered += 1;
        }
        let wait = one.told(50).await.wait;
        let p90_s = wait.p90_s.expect("it is known from the first answer on");
        if second > 3 {
            assert!(p90_s > 400.0, "after {second} s: {wait:?}");
        }
    }
    assert_eq!(entered, 20);
    // The passes end 508 s later at the earliest.
    let wait = one.told(50).await.wait;
    let p50_s = wait.p50_s.expect("known");
    assert!((250.0..1_200.0).contains(&p50_s), "{wait:?}");
}

#[tokio::test]
async fn nobody_sees_more_people_ahead_while_others_go_away_and_come_back_at_two_nodes() {
    let data = tempfile::tempdir().expect("a folder");
    let [one, other] = two_nodes(data.path(), 5).await;
    for of in 0..60 {
        one.join(of).await;
    }
    let mut last = [60_u64; 60];
    for second in 0_u8..240 {
        one.clock.advance_ms(1_000);
        // Every third visitor is away in the second minute, and here again from the third on.
        let is_here = |of: &u8| !of.is_multiple_of(3) || !(20..160).contains(&second);
        one.see((0..60).filter(is_here)).await;
        let site = if second % 2 == 0 { &one } else { &other };
        site.tick().await;
        for of in 0..60_u8 {
            let ahead = site.told(of).await.ahead.expect("a rank");
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

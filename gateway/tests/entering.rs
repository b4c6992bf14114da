//! Tests who enters when others were called and say nothing, and that operators are warned of a
//! room that refuses called visitors although hardly anybody is inside.

mod support;

use fairgate_base::clock::Clock;
use fairgate_pass::{Holder, LEEWAY_S};
use fairgate_rules::room_document::{RoomDocument, RoomDocumentInput};
use gateway::ledger::RoomAuditEntry;
use gateway::line::claim::{ClaimedPass, PassClaimRefusal, claim_pass};
use gateway::line::release::run_tick;
use gateway::room::Room;
use gateway::store::{NetworkToll, StoreJoinRequest};
use gateway::upstream::BookingPulse;
use serde_json::json;
use support::node::Node;

/// How long a pass of the room lives, milliseconds.
const PASS_MS: i64 = 10_000;
/// After this time nobody takes such a pass any more, milliseconds.
const PASS_TAKEN_MS: i64 = PASS_MS + LEEWAY_S * 1_000;
/// How long a called visitor is expected to claim, milliseconds.
const CLAIM_MS: i64 = 120_000;
/// How many seats are free.
const FREE: u64 = 500;

/// A node and the room, with the clock that all nodes share.
struct Site {
    node: Node,
    room: Room,
    clock: Clock,
}

impl Site {
    async fn tick(&self) {
        let pulse = BookingPulse {
            free: FREE,
            ..BookingPulse::default()
        };
        let now = self.clock.now_ms();
        run_tick(&self.node.line.rooms, &self.room, Some(pulse), true, now)
            .await
            .expect("it ticks");
    }

    async fn joins(&self, of: u8) {
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

    async fn claims(&self, of: u8) -> Result<ClaimedPass, PassClaimRefusal> {
        let rooms = &self.node.line.rooms;
        let place = rooms.store().place_of("sale", Holder([of; 32])).await;
        let place = place.expect("it answers").expect("a place");
        let now = self.clock.now_ms();
        claim_pass(rooms, &self.room, &place, NetworkToll::NONE, now).await
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = self.node.line.rooms.warnings().into_iter();
        warnings
            .filter(|warning| warning.contains("refused called"))
            .collect()
    }
}

/// Opens a room for four visitors at two nodes that share the line's store and the ledger. `method`
/// is the order of its line.
async fn two_nodes(data: &std::path::Path, method: &str) -> (Site, Site) {
    let clock = Clock::standing_at("2030-01-01T00:00:00Z".parse().expect("a moment"));
    let document = json!({
        "title": "A sale", "shows": ["night"], "opens_at": "2029-01-01T00:00:00Z", "draw_at": "2029-01-01T00:00:00Z",
        "method": method, "mode": "fixed", "per_s": 1000, "max_inside": 4, "pass_s": PASS_MS / 1000,
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
    let ledger = one.line.rooms.ledger();
    let created = ledger.create_room(row.clone(), entry).await;
    assert!(created.expect("a room"));
    let mut sites = Vec::new();
    for node in [one, other] {
        let room = node
            .line
            .rooms
            .take_up(row.clone())
            .await
            .expect("it opens");
        sites.push(Site {
            node,
            room,
            clock: clock.clone(),
        });
    }
    let other = sites.pop().expect("two sites");
    (sites.pop().expect("two sites"), other)
}

/// Lets two visitors enter whose passes run out, and calls four others who say nothing.
async fn is_kept_for_silent_people(one: &Site) {
    for of in 0..6 {
        one.joins(of).await;
        if of == 1 {
            one.clock.advance_ms(1_000);
            one.tick().await;
            for of in 0..2 {
                one.claims(of).await.expect("a pass");
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
        let refused = site.claims(0).await.expect_err("it is kept for others");
        assert!(
            matches!(refused, PassClaimRefusal::NotCalled(_)),
            "{refused}"
        );
        let waited_s = (site.clock.now_ms() - begun) / 1_000;
        if !site.warnings().is_empty() {
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
    let (one, _) = two_nodes(data.path(), "fifo").await;
    is_kept_for_silent_people(&one).await;
    assert_eq!(asks_until_warned(&one).await, 12, "more than 10 s");
    let warnings = one.warnings();
    for word in ["\"sale\"", "12 s", "0 visitors are inside", "4 may be"] {
        assert!(warnings[0].contains(word), "{word} is not in {warnings:?}");
    }
    one.claims(2).await.expect("a pass");
    one.clock.advance_ms(1_000);
    one.tick().await;
    assert_eq!(one.warnings(), [""; 0]);
}

#[tokio::test]
async fn an_entry_at_one_node_ends_the_warning_of_another() {
    let data = tempfile::tempdir().expect("a folder");
    let (one, other) = two_nodes(data.path(), "fifo").await;
    is_kept_for_silent_people(&one).await;
    other.tick().await;
    asks_until_warned(&other).await;
    assert_eq!(one.warnings(), [""; 0], "this node has refused nobody");
    one.tick().await;
    one.claims(2).await.expect("a pass");
    other.clock.advance_ms(1_000);
    other.tick().await;
    assert_eq!(other.warnings(), [""; 0]);
}

#[tokio::test]
async fn people_who_join_and_never_claim_keep_nobody_out_of_a_room_without_a_line() {
    let data = tempfile::tempdir().expect("a folder");
    let (one, _) = two_nodes(data.path(), "open").await;
    for of in 0..6 {
        one.joins(of).await;
    }
    one.tick().await;
    one.clock.advance_ms(1_000);
    one.joins(6).await;
    let asked = one.clock.now_ms();
    while one.claims(6).await.is_err() {
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
    let (one, other) = two_nodes(data.path(), "fifo").await;
    one.joins(0).await;
    one.clock.advance_ms(1_000);
    one.tick().await;
    // The window of the first visitor ends, and four others are called.
    one.clock.advance_ms(CLAIM_MS + 1_000);
    one.tick().await;
    for of in 1..6 {
        one.joins(of).await;
    }
    one.clock.advance_ms(1_000);
    one.tick().await;
    one.claims(1).await.expect("a pass");
    let asked = one.clock.now_ms();
    while other.claims(0).await.is_err() {
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

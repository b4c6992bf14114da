//! Opens one room at two nodes that share the line's store, the ledger and a clock that stands, and
//! acts as its visitors without a listener.

use std::path::Path;

use fairgate_base::clock::Clock;
use fairgate_pass::Holder;
use fairgate_rules::room_document::{RoomDocument, RoomDocumentInput};
use gateway::ledger::RoomAuditEntry;
use gateway::line::claim::{ClaimedPass, PassClaimRefusal, claim_pass};
use gateway::line::release::run_tick;
use gateway::room::Room;
use gateway::store::{NetworkToll, Place, StoreJoinRequest};
use gateway::upstream::BookingPulse;
use serde_json::{Value, json};

use super::node::Node;

/// A node with the room `sale`.
pub struct Site {
    pub node: Node,
    pub room: Room,
    pub clock: Clock,
    /// How many seats are free.
    free: u64,
}

impl Site {
    /// Runs a tick in which booking says that so many seats are free.
    pub async fn tick(&self) {
        let pulse = BookingPulse {
            free: self.free,
            ..BookingPulse::default()
        };
        let now = self.clock.now_ms();
        run_tick(&self.node.line.rooms, &self.room, Some(pulse), true, now)
            .await
            .expect("it ticks");
    }

    pub async fn join(&self, of: u8) {
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

    pub async fn place(&self, of: u8) -> Place {
        let store = self.node.line.rooms.store();
        let place = store.place_of("sale", Holder([of; 32])).await;
        place.expect("it answers").expect("a place")
    }

    pub async fn claim(&self, of: u8) -> Result<ClaimedPass, PassClaimRefusal> {
        let place = self.place(of).await;
        let now = self.clock.now_ms();
        let rooms = &self.node.line.rooms;
        claim_pass(rooms, &self.room, &place, NetworkToll::NONE, now).await
    }
}

/// Opens the room `sale` at two nodes. `room` has the members of its document that the test is
/// about, and `free` seats are free.
pub async fn two_nodes(data: &Path, room: Value, free: u64) -> [Site; 2] {
    let clock = Clock::standing_at("2030-01-01T00:00:00Z".parse().expect("a moment"));
    let mut document = json!({
        "title": "A sale", "shows": ["night"], "mode": "fixed",
        "opens_at": "2029-01-01T00:00:00Z", "draw_at": "2029-01-01T00:00:00Z",
    });
    let members = room.as_object().expect("members").clone();
    document.as_object_mut().expect("members").extend(members);
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
        sites.push(Site {
            room: opened.expect("it opens"),
            node,
            clock: clock.clone(),
            free,
        });
    }
    sites.try_into().ok().expect("two sites")
}

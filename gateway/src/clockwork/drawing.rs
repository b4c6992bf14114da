//! Takes a room's draw through its three durable steps: freeze, root, draw. Every step reads what
//! the step before it wrote. After a crash between two steps, the draw therefore resumes with the
//! same count of numbers and the same root.

use std::sync::Arc;

use fairgate_base::clock::rfc3339;
use fairgate_pass::FreezeClaims;
use fairgate_rules::draw;
use serde_json::json;

use crate::ledger::{
    LedgerError, LineFreeze, PublishedDraw, PublishedFreeze, RoomAuditEntry, RoomRow,
};
use crate::push::hub::RoomSocketHub;
use crate::room::{DrawState, FrozenLeaves, RankedLine, Room, RoomRegistry, published};
use crate::store::{StoreFailure, StoreFreezeOutcome};

/// Takes the next step of the room's draw, if one is due. Returns whether anything changed.
///
/// # Errors
/// Fails if the ledger or the store did not answer, or the stored draw contradicts itself. The same
/// step is tried again later.
pub async fn advance(
    rooms: &RoomRegistry,
    hub: &RoomSocketHub,
    room: &Room,
    due: bool,
) -> Result<bool, StoreFailure> {
    let mut state = room.draw_state();
    let mut row = room.row();
    if state.ranked.is_some() || (state.row.freeze.is_none() && !due) {
        return Ok(false);
    }
    if let Some(freeze) = state.row.freeze {
        if let Some(sealed) = state.row.sealed.clone() {
            // After the freeze is published, no secret is made anew. This node may not have read
            // the last one yet.
            let stored = rooms.ledger().room(room.id()).await?;
            row = stored.map_or(row, Arc::new);
            draw_line(rooms, room, &row, &mut state, freeze, &sealed).await?;
        } else {
            publish_freeze(rooms, room, &mut state, freeze).await?;
        }
    } else {
        // Another node may have frozen the line already. Then the ledger has the freeze, and the
        // store is not asked to freeze the line.
        let stored_freeze = rooms.ledger().draw(room.id()).await?.freeze;
        let freeze = match stored_freeze {
            Some(freeze) => freeze,
            None => match rooms.store().freeze(room.id(), rooms.now_ms()).await? {
                StoreFreezeOutcome::Done(freeze) => freeze,
                StoreFreezeOutcome::NotBefore(at) => {
                    tell_wait(rooms, hub, room, Some(at));
                    return Ok(false);
                }
            },
        };
        tell_wait(rooms, hub, room, None);
        state.row.freeze = Some(freeze);
    }
    state.record = Arc::new(published(&row, &state.row)?);
    room.set_draw(state);
    Ok(true)
}

/// Notes in the room the time until which the draw waits. If this time has changed, sends it to the
/// room's sockets.
fn tell_wait(rooms: &RoomRegistry, hub: &RoomSocketHub, room: &Room, until: Option<i64>) {
    if !room.set_draw_wait(until) {
        return;
    }
    if let Some(at) = until {
        let until = rfc3339(at);
        tracing::warn!(
            room = room.id(),
            until,
            "the draw waits: the room store lost its data; visitors whose places it lost can show them again until then"
        );
    }
    hub.announce_room(room, rooms.now_ms());
}

async fn publish_freeze(
    rooms: &RoomRegistry,
    room: &Room,
    state: &mut DrawState,
    freeze: LineFreeze,
) -> Result<(), LedgerError> {
    let frozen = FrozenLeaves::from_ledger(rooms.ledger(), room.id(), freeze.n).await?;
    let voids = frozen.voids();
    let root = frozen.tree.root();
    let claims = FreezeClaims {
        room: room.id().to_owned(),
        n: freeze.n,
        voids,
        root,
        frozen_at: rfc3339(freeze.at),
    };
    let signature = rooms.keyring().sign_freeze(&claims);
    let ours = PublishedFreeze {
        voids,
        root,
        signature,
    };
    let entry = audit_entry(
        rooms,
        "frozen",
        json!({"n": freeze.n, "voids": voids, "root": root}),
    );
    let sealed = rooms.ledger().seal(room.id(), ours, entry).await?;
    frozen.check_published(room.id(), &sealed)?;
    state.row.sealed = Some(sealed);
    state.frozen = Some(Arc::new(frozen));
    Ok(())
}

async fn draw_line(
    rooms: &RoomRegistry,
    room: &Room,
    row: &RoomRow,
    state: &mut DrawState,
    freeze: LineFreeze,
    sealed: &PublishedFreeze,
) -> Result<(), LedgerError> {
    let seed = draw::seed(&row.secret.0, freeze.n, &sealed.root, b"");
    let ranked = RankedLine::draw(seed, freeze.n).await?;
    let drawn = PublishedDraw {
        seed,
        at: rooms.now_ms(),
    };
    let entry = audit_entry(rooms, "drawn", json!({"seed": drawn.seed}));
    let drawn = rooms.ledger().record_draw(room.id(), drawn, entry).await?;
    state.row.drawn = Some(drawn);
    state.ranked = Some(Arc::new(ranked));
    Ok(())
}

/// Builds the audit entry of a step of the draw.
fn audit_entry(
    rooms: &RoomRegistry,
    action: &'static str,
    detail: serde_json::Value,
) -> RoomAuditEntry {
    RoomAuditEntry {
        at: rooms.now_ms(),
        role: "fairgate",
        action,
        detail,
    }
}

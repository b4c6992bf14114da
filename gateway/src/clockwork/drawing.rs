//! Carries a draw forward, one durable step at a time: freeze, root, draw. A crash between two steps resumes with
//! the same n and root, because every step reads what the step before it wrote.

use std::sync::Arc;

use fairgate_base::clock::rfc3339;
use fairgate_pass::{Digest, FreezeClaims, VOID};
use serde_json::json;

use crate::draw::merkle::Tree;
use crate::draw::record::DrawRecord;
use crate::draw::{self, shuffle};
use crate::ledger::{DrawRow, Drawn, Entry, Failure, Freeze, Ledger, RoomRow, Sealed};
use crate::room::{DrawState, Frozen, Ranked, Room, Rooms};
use crate::store::{Freezing, StoreFailure};

/// The draw of a stored room, as far as it had come.
///
/// # Errors
/// Where the ledger cannot be read, or what it holds does not fit together.
pub async fn restore(ledger: &dyn Ledger, row: &RoomRow) -> Result<DrawState, Failure> {
    let draw = ledger.draw(&row.room).await?;
    let mut state = DrawState {
        record: Arc::new(publish(row, &draw)?),
        row: draw,
        frozen: None,
        ranked: None,
    };
    if let (Some(freeze), Some(sealed)) = (state.row.freeze, &state.row.sealed) {
        let frozen = build_tree(ledger, &row.room, freeze.n).await?;
        agree(&row.room, &frozen, sealed)?;
        state.frozen = Some(Arc::new(frozen));
        if let Some(drawn) = &state.row.drawn {
            state.ranked = Some(Arc::new(rank(drawn.seed, freeze.n).await?));
        }
    }
    Ok(state)
}

/// Takes the next step of the room's draw, if one is due; gives whether anything changed.
///
/// # Errors
/// Where the ledger did not answer: the same step is tried again later.
pub async fn advance(rooms: &Rooms, room: &Room, due: bool) -> Result<bool, StoreFailure> {
    let mut state = room.draw();
    let row = room.row();
    if state.ranked.is_some() || (state.row.freeze.is_none() && !due) {
        return Ok(false);
    }
    if let Some(freeze) = state.row.freeze {
        if let Some(sealed) = state.row.sealed.clone() {
            draw_line(rooms, room, &row, &mut state, freeze, &sealed).await?;
        } else {
            seal(rooms, room, &mut state, freeze).await?;
        }
    } else {
        // Another node may have frozen the line: the store is only asked where nobody has.
        let stands = rooms.ledger().draw(room.id()).await?.freeze;
        let freeze = match stands {
            Some(freeze) => freeze,
            None => match rooms.store().freeze(room.id(), rooms.now()).await? {
                Freezing::Done(freeze) => freeze,
                Freezing::NotBefore(at) => {
                    tell_wait(rooms, room, Some(at));
                    return Ok(false);
                }
            },
        };
        tell_wait(rooms, room, None);
        state.row.freeze = Some(freeze);
    }
    state.record = Arc::new(publish(&row, &state.row)?);
    room.set_draw(state);
    Ok(true)
}

/// Whoever waits for the draw is told why it does not come.
fn tell_wait(rooms: &Rooms, room: &Room, until: Option<i64>) {
    if !room.draw_waits(until) {
        return;
    }
    if let Some(at) = until {
        let until = rfc3339(at);
        tracing::warn!(
            room = room.id(),
            until,
            "the draw waits: the room store lost its data, and whoever it forgot comes back until then"
        );
    }
    room.hub().room(room, rooms.now());
}

async fn seal(
    rooms: &Rooms,
    room: &Room,
    state: &mut DrawState,
    freeze: Freeze,
) -> Result<(), Failure> {
    let frozen = build_tree(rooms.ledger(), room.id(), freeze.n).await?;
    let voids = frozen.leaves.iter().filter(|leaf| **leaf == VOID.0).count() as u64;
    let root = frozen.tree.root();
    let claims = FreezeClaims {
        room: room.id().to_owned(),
        n: freeze.n,
        voids,
        root,
        frozen_at: rfc3339(freeze.at),
    };
    let signature = rooms.keyring().sign_freeze(&claims);
    let ours = Sealed {
        voids,
        root,
        signature,
    };
    let entry = entry(
        rooms,
        "frozen",
        json!({"n": freeze.n, "voids": voids, "root": root}),
    );
    let sealed = rooms.ledger().seal(room.id(), ours, entry).await?;
    agree(room.id(), &frozen, &sealed)?;
    state.row.sealed = Some(sealed);
    state.frozen = Some(Arc::new(frozen));
    Ok(())
}

async fn draw_line(
    rooms: &Rooms,
    room: &Room,
    row: &RoomRow,
    state: &mut DrawState,
    freeze: Freeze,
    sealed: &Sealed,
) -> Result<(), Failure> {
    let seed = draw::seed(&row.secret.0, freeze.n, &sealed.root, b"");
    let ranked = rank(seed, freeze.n).await?;
    let drawn = Drawn {
        seed,
        at: rooms.now(),
    };
    let entry = entry(rooms, "drawn", json!({"seed": drawn.seed}));
    let drawn = rooms.ledger().record_draw(room.id(), drawn, entry).await?;
    state.row.drawn = Some(drawn);
    state.ranked = Some(Arc::new(ranked));
    Ok(())
}

/// What is published of a draw at this point.
fn publish(row: &RoomRow, draw: &DrawRow) -> Result<DrawRecord, Failure> {
    let announced = DrawRecord::announced(row.room.as_str(), draw::commitment(&row.secret.0));
    let (Some(freeze), Some(sealed)) = (draw.freeze, &draw.sealed) else {
        return Ok(announced);
    };
    let claims = FreezeClaims {
        room: row.room.clone(),
        n: freeze.n,
        voids: sealed.voids,
        root: sealed.root,
        frozen_at: rfc3339(freeze.at),
    };
    let frozen = announced.frozen(claims, sealed.signature.clone(), None);
    let Some(drawn) = &draw.drawn else {
        return Ok(frozen);
    };
    frozen
        .drawn(row.secret.0, b"", rfc3339(drawn.at))
        .filter(|record| record.seed == Some(drawn.seed))
        .ok_or_else(|| {
            Failure::Corrupt(format!(
                "the draw of room \"{}\" does not follow from its secret",
                row.room
            ))
        })
}

async fn build_tree(ledger: &dyn Ledger, room: &str, n: u64) -> Result<Frozen, Failure> {
    let bytes = ledger.leaves(room, n).await?;
    let built = tokio::task::spawn_blocking(move || {
        let leaves = bytes.as_chunks::<32>().0.to_vec();
        let tree = Tree::build(&leaves);
        Frozen { leaves, tree }
    });
    built
        .await
        .map_err(|error| Failure::Unavailable(error.to_string()))
}

async fn rank(seed: Digest, n: u64) -> Result<Ranked, Failure> {
    let n = u32::try_from(n)
        .map_err(|_| Failure::Corrupt(format!("{n} numbers are more than one draw can rank")))?;
    let drawn = tokio::task::spawn_blocking(move || shuffle::both(&seed, n)).await;
    let drawn = drawn.map_err(|error| Failure::Unavailable(error.to_string()))?;
    Ok(Ranked {
        line: drawn.line,
        rank_of: drawn.ranks,
    })
}

/// What another node published must follow from the leaves that this one reads.
fn agree(room: &str, frozen: &Frozen, sealed: &Sealed) -> Result<(), Failure> {
    let voids = frozen.leaves.iter().filter(|leaf| **leaf == VOID.0).count() as u64;
    if (frozen.tree.root(), voids) == (sealed.root, sealed.voids) {
        return Ok(());
    }
    Err(Failure::Corrupt(format!(
        "the leaves of room \"{room}\" are not those of its published root"
    )))
}

/// What the loop does is told in the audit as well.
fn entry(rooms: &Rooms, action: &'static str, detail: serde_json::Value) -> Entry {
    Entry {
        at: rooms.now(),
        role: "fairgate",
        action,
        detail,
    }
}

//! Claiming a pass: written before it is answered, and the same pass for as long as it lives.

use std::time::Duration;

use fairgate_pass::PassClaims;
use rand::RngExt;

use super::place_view::{PlaceState, describe};
use super::release;
use crate::ledger::{Failure, PassRow};
use crate::room::{Method, Phase, Room, Rooms};
use crate::store::{Claimant, Claimed as WrittenClaim, Entered, Place, StoreFailure};
use fairgate_rules::estimate::Wait;

/// So long after a store did not hear of a claim it is told again.
const TOLD_AGAIN: Duration = Duration::from_millis(500);

/// A pass as it is handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPass {
    /// The JWT.
    pub pass: String,
    /// Unix seconds.
    pub exp: i64,
}

/// Why no pass is given.
#[derive(Debug, thiserror::Error)]
pub enum ClaimRefusal {
    /// The room is over.
    #[error("the room is closed")]
    RoomClosed,
    /// It is not this place's turn.
    #[error("it is not this place's turn yet")]
    NotCalled(Box<NotCalledYet>),
    /// The pass could not be written.
    #[error(transparent)]
    Ledger(Failure),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// How long a place whose turn it is not waits.
#[derive(Debug, Clone)]
pub struct NotCalledYet {
    /// Whether nobody is let in for the moment.
    pub paused: bool,
    /// How long it will take.
    pub wait: Wait,
    /// Null before the draw.
    pub rank: Option<u64>,
    /// People between the counter and this place; `None` before the draw.
    pub ahead: Option<u64>,
    /// When to look again, seconds.
    pub refresh_s: u64,
}

/// Claims the pass of `place` at `now` (ms).
///
/// # Errors
/// Where the room is closed, it is not the place's turn, or ledger or store did not take it.
pub async fn claim(
    rooms: &Rooms,
    room: &Room,
    place: &Place,
    now: i64,
) -> Result<ClaimedPass, ClaimRefusal> {
    match room.phase(now) {
        Phase::Closed => return Err(ClaimRefusal::RoomClosed),
        Phase::Selling | Phase::SoldOut => {}
        Phase::Scheduled | Phase::Prequeue | Phase::Drawing => {
            return Err(not_called(room, place, now));
        }
    }
    let rank = room
        .rank(place.number)
        .ok_or_else(|| not_called(room, place, now))?;
    let entered = may_enter(rooms, room, place, rank, now).await?;
    let now_s = now.div_euclid(1000);
    let pass_s = i64::try_from(room.row().document.pass_s).unwrap_or(i64::MAX);
    let fresh = PassRow {
        number: place.number,
        rank,
        holder: place.holder,
        iat: now_s,
        exp: now_s.saturating_add(pass_s),
        jti: format!("pass_{:032x}", rand::rng().random::<u128>()),
    };
    // In a task of its own: a visitor who hangs up in the middle must not leave a pass that is not
    // counted inside, or a way in that stays reserved.
    let written = tokio::spawn(write(rooms.clone(), room.clone(), fresh, entered, now_s)).await;
    let stored = written
        .unwrap_or_else(|error| Err(Failure::Unavailable(error.to_string())))
        .map_err(ClaimRefusal::Ledger)?;
    let claims = PassClaims {
        sub: stored.holder,
        room: room.id().to_owned(),
        rank: stored.rank,
        number: stored.number,
        iat: stored.iat,
        nbf: stored.iat,
        exp: stored.exp,
        jti: stored.jti,
    };
    Ok(ClaimedPass {
        pass: rooms.keyring().sign_pass(&claims),
        exp: claims.exp,
    })
}

/// Writes the claim, then turns the reservation into somebody inside.
async fn write(
    rooms: Rooms,
    room: Room,
    fresh: PassRow,
    entered: Entered,
    now_s: i64,
) -> Result<PassRow, Failure> {
    let (number, rank) = (fresh.number, fresh.rank);
    let written = rooms.ledger().claim(room.id(), fresh, now_s).await;
    match (&written, entered) {
        (Ok(stored), _) => {
            let claimed = WrittenClaim {
                number,
                reserved: matches!(entered, Entered::Let { .. }).then_some(rank),
                exp_s: stored.exp,
            };
            count_inside(&rooms, &room, claimed).await;
        }
        (Err(_), Entered::Let { first }) => {
            let turned_back = rooms.store().turned_back(room.id(), rank, first).await;
            if let Err(error) = turned_back {
                tracing::warn!(room = room.id(), %error, "a way in stays reserved until it lapses");
            }
        }
        (Err(_), Entered::Lives | Entered::Wait) => {}
    }
    written
}

/// The pass is written and will be answered. A store that does not hear of it at once is told again
/// beside that, for as long as the pass lives: until then somebody is inside whom nobody counts.
async fn count_inside(rooms: &Rooms, room: &Room, claimed: WrittenClaim) {
    if tell(rooms, room, claimed).await {
        return;
    }
    let (rooms, room) = (rooms.clone(), room.clone());
    tokio::spawn(async move {
        let stopping = rooms.stopping();
        while !*stopping.borrow() && rooms.now() < claimed.exp_s.saturating_mul(1000) {
            tokio::time::sleep(TOLD_AGAIN).await;
            if tell(&rooms, &room, claimed).await {
                return;
            }
        }
    });
}

/// Tells the store once; gives whether it knows.
async fn tell(rooms: &Rooms, room: &Room, claimed: WrittenClaim) -> bool {
    match rooms.store().claimed(room.id(), claimed).await {
        Ok(first) => {
            if first {
                metrics::counter!("fairgate_passes_claimed_total", "room" => room.id().to_owned())
                    .increment(1);
            }
            true
        }
        Err(error) => {
            metrics::counter!("fairgate_claims_not_counted_total", "room" => room.id().to_owned())
                .increment(1);
            tracing::warn!(room = room.id(), %error, "a claim is not counted inside yet");
            false
        }
    }
}

async fn may_enter(
    rooms: &Rooms,
    room: &Room,
    place: &Place,
    rank: u64,
    now: i64,
) -> Result<Entered, ClaimRefusal> {
    let now_s = now.div_euclid(1000);
    if place.pass_exp.is_some_and(|exp| exp > now_s) {
        return Ok(Entered::Lives);
    }
    let row = room.row();
    if row.facts.paused {
        return Err(not_called(room, place, now));
    }
    let line = row.document.method != Method::Open;
    let tick = room.tick();
    let has_room = tick.counts.inside < tick.inside_max || tick.at == 0;
    if rank >= tick.released && !line && has_room {
        // Where there is no line, nobody waits a second for the next tick.
        release::tick(rooms, room, None, false, now).await?;
    }
    let claimant = Claimant {
        number: place.number,
        rank,
        released: room.tick().released,
        max_inside: row.document.max_inside,
        line,
        now,
    };
    let entered = rooms.store().enter(room.id(), claimant).await;
    match entered? {
        Entered::Wait => Err(not_called(room, place, now)),
        entered => Ok(entered),
    }
}

fn not_called(room: &Room, place: &Place, now: i64) -> ClaimRefusal {
    let view = describe(room, place, now);
    let row = room.row();
    // Who was called and comes late is let in by the pace: the place says "now", and this call
    // knows better.
    let wait = match view.state {
        PlaceState::Called if !row.facts.paused => Wait::at_rates(1.0, room.tick().rates),
        PlaceState::Called => Wait::UNKNOWN,
        _ => view.wait,
    };
    ClaimRefusal::NotCalled(Box::new(NotCalledYet {
        paused: row.facts.paused,
        wait,
        rank: view.rank,
        ahead: view.ahead,
        refresh_s: view.refresh_s,
    }))
}

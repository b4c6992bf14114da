//! Claiming a pass: written before it is answered, and the same pass for as long as it lives.

use booking::http::Problem;
use fairgate_pass::PassClaims;
use rand::RngExt;

use super::cohort::Timing;
use super::estimate::Wait;
use super::release;
use super::state::{PlaceState, describe};
use crate::ledger::{Failure, PassRow};
use crate::room::{Method, Phase, Room, Rooms};
use crate::store::Place;

/// A pass as it is handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The JWT.
    pub pass: String,
    /// Unix seconds.
    pub exp: i64,
}

/// Claims the pass of `place` at `now` (ms).
///
/// # Errors
/// 410 `room_closed`, 409 `not_called` with the wait, 503 where the ledger did not take it.
pub async fn claim(
    rooms: &Rooms,
    room: &Room,
    place: &Place,
    now: i64,
) -> Result<Claimed, Problem> {
    match room.phase(now) {
        Phase::Closed => return Err(room_closed()),
        Phase::Selling | Phase::SoldOut => {}
        Phase::Scheduled | Phase::Prequeue | Phase::Drawing => {
            return Err(not_called(room, place, now));
        }
    }
    let rank = room
        .rank(place.number)
        .ok_or_else(|| not_called(room, place, now))?;
    let way_in = may_enter(rooms, room, place, rank, now).await?;
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
    // In a task of its own: a visitor who hangs up in the middle must not leave a pass that is not counted inside,
    // or a way in that stays reserved.
    let written = tokio::spawn(write(rooms.clone(), room.clone(), fresh, way_in, now_s)).await;
    let stored = written
        .unwrap_or_else(|error| Err(Failure::Unavailable(error.to_string())))
        .map_err(|error| Problem::ledger(&error))?;
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
    Ok(Claimed {
        pass: rooms.keyring().sign_pass(&claims),
        exp: claims.exp,
    })
}

/// How a claim gets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WayIn {
    /// A pass of this place lives, and is given again.
    Lives,
    /// Room inside is reserved until the claim is written; `first` where this place never had a pass.
    Reserved { first: bool },
}

/// Writes the claim, then turns the reservation into somebody inside, under the lock it was made under.
async fn write(
    rooms: Rooms,
    room: Room,
    fresh: PassRow,
    way_in: WayIn,
    now_s: i64,
) -> Result<PassRow, Failure> {
    let (number, rank) = (fresh.number, fresh.rank);
    let written = rooms.ledger().claim(room.id(), fresh, now_s).await;
    let _entrance = room.release().await;
    match &written {
        Ok(stored) => {
            if rooms.store().claimed(room.id(), number, stored.exp).await {
                metrics::counter!("fairgate_passes_claimed_total", "room" => room.id().to_owned())
                    .increment(1);
            }
            if matches!(way_in, WayIn::Reserved { .. }) {
                room.cohorts().entered(rank);
            }
        }
        Err(_) => {
            if let WayIn::Reserved { first } = way_in {
                room.cohorts().turned_back(rank, first);
            }
        }
    }
    written
}

async fn may_enter(
    rooms: &Rooms,
    room: &Room,
    place: &Place,
    rank: u64,
    now: i64,
) -> Result<WayIn, Problem> {
    let now_s = now.div_euclid(1000);
    if place.pass_exp.is_some_and(|exp| exp > now_s) {
        return Ok(WayIn::Lives);
    }
    let row = room.row();
    if row.facts.paused {
        return Err(not_called(room, place, now));
    }
    let tick = room.tick();
    let has_room = tick.counts.inside < tick.inside_max || tick.at == 0;
    if rank >= tick.released && row.document.method == Method::Open && has_room {
        // Where there is no line, nobody waits a second for the next tick.
        release::tick(rooms, room, None, false, now)
            .await
            .map_err(|error| Problem::ledger(&error))?;
    }
    if rank >= room.tick().released {
        return Err(not_called(room, place, now));
    }
    // One at a time from here: who is inside is read, and the way in reserved, before anybody else reads.
    let _entrance = room.release().await;
    // Another tab of the same visitor may have claimed since the place was read.
    let known = rooms.store().place_of(room.id(), place.holder).await;
    let pass_exp = known
        .filter(|known| known.number == place.number)
        .and_then(|known| known.pass_exp);
    if pass_exp.is_some_and(|exp| exp > now_s) {
        return Ok(WayIn::Lives);
    }
    let first = pass_exp.is_none();
    let counts = rooms.store().counts(room.id(), now_s).await;
    let mut cohorts = room.cohorts();
    let max_inside = row.document.max_inside;
    let let_in = cohorts.is_entering(rank)
        || match cohorts.timing(rank, first) {
            // More may have been called than there is room for, because some of them were not expected to come.
            Timing::InWindow => counts.inside + cohorts.entering() < max_inside,
            // Without a line only the room inside binds.
            Timing::Late => {
                counts.inside + cohorts.entering() + cohorts.expected() < max_inside
                    && (row.document.method == Method::Open || cohorts.take_late())
            }
        };
    if let_in {
        cohorts.enter(rank);
        return Ok(WayIn::Reserved { first });
    }
    // Telling the wait reads the same figures.
    drop(cohorts);
    Err(not_called(room, place, now))
}

/// 410 `room_closed`.
#[must_use]
pub fn room_closed() -> Problem {
    Problem::new(
        410,
        "room_closed",
        "The room is closed",
        "This on-sale is over, so nobody joins and no pass is given any more. Orders you have made are not touched. Look at the start page for other on-sales.",
    )
}

fn not_called(room: &Room, place: &Place, now: i64) -> Problem {
    let view = describe(room, place, now);
    let detail = if room.row().facts.paused {
        "The room is paused, so nobody is let in for the moment. Your place is kept. Look again in a little while."
    } else {
        "It is not your turn yet. Your place is kept. Wait for the call, or look again after the time given here."
    };
    // Who was called and comes late is let in by the pace: the place says "now", and this call knows better.
    let row = room.row();
    let wait = match view.state {
        PlaceState::Called if !row.facts.paused => Wait::at_rates(1.0, room.tick().rates),
        PlaceState::Called => Wait::UNKNOWN,
        _ => view.wait,
    };
    Problem::new(409, "not_called", "It is not your turn yet", detail)
        .with("wait", wait)
        .with("rank", view.rank)
        .with("ahead", view.ahead)
        .with("refresh_s", view.refresh_s)
        .retry_after(view.refresh_s)
}

//! Claims passes. A pass is written to the ledger before the visitor gets it. Until it expires, the
//! visitor gets the same pass again.

use std::time::Duration;

use fairgate_base::log_failed_try;
use fairgate_pass::PassClaims;
use fairgate_rules::entry_door::asks_again_ms;
use fairgate_rules::estimate::WaitEstimate;
use fairgate_rules::faults::micros_per_s;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::release_cohorts::idle_ms;
use fairgate_rules::room_document::LineMethod;
use rand::RngExt;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::place_view::{PlaceState, describe};
use super::rejoin::{PlaceRefusal, cleared_place};
use super::release;
use super::toll::{NetworkRefusal, TollFor, refusal_of_toll};
use crate::ledger::{LedgerClaimOutcome, LedgerError, PassRow, PassStopCause};
use crate::room::{NewcomersTick, Room, RoomRegistry};
use crate::store::{
    AdmissionDecision, Claimant, FailedPassClaim, NetworkToll, Place,
    RecordedPassClaim as WrittenClaim, StoreFailure,
};

/// The pause before a claim is sent to the store again, if the store did not take it.
const RETRY_CLAIM_AFTER: Duration = Duration::from_millis(500);

/// The time between two ticks of this node for newcomers of a room without a line. With ten
/// ticks a second, a tick in Redis takes a few milliseconds, however many newcomers come.
const NEWCOMERS_TICK_APART: Duration = Duration::from_millis(100);

/// A pass as the visitor gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPass {
    /// The pass as a JWT.
    pub pass: String,
    /// The contents of the pass.
    pub claims: PassClaims,
}

/// Why a visitor gets no pass.
#[derive(Debug, thiserror::Error)]
pub enum PassClaimRefusal {
    /// The room is over.
    #[error("the room is closed")]
    RoomClosed,
    /// It is not this place's turn yet.
    #[error("it is not this place's turn yet")]
    NotCalled(Box<NotCalledYet>),
    /// The visitor left the place, or the promoter ended it.
    #[error(transparent)]
    Place(PlaceRefusal),
    /// The visitor's network is refused, or the visitor must solve a challenge first.
    #[error(transparent)]
    Network(NetworkRefusal),
    /// The ledger did not take the pass.
    #[error(transparent)]
    Ledger(LedgerError),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// What a visitor learns about the wait if their turn has not come.
#[derive(Debug, Clone)]
pub struct NotCalledYet {
    /// Whether the promoter has paused the room, so that nobody is admitted.
    pub paused: bool,
    /// How long the visitor will probably wait for the turn.
    pub wait: WaitEstimate,
    /// The place's rank; `None` before the draw.
    pub rank: Option<u64>,
    /// People between the release counter and this place; `None` before the draw.
    pub ahead: Option<u64>,
    /// The seconds to wait before looking again.
    pub refresh_s: u64,
}

/// Claims the pass of `place` at `now` (ms). `toll` says which challenge the visitor has solved,
/// and how many places the visitor's networks may have.
///
/// # Errors
/// Fails if the room is closed, the place's turn has not come, the place was left or ended, the
/// toll is too low for the network, the ledger did not take the pass, or the store did not answer.
pub async fn claim_pass(
    rooms: &RoomRegistry,
    room: &Room,
    place: &Place,
    toll: NetworkToll,
    now: i64,
) -> Result<ClaimedPass, PassClaimRefusal> {
    match room.phase(now) {
        RoomPhase::Closed => return Err(PassClaimRefusal::RoomClosed),
        RoomPhase::Selling | RoomPhase::SoldOut => {}
        RoomPhase::Scheduled | RoomPhase::Prequeue | RoomPhase::Drawing => {
            return Err(not_called(room, place, now));
        }
    }
    let rank = room
        .rank(place.number)
        .ok_or_else(|| not_called(room, place, now))?;
    let admission = ask_admission(rooms, room, place, rank, toll, now).await?;
    let now_s = now.div_euclid(1000);
    let pass_s = i64::try_from(room.row().document.pass_s).unwrap_or(i64::MAX);
    // No pass outlives its room.
    let closes_s = room.row().document.closes_at.map(|at| at.div_euclid(1000));
    let fresh = PassRow {
        number: place.number,
        rank,
        holder: place.holder,
        iat: now_s,
        exp: now_s
            .saturating_add(pass_s)
            .min(closes_s.unwrap_or(i64::MAX)),
        jti: format!("pass_{:032x}", rand::rng().random::<u128>()),
    };
    // The write runs in a task of its own. If the visitor disconnects in the middle, the visitor is
    // still counted as inside, and no admission stays reserved.
    let written = tokio::spawn(write_claim(
        rooms.clone(),
        room.clone(),
        fresh,
        admission,
        now_s,
    ))
    .await;
    let stored = written
        .unwrap_or_else(|error| Err(LedgerError::Unavailable(error.to_string())))
        .map_err(PassClaimRefusal::Ledger)?;
    match stored {
        LedgerClaimOutcome::Claimed(stored) => Ok(sign_stored_pass(rooms, room, stored)),
        LedgerClaimOutcome::Stopped(cause) => Err(refusal_of_stop(room, place, cause)),
    }
}

/// Says why a place that has ended gets no pass.
fn refusal_of_stop(room: &Room, place: &Place, cause: PassStopCause) -> PassClaimRefusal {
    match cause {
        PassStopCause::Left => PassClaimRefusal::Place(PlaceRefusal::Left),
        PassStopCause::Cleared => PassClaimRefusal::Place(cleared_place(room, place.number)),
        PassStopCause::Revoked => {
            let note = room.stops().revocation(place.holder);
            let note = note.map_or_else(String::new, |note| note.as_ref().to_owned());
            PassClaimRefusal::Place(PlaceRefusal::Revoked { note })
        }
        PassStopCause::Closed => PassClaimRefusal::RoomClosed,
    }
}

/// Returns the last pass of a place, or `None` if it never claimed one. The pass may have expired.
/// A device to which the visitor brought the place needs it, because another device claimed it. The
/// ledger is asked only if the store knows of a pass.
///
/// # Errors
/// Fails if the ledger does not answer.
pub async fn last_pass(
    rooms: &RoomRegistry,
    room: &Room,
    place: &Place,
) -> Result<Option<ClaimedPass>, LedgerError> {
    if place.pass_exp.is_none() {
        return Ok(None);
    }
    let stored = rooms.ledger().last_pass(room.id(), place.number).await?;
    let stored = stored.filter(|stored| stored.holder == place.holder);
    Ok(stored.map(|stored| sign_stored_pass(rooms, room, stored)))
}

/// Signs a pass of the ledger. The same row always gives the same pass.
fn sign_stored_pass(rooms: &RoomRegistry, room: &Room, stored: PassRow) -> ClaimedPass {
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
    ClaimedPass {
        pass: rooms.keyring().sign_pass(&claims),
        claims,
    }
}

/// Writes the claim, then tells the store that the visitor is inside. If the claim is not written,
/// takes the admission back.
async fn write_claim(
    rooms: RoomRegistry,
    room: Room,
    fresh: PassRow,
    admission: AdmissionDecision,
    now_s: i64,
) -> Result<LedgerClaimOutcome, LedgerError> {
    let (number, rank) = (fresh.number, fresh.rank);
    let written = rooms.ledger().claim(room.id(), fresh, now_s).await;
    match (&written, admission) {
        (Ok(LedgerClaimOutcome::Claimed(stored)), _) => {
            let claimed = WrittenClaim {
                number,
                reserved: matches!(admission, AdmissionDecision::Let { .. }).then_some(rank),
                exp_s: stored.exp,
                at_s: now_s,
            };
            count_inside(&rooms, &room, claimed).await;
        }
        (_, AdmissionDecision::Let { first }) => {
            let failed = FailedPassClaim {
                number,
                rank,
                first,
            };
            let undone = rooms.store().undo_admission(room.id(), failed).await;
            if let Err(error) = undone {
                log_failed_try!(
                    error,
                    room = room.id(),
                    "an admission stays reserved until it lapses"
                );
            }
        }
        (
            _,
            AdmissionDecision::HasLivePass
            | AdmissionDecision::Wait { .. }
            | AdmissionDecision::Toll(_),
        ) => {}
    }
    written
}

/// Tells the store that the visitor is inside. If the store does not take the claim at once, a
/// background task sends the claim again until the store takes it or the pass expires. Until then
/// the store counts one visitor too few. The visitor's answer does not wait for this task.
async fn count_inside(rooms: &RoomRegistry, room: &Room, claimed: WrittenClaim) {
    if report_claim_once(rooms, room, claimed).await {
        return;
    }
    let (rooms, room) = (rooms.clone(), room.clone());
    tokio::spawn(async move {
        let stopping = rooms.stopping();
        while !*stopping.borrow() && rooms.now_ms() < claimed.exp_s.saturating_mul(1000) {
            tokio::time::sleep(RETRY_CLAIM_AFTER).await;
            if report_claim_once(&rooms, &room, claimed).await {
                return;
            }
        }
    });
}

/// Sends the claim to the store once, and returns whether the store took it.
async fn report_claim_once(rooms: &RoomRegistry, room: &Room, claimed: WrittenClaim) -> bool {
    match rooms.store().note_claim(room.id(), claimed).await {
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
            log_failed_try!(
                error,
                room = room.id(),
                "the store does not count the holder of a claimed pass as inside yet"
            );
            false
        }
    }
}

async fn ask_admission(
    rooms: &RoomRegistry,
    room: &Room,
    place: &Place,
    rank: u64,
    toll: NetworkToll,
    now: i64,
) -> Result<AdmissionDecision, PassClaimRefusal> {
    let now_s = now.div_euclid(1000);
    if place.pass_exp.is_some_and(|exp| exp > now_s) {
        return Ok(AdmissionDecision::HasLivePass);
    }
    let row = room.row();
    if room.lets_nobody_in() {
        return Err(not_called(room, place, now));
    }
    let line = row.document.method != LineMethod::Open;
    let tick = room.last_tick();
    let has_space = tick.counts.inside < tick.inside_max || tick.at == 0;
    let turn = room
        .turn(place, now)
        .ok_or_else(|| not_called(room, place, now))?;
    if turn >= tick.released && !line && has_space {
        call_newcomer(rooms, room, turn).await?;
    }
    // The promoter may have changed the room while this call waited for a tick.
    let row = room.row();
    if room.lets_nobody_in() {
        return Err(not_called(room, place, now));
    }
    let claimant = Claimant {
        number: place.number,
        rank,
        released: room.last_tick().released,
        max_inside: row.document.max_inside,
        line,
        idle_ms: idle_ms(line.then(|| micros_per_s(row.document.per_s))),
        toll,
        now,
    };
    let admission = rooms.store().admit_claimant(room.id(), claimant).await;
    match admission? {
        AdmissionDecision::Wait { entry_in_ms } => {
            if turn < claimant.released || !line {
                room.refused_calls().note_refused(now);
            }
            let mut refusal = describe_wait(room, place, now);
            if turn < claimant.released {
                refusal.set_entry(entry_in_ms);
            }
            Err(PassClaimRefusal::NotCalled(Box::new(refusal)))
        }
        AdmissionDecision::Toll(refusal) => Err(PassClaimRefusal::Network(refusal_of_toll(
            room,
            TollFor::Claim,
            refusal,
        ))),
        admission => Ok(admission),
    }
}

/// Calls a newcomer of a room without a line up to a turn, so that the newcomer does not wait up to
/// a second for the next tick of the room. At each node, ticks for newcomers begin
/// [`NEWCOMERS_TICK_APART`] apart, and each tick calls all newcomers who came in between. More
/// frequent ticks would cost more, because the work of a tick grows with the number of earlier
/// ticks whose calls still count.
async fn call_newcomer(rooms: &RoomRegistry, room: &Room, turn: u64) -> Result<(), StoreFailure> {
    let claimed_at = Instant::now();
    let mut last = room.newcomers_tick().await;
    let is_covered = last.is_some_and(|tick| tick.is_written && tick.begun >= claimed_at);
    if is_covered || turn < room.last_tick().released {
        return Ok(());
    }
    // The tick runs in a task of its own, so that it ends even if this visitor disconnects.
    // Other visitors wait for it, too.
    let (rooms, room) = (rooms.clone(), room.clone());
    let ticked = tokio::spawn(async move {
        if let Some(tick) = *last {
            tokio::time::sleep_until(tick.begun + NEWCOMERS_TICK_APART).await;
        }
        let begun = Instant::now();
        let ticked = release::run_tick(&rooms, &room, None, false, rooms.now_ms()).await;
        // Another node may have moved the counter first. Then this tick has called nobody, and the
        // next visitor who waits runs another tick. After a failure, the next visitor tries at
        // once, so that nobody waits long for a refusal.
        let written = ticked.as_ref().ok();
        *last = written.map(|&is_written| NewcomersTick { begun, is_written });
        ticked.map(drop)
    });
    let task_failed = |error: JoinError| Err(LedgerError::Unavailable(error.to_string()).into());
    ticked.await.unwrap_or_else(task_failed)
}

impl NotCalledYet {
    /// Sets the time after which a called visitor can enter. Other visitors who were called ask,
    /// too, or nobody may enter at the moment.
    fn set_entry(&mut self, entry_in_ms: Option<u64>) {
        if let Some(entry_in_ms) = entry_in_ms {
            self.wait = WaitEstimate::until_entry(entry_in_ms);
        }
        self.refresh_s = asks_again_ms(entry_in_ms).div_ceil(1_000);
    }
}

fn not_called(room: &Room, place: &Place, now: i64) -> PassClaimRefusal {
    PassClaimRefusal::NotCalled(Box::new(describe_wait(room, place, now)))
}

fn describe_wait(room: &Room, place: &Place, now: i64) -> NotCalledYet {
    let view = describe(room, place, now);
    // A visitor who was called may still have to wait, because late visitors are admitted at the
    // room's pace. The view of a called place shows no wait, so the wait is estimated here.
    let wait = match view.state {
        PlaceState::Called if !room.lets_nobody_in() => room.last_tick().waits.wait(0),
        _ => view.wait,
    };
    NotCalledYet {
        paused: room.lets_nobody_in(),
        wait,
        rank: view.rank,
        ahead: view.ahead,
        refresh_s: view.refresh_s,
    }
}

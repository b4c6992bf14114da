//! Listens to booking's signals about holds, for the visits of their holders. A visit ends after as
//! many lapsed baskets as the room's `lapses_max`. Whoever has an offer counts as active until it
//! ends.

use fairgate_base::log_failed_try;
use fairgate_model::holds::HoldSignalState;
use fairgate_model::ids::HoldId;
use fairgate_pass::VisitEndCause;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::room::{Room, RoomRegistry};
use crate::store::{NotedBasket, StoreFailure};
use crate::upstream::{HoldSignal, VisitorsHold};

/// Follows the signals until booking closes the channel. A signal that was missed ends no visit.
pub async fn follow_hold_signals(
    rooms: RoomRegistry,
    mut signals: broadcast::Receiver<HoldSignal>,
) {
    loop {
        let signal = match signals.recv().await {
            Ok(signal) => signal,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let Some(room) = room_of(&rooms, &signal) else {
            continue;
        };
        let noted = match signal.state {
            HoldSignalState::Lapsed => note_lapse(&rooms, &room, &signal).await,
            HoldSignalState::Offered => note_offer(&rooms, &room, &signal).await,
            _ => Ok(()),
        };
        if let Err(error) = noted {
            log_failed_try!(
                error,
                room = room.id(),
                "a signal about a hold was not counted for the visit of its holder"
            );
        }
    }
}

fn room_of(rooms: &RoomRegistry, signal: &HoldSignal) -> Option<Room> {
    let hold: HoldId = signal.hold.parse().ok()?;
    let room = rooms.core().room_of(hold.show().as_str())?;
    rooms.get(&room).ok()
}

/// Counts a lapsed basket, and ends the visit if it was the last that the room allows. Every node
/// gets the signal, and a second end of the visit changes nothing.
async fn note_lapse(
    rooms: &RoomRegistry,
    room: &Room,
    signal: &HoldSignal,
) -> Result<(), StoreFailure> {
    let store = rooms.store();
    let lapsed = store.note_lapse(room.id(), signal.holder, &signal.hold);
    let Some(visit) = lapsed.await? else {
        return Ok(());
    };
    let now_s = rooms.now_ms().div_euclid(1_000);
    let lives = visit.pass_exp_s > now_s && !rooms.guards_shop(room.id());
    if lives && visit.lapses >= room.row().document.lapses_max {
        // From now on this node lets the visitor take no more seats.
        room.stops()
            .note_ending(visit.number, visit.pass_exp_s, VisitEndCause::Lapses);
        let pass = vec![(visit.number, visit.pass_exp_s)];
        let ledger = rooms.ledger();
        let ended = ledger.end_visits(room.id(), pass, VisitEndCause::Lapses, now_s);
        if let Err(error) = ended.await {
            room.stops().forget_ending(visit.number);
            return Err(error.into());
        }
        end_later_baskets(rooms, room, visit.number, signal).await?;
    }
    Ok(())
}

/// Ends the baskets that a visitor made after the visit's last basket had lapsed, but before this
/// node knew of it. A basket in checkout stays.
async fn end_later_baskets(
    rooms: &RoomRegistry,
    room: &Room,
    number: u64,
    lapsed: &HoldSignal,
) -> Result<(), StoreFailure> {
    let baskets = rooms.store().baskets_of(room.id(), number, rooms.now_ms());
    let is_later = |basket: &NotedBasket| basket.at >= lapsed.expires_at_ms && !basket.in_checkout;
    let later = baskets.await?.into_iter().filter(is_later);
    let later = later.map(|basket| VisitorsHold {
        hold: basket.hold,
        holder: lapsed.holder,
    });
    give_back(rooms, room, later.collect()).await;
    Ok(())
}

/// Gives seats back that a visitor took after the visit had ended.
pub(super) async fn give_back(rooms: &RoomRegistry, room: &Room, taken: Vec<VisitorsHold>) {
    if taken.is_empty() {
        return;
    }
    if let Err(error) = rooms.core().end_left_baskets(taken).await {
        log_failed_try!(
            error,
            room = room.id(),
            "booking did not end the baskets that a visitor made after the visit's end, so they last until their deadlines"
        );
    }
}

async fn note_offer(
    rooms: &RoomRegistry,
    room: &Room,
    signal: &HoldSignal,
) -> Result<(), StoreFailure> {
    let place = rooms.store().place_of(room.id(), signal.holder).await?;
    if let Some(place) = place {
        let ends_s = signal.expires_at_ms.div_euclid(1_000);
        room.activity().note(place.number, ends_s);
    }
    Ok(())
}

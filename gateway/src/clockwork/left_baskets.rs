//! Ends the baskets of visitors who are known to be gone. A visitor is gone if this node saw the
//! other end close the visitor's last socket, nothing suggests that a proxy died with it, and no
//! node has seen the visitor since. Whoever may still be here keeps the basket to its deadline:
//! after a restart of this node, and after the store lost its data, nothing ends early.

use std::collections::BTreeMap;

use fairgate_base::log_failed_try;
use fairgate_rules::departures::{JUDGED_AFTER_MS, TOLD_WITHIN_MS};

use crate::room::presence::ClosedVisitor;
use crate::room::{Room, RoomRegistry};
use crate::store::{NotedBasket, SEEN_EARLY_S, SEEN_KNOWN_S, StoreFailure};
use crate::upstream::VisitorsHold;

/// This node tells the store once more that it saw a visitor whose socket closed, within this many
/// seconds.
const LAST_TOLD_WITHIN_S: i64 = 6;
/// Until a basket is due, the store is asked again whether its visitor was seen after this many
/// milliseconds, because it soon forgets.
const LOOK_EVERY_MS: i64 = (SEEN_KNOWN_S - 2 * SEEN_EARLY_S) * 1_000 / 2;

/// The visitors of one room who closed their last socket here and left baskets.
#[derive(Default)]
pub(super) struct LeftBaskets {
    /// When the store was last asked about each visitor (ms), by number and by when the socket
    /// closed.
    looked_at: BTreeMap<(u64, i64), i64>,
}

impl LeftBaskets {
    /// Ends the baskets that are due at `now` (ms).
    pub(super) async fn end_some(
        &mut self,
        rooms: &RoomRegistry,
        room: &Room,
        now: i64,
    ) -> Result<(), StoreFailure> {
        let closed = room.presence().closed_by(now - JUDGED_AFTER_MS);
        let is_still_gone = |key: &(u64, i64)| {
            let mut closed = closed.iter();
            closed.any(|closed| (closed.number, closed.at) == *key)
        };
        self.looked_at.retain(|key, _| is_still_gone(key));
        for closed in &closed {
            if self.is_over(rooms, room, closed, now).await? {
                self.looked_at.remove(&(closed.number, closed.at));
                room.presence().forget_closed(closed);
            }
        }
        Ok(())
    }

    /// Does what is due for one visitor. Returns whether nothing more is to be done.
    async fn is_over(
        &mut self,
        rooms: &RoomRegistry,
        room: &Room,
        closed: &ClosedVisitor,
        now: i64,
    ) -> Result<bool, StoreFailure> {
        let key = (closed.number, closed.at);
        let Some(looked_at) = self.looked_at.get(&key).copied() else {
            let is_gone = may_have_baskets(room, closed.number)
                && rooms.socket_peers().says_gone(closed.peer, closed.at)
                && !left_behind(rooms, room, closed, now).await?.is_empty();
            self.looked_at.insert(key, closed.at);
            return Ok(!is_gone);
        };
        let away_ms = i64::try_from(room.row().document.away_s.saturating_mul(1_000));
        let due_at = closed.at.saturating_add(away_ms.unwrap_or(i64::MAX));
        let is_due = now >= due_at.saturating_add(TOLD_WITHIN_MS);
        if !is_due && now - looked_at < LOOK_EVERY_MS {
            return Ok(false);
        }
        let from_s = closed.at.div_euclid(1_000) + LAST_TOLD_WITHIN_S + SEEN_EARLY_S;
        let since_s = from_s.max(looked_at.div_euclid(1_000));
        let now_s = now.div_euclid(1_000);
        let (store, number) = (rooms.store(), [closed.number]);
        let seen = store.seen_since(room.id(), &number, since_s, now_s);
        if !seen.await?.is_empty() {
            return Ok(true);
        }
        if !is_due {
            self.looked_at.insert(key, now);
            return Ok(false);
        }
        let baskets = left_behind(rooms, room, closed, now).await?;
        let left = baskets.into_iter().map(|basket| VisitorsHold {
            hold: basket.hold,
            holder: closed.holder,
        });
        match rooms.core().end_left_baskets(left.collect()).await {
            Ok(()) => Ok(true),
            Err(error) => {
                log_failed_try!(
                    error,
                    room = room.id(),
                    "booking did not end the baskets of a visitor who is gone; the next beat tries again"
                );
                Ok(false)
            }
        }
    }
}

/// Returns whether the visitor of a number was called, so that it can have a basket.
fn may_have_baskets(room: &Room, number: u64) -> bool {
    let released = room.last_tick().released;
    room.rank(number).is_some_and(|rank| rank < released)
}

/// Returns the baskets that a visitor made before its socket closed and has not begun to buy.
async fn left_behind(
    rooms: &RoomRegistry,
    room: &Room,
    closed: &ClosedVisitor,
    now: i64,
) -> Result<Vec<NotedBasket>, StoreFailure> {
    let store = rooms.store();
    let baskets = store.baskets_of(room.id(), closed.number, now).await?;
    let is_left = |basket: &NotedBasket| basket.at <= closed.at && !basket.in_checkout;
    Ok(baskets.into_iter().filter(is_left).collect())
}

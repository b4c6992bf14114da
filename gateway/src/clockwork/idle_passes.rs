//! Ends passes whose holders do nothing, so that those who wait in line come in. Before the end,
//! the holder's pages ask whether somebody is still there. A pass never ends while its holder has a
//! basket, an order or an offer: the time begins when that ends.

use std::collections::{BTreeMap, HashMap};

use fairgate_base::log_failed_try;
use fairgate_pass::{Holder, VisitEndCause};
use fairgate_rules::idle_passes::{IdleLimits, IdleStep};
use fairgate_rules::phase::RoomPhase;

use crate::personal::{PersonalEvent, PersonalEventHub};
use crate::room::{Room, RoomRegistry};
use crate::store::{IdleVisitor, StoreFailure};
use crate::upstream::VisitorsHold;

/// How many idle visitors one beat looks at, at most. Many of them have been asked already.
const IDLE_MAX: u32 = 10_000;
/// How many visitors one beat asks or sends out, at most. The longest idle come first.
const DUE_MAX: usize = 1_000;

/// The visitors of one room who were asked whether somebody is still there.
pub(super) struct IdlePasses {
    personal: PersonalEventHub,
    asked: BTreeMap<u64, IdleVisitor>,
}

impl IdlePasses {
    pub(super) fn new(personal: PersonalEventHub) -> Self {
        Self {
            personal,
            asked: BTreeMap::new(),
        }
    }

    /// Asks and ends what is due at `now` (ms).
    pub(super) async fn end_some(
        &mut self,
        rooms: &RoomRegistry,
        room: &Room,
        now: i64,
    ) -> Result<(), StoreFailure> {
        if room.phase(now) == RoomPhase::Closed || rooms.guards_shop(room.id()) {
            return Ok(());
        }
        let now_s = now.div_euclid(1_000);
        let limits = IdleLimits::new(room.row().document.pass_idle_s);
        let until_s = now_s - limits.asks_after_s();
        let idle = rooms.store().idle_visitors(room.id(), until_s, IDLE_MAX);
        let idle = idle.await?;
        self.forget_active(room, &idle);
        let is_due = |visitor: &IdleVisitor| {
            limits.step(visitor.active_s, now_s) == IdleStep::End
                || self.asked.get(&visitor.number) != Some(visitor)
        };
        let due: Vec<IdleVisitor> = idle.into_iter().filter(is_due).take(DUE_MAX).collect();
        if due.is_empty() {
            return Ok(());
        }
        let free = keep_free(rooms, room, due, now).await?;
        let mut ended = Vec::new();
        for visitor in free {
            if limits.step(visitor.active_s, now_s) == IdleStep::End {
                ended.push((visitor.number, visitor.pass_exp_s));
            } else {
                let ends_at = limits.ends_at_s(visitor.active_s).saturating_mul(1_000);
                self.tell(room, &visitor, Some(ends_at));
                self.asked.insert(visitor.number, visitor);
            }
        }
        if !ended.is_empty() {
            let ledger = rooms.ledger();
            let ended = ledger.end_visits(room.id(), ended, VisitEndCause::Idle, now_s);
            ended.await?;
        }
        Ok(())
    }

    /// Takes the question away from the visitors who have done something since, or whose pass has
    /// ended. `idle` are the visitors who have done nothing.
    fn forget_active(&mut self, room: &Room, idle: &[IdleVisitor]) {
        let by_number: HashMap<u64, &IdleVisitor> = idle
            .iter()
            .map(|visitor| (visitor.number, visitor))
            .collect();
        let is_idle = |asked: &IdleVisitor| by_number.get(&asked.number) == Some(&asked);
        let active: Vec<IdleVisitor> = self
            .asked
            .values()
            .filter(|asked| !is_idle(asked))
            .copied()
            .collect();
        for visitor in active {
            self.tell(room, &visitor, None);
            self.asked.remove(&visitor.number);
        }
    }

    fn tell(&self, room: &Room, visitor: &IdleVisitor, ends_at: Option<i64>) {
        let event = PersonalEvent::Idle {
            room: room.id().into(),
            number: visitor.number,
            ends_at,
        };
        self.personal.notify_holder(visitor.holder, &event);
    }
}

/// Tells the store what visitors did at this node. This happens several times a second, so that
/// another node does not end the pass of somebody who has just done something.
pub(super) async fn report_active(rooms: &RoomRegistry, room: &Room) -> Result<(), StoreFailure> {
    let active = room.activity().take();
    if active.is_empty() {
        return Ok(());
    }
    let noted = rooms.store().note_active(room.id(), &active).await;
    if noted.is_err() {
        for (number, at_s) in active {
            room.activity().note(number, at_s);
        }
    }
    noted
}

/// Returns the visitors without a living hold. Notes for the others that they count as active until
/// their holds end.
async fn keep_free(
    rooms: &RoomRegistry,
    room: &Room,
    idle: Vec<IdleVisitor>,
    now: i64,
) -> Result<Vec<IdleVisitor>, StoreFailure> {
    let mut holds = Vec::new();
    for visitor in &idle {
        let baskets = rooms.store().baskets_of(room.id(), visitor.number, now);
        holds.extend(baskets.await?.into_iter().map(|basket| VisitorsHold {
            hold: basket.hold,
            holder: visitor.holder,
        }));
    }
    if holds.is_empty() {
        return Ok(idle);
    }
    let living = match rooms.core().living_holds(holds).await {
        Ok(living) => living,
        Err(error) => {
            log_failed_try!(
                error,
                room = room.id(),
                "booking did not tell which visitors have seats, so no pass ends because nobody does anything; the next beat tries again"
            );
            return Ok(Vec::new());
        }
    };
    let now_s = now.div_euclid(1_000);
    let mut until_s: BTreeMap<Holder, i64> = BTreeMap::new();
    for hold in living {
        let ends_s = until_s.entry(hold.holder).or_insert(now_s);
        *ends_s = hold.ends_at_ms.div_euclid(1_000).max(*ends_s);
    }
    let mut free = Vec::new();
    for visitor in idle {
        match until_s.get(&visitor.holder) {
            Some(ends_s) => room.activity().note(visitor.number, *ends_s),
            None => free.push(visitor),
        }
    }
    Ok(free)
}

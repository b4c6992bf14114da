//! The holds of one show in memory: their visitors, their deadlines, and how many seats each
//! visitor has. The table does not know the locks of cells.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldSignalState, HoldStage};
use fairgate_model::ids::HoldId;
use fairgate_pass::Holder;

use crate::store::{CallId, HoldSignal, InventoryRefusal, SecuredHold, ShowHoldFigures};

/// A basket's owner is warned this long before the deadline, in milliseconds.
const WARNED_BEFORE_MS: i64 = 60_000;

/// The maximum number of released holds that are remembered.
const RELEASED_MAX: usize = 1_024;

/// One change of a basket: the seats to take and the seats to give back.
type BasketSeatChange = (Vec<HeldSeat>, Vec<u32>);

/// The holds of a show, with their deadlines and the seats of each visitor.
#[derive(Default)]
pub(super) struct HoldTable {
    holds: HashMap<HoldId, Hold>,
    /// The last change of each hold, to recognise a repeated change whose answer was lost.
    last_changes: HashMap<HoldId, BasketSeatChange>,
    /// The last extension of each hold, to recognise a repeated extension.
    extensions: HashMap<HoldId, CallId>,
    /// The baskets that were offers of the waitlist, to recognise a repeated acceptance.
    accepted: HashSet<HoldId>,
    /// The most recently released holds, with their visitors, to recognise a repeated release. The
    /// newest is at the back.
    released: VecDeque<(HoldId, Holder)>,
    deadlines: BTreeSet<(i64, HoldId)>,
    warnings: BTreeSet<(i64, HoldId)>,
    /// How many seats each visitor has bought. `held` counts the seats in holds.
    bought: HashMap<Holder, u32>,
    held: HashMap<Holder, u32>,
}

impl HoldTable {
    /// Returns a hold of any visitor.
    pub(super) fn find(&self, id: &HoldId) -> Option<&Hold> {
        self.holds.get(id)
    }

    /// Returns all holds.
    pub(super) fn all(&self) -> impl Iterator<Item = &Hold> {
        self.holds.values()
    }

    pub(super) fn find_own(&self, id: &HoldId, visitor: Holder) -> Result<&Hold, InventoryRefusal> {
        let hold = self.holds.get(id).ok_or(InventoryRefusal::Gone)?;
        if hold.visitor == visitor {
            Ok(hold)
        } else {
            Err(InventoryRefusal::Foreign)
        }
    }

    /// Returns all holds of a visitor, in the order in which their locks end.
    pub(super) fn holds_of(&self, visitor: Holder) -> Vec<Hold> {
        if !self.held.contains_key(&visitor) {
            return Vec::new();
        }
        let holds = self.deadlines.iter().filter_map(|(_, id)| self.find(id));
        holds
            .filter(|hold| hold.visitor == visitor)
            .cloned()
            .collect()
    }

    /// Returns a visitor's own hold, if it was made for one of these purposes.
    pub(super) fn find_own_for(
        &self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<&Hold, InventoryRefusal> {
        let hold = self.find_own(id, visitor)?;
        if purposes.contains(&hold.purpose) {
            Ok(hold)
        } else {
            Err(InventoryRefusal::OtherPurpose(hold.purpose))
        }
    }

    /// Returns a visitor's own hold that is not locked for an order, if it was made for one of
    /// these purposes.
    pub(super) fn find_own_without_order(
        &self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<&Hold, InventoryRefusal> {
        let hold = self.find_own_for(id, visitor, purposes)?;
        if hold.stage == HoldStage::Ordered {
            Err(InventoryRefusal::Ordered)
        } else {
            Ok(hold)
        }
    }

    /// Adds a new hold.
    pub(super) fn insert(&mut self, hold: Hold) {
        *self.held.entry(hold.visitor).or_default() += seat_count(&hold.items);
        self.deadlines.insert((hold.lock_until_ms, hold.id.clone()));
        if hold.stage == HoldStage::Basket {
            self.warnings
                .insert((hold.expires_at_ms - WARNED_BEFORE_MS, hold.id.clone()));
        }
        self.holds.insert(hold.id.clone(), hold);
    }

    /// Removes a hold and returns it.
    pub(super) fn remove(&mut self, id: &HoldId) -> Option<Hold> {
        let hold = self.holds.remove(id)?;
        self.last_changes.remove(id);
        self.extensions.remove(id);
        self.accepted.remove(id);
        self.deadlines.remove(&(hold.lock_until_ms, id.clone()));
        self.warnings
            .remove(&(hold.expires_at_ms - WARNED_BEFORE_MS, id.clone()));
        if let Some(held) = self.held.get_mut(&hold.visitor) {
            *held = held.saturating_sub(seat_count(&hold.items));
            if *held == 0 {
                self.held.remove(&hold.visitor);
            }
        }
        Some(hold)
    }

    /// Replaces a hold by a later state of the same hold.
    fn replace(&mut self, hold: Hold) {
        let id = hold.id.clone();
        let was_accepted = self.was_accepted(&id);
        let last_change = self.last_changes.remove(&id);
        let last_extension = self.extensions.remove(&id);
        self.remove(&id);
        if was_accepted {
            self.accepted.insert(id.clone());
        }
        if let Some(change) = last_change {
            self.last_changes.insert(id.clone(), change);
        }
        if let Some(call) = last_extension {
            self.extensions.insert(id, call);
        }
        self.insert(hold);
    }

    /// Returns whether the hold is a basket that was an offer of the waitlist.
    pub(super) fn was_accepted(&self, id: &HoldId) -> bool {
        self.accepted.contains(id)
    }

    /// Replaces an offer by the basket that it has become.
    pub(super) fn accept(&mut self, basket: Hold) {
        self.accepted.insert(basket.id.clone());
        self.replace(basket);
    }

    /// Returns whether the last change of the hold was the same as this one.
    pub(super) fn is_last_change(&self, id: &HoldId, add: &[HeldSeat], remove: &[u32]) -> bool {
        let last = self.last_changes.get(id);
        last.is_some_and(|(added, removed)| added == add && removed == remove)
    }

    /// Gives a hold other seats, and remembers the change. The deadline does not move.
    pub(super) fn change(
        &mut self,
        id: &HoldId,
        items: Vec<HeldSeat>,
        side_by_side: bool,
        change: BasketSeatChange,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.holds.get_mut(id).ok_or(InventoryRefusal::Gone)?;
        let held = self.held.entry(hold.visitor).or_default();
        *held = (*held + seat_count(&items)).saturating_sub(seat_count(&hold.items));
        self.last_changes.insert(id.clone(), change);
        hold.items = items;
        hold.next_to_each_other = side_by_side;
        Ok(hold.clone())
    }

    /// Returns whether the last extension of the hold was this call.
    pub(super) fn is_last_extension(&self, id: &HoldId, call: CallId) -> bool {
        self.extensions.get(id) == Some(&call)
    }

    /// Replaces a hold by the extended hold, and remembers the call.
    pub(super) fn extend(&mut self, hold: Hold, call: CallId) {
        let id = hold.id.clone();
        self.replace(hold);
        self.extensions.insert(id, call);
    }

    /// Sets a hold's lock deadline and stage.
    pub(super) fn lock_until(
        &mut self,
        id: &HoldId,
        stage: HoldStage,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.holds.get(id).ok_or(InventoryRefusal::Gone)?;
        let hold = Hold {
            stage,
            lock_until_ms,
            ..hold.clone()
        };
        self.replace(hold.clone());
        Ok(hold)
    }

    /// Returns whether this visitor released a hold that no longer exists.
    pub(super) fn was_released(&self, id: &HoldId, visitor: Holder) -> bool {
        let is_same = |(released, holder): &(HoldId, Holder)| released == id && *holder == visitor;
        !self.holds.contains_key(id) && self.released.iter().any(is_same)
    }

    /// Remembers that a visitor released a hold.
    pub(super) fn note_released(&mut self, id: &HoldId, visitor: Holder) {
        self.released.retain(|(of, _)| of != id);
        self.released.push_back((id.clone(), visitor));
        if self.released.len() > RELEASED_MAX {
            self.released.pop_front();
        }
    }

    /// Cancels the warning before the end of this hold.
    pub(super) fn cancel_warning(&mut self, hold: &Hold) {
        let warning = (hold.expires_at_ms - WARNED_BEFORE_MS, hold.id.clone());
        self.warnings.remove(&warning);
    }

    /// Returns the hold whose lock ends first, if it is due.
    pub(super) fn first_due(&self, now_ms: i64) -> Option<HoldId> {
        let (at_ms, id) = self.deadlines.first()?;
        (*at_ms <= now_ms).then(|| id.clone())
    }

    /// Removes the first warning that is due, and returns the hold whose owner must be warned.
    pub(super) fn take_due_warning(&mut self, now_ms: i64) -> Option<HoldId> {
        let due = self.warnings.first().is_some_and(|(at, _)| *at <= now_ms);
        due.then(|| self.warnings.pop_first())
            .flatten()
            .map(|(_, id)| id)
    }

    /// Adds seats that a visitor has bought.
    pub(super) fn note_bought(&mut self, visitor: Holder, items: &[HeldSeat]) {
        *self.bought.entry(visitor).or_default() += seat_count(items);
    }

    /// Subtracts bought seats that the visitor no longer has.
    pub(super) fn note_given_back(&mut self, visitor: Holder, items: &[HeldSeat]) {
        if let Some(bought) = self.bought.get_mut(&visitor) {
            *bought = bought.saturating_sub(seat_count(items));
        }
    }

    /// Returns an error if `gained` seats would exceed the visitor's limit.
    pub(super) fn check_limit(
        &self,
        visitor: Holder,
        gained: u32,
        limit: u32,
    ) -> Result<(), InventoryRefusal> {
        let have = self.seats_of(visitor);
        // A visitor may give seats back even if the limit was lowered in the meantime.
        if gained > 0 && have + gained > limit {
            Err(InventoryRefusal::Limit { have, limit })
        } else {
            Ok(())
        }
    }

    /// Returns an error if the visitor has more than `limit` seats, including the seats of the
    /// offer. `have` in the error does not count the seats of the offer.
    pub(super) fn check_limit_of_offer(
        &self,
        offer: &Hold,
        limit: u32,
    ) -> Result<(), InventoryRefusal> {
        let all = self.seats_of(offer.visitor);
        let have = all.saturating_sub(seat_count(&offer.items));
        if all > limit {
            Err(InventoryRefusal::Limit { have, limit })
        } else {
            Ok(())
        }
    }

    /// Returns how many seats a visitor has bought or holds.
    fn seats_of(&self, visitor: Holder) -> u32 {
        let count = |counts: &HashMap<Holder, u32>| counts.get(&visitor).copied().unwrap_or(0);
        count(&self.bought) + count(&self.held)
    }

    /// Returns the holds that are locked for an order.
    pub(super) fn holds_locked_for_orders(&self) -> Vec<SecuredHold> {
        let ordered = self
            .holds
            .values()
            .filter(|hold| hold.stage == HoldStage::Ordered);
        let secured = |hold: &Hold| SecuredHold {
            hold: hold.id.clone(),
            expires_at_ms: hold.expires_at_ms,
            lock_until_ms: hold.lock_until_ms,
        };
        ordered.map(secured).collect()
    }

    /// Counts all holds, and the baskets whose lock ends by `until_ms`.
    pub(super) fn hold_figures(&self, until_ms: i64) -> ShowHoldFigures {
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= until_ms);
        let mut figures = ShowHoldFigures {
            all: self.holds.len() as u64,
            ..ShowHoldFigures::default()
        };
        for hold in due.filter_map(|(_, id)| self.holds.get(id)) {
            if hold.stage == HoldStage::Basket {
                figures.lapsing += 1;
                let cells = hold.items.iter().map(|item| item.legs.len() as u64);
                figures.lapsing_cells += cells.sum::<u64>();
            }
        }
        figures
    }
}

/// Builds the signal to a hold's owner.
pub(super) fn signal_of(hold: &Hold, state: HoldSignalState) -> HoldSignal {
    HoldSignal {
        visitor: hold.visitor,
        hold: hold.id.clone(),
        state,
        expires_at_ms: hold.expires_at_ms,
    }
}

/// Returns the number of seats.
pub(super) fn seat_count(items: &[HeldSeat]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

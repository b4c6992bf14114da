//! The holds of one show in memory: whose they are, their deadlines, and how many seats a visitor
//! has. Of their cells it knows nothing.

use std::collections::{BTreeSet, HashMap, VecDeque};

use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldSignalState, HoldStage};
use fairgate_model::ids::HoldId;
use fairgate_pass::Holder;

use crate::store::{CallId, HoldSignal, InventoryRefusal, SecuredHold, ShowHoldFigures};

/// How long before its deadline the owner of a hold is told that it runs short.
const SHORT_MS: i64 = 60_000;

/// So many holds that were given back are remembered.
const RELEASED_MAX: usize = 1_024;

/// Seats to take and seats to give back.
type BasketSeatChange = (Vec<HeldSeat>, Vec<u32>);

/// The holds of a show.
#[derive(Default)]
pub(super) struct HoldTable {
    holds: HashMap<HoldId, Hold>,
    /// The last change of a hold: asked again it is done already, and its answer was lost.
    wishes: HashMap<HoldId, BasketSeatChange>,
    /// The last extension of a hold, likewise.
    extensions: HashMap<HoldId, CallId>,
    /// Who gave back which hold last, the latest behind: asked again it is done already.
    released: VecDeque<(HoldId, Holder)>,
    deadlines: BTreeSet<(i64, HoldId)>,
    short_calls: BTreeSet<(i64, HoldId)>,
    /// Seats a visitor has bought; what it holds is counted beside.
    bought: HashMap<Holder, u32>,
    held: HashMap<Holder, u32>,
}

impl HoldTable {
    /// A hold, whosever it is.
    pub(super) fn find(&self, id: &HoldId) -> Option<&Hold> {
        self.holds.get(id)
    }

    /// All holds.
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

    /// A visitor's own hold, if it was made for one of these purposes.
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

    /// A visitor's own hold that no order has, if it was made for one of these purposes.
    pub(super) fn unordered(
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

    /// Adds a hold, which was not there.
    pub(super) fn insert(&mut self, hold: Hold) {
        *self.held.entry(hold.visitor).or_default() += seat_count(&hold.items);
        self.deadlines.insert((hold.lock_until_ms, hold.id.clone()));
        if hold.stage == HoldStage::Basket {
            self.short_calls
                .insert((hold.expires_at_ms - SHORT_MS, hold.id.clone()));
        }
        self.holds.insert(hold.id.clone(), hold);
    }

    /// Takes a hold out.
    pub(super) fn remove(&mut self, id: &HoldId) -> Option<Hold> {
        let hold = self.holds.remove(id)?;
        self.wishes.remove(id);
        self.extensions.remove(id);
        self.deadlines.remove(&(hold.lock_until_ms, id.clone()));
        self.short_calls
            .remove(&(hold.expires_at_ms - SHORT_MS, id.clone()));
        if let Some(held) = self.held.get_mut(&hold.visitor) {
            *held = held.saturating_sub(seat_count(&hold.items));
            if *held == 0 {
                self.held.remove(&hold.visitor);
            }
        }
        Some(hold)
    }

    /// Whether a hold was changed by this wish last.
    pub(super) fn is_last_wish(&self, id: &HoldId, add: &[HeldSeat], remove: &[u32]) -> bool {
        let last = self.wishes.get(id);
        last.is_some_and(|(added, removed)| added == add && removed == remove)
    }

    /// Gives a hold other seats, by a wish; its deadline stays.
    pub(super) fn change(
        &mut self,
        id: &HoldId,
        items: Vec<HeldSeat>,
        side_by_side: bool,
        wish: BasketSeatChange,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.holds.get_mut(id).ok_or(InventoryRefusal::Gone)?;
        let held = self.held.entry(hold.visitor).or_default();
        *held = (*held + seat_count(&items)).saturating_sub(seat_count(&hold.items));
        self.wishes.insert(id.clone(), wish);
        hold.items = items;
        hold.next_to_each_other = side_by_side;
        Ok(hold.clone())
    }

    /// Whether a hold was extended by this call last.
    pub(super) fn is_last_extension(&self, id: &HoldId, call: CallId) -> bool {
        self.extensions.get(id) == Some(&call)
    }

    /// Replaces a hold by itself with other deadlines.
    pub(super) fn extend(&mut self, hold: Hold, call: CallId) {
        self.remove(&hold.id);
        self.extensions.insert(hold.id.clone(), call);
        self.insert(hold);
    }

    /// Moves a hold's lock and stage.
    pub(super) fn lock_until(
        &mut self,
        id: &HoldId,
        stage: HoldStage,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.remove(id).ok_or(InventoryRefusal::Gone)?;
        let hold = Hold {
            stage,
            lock_until_ms,
            ..hold
        };
        self.insert(hold.clone());
        Ok(hold)
    }

    /// Whether this visitor gave back a hold that is not there any more.
    pub(super) fn was_released(&self, id: &HoldId, visitor: Holder) -> bool {
        let is_same = |(of, by): &(HoldId, Holder)| of == id && *by == visitor;
        !self.holds.contains_key(id) && self.released.iter().any(is_same)
    }

    /// Remembers who gave a hold back.
    pub(super) fn note_released(&mut self, id: &HoldId, visitor: Holder) {
        self.released.retain(|(of, _)| of != id);
        self.released.push_back((id.clone(), visitor));
        if self.released.len() > RELEASED_MAX {
            self.released.pop_front();
        }
    }

    /// No call is made before the end of this hold.
    pub(super) fn call_off(&mut self, hold: &Hold) {
        let call = (hold.expires_at_ms - SHORT_MS, hold.id.clone());
        self.short_calls.remove(&call);
    }

    /// The hold whose lock falls first, if that is due.
    pub(super) fn first_due(&self, now_ms: i64) -> Option<HoldId> {
        let (at_ms, id) = self.deadlines.first()?;
        (*at_ms <= now_ms).then(|| id.clone())
    }

    /// Takes the next call that a hold runs short, if one is due.
    pub(super) fn next_short_call(&mut self, now_ms: i64) -> Option<HoldId> {
        let due = self
            .short_calls
            .first()
            .is_some_and(|(at, _)| *at <= now_ms);
        due.then(|| self.short_calls.pop_first())
            .flatten()
            .map(|(_, id)| id)
    }

    /// Counts seats that a visitor bought.
    pub(super) fn note_bought(&mut self, visitor: Holder, items: &[HeldSeat]) {
        *self.bought.entry(visitor).or_default() += seat_count(items);
    }

    /// Counts seats off that a visitor had bought.
    pub(super) fn note_given_back(&mut self, visitor: Holder, items: &[HeldSeat]) {
        if let Some(bought) = self.bought.get_mut(&visitor) {
            *bought = bought.saturating_sub(seat_count(items));
        }
    }

    /// Refuses a visitor that would have more seats than it may.
    pub(super) fn within_limit(
        &self,
        visitor: Holder,
        more: u32,
        limit: u32,
    ) -> Result<(), InventoryRefusal> {
        let of = |counts: &HashMap<Holder, u32>| counts.get(&visitor).copied().unwrap_or(0);
        let have = of(&self.bought) + of(&self.held);
        // Giving back stays possible where the limit was lowered since.
        if more > 0 && have + more > limit {
            Err(InventoryRefusal::Limit { have, limit })
        } else {
            Ok(())
        }
    }

    /// The holds that are locked for orders.
    pub(super) fn ordered(&self) -> Vec<SecuredHold> {
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

    /// The holds in figures.
    pub(super) fn baskets(&self, until_ms: i64) -> ShowHoldFigures {
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= until_ms);
        let mut baskets = ShowHoldFigures {
            all: self.holds.len() as u64,
            ..ShowHoldFigures::default()
        };
        for hold in due.filter_map(|(_, id)| self.holds.get(id)) {
            if hold.stage == HoldStage::Basket {
                baskets.lapsing += 1;
                let cells = hold.items.iter().map(|item| item.legs.len() as u64);
                baskets.lapsing_cells += cells.sum::<u64>();
            }
        }
        baskets
    }
}

/// What a hold's owner is told.
pub(super) fn signal_of(hold: &Hold, state: HoldSignalState) -> HoldSignal {
    HoldSignal {
        visitor: hold.visitor,
        hold: hold.id.clone(),
        state,
        expires_at_ms: hold.expires_at_ms,
    }
}

/// How many seats these are.
pub(super) fn seat_count(items: &[HeldSeat]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

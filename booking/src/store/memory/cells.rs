//! One show's cells, locks, holds and deadlines. Plain data: every transition checks everything first and
//! then changes everything, under the show's lock.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use fairgate_pass::Holder;

use crate::holds::{Held, Hold, Purpose, Stage, cells_of};
use crate::ids::HoldId;
use crate::inventory::picture::Picture;
use crate::inventory::{CellState, Grid};
use crate::store::{
    Baskets, CallId, HoldSignal, Opening, PROLONGED_BY_MS_MIN, Refused, SeatRow, SeatRowKind,
    Secured,
};

/// How long before its deadline the owner of a hold is told that it runs short.
const SHORT_MS: i64 = 60_000;

/// So many holds that were given back are remembered.
const RELEASED_MAX: usize = 1_024;

/// Seats to take and seats to give back.
type Wish = (Vec<Held>, Vec<u32>);

pub(super) struct ShowCells {
    pub(super) grid: Grid,
    pub(super) picture: Picture,
    pub(super) edition: u64,
    plan_version: u32,
    /// Whose lock is on a cell; sold and free cells have none.
    locks: HashMap<u32, HoldId>,
    holds: HashMap<HoldId, Hold>,
    /// The last change of a hold: asked again it is done already, and its answer was lost.
    wishes: HashMap<HoldId, Wish>,
    /// The last extension of a hold, likewise.
    extensions: HashMap<HoldId, CallId>,
    /// Who gave back which hold last, the latest behind: asked again it is done already.
    released: VecDeque<(HoldId, Holder)>,
    deadlines: BTreeSet<(i64, HoldId)>,
    short_calls: BTreeSet<(i64, HoldId)>,
    /// Seats a visitor has bought; what it holds is counted beside.
    bought: HashMap<Holder, u32>,
    held: HashMap<Holder, u32>,
    /// Until when cells that come free are kept for the waitlist, and those that are: held, and without a lock.
    kept_until_ms: Option<i64>,
    kept: BTreeSet<u32>,
    pub(super) cursor: u64,
}

impl ShowCells {
    pub(super) fn open(opening: Opening) -> Self {
        let grid = opening.grid;
        let mut states = vec![CellState::Free; grid.cells() as usize];
        let mut bought: HashMap<Holder, u32> = HashMap::new();
        let mut mark = |cells: Vec<u32>, state| {
            for cell in cells {
                if let Some(slot) = states.get_mut(cell as usize) {
                    *slot = state;
                }
            }
        };
        mark(opening.blocked, CellState::Blocked);
        for (visitor, items) in opening.sold {
            *bought.entry(visitor).or_default() += count(&items);
            mark(cells_of(&items, grid), CellState::Sold);
        }
        for hold in &opening.ordered {
            mark(hold.cells(grid), CellState::Held);
        }
        let mut show = Self {
            grid,
            picture: Picture::new(opening.incarnation, states),
            edition: opening.edition,
            plan_version: opening.plan_version,
            locks: HashMap::new(),
            holds: HashMap::new(),
            wishes: HashMap::new(),
            extensions: HashMap::new(),
            released: VecDeque::new(),
            deadlines: BTreeSet::new(),
            short_calls: BTreeSet::new(),
            bought,
            held: HashMap::new(),
            kept_until_ms: None,
            kept: BTreeSet::new(),
            cursor: opening.cursor,
        };
        for hold in opening.ordered {
            for cell in hold.cells(grid) {
                show.locks.insert(cell, hold.id.clone());
            }
            show.insert(hold);
        }
        show
    }

    pub(super) fn take(&mut self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        self.take_from(hold, limit, Self::is_free)
    }

    pub(super) fn offer(&mut self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        let offered = self.take_from(hold, limit, Self::is_nobodys)?;
        // An offer needs no call before its end: it is as short as that is early.
        let call = (offered.expires_at_ms - SHORT_MS, offered.id.clone());
        self.short_calls.remove(&call);
        Ok(offered)
    }

    fn take_from(
        &mut self,
        hold: Hold,
        limit: u32,
        may_have: impl Fn(&Self, u32) -> bool,
    ) -> Result<Hold, Refused> {
        if let Some(present) = self.holds.get(&hold.id) {
            return if present.visitor == hold.visitor {
                Ok(present.clone())
            } else {
                Err(Refused::Foreign)
            };
        }
        if hold.plan_version != self.plan_version {
            return Err(Refused::PlanChanged);
        }
        self.within_limit(hold.visitor, count(&hold.items), limit)?;
        let cells = hold.cells(self.grid);
        self.all(&cells, may_have)?;
        self.lock(&cells, &hold.id);
        self.insert(hold.clone());
        Ok(hold)
    }

    pub(super) fn change(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        add: Vec<Held>,
        remove: &[u32],
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, Refused> {
        let present = self.unordered(id, visitor, &[Purpose::Basket])?;
        let wish = (add.clone(), remove.to_vec());
        if self.wishes.get(id) == Some(&wish) {
            return Ok(present.clone());
        }
        let leaving: HashSet<u32> = remove.iter().copied().collect();
        let strangers: Vec<u32> = leaving
            .iter()
            .copied()
            .filter(|seat| present.items.iter().all(|item| item.seat != *seat))
            .collect();
        if !strangers.is_empty() {
            return Err(Refused::NotHeld(strangers));
        }
        let (out, mut kept): (Vec<Held>, Vec<Held>) = present
            .items
            .iter()
            .cloned()
            .partition(|item| leaving.contains(&item.seat));
        let (coming, going) = (count(&add), count(&out));
        self.within_limit(visitor, coming.saturating_sub(going), limit)?;
        let taken = cells_of(&add, self.grid);
        self.all(&taken, Self::is_free)?;
        self.lock(&taken, id);
        self.unlock(&cells_of(&out, self.grid), id);
        kept.extend(add);
        let held = self.held.entry(visitor).or_default();
        *held = (*held + coming).saturating_sub(going);
        let Some(hold) = self.holds.get_mut(id) else {
            return Err(Refused::Gone);
        };
        self.wishes.insert(id.clone(), wish);
        hold.items = kept;
        hold.next_to_each_other = side_by_side;
        Ok(hold.clone())
    }

    pub(super) fn own(&self, id: &HoldId, visitor: Holder) -> Result<&Hold, Refused> {
        let hold = self.holds.get(id).ok_or(Refused::Gone)?;
        if hold.visitor == visitor {
            Ok(hold)
        } else {
            Err(Refused::Foreign)
        }
    }

    /// A visitor's own hold, if it was made for one of these purposes.
    fn own_for(
        &self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
    ) -> Result<&Hold, Refused> {
        let hold = self.own(id, visitor)?;
        if purposes.contains(&hold.purpose) {
            Ok(hold)
        } else {
            Err(Refused::OtherPurpose(hold.purpose))
        }
    }

    fn unordered(
        &self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
    ) -> Result<&Hold, Refused> {
        let hold = self.own_for(id, visitor, purposes)?;
        if hold.stage == Stage::Ordered {
            Err(Refused::Ordered)
        } else {
            Ok(hold)
        }
    }

    pub(super) fn release(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
    ) -> Result<(), Refused> {
        let is_same = |(of, by): &(HoldId, Holder)| of == id && *by == visitor;
        if !self.holds.contains_key(id) && self.released.iter().any(is_same) {
            return Ok(());
        }
        self.unordered(id, visitor, purposes)?;
        self.drop_hold(id);
        self.released.retain(|(of, _)| of != id);
        self.released.push_back((id.clone(), visitor));
        if self.released.len() > RELEASED_MAX {
            self.released.pop_front();
        }
        Ok(())
    }

    pub(super) fn extend(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        let present = self.unordered(id, visitor, &[Purpose::Basket])?;
        if self.extensions.get(id) == Some(&call) {
            return Ok(present.clone());
        }
        if present.extensions_left == 0 {
            return Err(Refused::NoExtensions);
        }
        let Some(hold) = self.remove(id) else {
            return Err(Refused::Gone);
        };
        let extended = Hold {
            expires_at_ms: expires_at_ms.max(hold.expires_at_ms),
            lock_until_ms: lock_until_ms.max(hold.lock_until_ms),
            extensions_left: hold.extensions_left - 1,
            ..hold
        };
        self.insert(extended.clone());
        self.extensions.insert(id.clone(), call);
        Ok(extended)
    }

    pub(super) fn secure(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        let hold = self.own_for(id, visitor, purposes)?;
        if hold.stage == Stage::Ordered {
            let later_ms = lock_until_ms.max(hold.lock_until_ms.saturating_add(1));
            return self.lock_until(id, Stage::Ordered, later_ms);
        }
        if hold.plan_version != self.plan_version {
            return Err(Refused::PlanChanged);
        }
        let cells = hold.cells(self.grid);
        let lost: Vec<u32> = cells
            .into_iter()
            .filter(|cell| self.locks.get(cell) != Some(id))
            .collect();
        if !lost.is_empty() {
            return Err(Refused::Taken(lost));
        }
        let until_ms = lock_until_ms.max(hold.lock_until_ms);
        self.lock_until(id, Stage::Ordered, until_ms)
    }

    pub(super) fn unsecure(&mut self, id: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        let is_meant =
            |hold: &Hold| hold.stage == Stage::Ordered && hold.lock_until_ms == secured_until_ms;
        if self.holds.get(id).is_some_and(is_meant) {
            // It was there a line above.
            let _ = self.lock_until(id, Stage::Basket, lock_until_ms);
        }
    }

    pub(super) fn prolong(&mut self, hold: Hold, cursor: u64) -> Result<(), Refused> {
        if let Some(present) = self.holds.get(&hold.id) {
            let until_ms = hold.lock_until_ms;
            let gains = until_ms >= present.lock_until_ms.saturating_add(PROLONGED_BY_MS_MIN);
            // A basket of the same id was taken after the order had ended.
            if present.stage == Stage::Ordered && gains {
                self.lock_until(&hold.id, Stage::Ordered, until_ms)?;
            }
            return Ok(());
        }
        if self.cursor > cursor {
            return Err(Refused::NotReady);
        }
        let cells = hold.cells(self.grid);
        self.all(&cells, Self::is_nobodys)?;
        self.lock(&cells, &hold.id);
        self.insert(hold);
        Ok(())
    }

    fn lock_until(
        &mut self,
        id: &HoldId,
        stage: Stage,
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        let hold = self.remove(id).ok_or(Refused::Gone)?;
        let hold = Hold {
            stage,
            lock_until_ms,
            ..hold
        };
        self.insert(hold.clone());
        Ok(hold)
    }

    pub(super) fn ordered(&self) -> Vec<Secured> {
        let ordered = self
            .holds
            .values()
            .filter(|hold| hold.stage == Stage::Ordered);
        let secured = |hold: &Hold| Secured {
            hold: hold.id.clone(),
            expires_at_ms: hold.expires_at_ms,
            lock_until_ms: hold.lock_until_ms,
        };
        ordered.map(secured).collect()
    }

    /// Carries out what is new, up to a gap; gives the number of the newest row carried out.
    pub(super) fn deliver(&mut self, rows: &[SeatRow]) -> u64 {
        for row in rows {
            if row.seq == self.cursor + 1 {
                self.cursor = row.seq;
                self.carry_out(row);
            }
        }
        self.cursor
    }

    fn carry_out(&mut self, row: &SeatRow) {
        let cells = cells_of(&row.items, self.grid);
        match row.kind {
            SeatRowKind::Sell => {
                let hold = self.remove(&row.hold);
                for cell in &cells {
                    self.locks.remove(cell);
                    self.kept.remove(cell);
                }
                self.picture.set(cells, CellState::Sold);
                // Seats of the hold that the order did not buy.
                if let Some(hold) = hold {
                    self.unlock(&hold.cells(self.grid), &row.hold);
                }
                *self.bought.entry(row.visitor).or_default() += count(&row.items);
            }
            SeatRowKind::Free => {
                let had_hold = self.remove(&row.hold).is_some();
                // Seats that an exchange leaves where they are come without cells, to be counted once.
                let only_counts = cells.is_empty();
                let freed: Vec<u32> = cells
                    .into_iter()
                    .filter(|cell| match self.locks.get(cell) {
                        Some(lock) => *lock == row.hold,
                        None => self.picture.state(*cell) == CellState::Sold,
                    })
                    .collect();
                // A hold that lapsed before its order did was never bought; only sold cells were.
                let was_sold = freed
                    .iter()
                    .any(|cell| self.picture.state(*cell) == CellState::Sold);
                let was_bought = !had_hold && (was_sold || only_counts);
                if was_bought && let Some(bought) = self.bought.get_mut(&row.visitor) {
                    *bought = bought.saturating_sub(count(&row.items));
                }
                for cell in &freed {
                    self.locks.remove(cell);
                }
                self.give_back(freed);
            }
        }
    }

    /// Somebody waits until then, or nobody does any more; gives what is kept.
    pub(super) fn keep_freed(&mut self, until_ms: i64) -> Vec<u32> {
        if until_ms == 0 {
            self.disband();
        } else {
            self.kept_until_ms = self.kept_until_ms.max(Some(until_ms));
        }
        self.kept.iter().copied().collect()
    }

    pub(super) fn let_go(&mut self, cells: &[u32]) {
        let freed: Vec<u32> = cells
            .iter()
            .copied()
            .filter(|cell| self.kept.remove(cell))
            .collect();
        self.picture.set(freed, CellState::Free);
    }

    fn disband(&mut self) {
        self.kept_until_ms = None;
        let freed = std::mem::take(&mut self.kept);
        self.picture.set(freed, CellState::Free);
    }

    /// Takes cells that nobody has any more: for the waitlist while somebody waits, else they are free.
    fn give_back(&mut self, cells: Vec<u32>) {
        if self.kept_until_ms.is_some() {
            self.kept.extend(&cells);
            self.picture.set(cells, CellState::Held);
        } else {
            self.picture.set(cells, CellState::Free);
        }
    }

    /// Frees what is overdue and names what runs short; the flag says whether the batch was full.
    pub(super) fn sweep(&mut self, now_ms: i64, batch_max: usize) -> (Vec<HoldSignal>, bool) {
        let mut signals = Vec::new();
        let signal = |hold: &Hold, state| HoldSignal {
            visitor: hold.visitor,
            hold: hold.id.clone(),
            state,
            expires_at_ms: hold.expires_at_ms,
        };
        if self
            .kept_until_ms
            .is_some_and(|until_ms| until_ms <= now_ms)
        {
            self.disband();
        }
        while let Some((at, id)) = self.deadlines.first().cloned() {
            if at > now_ms {
                break;
            }
            if signals.len() >= batch_max {
                return (signals, true);
            }
            if let Some(hold) = self.drop_hold(&id) {
                signals.push(signal(&hold, "lapsed"));
            }
        }
        while let Some((at, id)) = self.short_calls.first().cloned() {
            if at > now_ms || signals.len() >= batch_max {
                break;
            }
            self.short_calls.pop_first();
            if let Some(hold) = self.holds.get(&id) {
                signals.push(signal(hold, "short"));
            }
        }
        (signals, false)
    }

    pub(super) fn baskets(&self, until_ms: i64) -> Baskets {
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= until_ms);
        let mut baskets = Baskets {
            all: self.holds.len() as u64,
            ..Baskets::default()
        };
        for hold in due.filter_map(|(_, id)| self.holds.get(id)) {
            if hold.stage == Stage::Basket {
                baskets.lapsing += 1;
                let cells = hold.items.iter().map(|item| item.legs.len() as u64);
                baskets.lapsing_cells += cells.sum::<u64>();
            }
        }
        baskets
    }

    /// The cells of holds that a picture of the ledger does not know: baskets, and orders that were being made or
    /// decided while it was drawn. They stand in the way of replacing this picture.
    pub(super) fn cells_beyond(&self, opening: &Opening) -> Vec<u32> {
        let known: HashSet<&HoldId> = opening.ordered.iter().map(|hold| &hold.id).collect();
        let beyond = self.holds.values().filter(|hold| !known.contains(&hold.id));
        beyond.flat_map(|hold| hold.cells(self.grid)).collect()
    }

    fn within_limit(&self, visitor: Holder, more: u32, limit: u32) -> Result<(), Refused> {
        let of = |counts: &HashMap<Holder, u32>| counts.get(&visitor).copied().unwrap_or(0);
        let have = of(&self.bought) + of(&self.held);
        // Giving back stays possible where the limit was lowered since.
        if more > 0 && have + more > limit {
            Err(Refused::Limit { have, limit })
        } else {
            Ok(())
        }
    }

    fn is_free(&self, cell: u32) -> bool {
        self.picture.state(cell) == CellState::Free
    }

    /// Free, or kept for the waitlist.
    fn is_nobodys(&self, cell: u32) -> bool {
        self.is_free(cell) || self.kept.contains(&cell)
    }

    fn all(&self, cells: &[u32], may_have: impl Fn(&Self, u32) -> bool) -> Result<(), Refused> {
        let taken: Vec<u32> = cells
            .iter()
            .copied()
            .filter(|cell| !may_have(self, *cell))
            .collect();
        if taken.is_empty() {
            Ok(())
        } else {
            Err(Refused::Taken(taken))
        }
    }

    fn lock(&mut self, cells: &[u32], id: &HoldId) {
        for cell in cells {
            self.locks.insert(*cell, id.clone());
            self.kept.remove(cell);
        }
        self.picture.set(cells.iter().copied(), CellState::Held);
    }

    /// Gives those of the cells back that still carry this hold's lock.
    fn unlock(&mut self, cells: &[u32], id: &HoldId) {
        let own: Vec<u32> = cells
            .iter()
            .copied()
            .filter(|cell| self.locks.get(cell) == Some(id))
            .collect();
        for cell in &own {
            self.locks.remove(cell);
        }
        self.give_back(own);
    }

    fn drop_hold(&mut self, id: &HoldId) -> Option<Hold> {
        let hold = self.remove(id)?;
        self.unlock(&hold.cells(self.grid), id);
        Some(hold)
    }

    fn insert(&mut self, hold: Hold) {
        *self.held.entry(hold.visitor).or_default() += count(&hold.items);
        self.deadlines.insert((hold.lock_until_ms, hold.id.clone()));
        if hold.stage == Stage::Basket {
            self.short_calls
                .insert((hold.expires_at_ms - SHORT_MS, hold.id.clone()));
        }
        self.holds.insert(hold.id.clone(), hold);
    }

    fn remove(&mut self, id: &HoldId) -> Option<Hold> {
        let hold = self.holds.remove(id)?;
        self.wishes.remove(id);
        self.extensions.remove(id);
        self.deadlines.remove(&(hold.lock_until_ms, id.clone()));
        self.short_calls
            .remove(&(hold.expires_at_ms - SHORT_MS, id.clone()));
        if let Some(held) = self.held.get_mut(&hold.visitor) {
            *held = held.saturating_sub(count(&hold.items));
            if *held == 0 {
                self.held.remove(&hold.visitor);
            }
        }
        Some(hold)
    }
}

fn count(items: &[Held]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

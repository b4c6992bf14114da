//! One show's cells, locks, holds and deadlines. These are plain data: every transition runs under
//! the show's lock, checks everything first, and then changes everything.

mod delivery;
mod offers;

use std::collections::{BTreeSet, HashMap, HashSet};

use fairgate_model::grid::picture::CellPicture;
use fairgate_model::grid::{CellGrid, CellState};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldSignalState, HoldStage, cells_of};
use fairgate_model::ids::HoldId;
use fairgate_pass::Holder;

use super::table::{HoldTable, seat_count, signal_of};
use crate::store::{
    CallId, HoldSignal, InventoryRefusal, OpeningInventory, PROLONGED_BY_MS_MIN, VersionedCells,
};

/// The cells of one show, and the holds that have them.
pub(super) struct ShowCells {
    pub(super) grid: CellGrid,
    pub(super) picture: CellPicture,
    pub(super) edition: u64,
    pub(super) plan_version: u32,
    /// The hold that has the lock on a cell. Every held cell has a lock, except the cells in
    /// `kept`.
    locks: HashMap<u32, HoldId>,
    /// The time until which freed cells are kept for the waitlist, or `None` if nobody waits. The
    /// cells in `kept` are held, but have no lock.
    kept_until_ms: Option<i64>,
    kept: BTreeSet<u32>,
    pub(super) cursor: u64,
    pub(super) table: HoldTable,
}

impl ShowCells {
    pub(super) fn view(&self) -> VersionedCells {
        VersionedCells {
            version: self.picture.version(),
            states: self.picture.states().to_vec(),
        }
    }

    pub(super) fn open(opening: OpeningInventory) -> Self {
        let grid = opening.grid;
        let mut states = vec![CellState::Free; grid.cell_count() as usize];
        let mut table = HoldTable::default();
        let mut mark = |cells: Vec<u32>, state| {
            for cell in cells {
                if let Some(slot) = states.get_mut(cell as usize) {
                    *slot = state;
                }
            }
        };
        mark(opening.blocked, CellState::Blocked);
        for (visitor, items) in opening.sold {
            table.note_bought(visitor, &items);
            mark(cells_of(&items, grid), CellState::Sold);
        }
        for hold in &opening.ordered {
            mark(hold.cells(grid), CellState::Held);
        }
        let mut show = Self {
            grid,
            picture: CellPicture::new(opening.incarnation, states),
            edition: opening.edition,
            plan_version: opening.plan_version,
            locks: HashMap::new(),
            kept_until_ms: None,
            kept: BTreeSet::new(),
            cursor: opening.cursor,
            table,
        };
        for hold in opening.ordered {
            for cell in hold.cells(grid) {
                show.locks.insert(cell, hold.id.clone());
            }
            show.table.insert(hold);
        }
        show
    }

    pub(super) fn take(&mut self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal> {
        self.take_from(hold, limit, Self::is_free)
    }

    fn take_from(
        &mut self,
        hold: Hold,
        limit: u32,
        is_available: impl Fn(&Self, u32) -> bool,
    ) -> Result<Hold, InventoryRefusal> {
        if let Some(present) = self.table.find(&hold.id) {
            return if present.visitor == hold.visitor {
                Ok(present.clone())
            } else {
                Err(InventoryRefusal::Foreign)
            };
        }
        if hold.plan_version != self.plan_version {
            return Err(InventoryRefusal::PlanChanged);
        }
        self.table
            .check_limit(hold.visitor, seat_count(&hold.items), limit)?;
        let cells = hold.cells(self.grid);
        self.check_available(&cells, is_available)?;
        self.lock(&cells, &hold.id);
        self.table.insert(hold.clone());
        Ok(hold)
    }

    pub(super) fn change(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        add: Vec<HeldSeat>,
        remove: &[u32],
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self
            .table
            .find_own_without_order(id, visitor, &[HoldPurpose::Basket])?;
        if self.table.is_last_change(id, &add, remove) {
            return Ok(hold.clone());
        }
        let leaving: HashSet<u32> = remove.iter().copied().collect();
        let not_held: Vec<u32> = leaving
            .iter()
            .copied()
            .filter(|seat| hold.items.iter().all(|item| item.seat != *seat))
            .collect();
        if !not_held.is_empty() {
            return Err(InventoryRefusal::NotHeld(not_held));
        }
        let (leaving_items, mut staying): (Vec<HeldSeat>, Vec<HeldSeat>) = hold
            .items
            .iter()
            .cloned()
            .partition(|item| leaving.contains(&item.seat));
        let (coming, going) = (seat_count(&add), seat_count(&leaving_items));
        let gained = coming.saturating_sub(going);
        self.table.check_limit(visitor, gained, limit)?;
        let taken = cells_of(&add, self.grid);
        self.check_available(&taken, Self::is_free)?;
        self.lock(&taken, id);
        self.unlock(&cells_of(&leaving_items, self.grid), id);
        staying.extend(add.iter().cloned());
        let change = (add, remove.to_vec());
        self.table.change(id, staying, side_by_side, change)
    }

    pub(super) fn release(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<(), InventoryRefusal> {
        if self.table.was_released(id, visitor) {
            return Ok(());
        }
        self.table.find_own_without_order(id, visitor, purposes)?;
        self.drop_hold(id);
        self.table.note_released(id, visitor);
        Ok(())
    }

    pub(super) fn extend(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self
            .table
            .find_own_without_order(id, visitor, &[HoldPurpose::Basket])?;
        if self.table.is_last_extension(id, call) {
            return Ok(hold.clone());
        }
        if hold.extensions_left == 0 {
            return Err(InventoryRefusal::NoExtensions);
        }
        let extended = Hold {
            expires_at_ms: expires_at_ms.max(hold.expires_at_ms),
            lock_until_ms: lock_until_ms.max(hold.lock_until_ms),
            extensions_left: hold.extensions_left - 1,
            ..hold.clone()
        };
        self.table.extend(extended.clone(), call);
        Ok(extended)
    }

    pub(super) fn secure(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.table.find_own_for(id, visitor, purposes)?;
        if hold.stage == HoldStage::Ordered {
            let later_ms = lock_until_ms.max(hold.lock_until_ms.saturating_add(1));
            return self.table.lock_until(id, HoldStage::Ordered, later_ms);
        }
        if hold.plan_version != self.plan_version {
            return Err(InventoryRefusal::PlanChanged);
        }
        self.check_has_cells(hold)?;
        let until_ms = lock_until_ms.max(hold.lock_until_ms);
        self.table.lock_until(id, HoldStage::Ordered, until_ms)
    }

    pub(super) fn unsecure(&mut self, id: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        let is_meant = |hold: &Hold| {
            hold.stage == HoldStage::Ordered && hold.lock_until_ms == secured_until_ms
        };
        if self.table.find(id).is_some_and(is_meant) {
            // The hold was found above, so this cannot fail.
            let _ = self.table.lock_until(id, HoldStage::Basket, lock_until_ms);
        }
    }

    pub(super) fn prolong(&mut self, hold: Hold, cursor: u64) -> Result<(), InventoryRefusal> {
        if let Some(present) = self.table.find(&hold.id) {
            let until_ms = hold.lock_until_ms;
            let moves_enough =
                until_ms >= present.lock_until_ms.saturating_add(PROLONGED_BY_MS_MIN);
            // A basket that was taken after the order had ended may have the same id.
            if present.stage == HoldStage::Ordered && moves_enough {
                self.table
                    .lock_until(&hold.id, HoldStage::Ordered, until_ms)?;
            }
            return Ok(());
        }
        if self.cursor > cursor {
            return Err(InventoryRefusal::NotReady);
        }
        let cells = hold.cells(self.grid);
        self.check_available(&cells, Self::is_free_or_kept)?;
        self.lock(&cells, &hold.id);
        self.table.insert(hold);
        Ok(())
    }

    /// Keeps freed cells for the waitlist until `until_ms`. If `until_ms` is 0, frees the kept
    /// cells. Returns the kept cells.
    pub(super) fn keep_freed(&mut self, until_ms: i64) -> Vec<u32> {
        if until_ms == 0 {
            self.stop_keeping();
        } else {
            self.kept_until_ms = self.kept_until_ms.max(Some(until_ms));
        }
        self.kept.iter().copied().collect()
    }

    pub(super) fn free_kept_cells(&mut self, cells: &[u32]) {
        let freed: Vec<u32> = cells
            .iter()
            .copied()
            .filter(|cell| self.kept.remove(cell))
            .collect();
        self.picture.set_cells(freed, CellState::Free);
    }

    fn stop_keeping(&mut self) {
        self.kept_until_ms = None;
        let freed = std::mem::take(&mut self.kept);
        self.picture.set_cells(freed, CellState::Free);
    }

    /// Keeps these cells for the waitlist if somebody waits, and otherwise frees them. No hold has
    /// these cells any more.
    fn keep_or_free(&mut self, cells: Vec<u32>) {
        if self.kept_until_ms.is_some() {
            self.kept.extend(&cells);
            self.picture.set_cells(cells, CellState::Held);
        } else {
            self.picture.set_cells(cells, CellState::Free);
        }
    }

    /// Frees overdue holds, and signals baskets that end soon. The returned flag is true if the
    /// batch was full before all overdue holds were freed.
    pub(super) fn sweep(&mut self, now_ms: i64, batch_max: usize) -> (Vec<HoldSignal>, bool) {
        let mut signals = Vec::new();
        if self
            .kept_until_ms
            .is_some_and(|until_ms| until_ms <= now_ms)
        {
            self.stop_keeping();
        }
        while let Some(id) = self.table.first_due(now_ms) {
            if signals.len() >= batch_max {
                return (signals, true);
            }
            if let Some(hold) = self.drop_hold(&id) {
                signals.push(signal_of(&hold, HoldSignalState::Lapsed));
            }
        }
        while signals.len() < batch_max
            && let Some(id) = self.table.take_due_warning(now_ms)
        {
            if let Some(hold) = self.table.find(&id) {
                signals.push(signal_of(hold, HoldSignalState::Short));
            }
        }
        (signals, false)
    }

    /// Returns the cells of holds that are missing from the ledger's picture `opening`: baskets,
    /// and orders that were being made or decided while the picture was read. If there are such
    /// cells, the picture must not replace this show.
    pub(super) fn cells_beyond(&self, opening: &OpeningInventory) -> Vec<u32> {
        let known: HashSet<&HoldId> = opening.ordered.iter().map(|hold| &hold.id).collect();
        let beyond = self.table.all().filter(|hold| !known.contains(&hold.id));
        beyond.flat_map(|hold| hold.cells(self.grid)).collect()
    }

    fn is_free(&self, cell: u32) -> bool {
        self.picture.state(cell) == CellState::Free
    }

    /// Returns whether the cell is free or kept for the waitlist.
    fn is_free_or_kept(&self, cell: u32) -> bool {
        self.is_free(cell) || self.kept.contains(&cell)
    }

    fn check_available(
        &self,
        cells: &[u32],
        is_available: impl Fn(&Self, u32) -> bool,
    ) -> Result<(), InventoryRefusal> {
        let taken: Vec<u32> = cells
            .iter()
            .copied()
            .filter(|cell| !is_available(self, *cell))
            .collect();
        if taken.is_empty() {
            Ok(())
        } else {
            Err(InventoryRefusal::Taken(taken))
        }
    }

    /// Checks that a hold still has the locks of all its cells. The error names the cells without
    /// this lock.
    fn check_has_cells(&self, hold: &Hold) -> Result<(), InventoryRefusal> {
        self.check_available(&hold.cells(self.grid), |show, cell| {
            show.locks.get(&cell) == Some(&hold.id)
        })
    }

    fn lock(&mut self, cells: &[u32], id: &HoldId) {
        for cell in cells {
            self.locks.insert(*cell, id.clone());
            self.kept.remove(cell);
        }
        self.picture
            .set_cells(cells.iter().copied(), CellState::Held);
    }

    /// Removes this hold's locks from the cells, and keeps or frees these cells. Cells that another
    /// hold has locked do not change.
    fn unlock(&mut self, cells: &[u32], id: &HoldId) {
        let own_cells: Vec<u32> = cells
            .iter()
            .copied()
            .filter(|cell| self.locks.get(cell) == Some(id))
            .collect();
        for cell in &own_cells {
            self.locks.remove(cell);
        }
        self.keep_or_free(own_cells);
    }

    fn drop_hold(&mut self, id: &HoldId) -> Option<Hold> {
        let hold = self.table.remove(id)?;
        self.unlock(&hold.cells(self.grid), id);
        Some(hold)
    }
}

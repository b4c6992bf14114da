//! The inventory store for one process. It keeps the same contract as the store in Redis. Each show
//! has its own lock, so that transitions of different shows do not wait for each other.

mod cells;
mod table;

use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use fairgate_model::grid::picture::{CellChanges, CellCounts};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldSignalState};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_pass::Holder;
use tokio::sync::broadcast;

use super::{
    BasketDeadlines, CallId, ClaimableHold, GlancedCells, HoldSignal, HoldSweepOutcome,
    InventoryRefusal, InventoryStore, OpeningInventory, SeatOutboxRow, SecuredHold,
    ShowHoldFigures, VersionedCells,
};
use cells::ShowCells;

/// The number of signals that are kept for a slow reader. A socket that missed a signal reads its
/// hold again.
const SIGNALS_MAX: usize = 4_096;

/// The in-process inventory store.
#[derive(Clone)]
pub struct MemoryStore {
    shows: Arc<RwLock<HashMap<ShowId, Arc<Mutex<ShowCells>>>>>,
    /// The incarnations that were begun and are not opened yet.
    begun: Arc<Mutex<HashMap<ShowId, u64>>>,
    signals: broadcast::Sender<HoldSignal>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            shows: Arc::default(),
            begun: Arc::default(),
            signals: broadcast::channel(SIGNALS_MAX).0,
        }
    }
}

impl MemoryStore {
    fn find_show(&self, show: &ShowId) -> Option<Arc<Mutex<ShowCells>>> {
        self.shows.read().get(show).cloned()
    }

    fn with_show<T>(
        &self,
        show: &ShowId,
        act: impl FnOnce(&mut ShowCells) -> Result<T, InventoryRefusal>,
    ) -> Result<T, InventoryRefusal> {
        let cells = self.find_show(show).ok_or(InventoryRefusal::NotReady)?;
        let mut cells = cells.lock();
        act(&mut cells)
    }

    fn read_show<T>(&self, show: &ShowId, look: impl FnOnce(&ShowCells) -> T) -> Option<T> {
        let cells = self.find_show(show)?;
        let cells = cells.lock();
        Some(look(&cells))
    }

    fn send_signals(&self, signals: impl IntoIterator<Item = HoldSignal>) {
        for signal in signals {
            // If no socket listens, there is no receiver. This is not an error.
            let _ = self.signals.send(signal);
        }
    }
}

#[async_trait]
impl InventoryStore for MemoryStore {
    async fn edition(&self, show: &ShowId) -> Result<Option<u64>, InventoryRefusal> {
        Ok(self.read_show(show, |cells| cells.edition))
    }

    async fn begin(
        &self,
        show: &ShowId,
        opening: &OpeningInventory,
    ) -> Result<(), InventoryRefusal> {
        let mut shows = self.shows.write();
        let beyond = shows.get(show).map(|present| {
            let present = present.lock();
            let ends = opening.ends_older_holds && present.plan_version < opening.plan_version;
            match ends {
                true => Vec::new(),
                false => present.cells_beyond(opening),
            }
        });
        if let Some(beyond) = beyond.filter(|beyond| !beyond.is_empty()) {
            return Err(InventoryRefusal::Taken(beyond));
        }
        shows.remove(show);
        self.begun.lock().insert(show.clone(), opening.incarnation);
        Ok(())
    }

    async fn open(&self, show: &ShowId, opening: OpeningInventory) -> Result<(), InventoryRefusal> {
        let mut shows = self.shows.write();
        if let Some(present) = shows.get(show) {
            let mut present = present.lock();
            let beyond = present.cells_beyond(&opening);
            if !beyond.is_empty() {
                return Err(InventoryRefusal::Taken(beyond));
            }
            *present = ShowCells::open(opening);
        } else {
            let mut begun = self.begun.lock();
            if begun.get(show) != Some(&opening.incarnation) {
                return Err(InventoryRefusal::NotReady);
            }
            begun.remove(show);
            shows.insert(show.clone(), Arc::new(Mutex::new(ShowCells::open(opening))));
        }
        Ok(())
    }

    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal> {
        self.with_show(&hold.id.show(), |cells| cells.take(hold.clone(), limit))
    }

    async fn keep_freed(&self, show: &ShowId, until_ms: i64) -> Result<Vec<u32>, InventoryRefusal> {
        self.with_show(show, |cells| Ok(cells.keep_freed(until_ms)))
    }

    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal> {
        let offered = self.with_show(&hold.id.show(), |cells| cells.offer(hold.clone(), limit))?;
        self.send_signals([HoldSignal {
            visitor: offered.visitor,
            hold: offered.id.clone(),
            state: HoldSignalState::Offered,
            expires_at_ms: offered.expires_at_ms,
        }]);
        Ok(offered)
    }

    async fn accept_offer(
        &self,
        hold: &HoldId,
        visitor: Holder,
        limit: u32,
        until: BasketDeadlines,
        now_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        self.with_show(&hold.show(), |cells| {
            cells.accept_offer(hold, visitor, limit, until, now_ms)
        })
    }

    async fn free_kept_cells(&self, show: &ShowId, cells: &[u32]) -> Result<(), InventoryRefusal> {
        self.with_show(show, |known| {
            known.free_kept_cells(cells);
            Ok(())
        })
    }

    async fn change(
        &self,
        hold: &HoldId,
        visitor: Holder,
        add: Vec<HeldSeat>,
        remove: Vec<u32>,
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal> {
        self.with_show(&hold.show(), |cells| {
            cells.change(hold, visitor, add, &remove, side_by_side, limit)
        })
    }

    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, InventoryRefusal> {
        self.with_show(&hold.show(), |cells| {
            cells.table.find_own(hold, visitor).cloned()
        })
    }

    async fn holds_of(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Vec<Hold>, InventoryRefusal> {
        self.with_show(show, |cells| Ok(cells.table.holds_of(visitor)))
    }

    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<(), InventoryRefusal> {
        self.with_show(&hold.show(), |cells| cells.release(hold, visitor, purposes))
    }

    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        self.with_show(&hold.show(), |cells| {
            cells.extend(hold, visitor, call, expires_at_ms, lock_until_ms)
        })
    }

    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
        lock_until_ms: i64,
    ) -> Result<ClaimableHold, InventoryRefusal> {
        let secured = self.with_show(&hold.show(), |cells| {
            let secured = cells.secure(hold, visitor, purposes, lock_until_ms)?;
            Ok(ClaimableHold {
                hold: secured,
                incarnation: cells.picture.incarnation(),
            })
        })?;
        self.send_signals([HoldSignal {
            visitor,
            hold: hold.clone(),
            state: HoldSignalState::Ordered,
            expires_at_ms: secured.hold.expires_at_ms,
        }]);
        Ok(secured)
    }

    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        if let Some(cells) = self.find_show(&hold.show()) {
            cells.lock().unsecure(hold, secured_until_ms, lock_until_ms);
        }
    }

    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), InventoryRefusal> {
        self.with_show(&hold.id.show(), |cells| cells.prolong(hold.clone(), cursor))
    }

    async fn holds_locked_for_orders(&self) -> Vec<SecuredHold> {
        let shows = self.shows.read();
        let of_show = |show: &Arc<Mutex<ShowCells>>| show.lock().table.holds_locked_for_orders();
        shows.values().flat_map(of_show).collect()
    }

    async fn cursor(&self, show: &ShowId) -> Result<u64, InventoryRefusal> {
        self.with_show(show, |cells| Ok(cells.cursor))
    }

    async fn deliver(
        &self,
        show: &ShowId,
        rows: &[SeatOutboxRow],
    ) -> Result<u64, InventoryRefusal> {
        self.with_show(show, |cells| Ok(cells.deliver(rows)))
    }

    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), InventoryRefusal> {
        let mut shows = self.shows.write();
        if shows
            .get(show)
            .is_some_and(|cells| cells.lock().cursor == cursor)
        {
            shows.remove(show);
        }
        Ok(())
    }

    async fn sweep(&self, now_ms: i64, batch_max: usize) -> HoldSweepOutcome {
        let shows: Vec<_> = self.shows.read().values().cloned().collect();
        let mut swept = HoldSweepOutcome::default();
        for show in shows {
            let batch_left = batch_max.saturating_sub(swept.lapsed.len());
            let (signals, full) = show.lock().sweep(now_ms, batch_left);
            swept.more |= full;
            swept.lapsed.extend(
                signals
                    .iter()
                    .filter(|signal| signal.state == HoldSignalState::Lapsed)
                    .map(|signal| signal.hold.clone()),
            );
            self.send_signals(signals);
        }
        swept
    }

    async fn view(&self, show: &ShowId) -> Option<VersionedCells> {
        self.read_show(show, ShowCells::view)
    }

    async fn glance(&self, show: &ShowId) -> Option<GlancedCells> {
        self.read_show(show, |cells| GlancedCells {
            plan_version: cells.plan_version,
            cells: cells.view(),
        })
    }

    async fn packed(&self, show: &ShowId) -> Option<(u64, u32, bytes::Bytes)> {
        self.read_show(show, |cells| {
            (
                cells.picture.version(),
                cells.grid.cell_count(),
                cells.picture.packed(),
            )
        })
    }

    async fn changes(&self, show: &ShowId, since: u64) -> Option<CellChanges> {
        self.read_show(show, |cells| cells.picture.changes_since(since))
    }

    async fn counts(
        &self,
        show: &ShowId,
        now_ms: i64,
        within_ms: i64,
    ) -> Option<(CellCounts, ShowHoldFigures)> {
        self.read_show(show, |cells| {
            let until_ms = now_ms.saturating_add(within_ms);
            (cells.picture.counts(), cells.table.hold_figures(until_ms))
        })
    }

    async fn lost(&self) -> Vec<ShowId> {
        // A process's memory is lost only with the process.
        Vec::new()
    }

    async fn in_use(&self) -> Vec<ShowId> {
        let shows = self.shows.read();
        shows.keys().cloned().collect()
    }

    async fn in_use_among(&self, shows: &[&ShowId]) -> HashSet<ShowId> {
        let open = self.shows.read();
        let in_use = shows.iter().filter(|show| open.contains_key(**show));
        in_use.map(|show| (*show).clone()).collect()
    }

    fn is_shared(&self) -> bool {
        false
    }

    async fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.signals.subscribe()
    }
}

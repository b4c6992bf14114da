//! The inventory store of one process: a real store for one machine, held to the same contract as
//! the others. One lock a show, so that shows never wait for each other.

mod cells;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use fairgate_pass::Holder;
use tokio::sync::broadcast;

use super::{
    Baskets, CallId, Claimable, HoldSignal, InventoryStore, Opening, Refused, SeatRow, Secured,
    Swept, View,
};
use cells::ShowCells;
use fairgate_model::grid::picture::{Changes, Counts};
use fairgate_model::holds::{Held, Hold, Purpose};
use fairgate_model::ids::{HoldId, ShowId};

/// Signals kept for a slow reader; a socket that missed one reads its hold again.
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
    fn find(&self, show: &ShowId) -> Option<Arc<Mutex<ShowCells>>> {
        self.shows
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(show)
            .cloned()
    }

    fn with<T>(
        &self,
        show: &ShowId,
        act: impl FnOnce(&mut ShowCells) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let cells = self.find(show).ok_or(Refused::NotReady)?;
        let mut cells = locked(&cells);
        act(&mut cells)
    }

    fn look<T>(&self, show: &ShowId, look: impl FnOnce(&ShowCells) -> T) -> Option<T> {
        let cells = self.find(show)?;
        let cells = locked(&cells);
        Some(look(&cells))
    }

    fn tell(&self, signals: impl IntoIterator<Item = HoldSignal>) {
        for signal in signals {
            // No socket listening is no error.
            let _ = self.signals.send(signal);
        }
    }
}

/// Every transition checks first and changes then, so a panic in between leaves nothing half-done
/// behind.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl InventoryStore for MemoryStore {
    async fn edition(&self, show: &ShowId) -> Result<Option<u64>, Refused> {
        Ok(self.look(show, |cells| cells.edition))
    }

    async fn begin(&self, show: &ShowId, opening: &Opening) -> Result<(), Refused> {
        let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
        let beyond = shows
            .get(show)
            .map(|present| locked(present).cells_beyond(opening));
        if let Some(beyond) = beyond.filter(|beyond| !beyond.is_empty()) {
            return Err(Refused::Taken(beyond));
        }
        shows.remove(show);
        locked(&self.begun).insert(show.clone(), opening.incarnation);
        Ok(())
    }

    async fn open(&self, show: &ShowId, opening: Opening) -> Result<(), Refused> {
        let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(present) = shows.get(show) {
            let mut present = locked(present);
            let beyond = present.cells_beyond(&opening);
            if !beyond.is_empty() {
                return Err(Refused::Taken(beyond));
            }
            *present = ShowCells::open(opening);
        } else {
            let mut begun = locked(&self.begun);
            if begun.get(show) != Some(&opening.incarnation) {
                return Err(Refused::NotReady);
            }
            begun.remove(show);
            shows.insert(show.clone(), Arc::new(Mutex::new(ShowCells::open(opening))));
        }
        Ok(())
    }

    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        self.with(&hold.id.show(), |cells| cells.take(hold.clone(), limit))
    }

    async fn keep_freed(&self, show: &ShowId, until_ms: i64) -> Result<Vec<u32>, Refused> {
        self.with(show, |cells| Ok(cells.keep_freed(until_ms)))
    }

    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        let offered = self.with(&hold.id.show(), |cells| cells.offer(hold.clone(), limit))?;
        self.tell([HoldSignal {
            visitor: offered.visitor,
            hold: offered.id.clone(),
            state: "offered",
            expires_at_ms: offered.expires_at_ms,
        }]);
        Ok(offered)
    }

    async fn let_go(&self, show: &ShowId, cells: &[u32]) -> Result<(), Refused> {
        self.with(show, |known| {
            known.let_go(cells);
            Ok(())
        })
    }

    async fn change(
        &self,
        hold: &HoldId,
        visitor: Holder,
        add: Vec<Held>,
        remove: Vec<u32>,
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, Refused> {
        self.with(&hold.show(), |cells| {
            cells.change(hold, visitor, add, &remove, side_by_side, limit)
        })
    }

    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, Refused> {
        self.with(&hold.show(), |cells| {
            cells.table.own(hold, visitor).cloned()
        })
    }

    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
    ) -> Result<(), Refused> {
        self.with(&hold.show(), |cells| cells.release(hold, visitor, purposes))
    }

    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        self.with(&hold.show(), |cells| {
            cells.extend(hold, visitor, call, expires_at_ms, lock_until_ms)
        })
    }

    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
        lock_until_ms: i64,
    ) -> Result<Claimable, Refused> {
        let secured = self.with(&hold.show(), |cells| {
            let secured = cells.secure(hold, visitor, purposes, lock_until_ms)?;
            Ok(Claimable {
                hold: secured,
                incarnation: cells.picture.incarnation(),
            })
        })?;
        self.tell([HoldSignal {
            visitor,
            hold: hold.clone(),
            state: "ordered",
            expires_at_ms: secured.hold.expires_at_ms,
        }]);
        Ok(secured)
    }

    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        if let Some(cells) = self.find(&hold.show()) {
            locked(&cells).unsecure(hold, secured_until_ms, lock_until_ms);
        }
    }

    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), Refused> {
        self.with(&hold.id.show(), |cells| cells.prolong(hold.clone(), cursor))
    }

    async fn ordered(&self) -> Vec<Secured> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        let of_show = |show: &Arc<Mutex<ShowCells>>| locked(show).table.ordered();
        shows.values().flat_map(of_show).collect()
    }

    async fn cursor(&self, show: &ShowId) -> Result<u64, Refused> {
        self.with(show, |cells| Ok(cells.cursor))
    }

    async fn deliver(&self, show: &ShowId, rows: &[SeatRow]) -> Result<u64, Refused> {
        self.with(show, |cells| Ok(cells.deliver(rows)))
    }

    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), Refused> {
        let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
        if shows
            .get(show)
            .is_some_and(|cells| locked(cells).cursor == cursor)
        {
            shows.remove(show);
        }
        Ok(())
    }

    async fn sweep(&self, now_ms: i64, batch_max: usize) -> Swept {
        let shows: Vec<_> = self
            .shows
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect();
        let mut swept = Swept::default();
        for show in shows {
            let room = batch_max.saturating_sub(swept.lapsed.len());
            let (signals, full) = locked(&show).sweep(now_ms, room);
            swept.more |= full;
            swept.lapsed.extend(
                signals
                    .iter()
                    .filter(|s| s.state == "lapsed")
                    .map(|s| s.hold.clone()),
            );
            self.tell(signals);
        }
        swept
    }

    async fn view(&self, show: &ShowId) -> Option<View> {
        self.look(show, |cells| View {
            version: cells.picture.version(),
            states: cells.picture.states().to_vec(),
        })
    }

    async fn glance(&self, show: &ShowId) -> Option<View> {
        self.view(show).await
    }

    async fn packed(&self, show: &ShowId) -> Option<(u64, u32, bytes::Bytes)> {
        self.look(show, |cells| {
            (
                cells.picture.version(),
                cells.grid.cells(),
                cells.picture.packed(),
            )
        })
    }

    async fn changes(&self, show: &ShowId, since: u64) -> Option<Changes> {
        self.look(show, |cells| cells.picture.changes(since))
    }

    async fn counts(
        &self,
        show: &ShowId,
        now_ms: i64,
        within_ms: i64,
    ) -> Option<(Counts, Baskets)> {
        self.look(show, |cells| {
            let until_ms = now_ms.saturating_add(within_ms);
            (cells.picture.counts(), cells.table.baskets(until_ms))
        })
    }

    async fn lost(&self) -> Vec<ShowId> {
        // What a process keeps in its own memory is lost with the process only.
        Vec::new()
    }

    async fn in_use(&self) -> Vec<ShowId> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        shows.keys().cloned().collect()
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

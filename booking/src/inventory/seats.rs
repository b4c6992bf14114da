//! The seats of a show as everybody sees them: opens the store from the ledger when a show is first asked
//! for, and carries the seat outbox to it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};

use tokio::sync::Mutex;

use crate::catalogue::Catalogue;
use crate::catalogue::show::Show;
use crate::ids::ShowId;
use crate::ledger::{Ledger, LedgerError};
use crate::store::{InventoryStore, Opening, Refused};

/// Outbox rows carried in one go.
const BATCH_MAX: u32 = 500;

/// A handle on the seats of all shows.
#[derive(Clone)]
pub struct Seats {
    /// The fast state.
    pub store: Arc<dyn InventoryStore>,
    ledger: Arc<dyn Ledger>,
    opening: Arc<Mutex<()>>,
    carrying: Arc<Mutex<()>>,
    /// Shows whose picture waits for the last basket of their old plan or prices.
    stale: Arc<Lock<HashSet<ShowId>>>,
}

impl Seats {
    /// With a store that knows nothing yet.
    #[must_use]
    pub fn new(store: Arc<dyn InventoryStore>, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            store,
            ledger,
            opening: Arc::default(),
            carrying: Arc::default(),
            stale: Arc::default(),
        }
    }

    /// Makes sure that the store has a picture of the show.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn ensure_open(&self, show: &Show) -> Result<(), LedgerError> {
        if self.is_ready(show).await {
            return Ok(());
        }
        let _one_at_a_time = self.opening.lock().await;
        if self.is_ready(show).await {
            return Ok(());
        }
        let was_open = self.store.is_open(&show.id).await == Ok(true);
        match self.reopen(show).await? {
            // A basket that came in between keeps the old picture for as long as it lives.
            Err(_) if was_open => Ok(()),
            Ok(()) => Ok(()),
            Err(refused) => Err(LedgerError::Unavailable(refused.to_string())),
        }
    }

    /// Whether the picture is the one to work on: there, and not an old one that could be replaced by now.
    async fn is_ready(&self, show: &Show) -> bool {
        if !self.stale().contains(&show.id) {
            return self.store.is_open(&show.id).await == Ok(true);
        }
        let counts = self.store.counts(&show.id, 0, i64::MAX).await;
        counts.is_some_and(|(_, baskets)| baskets.lapsing > 0)
    }

    fn stale(&self) -> MutexGuard<'_, HashSet<ShowId>> {
        // A set of names is whole whatever panicked beside it.
        self.stale.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the store's picture by the ledger's, after the show's plan or prices changed.
    ///
    /// # Errors
    /// The inner error names baskets that stand in the way; the outer one is the ledger's.
    pub async fn reopen(&self, show: &Show) -> Result<Result<(), Refused>, LedgerError> {
        // Rows that were delivered between reading the picture and opening the store with it would be lost.
        let _no_delivery_in_between = self.carrying.lock().await;
        let picture = self.ledger.open_show(&show.id).await?;
        let opening = Opening {
            grid: show.grid(),
            plan_version: show.plan.version,
            incarnation: picture.incarnation,
            blocked: show.blocked(),
            sold: picture.sold,
            ordered: picture.ordered,
            cursor: picture.cursor,
        };
        let opened = self.store.open(&show.id, opening).await;
        if opened.is_ok() {
            self.stale().remove(&show.id);
        } else {
            self.stale().insert(show.id.clone());
        }
        Ok(opened)
    }

    /// Carries what the ledger decided to the store, in order; returns how many rows.
    ///
    /// # Errors
    /// Where the ledger cannot be read; the next run goes on from the same row.
    pub async fn carry_outbox(&self) -> Result<usize, LedgerError> {
        let _one_at_a_time = self.carrying.lock().await;
        let mut carried = 0;
        for (show, mut after) in self.ledger.number_seat_rows().await? {
            loop {
                let rows = self.ledger.seat_rows(&show, after, BATCH_MAX).await?;
                let Some(last) = rows.last() else { break };
                after = last.seq;
                // A show that is not open needs no delivery: its picture will contain these rows.
                let _ = self.store.deliver(&show, &rows).await;
                self.ledger.seat_rows_delivered(&show, after).await?;
                carried += rows.len();
            }
        }
        Ok(carried)
    }

    /// Frees what is overdue, everywhere; returns how many holds lapsed.
    pub async fn sweep(&self, now_ms: i64) -> usize {
        let mut lapsed = 0;
        loop {
            let swept = self.store.sweep(now_ms, 256).await;
            lapsed += swept.lapsed.len();
            if !swept.more {
                return lapsed;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The seats of a show in baskets and orders, by the store's picture.
    pub async fn held(&self, catalogue: &Catalogue, id: &ShowId) -> Vec<u32> {
        let (Some(show), Some(view)) = (catalogue.show(id), self.store.view(id).await) else {
            return Vec::new();
        };
        let grid = show.grid();
        let held =
            |state: &crate::inventory::CellState| *state == crate::inventory::CellState::Held;
        (0..grid.cells())
            .zip(&view.states)
            .filter(|(_, state)| held(state))
            .map(|(cell, _)| grid.seat_of(cell))
            .collect()
    }
}

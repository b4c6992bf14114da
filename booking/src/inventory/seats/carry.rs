//! Carries the seat outbox from the ledger to the store. One worker at a time has the lease. It
//! numbers the committed rows and delivers them show by show. The store's cursor says which rows
//! the store has, so a worker that dies midway neither loses nor repeats a row.

use std::collections::HashSet;

use fairgate_model::ids::ShowId;

use super::SeatInventory;
use crate::ledger::LedgerError;
use crate::store::{InventoryRefusal, SeatOutboxRow};

/// The most outbox rows that are delivered in one call.
const BATCH_MAX: u32 = 100;
/// The name of the carrying worker's lease.
const LEASE: &str = "seat-outbox";
/// How long the lease lasts without a renewal, in milliseconds.
const LEASE_MS: i64 = 3_000;

impl SeatInventory {
    /// Carries the ledger's decisions to the store, in order, and returns how many rows were
    /// carried.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read. The next run continues from the same row.
    pub async fn carry_outbox(&self) -> Result<usize, LedgerError> {
        let _one_at_a_time = self.shared.carrying.lock().await;
        let mut carried = 0;
        if self.store.is_shared() && !self.ledger.lease(LEASE, &self.owner, LEASE_MS).await? {
            return Ok(carried);
        }
        for (show, after) in self.ledger.number_seat_rows().await? {
            carried += self.carry_seat_rows(&show, after).await?;
        }
        Ok(carried)
    }

    /// Delivers a show's rows with numbers above `after` to the store, and then marks them as
    /// delivered in the ledger.
    pub(super) async fn carry_seat_rows(
        &self,
        show: &ShowId,
        mut after: u64,
    ) -> Result<usize, LedgerError> {
        let (mut carried, mut went_back) = (0, false);
        loop {
            let rows = self.ledger.seat_rows(show, after, BATCH_MAX).await?;
            let Some(last) = rows.last().map(|row| row.seq) else {
                return Ok(carried);
            };
            match self.store.deliver(show, &rows).await {
                Ok(cursor) if cursor >= last => {
                    carried += rows.len();
                    after = last;
                }
                // The store lacks earlier rows, too. Delivery begins again at the store's own
                // cursor, but only once.
                Ok(cursor) if !went_back => {
                    went_back = true;
                    after = cursor;
                    continue;
                }
                // The store still lacks rows. If the ledger has deleted them, the show is closed.
                // The seats are then read from the ledger again. The new picture contains what the
                // deleted rows changed.
                Ok(cursor) => {
                    if first_rows_are_deleted(&rows, cursor) {
                        self.abandon(show, cursor).await;
                    }
                    return Ok(carried);
                }
                // A show that is not open needs no rows, because its next picture contains them.
                // The node that opens the show carries the rows that are newer than the picture.
                Err(InventoryRefusal::NotReady) if self.is_closed(show).await => after = last,
                // The next run carries the rows.
                Err(_) => return Ok(carried),
            }
            self.ledger.seat_rows_delivered(show, after).await?;
        }
    }

    /// Closes a show because the store lacks decisions whose rows the ledger has deleted. This
    /// happens if the store went back to an older state.
    async fn abandon(&self, show: &ShowId, cursor: u64) {
        tracing::error!(%show, cursor, "the store lacks decisions whose rows are deleted; the seats are read from the ledger again");
        if let Err(refused) = self.store.abandon(show, cursor).await {
            tracing::warn!(%show, %refused, "a show that lacks decisions could not be closed; trying again");
        }
    }

    /// Asks the store whether the show is closed. The refusal of a delivery does not prove this.
    /// The store also refuses a process that was stopped for a while and sends an old time. If rows
    /// were marked as delivered after such a refusal, they would never reach the store.
    async fn is_closed(&self, show: &ShowId) -> bool {
        matches!(self.store.edition(show).await, Ok(None))
    }

    /// Compares the store with the ledger, show by show. Rows that a dead node left undelivered are
    /// delivered. If the ledger lacks rows that the store has seen, the show is not sold any more.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read. The next run compares again.
    pub async fn compare(&self) -> Result<(), LedgerError> {
        if !self.store.is_shared() {
            return Ok(());
        }
        let mut shows: HashSet<_> = self.store.in_use().await.into_iter().collect();
        // A regressed show is not sold, so it is not in use. It is still compared, so that this
        // node notices when the ledger is restored.
        shows.extend(self.shared.regressed.lock().iter().cloned());
        for show in shows {
            self.compare_show(&show).await?;
        }
        Ok(())
    }

    /// Compares one show, and returns whether the store knows decisions about it that the ledger
    /// lacks.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn is_store_ahead(&self, show: &ShowId) -> Result<bool, LedgerError> {
        self.compare_show(show).await?;
        Ok(self.shared.regressed.lock().contains(show))
    }

    /// Compares one show. A show that is not open has no cursor to compare. The next request for
    /// the show compares it.
    pub(super) async fn compare_show(&self, show: &ShowId) -> Result<(), LedgerError> {
        if !self.store.is_shared() {
            return Ok(());
        }
        let Ok(cursor) = self.store.cursor(show).await else {
            return Ok(());
        };
        let newest = self.ledger.seat_cursor(show).await?;
        let ledger_has_all = cursor <= newest;
        let regressed = {
            let mut regressed = self.shared.regressed.lock();
            if ledger_has_all {
                regressed.remove(show);
            } else if regressed.insert(show.clone()) {
                tracing::error!(%show, cursor, "the ledger lacks decisions that the store knows; the show is not sold any more");
            }
            regressed.len()
        };
        self.shared.compared.lock().insert(show.clone());
        metrics::gauge!("fairgate_shows_regressed").set(regressed as f64);
        if newest > cursor {
            let rows = self.ledger.seat_rows(show, cursor, 1).await?;
            if first_rows_are_deleted(&rows, cursor) {
                self.abandon(show, cursor).await;
            } else {
                self.carry_seat_rows(show, cursor).await?;
            }
        }
        Ok(())
    }
}

/// Returns whether the ledger has deleted the first rows after a cursor. `rows` are the rows after
/// the cursor that the ledger still has.
fn first_rows_are_deleted(rows: &[SeatOutboxRow], cursor: u64) -> bool {
    rows.first().is_none_or(|row| row.seq > cursor + 1)
}

//! The seat outbox on its way to the store: one worker at a time, by a lease, numbers what was
//! committed and delivers it by show. The store's cursor says what it has, so a worker that died in
//! the middle loses and repeats nothing.

use std::collections::HashSet;

use fairgate_model::ids::ShowId;

use super::{SeatInventory, locked};
use crate::ledger::LedgerError;
use crate::store::{InventoryRefusal, SeatOutboxRow};

/// Outbox rows carried in one go.
const BATCH_MAX: u32 = 100;
/// The lease of the one who carries.
const LEASE: &str = "seat-outbox";
/// How long it lasts without being renewed.
const LEASE_MS: i64 = 3_000;

impl SeatInventory {
    /// Carries what the ledger decided to the store, in order; returns how many rows.
    ///
    /// # Errors
    /// Where the ledger cannot be read; the next run goes on from the same row.
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

    /// Carries a show's rows behind a number to the store and marks what is there as delivered.
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
                // The store is behind what was thought: once more from where it stands.
                Ok(cursor) if !went_back => {
                    went_back = true;
                    after = cursor;
                    continue;
                }
                // It is read from the ledger again; rows that are gone are in every picture since.
                Ok(cursor) => {
                    if begin_behind_a_gap(&rows, cursor) {
                        self.abandon(show, cursor).await;
                    }
                    return Ok(carried);
                }
                // A show that is not open needs none: its next picture contains these rows, and
                // whoever is opening it carries those after its picture.
                Err(InventoryRefusal::NotReady) if self.is_closed(show).await => after = last,
                // They are carried by the next run.
                Err(_) => return Ok(carried),
            }
            self.ledger.seat_rows_delivered(show, after).await?;
        }
    }

    /// Closes a show of which the store lacks decisions that the ledger has told and deleted: the
    /// store was set back.
    async fn abandon(&self, show: &ShowId, cursor: u64) {
        tracing::error!(%show, cursor, "the seats lack decisions whose rows are deleted; they are read from the ledger again");
        if let Err(refused) = self.store.abandon(show, cursor).await {
            tracing::warn!(%show, %refused, "a show that lacks decisions could not be closed; trying again");
        }
    }

    /// Whether the show is not open, by a second look: a single refusal may come of a clock that
    /// was asked late, and rows marked as delivered then would stay undone.
    async fn is_closed(&self, show: &ShowId) -> bool {
        matches!(self.store.edition(show).await, Ok(None))
    }

    /// Compares how far the store has come with the ledger, show by show: what a node that died
    /// left undelivered is delivered, and a ledger that lacks what the store has seen stops the
    /// show.
    ///
    /// # Errors
    /// Where the ledger cannot be read; the next run compares again.
    pub async fn compare(&self) -> Result<(), LedgerError> {
        if !self.store.is_shared() {
            return Ok(());
        }
        let mut shows: HashSet<_> = self.store.in_use().await.into_iter().collect();
        // Nobody uses a show that is not sold; it is to be sold again once the ledger is what it
        // was.
        shows.extend(locked(&self.shared.regressed).iter().cloned());
        for show in shows {
            self.compare_show(&show).await?;
        }
        Ok(())
    }

    /// Compares one show. One that is not open yet has nothing to compare, and is compared when it
    /// is asked for again.
    pub(super) async fn compare_show(&self, show: &ShowId) -> Result<(), LedgerError> {
        if !self.store.is_shared() {
            return Ok(());
        }
        let Ok(cursor) = self.store.cursor(show).await else {
            return Ok(());
        };
        let newest = self.ledger.seat_cursor(show).await?;
        let known = cursor <= newest;
        let regressed = {
            let mut regressed = locked(&self.shared.regressed);
            if known {
                regressed.remove(show);
            } else if regressed.insert(show.clone()) {
                tracing::error!(%show, cursor, "the ledger lacks decisions that the seats have seen; the show is not sold any more");
            }
            regressed.len()
        };
        locked(&self.shared.compared).insert(show.clone());
        metrics::gauge!("fairgate_shows_regressed").set(regressed as f64);
        if newest > cursor {
            let rows = self.ledger.seat_rows(show, cursor, 1).await?;
            if begin_behind_a_gap(&rows, cursor) {
                self.abandon(show, cursor).await;
            } else {
                self.carry_seat_rows(show, cursor).await?;
            }
        }
        Ok(())
    }
}

/// Whether the rows that follow a cursor in the ledger are not all there: the first ones of them
/// are deleted.
fn begin_behind_a_gap(rows: &[SeatOutboxRow], cursor: u64) -> bool {
    rows.first().is_none_or(|row| row.seq > cursor + 1)
}

//! Implements [`InventoryStore`] for Redis. `holding` has the transitions of one hold.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use fairgate_model::grid::picture::{CellChanges, CellCounts};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_pass::Holder;
use fairgate_redis::{RedisCallError, RedisReply};
use tokio::sync::broadcast;

use super::act::{check_reply, cursor_in};
use super::cached_show::CachedShow;
use super::followed::{FollowedShow, ShowCloseReason};
use super::scripts::{
    AbandonShowScript, DeliverRowsScript, DeliveredSeatRow, FreeKeptCellsScript,
    KeepFreedCellsScript, SweepHoldsScript,
};
use super::{RedisStore, keys, packing};
use crate::store::{
    BasketDeadlines, CallId, ClaimableHold, GlancedCells, HoldSignal, HoldSweepOutcome,
    InventoryRefusal, InventoryStore, OpeningInventory, SEATS_SILENT, SeatOutboxAction,
    SeatOutboxRow, SecuredHold, ShowHoldFigures, VersionedCells,
};

#[async_trait]
impl InventoryStore for RedisStore {
    async fn edition(&self, show: &ShowId) -> Result<Option<u64>, InventoryRefusal> {
        let followed = self.inner.followed(show);
        let refreshed = self.inner.refresh(&followed).await;
        match followed.edition() {
            // While Redis does not answer, the show counts as open with the last known edition.
            Some(edition) => Ok(Some(edition)),
            None if refreshed == Err(InventoryRefusal::Unreachable) => {
                Err(InventoryRefusal::Unreachable)
            }
            None => Ok(None),
        }
    }

    async fn begin(
        &self,
        show: &ShowId,
        opening: &OpeningInventory,
    ) -> Result<(), InventoryRefusal> {
        let followed = self.inner.followed(show);
        self.inner.begin_life(&followed, opening).await
    }

    async fn open(&self, show: &ShowId, opening: OpeningInventory) -> Result<(), InventoryRefusal> {
        let followed = self.inner.followed(show);
        self.inner.open_show(&followed, opening).await
    }

    async fn keep_freed(&self, show: &ShowId, until_ms: i64) -> Result<Vec<u32>, InventoryRefusal> {
        let (_, reply) = self
            .inner
            .run_transition(show, KeepFreedCellsScript { until_ms })
            .await?;
        check_reply(&reply, 0)?;
        let cells = reply.field("cells").and_then(RedisReply::as_bytes);
        let mut cells = cells
            .map(packing::read_numbers)
            .map_err(|_| InventoryRefusal::Unreachable)?;
        cells.sort_unstable();
        Ok(cells)
    }

    async fn free_kept_cells(&self, show: &ShowId, cells: &[u32]) -> Result<(), InventoryRefusal> {
        let free_cells = FreeKeptCellsScript {
            packed_cells: packing::pack_numbers(cells),
        };
        let (_, reply) = self.inner.run_transition(show, free_cells).await?;
        check_reply(&reply, 0)
    }

    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal> {
        self.offer_hold(hold, limit).await
    }

    async fn accept_offer(
        &self,
        hold: &HoldId,
        visitor: Holder,
        limit: u32,
        until: BasketDeadlines,
        now_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        self.accept_offered_hold(hold, visitor, limit, until, now_ms)
            .await
    }

    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal> {
        self.take_hold(hold, limit).await
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
        self.change_hold(hold, visitor, (&add, &remove), side_by_side, limit)
            .await
    }

    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, InventoryRefusal> {
        self.read_hold(hold, visitor).await
    }

    async fn holds_of(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Vec<Hold>, InventoryRefusal> {
        self.read_holds_of(show, visitor).await
    }

    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<(), InventoryRefusal> {
        self.release_hold(hold, visitor, purposes).await
    }

    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        self.extend_hold(hold, visitor, call, (expires_at_ms, lock_until_ms))
            .await
    }

    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
        lock_until_ms: i64,
    ) -> Result<ClaimableHold, InventoryRefusal> {
        self.secure_hold(hold, visitor, purposes, lock_until_ms)
            .await
    }

    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        self.unsecure_hold(hold, secured_until_ms, lock_until_ms)
            .await;
    }

    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), InventoryRefusal> {
        self.prolong_hold(hold, cursor).await
    }

    async fn holds_locked_for_orders(&self) -> Vec<SecuredHold> {
        let mut ordered = Vec::new();
        for followed in self.inner.followed_shows() {
            let state = followed.state();
            let known = state.known.as_ref().filter(|_| state.closed.is_none());
            ordered.extend(
                known
                    .into_iter()
                    .flat_map(|known| known.holds_locked_for_orders(&followed.show)),
            );
        }
        ordered
    }

    async fn cursor(&self, show: &ShowId) -> Result<u64, InventoryRefusal> {
        let followed = self.inner.followed_without_use(show);
        let now_ms = self.inner.options.clock.now_ms();
        let nothing = DeliverRowsScript { rows: Vec::new() };
        let (_, reply) = self
            .inner
            .run_transition_at(&followed, now_ms, nothing)
            .await?;
        cursor_in(&reply)
    }

    async fn deliver(
        &self,
        show: &ShowId,
        rows: &[SeatOutboxRow],
    ) -> Result<u64, InventoryRefusal> {
        let rows = rows.iter().map(|row| DeliveredSeatRow {
            seq: row.seq,
            kind: match row.kind {
                SeatOutboxAction::Sell => "sell",
                SeatOutboxAction::Free => "free",
            },
            id: keys::hold_tail(&row.hold),
            visitor: row.visitor.0,
            items: packing::pack_items(&row.items),
        });
        let deliver = DeliverRowsScript {
            rows: rows.collect(),
        };
        let (_, reply) = self.inner.run_transition(show, deliver).await?;
        cursor_in(&reply)
    }

    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), InventoryRefusal> {
        let followed = self.inner.followed_without_use(show);
        let now_ms = self.inner.options.clock.now_ms();
        let abandon = AbandonShowScript { cursor };
        let (_, reply) = self
            .inner
            .run_transition_at(&followed, now_ms, abandon)
            .await?;
        if self.inner.reply_is(&reply, "OK")? {
            let closed = ShowCloseReason::Regressed;
            self.inner
                .close_show(&followed, &mut followed.state(), closed);
        }
        Ok(())
    }

    async fn sweep(&self, now_ms: i64, batch_max: usize) -> HoldSweepOutcome {
        let mut swept = HoldSweepOutcome::default();
        for followed in self.inner.followed_shows() {
            if swept.lapsed.len() >= batch_max {
                swept.more = true;
                break;
            }
            if !followed.wants_sweep(now_ms, self.inner.options.idle) {
                continue;
            }
            let sweep = SweepHoldsScript {
                holds_max: (batch_max - swept.lapsed.len()) as u64,
            };
            let reply = self.inner.run_transition_at(&followed, now_ms, sweep).await;
            // After a failed sweep, the next sweep frees the holds. The locks also have a time to
            // live.
            let Ok((_, reply)) = reply else { continue };
            match swept_in(&reply, &followed.show) {
                Ok((lapsed, more)) => {
                    swept.more |= more;
                    swept.lapsed.extend(lapsed);
                }
                Err(error) => {
                    self.inner.log_unreadable(&followed, &error);
                }
            }
        }
        swept
    }

    fn is_shared(&self) -> bool {
        true
    }

    async fn in_use(&self) -> Vec<ShowId> {
        let mut shows = self.inner.followed_shows();
        shows.retain(|followed| self.inner.is_in_use(followed));
        shows.iter().map(|followed| followed.show.clone()).collect()
    }

    async fn in_use_among(&self, shows: &[&ShowId]) -> HashSet<ShowId> {
        let followed = shows
            .iter()
            .filter_map(|show| self.inner.find_followed(show));
        let in_use = followed.filter(|followed| self.inner.is_in_use(followed));
        in_use.map(|followed| followed.show.clone()).collect()
    }

    async fn lost(&self) -> Vec<ShowId> {
        let shows = self.inner.followed_shows();
        let lost = shows.iter().filter(|followed| {
            let state = followed.state();
            state.known.is_some() && state.closed.is_some()
        });
        lost.map(|followed| followed.show.clone()).collect()
    }

    async fn warnings(&self) -> Vec<String> {
        if self.inner.foreign.load(Ordering::Relaxed) {
            return vec!["Redis belongs to another ledger; no seats can be held.".to_owned()];
        }
        match self
            .inner
            .redis
            .check_servers(self.inner.options.clock.now_ms())
            .await
        {
            Ok(findings) => findings.iter().map(ToString::to_string).collect(),
            Err(RedisCallError::Unreachable(_)) => vec![SEATS_SILENT.to_owned()],
            Err(error) => vec![format!("No seats can be held: {error}.")],
        }
    }

    async fn view(&self, show: &ShowId) -> Option<VersionedCells> {
        self.inner.read_show(show, CachedShow::view).await
    }

    async fn glance(&self, show: &ShowId) -> Option<GlancedCells> {
        let known = self.inner.find_followed(show);
        let followed = known.unwrap_or_else(|| Arc::new(FollowedShow::new(show.clone())));
        self.inner.catch_up(&followed).await.ok()?;
        let state = followed.state();
        state.known.as_ref().map(CachedShow::glance)
    }

    async fn packed(&self, show: &ShowId) -> Option<(u64, u32, bytes::Bytes)> {
        self.inner
            .read_show(show, |known| {
                let picture = &known.picture;
                (picture.version(), known.grid.cell_count(), picture.packed())
            })
            .await
    }

    async fn changes(&self, show: &ShowId, since: u64) -> Option<CellChanges> {
        // The caller will ask for the next changes too, so the show counts as in use.
        self.inner.followed(show);
        self.inner
            .read_show(show, |known| known.picture.changes_since(since))
            .await
    }

    async fn counts(
        &self,
        show: &ShowId,
        now_ms: i64,
        within_ms: i64,
    ) -> Option<(CellCounts, ShowHoldFigures)> {
        let until_ms = now_ms.saturating_add(within_ms);
        self.inner
            .read_show(show, |known| {
                (known.picture.counts(), known.hold_figures(until_ms))
            })
            .await
    }

    fn signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.inner.signals.subscribe()
    }
}

/// Reads the answer of `sweep_holds`: the holds that lapsed, and whether more were due.
fn swept_in(reply: &RedisReply, show: &ShowId) -> Result<(Vec<HoldId>, bool), RedisCallError> {
    let lapsed = reply.field("lapsed")?;
    let lapsed = lapsed.read_list(|tail| packing::hold_id(show, tail.as_bytes()?))?;
    Ok((lapsed, reply.field("more")?.as_integer()? == 1))
}

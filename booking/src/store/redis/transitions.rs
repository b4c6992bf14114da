//! The store's transitions and views, as the seam names them. Those of one hold are in `holding`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use fairgate_pass::Holder;
use fairgate_redis::RedisReply;
use tokio::sync::broadcast;

use super::act::{cursor_in, refused};
use super::followed::{FollowedShow, ShowClosed};
use super::known::KnownShow;
use super::scripts::{
    AbandonScript, DeliverScript, DeliveredRow, LetGoScript, SweepScript, WaitScript,
};
use super::{RedisStore, keys, packing};
use crate::store::{
    Baskets, CallId, Claimable, HoldSignal, InventoryStore, Opening, Refused, SeatRow, SeatRowKind,
    Secured, Swept, View,
};
use fairgate_model::grid::picture::{Changes, Counts};
use fairgate_model::holds::{Held, Hold, Purpose};
use fairgate_model::ids::{HoldId, ShowId};

#[async_trait]
impl InventoryStore for RedisStore {
    async fn edition(&self, show: &ShowId) -> Result<Option<u64>, Refused> {
        let followed = self.inner.followed(show);
        let refreshed = self.inner.refresh(&followed).await;
        match followed.edition() {
            // What cannot be reached is open as far as anybody knows.
            Some(edition) => Ok(Some(edition)),
            None if refreshed == Err(Refused::Unreachable) => Err(Refused::Unreachable),
            None => Ok(None),
        }
    }

    async fn begin(&self, show: &ShowId, opening: &Opening) -> Result<(), Refused> {
        let followed = self.inner.followed(show);
        self.inner.begin(&followed, opening).await
    }

    async fn open(&self, show: &ShowId, opening: Opening) -> Result<(), Refused> {
        let followed = self.inner.followed(show);
        self.inner.open(&followed, opening).await
    }

    async fn keep_freed(&self, show: &ShowId, until_ms: i64) -> Result<Vec<u32>, Refused> {
        let (_, reply) = self.inner.act(show, WaitScript { until_ms }).await?;
        refused(&reply, 0)?;
        let cells = reply.at(2).and_then(RedisReply::bytes);
        let mut cells = cells
            .map(packing::read_numbers)
            .map_err(|_| Refused::Unreachable)?;
        cells.sort_unstable();
        Ok(cells)
    }

    async fn let_go(&self, show: &ShowId, cells: &[u32]) -> Result<(), Refused> {
        let let_go = LetGoScript {
            packed_cells: packing::numbers(cells),
        };
        let (_, reply) = self.inner.act(show, let_go).await?;
        refused(&reply, 0)
    }

    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        self.offer_hold(hold, limit).await
    }

    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        self.take_hold(hold, limit).await
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
        self.change_hold(hold, visitor, (&add, &remove), side_by_side, limit)
            .await
    }

    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, Refused> {
        self.read_hold(hold, visitor).await
    }

    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
    ) -> Result<(), Refused> {
        self.release_hold(hold, visitor, purposes).await
    }

    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        self.extend_hold(hold, visitor, call, (expires_at_ms, lock_until_ms))
            .await
    }

    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
        lock_until_ms: i64,
    ) -> Result<Claimable, Refused> {
        self.secure_hold(hold, visitor, purposes, lock_until_ms)
            .await
    }

    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        self.unsecure_hold(hold, secured_until_ms, lock_until_ms)
            .await;
    }

    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), Refused> {
        self.prolong_hold(hold, cursor).await
    }

    async fn ordered(&self) -> Vec<Secured> {
        let mut ordered = Vec::new();
        for followed in self.inner.shows() {
            let state = followed.state();
            let known = state.known.as_ref().filter(|_| state.closed.is_none());
            ordered.extend(
                known
                    .into_iter()
                    .flat_map(|known| known.ordered(&followed.show)),
            );
        }
        ordered
    }

    async fn cursor(&self, show: &ShowId) -> Result<u64, Refused> {
        let followed = self.inner.looked_at(show);
        let now_ms = self.inner.options.clock.now_ms();
        let nothing = DeliverScript { rows: Vec::new() };
        let (_, reply) = self.inner.act_at(&followed, now_ms, nothing).await?;
        cursor_in(&reply)
    }

    async fn deliver(&self, show: &ShowId, rows: &[SeatRow]) -> Result<u64, Refused> {
        let rows = rows.iter().map(|row| DeliveredRow {
            seq: row.seq,
            kind: match row.kind {
                SeatRowKind::Sell => "sell",
                SeatRowKind::Free => "free",
            },
            id: keys::tail(&row.hold),
            visitor: row.visitor.0,
            items: packing::items(&row.items),
        });
        let deliver = DeliverScript {
            rows: rows.collect(),
        };
        let (_, reply) = self.inner.act(show, deliver).await?;
        cursor_in(&reply)
    }

    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), Refused> {
        let followed = self.inner.looked_at(show);
        let now_ms = self.inner.options.clock.now_ms();
        let abandon = AbandonScript { cursor };
        let (_, reply) = self.inner.act_at(&followed, now_ms, abandon).await?;
        if self.inner.is(&reply, "OK")? {
            let closed = ShowClosed::Regressed;
            self.inner.close(&followed, &mut followed.state(), closed);
        }
        Ok(())
    }

    async fn sweep(&self, now_ms: i64, batch_max: usize) -> Swept {
        let mut swept = Swept::default();
        for followed in self.inner.shows() {
            if swept.lapsed.len() >= batch_max {
                swept.more = true;
                break;
            }
            if !followed.wants_sweep(now_ms, self.inner.options.idle) {
                continue;
            }
            let sweep = SweepScript {
                holds_max: (batch_max - swept.lapsed.len()) as u64,
            };
            let reply = self.inner.act_at(&followed, now_ms, sweep).await;
            // What fails is swept by the next one; the locks have a time to live besides.
            let Ok((_, reply)) = reply else { continue };
            swept.more |= matches!(reply.at(2).and_then(RedisReply::int), Ok(1));
            let lapsed = reply.list().unwrap_or_default().iter().skip(3);
            swept
                .lapsed
                .extend(lapsed.filter_map(|tail| keys::hold(&followed.show, tail.bytes().ok()?)));
        }
        swept
    }

    fn is_shared(&self) -> bool {
        true
    }

    async fn in_use(&self) -> Vec<ShowId> {
        let mut shows = self.inner.shows();
        shows.retain(|followed| {
            followed.life().is_some() && followed.idle() < self.inner.options.idle
        });
        shows.iter().map(|followed| followed.show.clone()).collect()
    }

    async fn lost(&self) -> Vec<ShowId> {
        let shows = self.inner.shows();
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
            .check(self.inner.options.clock.now_ms())
            .await
        {
            Ok(findings) => findings.iter().map(ToString::to_string).collect(),
            Err(error) => vec![format!("No seats can be held: {error}.")],
        }
    }

    async fn view(&self, show: &ShowId) -> Option<View> {
        self.inner.look(show, KnownShow::view).await
    }

    async fn glance(&self, show: &ShowId) -> Option<View> {
        let here = self.inner.present(show);
        let followed = here.unwrap_or_else(|| Arc::new(FollowedShow::new(show.clone())));
        self.inner.catch_up(&followed).await.ok()?;
        let state = followed.state();
        state.known.as_ref().map(KnownShow::view)
    }

    async fn packed(&self, show: &ShowId) -> Option<(u64, u32, bytes::Bytes)> {
        self.inner
            .look(show, |known| {
                let picture = &known.picture;
                (picture.version(), known.grid.cells(), picture.packed())
            })
            .await
    }

    async fn changes(&self, show: &ShowId, since: u64) -> Option<Changes> {
        // Somebody follows it, picture by picture.
        self.inner.followed(show);
        self.inner
            .look(show, |known| known.picture.changes(since))
            .await
    }

    async fn counts(
        &self,
        show: &ShowId,
        now_ms: i64,
        within_ms: i64,
    ) -> Option<(Counts, Baskets)> {
        let until_ms = now_ms.saturating_add(within_ms);
        self.inner
            .look(show, |known| {
                (known.picture.counts(), known.baskets(until_ms))
            })
            .await
    }

    fn signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.inner.signals.subscribe()
    }
}

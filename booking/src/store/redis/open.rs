//! Opens a show. Writes a new life from the ledger's picture in bounded batches. The last script
//! makes the life live. Until then, all other scripts refuse their calls. If the opening process
//! dies, its life never becomes live, and the next process begins another life.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairgate_model::holds::cells_of;
use fairgate_redis::{RedisCallError, RedisReply, ScriptCall};

use super::followed::{FollowedShow, ShowCloseReason};
use super::scripts::{
    BeginLifeScript, BoughtSeatCount, DeleteOldLifeScript, FillBuyersScript, FillHoldScript,
    FillViewScript, GoLiveScript, ShowScriptContext,
};
use super::{InventoryStoreState, keys, packing};
use crate::store::{InventoryRefusal, OpeningInventory};

/// The maximum number of bytes of a view that one call writes.
const VIEW_BYTES_MAX: usize = 32_768;
/// The maximum number of visitors that one call writes.
const VISITORS_MAX: usize = 500;
/// The maximum number of holds that one call writes.
const HOLDS_MAX: usize = 50;
/// The maximum number of holds of an old life that one call deletes.
const OLD_HOLDS_MAX: u32 = 100;

impl InventoryStoreState {
    pub(super) async fn begin_life(
        &self,
        followed: &FollowedShow,
        opening: &OpeningInventory,
    ) -> Result<(), InventoryRefusal> {
        let _no_catch_up = followed.catch_up_lock.lock().await;
        self.ensure_begun(followed, opening, true).await?;
        Ok(())
    }

    /// Begins a life, unless it has begun already. Returns the previous life. If no life is live,
    /// the call succeeds only if `anew` is set.
    async fn ensure_begun(
        &self,
        followed: &FollowedShow,
        opening: &OpeningInventory,
        anew: bool,
    ) -> Result<Option<u64>, InventoryRefusal> {
        let life = opening.incarnation;
        let known = opening.ordered.iter().map(|hold| keys::hold_tail(&hold.id));
        let begin = BeginLifeScript {
            anew,
            ends_older: opening.ends_older_holds,
            seats: opening.grid.seats,
            legs: opening.grid.legs,
            plan: opening.plan_version,
            edition: opening.edition,
            known: known.collect(),
        };
        let begun = self.call_for_opening(followed, life, begin).await?;
        if self.reply_is(&begun, "TAKEN")? {
            let cells = begun.field("cells").and_then(RedisReply::as_bytes);
            let cells = cells.map_err(|error| self.log_unreadable(followed, &error))?;
            return Err(InventoryRefusal::Taken(packing::read_numbers(cells)));
        }
        followed.state().closed = Some(ShowCloseReason::Building);
        let old = begun.field("old").map(RedisReply::present);
        let old = old.and_then(|old| old.map(RedisReply::as_count).transpose());
        old.map_err(|error| self.log_unreadable(followed, &error))
    }

    pub(super) async fn open_show(
        self: &Arc<Self>,
        followed: &FollowedShow,
        opening: OpeningInventory,
    ) -> Result<(), InventoryRefusal> {
        // No catch-up may read the life before its first picture is complete.
        let _no_catch_up = followed.catch_up_lock.lock().await;
        let life = opening.incarnation;
        let old = self.ensure_begun(followed, &opening, false).await?;
        self.fill_life(followed, &opening).await?;
        let go_live = GoLiveScript {
            cursor: opening.cursor,
            ahead_ms: self.options.assumed_ahead_ms,
        };
        self.call_for_opening(followed, life, go_live).await?;
        self.read_whole(followed).await?;
        if let Some(old) = old {
            tokio::spawn(delete_old_life(
                Arc::clone(self),
                followed.show.clone(),
                old,
            ));
        }
        Ok(())
    }

    async fn fill_life(
        &self,
        followed: &FollowedShow,
        opening: &OpeningInventory,
    ) -> Result<(), InventoryRefusal> {
        let (grid, life) = (opening.grid, opening.incarnation);
        let sold = opening.sold.iter();
        let sold = sold.flat_map(|(_, items)| cells_of(items, grid));
        let views = [
            ("sold", packing::pack_bits(grid.cell_count(), sold)),
            (
                "blocked",
                packing::pack_bits(grid.cell_count(), opening.blocked.iter().copied()),
            ),
        ];
        for (view, bytes) in &views {
            for (n, part) in bytes.chunks(VIEW_BYTES_MAX).enumerate() {
                let fill = FillViewScript {
                    view,
                    offset: (n * VIEW_BYTES_MAX) as u64,
                    bytes: part.to_vec(),
                };
                self.call_for_opening(followed, life, fill).await?;
            }
        }
        let mut bought: BTreeMap<_, u64> = BTreeMap::new();
        for (visitor, items) in &opening.sold {
            *bought.entry(*visitor).or_default() += items.len() as u64;
        }
        let bought: Vec<_> = bought.into_iter().collect();
        for some in bought.chunks(VISITORS_MAX) {
            let buyers = some.iter().map(|(visitor, seats)| BoughtSeatCount {
                visitor: visitor.0,
                seats: *seats,
            });
            let fill = FillBuyersScript {
                buyers: buyers.collect(),
            };
            self.call_for_opening(followed, life, fill).await?;
        }
        for some in opening.ordered.chunks(HOLDS_MAX) {
            let holds = some.iter().map(packing::filled_hold).collect();
            self.call_for_opening(followed, life, FillHoldScript { holds })
                .await?;
        }
        Ok(())
    }

    /// Makes one call of the opening. An error ends the opening.
    async fn call_for_opening(
        &self,
        followed: &FollowedShow,
        life: u64,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<RedisReply, InventoryRefusal> {
        match self.call(followed, life, script).await {
            Ok(reply) => Ok(reply),
            Err(RedisCallError::Refused(code, message)) => {
                tracing::warn!(show = %followed.show, life, code, message, "a show could not be opened in Redis");
                Err(if code == "OOM" {
                    InventoryRefusal::Unreachable
                } else {
                    InventoryRefusal::NotReady
                })
            }
            // The warnings in the log already say that Redis is away.
            Err(error @ RedisCallError::Unreachable(_)) => {
                tracing::debug!(show = %followed.show, life, %error, "a show could not be opened in Redis");
                Err(InventoryRefusal::Unreachable)
            }
            Err(error) => {
                tracing::warn!(show = %followed.show, life, %error, "a show could not be opened in Redis");
                Err(InventoryRefusal::Unreachable)
            }
        }
    }
}

/// Deletes the holds and locks of an old life. If a call fails, the remaining keys expire by their
/// time to live.
async fn delete_old_life(
    store: Arc<InventoryStoreState>,
    show: fairgate_model::ids::ShowId,
    old: u64,
) {
    let meta = keys::meta_key(&show);
    let script = DeleteOldLifeScript {
        holds_max: OLD_HOLDS_MAX,
    }
    .prepare();
    loop {
        // The script does not compare the clocks.
        let context = ShowScriptContext {
            life: Some(old),
            caller_ms: 0,
            clock_off_ms_max: 0,
        };
        let has_more = store.redis.run_script(&meta, context, &script).await;
        let has_more = has_more.and_then(|reply| reply.field("more")?.as_integer());
        if !matches!(has_more, Ok(1)) {
            return;
        }
    }
}

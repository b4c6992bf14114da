//! Opening a show: a new life written from the ledger's picture in bounded batches, the last script
//! making it live. Until then every other script refuses; who opens and dies leaves a life that is
//! never live, and the next one opens another.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairgate_redis::{Error, RedisReply, ScriptCall};

use super::InventoryShared;
use super::followed::{FollowedShow, ShowClosed};
use super::keys;
use super::packing;
use super::scripts::{
    BeginLifeScript, BuryScript, FillBoughtScript, FillHoldScript, FillViewScript, FilledBuyer,
    GoLiveScript, ShowCaller,
};
use crate::store::{Opening, Refused};
use fairgate_model::holds::cells_of;

/// Bytes of a view written by one call.
const VIEW_BYTES: usize = 32_768;
/// Visitors, and holds, written by one call.
const VISITORS: usize = 500;
const HOLDS: usize = 50;
/// Holds of an old life taken away by one call.
const BURIED: u32 = 100;

impl InventoryShared {
    pub(super) async fn begin(
        &self,
        followed: &FollowedShow,
        opening: &Opening,
    ) -> Result<(), Refused> {
        let _no_catch_up = followed.catching.lock().await;
        self.begun(followed, opening, true).await?;
        Ok(())
    }

    /// Begins a life, if it has not begun yet; gives the one before it. Where no life is live, it
    /// must be `anew`.
    async fn begun(
        &self,
        followed: &FollowedShow,
        opening: &Opening,
        anew: bool,
    ) -> Result<Option<u64>, Refused> {
        let life = opening.incarnation;
        let known = opening.ordered.iter().map(|hold| keys::tail(&hold.id));
        let begin = BeginLifeScript {
            anew,
            seats: opening.grid.seats,
            legs: opening.grid.legs,
            plan: opening.plan_version,
            edition: opening.edition,
            known: known.collect(),
        };
        let begun = self.write(followed, life, begin).await?;
        if self.is(&begun, "TAKEN")? {
            let cells = begun.at(2).and_then(RedisReply::bytes);
            let cells = cells.map_err(|error| self.unread(followed, &error))?;
            return Err(Refused::Taken(packing::read_numbers(cells)));
        }
        followed.state().closed = Some(ShowClosed::Building);
        let old = begun.at(2).and_then(|reply| reply.count());
        Ok(old.ok())
    }

    pub(super) async fn open(
        self: &Arc<Self>,
        followed: &FollowedShow,
        opening: Opening,
    ) -> Result<(), Refused> {
        // No catch-up may read the life between its beginning and its first whole picture.
        let _no_catch_up = followed.catching.lock().await;
        let life = opening.incarnation;
        let old = self.begun(followed, &opening, false).await?;
        self.fill(followed, &opening).await?;
        let go_live = GoLiveScript {
            cursor: opening.cursor,
            ahead_ms: self.options.assumed_ahead_ms,
        };
        self.write(followed, life, go_live).await?;
        self.read_whole(followed).await?;
        if let Some(old) = old {
            tokio::spawn(bury(Arc::clone(self), followed.show.clone(), old));
        }
        Ok(())
    }

    async fn fill(&self, followed: &FollowedShow, opening: &Opening) -> Result<(), Refused> {
        let (grid, life) = (opening.grid, opening.incarnation);
        let sold = opening.sold.iter();
        let sold = sold.flat_map(|(_, items)| cells_of(items, grid));
        let views = [
            ("sold", packing::bits(grid.cells(), sold)),
            (
                "blocked",
                packing::bits(grid.cells(), opening.blocked.iter().copied()),
            ),
        ];
        for (view, bytes) in &views {
            for (n, part) in bytes.chunks(VIEW_BYTES).enumerate() {
                let fill = FillViewScript {
                    view,
                    offset: (n * VIEW_BYTES) as u64,
                    bytes: part.to_vec(),
                };
                self.write(followed, life, fill).await?;
            }
        }
        let mut bought: BTreeMap<_, u64> = BTreeMap::new();
        for (visitor, items) in &opening.sold {
            *bought.entry(*visitor).or_default() += items.len() as u64;
        }
        let bought: Vec<_> = bought.into_iter().collect();
        for some in bought.chunks(VISITORS) {
            let buyers = some.iter().map(|(visitor, seats)| FilledBuyer {
                visitor: visitor.0,
                seats: *seats,
            });
            let fill = FillBoughtScript {
                buyers: buyers.collect(),
            };
            self.write(followed, life, fill).await?;
        }
        for some in opening.ordered.chunks(HOLDS) {
            let holds = some.iter().map(packing::filled_hold).collect();
            self.write(followed, life, FillHoldScript { holds }).await?;
        }
        Ok(())
    }

    /// A call that must succeed for the opening to go on.
    async fn write(
        &self,
        followed: &FollowedShow,
        life: u64,
        script: impl ScriptCall<Family = ShowCaller>,
    ) -> Result<RedisReply, Refused> {
        match self.call(followed, life, script).await {
            Ok(reply) => Ok(reply),
            Err(Error::Refused(code, message)) => {
                tracing::warn!(show = %followed.show, life, code, message, "a show could not be opened in Redis");
                Err(if code == "OOM" {
                    Refused::Unreachable
                } else {
                    Refused::NotReady
                })
            }
            Err(error) => {
                tracing::warn!(show = %followed.show, life, %error, "a show could not be opened in Redis");
                Err(Refused::Unreachable)
            }
        }
    }
}

/// Takes away what an old life left; what this does not reach goes by its time to live.
async fn bury(store: Arc<InventoryShared>, show: fairgate_model::ids::ShowId, old: u64) {
    let meta = keys::meta(&show);
    let bury = BuryScript { holds_max: BURIED }.prepare();
    loop {
        // A life that is over has no clock.
        let caller = ShowCaller {
            life: Some(old),
            caller_ms: 0,
            clock_off_ms_max: 0,
        };
        let more = store.redis.run(&meta, caller, &bury).await;
        let more = more.and_then(|reply| reply.at(2)?.int());
        if !matches!(more, Ok(1)) {
            return;
        }
    }
}

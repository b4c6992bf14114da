//! Opening a show: a new life written from the ledger's picture in bounded batches, the last script making it live.
//! Until then every other script refuses; who opens and dies leaves a life that is never live, and the next one opens
//! another.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairgate_redis::{Arg, Error, Reply, Script};

use super::Inner;
use super::followed::{Closed, Followed};
use super::keys;
use super::packing;
use super::scripts::SCRIPTS;
use crate::holds::cells_of;
use crate::store::{Opening, Refused};

/// Bytes of a view written by one call.
const VIEW_BYTES: usize = 32_768;
/// Visitors, and holds, written by one call.
const VISITORS: usize = 500;
const HOLDS: usize = 50;
/// Holds of an old life taken away by one call.
const BURIED: u32 = 100;

impl Inner {
    pub(super) async fn begin(
        &self,
        followed: &Followed,
        opening: &Opening,
    ) -> Result<(), Refused> {
        let _no_catch_up = followed.catching.lock().await;
        self.begun(followed, opening, true).await?;
        Ok(())
    }

    /// Begins a life, if it has not begun yet; gives the one before it. Where no life is live, it must be `anew`.
    async fn begun(
        &self,
        followed: &Followed,
        opening: &Opening,
        anew: bool,
    ) -> Result<Option<u64>, Refused> {
        let life = opening.incarnation;
        let known = opening
            .ordered
            .iter()
            .map(|hold| keys::tail(&hold.id).to_vec());
        let begun = self
            .write(&SCRIPTS.begin, followed, life, |call| {
                call.arg(u32::from(anew))
                    .arg(opening.grid.seats)
                    .arg(u32::from(opening.grid.legs))
                    .arg(opening.plan_version)
                    .arg(opening.edition)
                    .args(known.clone())
            })
            .await?;
        if self.is(&begun, "TAKEN")? {
            let cells = begun.at(2).and_then(Reply::bytes);
            let cells = cells.map_err(|error| self.unread(followed, &error))?;
            return Err(Refused::Taken(packing::read_numbers(cells)));
        }
        followed.state().closed = Some(Closed::Building);
        let old = begun.at(2).and_then(|reply| reply.count());
        Ok(old.ok())
    }

    pub(super) async fn open(
        self: &Arc<Self>,
        followed: &Followed,
        opening: Opening,
    ) -> Result<(), Refused> {
        // No catch-up may read the life between its beginning and its first whole picture.
        let _no_catch_up = followed.catching.lock().await;
        let life = opening.incarnation;
        let old = self.begun(followed, &opening, false).await?;
        self.fill(followed, &opening).await?;
        let ahead_ms = self.options.assumed_ahead_ms;
        self.write(&SCRIPTS.live, followed, life, |call| {
            call.arg(opening.cursor).arg(ahead_ms)
        })
        .await?;
        self.read_whole(followed).await?;
        if let Some(old) = old {
            tokio::spawn(bury(Arc::clone(self), followed.show.clone(), old));
        }
        Ok(())
    }

    async fn fill(&self, followed: &Followed, opening: &Opening) -> Result<(), Refused> {
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
        for (name, bytes) in &views {
            for (n, part) in bytes.chunks(VIEW_BYTES).enumerate() {
                self.write(&SCRIPTS.fill_view, followed, life, |call| {
                    call.arg(*name).arg((n * VIEW_BYTES) as u64).arg(part)
                })
                .await?;
            }
        }
        let mut bought: BTreeMap<_, u64> = BTreeMap::new();
        for (visitor, items) in &opening.sold {
            *bought.entry(*visitor).or_default() += items.len() as u64;
        }
        let bought: Vec<_> = bought.into_iter().collect();
        for some in bought.chunks(VISITORS) {
            let args = || {
                let pairs = some.iter();
                pairs.flat_map(|(visitor, count)| [Arg::from(&visitor.0[..]), Arg::from(*count)])
            };
            self.write(&SCRIPTS.fill_bought, followed, life, |call| {
                call.args(args())
            })
            .await?;
        }
        for some in opening.ordered.chunks(HOLDS) {
            let args = || some.iter().flat_map(packing::hold_args);
            self.write(&SCRIPTS.fill_hold, followed, life, |call| call.args(args()))
                .await?;
        }
        Ok(())
    }

    /// A call that must succeed for the opening to go on.
    async fn write<'a>(
        &self,
        script: &'a Script,
        followed: &Followed,
        life: u64,
        with: impl FnOnce(fairgate_redis::Call<'a>) -> fairgate_redis::Call<'a>,
    ) -> Result<Reply, Refused> {
        match self.call(script, followed, life, with).await {
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
async fn bury(store: Arc<Inner>, show: crate::ids::ShowId, old: u64) {
    let meta = keys::meta(&show);
    loop {
        let call = SCRIPTS
            .bury
            .call()
            .key(&meta)
            .arg(old)
            .arg(0_u32)
            .arg(0_u32);
        let more = store.redis.run(&call.arg(BURIED)).await;
        let more = more.and_then(|reply| reply.at(2)?.int());
        if !matches!(more, Ok(1)) {
            return;
        }
    }
}

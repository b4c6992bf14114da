//! The transitions: each is one script, called with what it needs and its answer read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use fairgate_pass::Holder;
use fairgate_redis::{Call, Reply, Script};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use super::act::{cursor_in, refused};
use super::followed::{Closed, Followed};
use super::known::Known;
use super::scripts::SCRIPTS;
use super::{RedisStore, keys, packing};
use crate::holds::{Held, Hold, Purpose};
use crate::ids::{HoldId, ShowId};
use crate::inventory::picture::{Changes, Counts};
use crate::store::{
    Baskets, CallId, Claimable, HoldSignal, InventoryStore, Opening, PROLONGED_BY_MS_MIN, Refused,
    SeatRow, SeatRowKind, Secured, Swept, View,
};

/// How long a hold that was given back is remembered: nobody tries again for longer.
const RELEASED_MS: i64 = 600_000;

fn own<'a>(call: Call<'a>, hold: &HoldId, visitor: Holder) -> Call<'a> {
    call.arg(&keys::tail(hold)[..]).arg(&visitor.0[..])
}

/// Purposes as the scripts are given them.
fn words(purposes: &[Purpose]) -> String {
    let words: Vec<&str> = purposes.iter().map(|purpose| purpose.word()).collect();
    words.join(",")
}

impl RedisStore {
    /// A transition of one hold that answers with it as it is then.
    async fn of_hold<'a>(
        &self,
        script: &'a Script,
        id: &HoldId,
        visitor: Holder,
        limit: u32,
        with: impl Fn(Call<'a>) -> Call<'a>,
    ) -> Result<Hold, Refused> {
        let (_, reply) = self
            .inner
            .act(&id.show(), script, |call| with(own(call, id, visitor)))
            .await?;
        hold_in(id, &reply, limit)
    }

    /// A new hold, by the script that takes its cells.
    async fn taken_by(
        &self,
        followed: &Followed,
        script: &Script,
        hold: Hold,
        limit: u32,
    ) -> Result<Hold, Refused> {
        let now_ms = self.inner.options.clock.now_ms();
        let items = packing::items(&hold.items);
        let (_, reply) = self
            .inner
            .act_at(followed, script, now_ms, |call| {
                own(call, &hold.id, hold.visitor)
                    .arg(limit)
                    .arg(hold.plan_version)
                    .arg(&items[..])
                    .arg(hold.room.as_str())
                    .arg(u32::from(hold.next_to_each_other))
                    .arg(hold.expires_at_ms)
                    .arg(hold.lock_until_ms)
                    .arg(hold.extensions_left)
                    .arg(hold.purpose.word())
                    .arg(hold.terms)
            })
            .await?;
        refused(&reply, limit)?;
        match reply.at(2) {
            // A retry: the hold as it is.
            Ok(present) => packing::read_hold(&hold.id, present)
                .map_err(|error| self.inner.unread(followed, &error)),
            Err(_) => Ok(hold),
        }
    }
}

/// The hold that a script answered with.
fn hold_in(id: &HoldId, reply: &Reply, limit: u32) -> Result<Hold, Refused> {
    refused(reply, limit)?;
    let hold = reply.at(2).and_then(|hold| packing::read_hold(id, hold));
    hold.map_err(|error| {
        tracing::error!(hold = %id, %error, "a hold in Redis cannot be read");
        Refused::Unreachable
    })
}

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
        let waited = self
            .inner
            .act(show, &SCRIPTS.wait, |call| call.arg(until_ms))
            .await?;
        let (_, reply) = waited;
        refused(&reply, 0)?;
        let cells = reply.at(2).and_then(Reply::bytes);
        let mut cells = cells
            .map(packing::read_numbers)
            .map_err(|_| Refused::Unreachable)?;
        cells.sort_unstable();
        Ok(cells)
    }

    async fn let_go(&self, show: &ShowId, cells: &[u32]) -> Result<(), Refused> {
        let cells = packing::numbers(cells);
        let (_, reply) = self
            .inner
            .act(show, &SCRIPTS.let_go, |call| call.arg(&cells[..]))
            .await?;
        refused(&reply, 0)
    }

    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        let followed = self.inner.followed(&hold.id.show());
        self.taken_by(&followed, &SCRIPTS.offer, hold, limit).await
    }

    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, Refused> {
        let (show, tail) = (hold.id.show(), keys::tail(&hold.id));
        let followed = self.inner.followed(&show);
        if followed.is_fresh(self.inner.options.shield) {
            let taken = {
                let state = followed.state();
                let known = state.known.as_ref();
                known.map(|known| known.surely_taken(&hold, &tail, limit))
            };
            if let Some(taken) = taken.filter(|taken| !taken.is_empty()) {
                metrics::counter!("fairgate_takes_shielded_total").increment(1);
                return Err(Refused::Taken(taken));
            }
        }
        self.taken_by(&followed, &SCRIPTS.take, hold, limit).await
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
        let (add, remove) = (packing::items(&add), packing::numbers(&remove));
        let wish = Sha256::new()
            .chain_update((add.len() as u64).to_be_bytes())
            .chain_update(&add)
            .chain_update(&remove)
            .finalize();
        self.of_hold(&SCRIPTS.change, hold, visitor, limit, |call| {
            call.arg(Purpose::Basket.word())
                .arg(limit)
                .arg(&add[..])
                .arg(&remove[..])
                .arg(u32::from(side_by_side))
                .arg(&wish[..16])
        })
        .await
    }

    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, Refused> {
        let any = words(&Purpose::ALL);
        self.of_hold(&SCRIPTS.hold, hold, visitor, 0, |call| call.arg(&any[..]))
            .await
    }

    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
    ) -> Result<(), Refused> {
        let purposes = words(purposes);
        let (_, reply) = self
            .inner
            .act(&hold.show(), &SCRIPTS.release, |call| {
                own(call, hold, visitor).arg(&purposes[..]).arg(RELEASED_MS)
            })
            .await?;
        refused(&reply, 0)
    }

    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        self.of_hold(&SCRIPTS.extend, hold, visitor, 0, |asked| {
            let asked = asked.arg(Purpose::Basket.word()).arg(&call.0[..]);
            asked.arg(expires_at_ms).arg(lock_until_ms)
        })
        .await
    }

    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[Purpose],
        lock_until_ms: i64,
    ) -> Result<Claimable, Refused> {
        let purposes = words(purposes);
        let (incarnation, reply) = self
            .inner
            .act(&hold.show(), &SCRIPTS.secure, |call| {
                own(call, hold, visitor)
                    .arg(&purposes[..])
                    .arg(lock_until_ms)
            })
            .await?;
        Ok(Claimable {
            hold: hold_in(hold, &reply, 0)?,
            incarnation,
        })
    }

    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64) {
        let show = hold.show();
        let undone = self
            .inner
            .act(&show, &SCRIPTS.unsecure, |call| {
                call.arg(&keys::tail(hold)[..])
                    .arg(lock_until_ms)
                    .arg(secured_until_ms)
            })
            .await;
        let followed = self.inner.followed(&show);
        followed.sweep_anyway.store(true, Ordering::Release);
        if let Err(refused) = undone {
            // The reconciler gives it back then.
            tracing::warn!(%hold, %refused, "a hold stays locked for an order that was not made");
        }
    }

    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), Refused> {
        let followed = self.inner.looked_at(&hold.id.show());
        let now_ms = self.inner.options.clock.now_ms();
        let items = packing::items(&hold.items);
        let (_, reply) = self
            .inner
            .act_at(&followed, &SCRIPTS.prolong, now_ms, |call| {
                own(call, &hold.id, hold.visitor)
                    .arg(hold.plan_version)
                    .arg(&items[..])
                    .arg(hold.room.as_str())
                    .arg(u32::from(hold.next_to_each_other))
                    .arg(hold.expires_at_ms)
                    .arg(hold.lock_until_ms)
                    .arg(hold.purpose.word())
                    .arg(hold.terms)
                    .arg(cursor)
                    .arg(PROLONGED_BY_MS_MIN)
            })
            .await?;
        refused(&reply, 0)
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
        let (followed, now_ms) = (
            self.inner.looked_at(show),
            self.inner.options.clock.now_ms(),
        );
        let (_, reply) = self
            .inner
            .act_at(&followed, &SCRIPTS.deliver, now_ms, |call| call)
            .await?;
        cursor_in(&reply)
    }

    async fn deliver(&self, show: &ShowId, rows: &[SeatRow]) -> Result<u64, Refused> {
        let items: Vec<Vec<u8>> = rows.iter().map(|row| packing::items(&row.items)).collect();
        let (_, reply) = self
            .inner
            .act(show, &SCRIPTS.deliver, |mut call| {
                for (row, items) in rows.iter().zip(&items) {
                    call = call
                        .arg(row.seq)
                        .arg(match row.kind {
                            SeatRowKind::Sell => "sell",
                            SeatRowKind::Free => "free",
                        })
                        .arg(&keys::tail(&row.hold)[..])
                        .arg(&row.visitor.0[..])
                        .arg(&items[..]);
                }
                call
            })
            .await?;
        cursor_in(&reply)
    }

    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), Refused> {
        let followed = self.inner.looked_at(show);
        let now_ms = self.inner.options.clock.now_ms();
        let (_, reply) = self
            .inner
            .act_at(&followed, &SCRIPTS.abandon, now_ms, |call| call.arg(cursor))
            .await?;
        if self.inner.is(&reply, "OK")? {
            let closed = Closed::Regressed;
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
            let room = (batch_max - swept.lapsed.len()) as u64;
            let reply = self
                .inner
                .act_at(&followed, &SCRIPTS.sweep, now_ms, |call| call.arg(room))
                .await;
            // What fails is swept by the next one; the locks have a time to live besides.
            let Ok((_, reply)) = reply else { continue };
            swept.more |= matches!(reply.at(2).and_then(Reply::int), Ok(1));
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
        self.inner.look(show, Known::view).await
    }

    async fn glance(&self, show: &ShowId) -> Option<View> {
        let here = self.inner.present(show);
        let followed = here.unwrap_or_else(|| Arc::new(Followed::new(show.clone())));
        self.inner.catch_up(&followed).await.ok()?;
        let state = followed.state();
        state.known.as_ref().map(Known::view)
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

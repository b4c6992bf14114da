//! The inventory store of many processes: every transition is one script on the show's slot in Redis, and each process
//! keeps the picture of the shows it serves, by their feeds.
//!
//! Three things protect against what Redis may do to its data. Every key but one is of a **life** (incarnation), and
//! a script that is called for another life refuses. Every script compares the **history of the data**, which names the
//! server, with the one the life was written on, so a restarted server and a promoted replica refuse. Every script
//! compares the **clock** with its caller's. Where one of them fails the show is closed, and opened again from the ledger.

mod follow;
mod followed;
mod keys;
mod known;
mod open;
mod packing;
mod scripts;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use fairgate_pass::Holder;
use fairgate_redis::{CLOCK_OFF_MS_MAX, Call, Command, Error, Redis, Reply, Script};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use super::{
    Baskets, CallId, HoldSignal, InventoryStore, Opening, Refused, SeatRow, SeatRowKind, Secured,
    Swept, View,
};
use crate::clock::Clock;
use crate::holds::{Held, Hold};
use crate::ids::{HoldId, ShowId};
use crate::inventory::picture::{Changes, Counts};
use followed::{Closed, Followed, State};
use known::Known;
use scripts::SCRIPTS;

/// Signals kept for a slow reader; a socket that missed one reads its hold again.
const SIGNALS_MAX: usize = 4_096;
/// What is answered from memory is at most so old.
const REFRESH: Duration = Duration::from_millis(100);
/// How long a hold that was given back is remembered: nobody tries again for longer.
const RELEASED_MS: i64 = 600_000;
/// When a show comes to rest.
const IDLE: Duration = Duration::from_secs(10);
/// Who only looks waits at most so long for a newer picture.
const LOOKED_FOR_MAX: Duration = Duration::from_millis(300);
/// How young a picture must be to refuse cells.
const SHIELD: Duration = Duration::from_secs(1);

/// How the store keeps time, and how long it trusts its memory.
#[derive(Clone)]
pub struct Options {
    /// The ledger's time.
    pub clock: Clock,
    /// How far Redis's clock may be off it, as the two were when the show was opened: 5 s.
    pub clock_off_ms_max: i64,
    /// How far ahead Redis's clock is taken to be beyond what is measured: 0. Nothing ends before both clocks say so,
    /// so a clock far ahead leaves the ledger's to decide alone.
    pub assumed_ahead_ms: i64,
    /// A picture younger than this refuses cells that it knows to be taken, without asking Redis: 1 s.
    pub shield: Duration,
    /// A show that nobody used for so long comes to rest here: its feed is not read any more, but now and then where
    /// holds may run out in it: 10 s.
    pub idle: Duration,
}

impl Options {
    /// With the product's limits.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            clock_off_ms_max: CLOCK_OFF_MS_MAX,
            assumed_ahead_ms: 0,
            shield: SHIELD,
            idle: IDLE,
        }
    }
}

/// Why the store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data set belongs to another ledger: two installations share one Redis, or the wrong database is named.
    #[error(
        "this Redis belongs to another ledger ({stored}, and this one is {own}). Nothing was changed. Name the database that it belongs to, or another Redis."
    )]
    OtherLedger {
        /// The id in Redis.
        stored: String,
        /// The ledger's.
        own: String,
    },
    /// Redis did not take or answer it.
    #[error("Redis cannot be used: {0}")]
    Redis(#[from] Error),
}

/// The inventory store in Redis: a cheap handle.
#[derive(Clone)]
pub struct RedisStore {
    inner: Arc<Inner>,
}

struct Inner {
    redis: Redis,
    options: Options,
    ledger_id: String,
    /// The data set was found to belong to another ledger while this process ran.
    foreign: AtomicBool,
    shows: RwLock<HashMap<ShowId, Arc<Followed>>>,
    signals: broadcast::Sender<HoldSignal>,
}

impl RedisStore {
    /// Opens the store for the ledger with this id, and follows the shows that are asked for from then on.
    ///
    /// # Errors
    /// Where the data set belongs to another ledger, or Redis cannot be asked.
    pub async fn open(redis: Redis, ledger_id: &str, options: Options) -> Result<Self, OpenError> {
        let stored = belongs_to(&redis, ledger_id).await?;
        if stored != ledger_id {
            return Err(OpenError::OtherLedger {
                stored,
                own: ledger_id.to_owned(),
            });
        }
        let inner = Arc::new(Inner {
            redis,
            options,
            ledger_id: ledger_id.to_owned(),
            foreign: AtomicBool::new(false),
            shows: RwLock::default(),
            signals: broadcast::channel(SIGNALS_MAX).0,
        });
        tokio::spawn(follow::keep_up(Arc::downgrade(&inner)));
        Ok(Self { inner })
    }
}

/// The ledger that the data set belongs to: this one, where it belonged to none.
async fn belongs_to(redis: &Redis, ledger_id: &str) -> Result<String, Error> {
    let set = Command::new("SET").arg(keys::LEDGER).arg(ledger_id);
    redis.ask(&set.arg("NX")).await?;
    let stored = redis.ask(&Command::new("GET").arg(keys::LEDGER)).await?;
    Ok(stored.text()?.to_owned())
}

impl Inner {
    fn shows(&self) -> Vec<Arc<Followed>> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        shows.values().cloned().collect()
    }

    /// A show that is followed already.
    fn present(&self, show: &ShowId) -> Option<Arc<Followed>> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        shows.get(show).cloned()
    }

    /// A show that somebody uses.
    fn followed(&self, show: &ShowId) -> Arc<Followed> {
        let followed = self.looked_at(show);
        followed.touch();
        followed
    }

    /// A show as those see it who only look after it: it may come to rest all the same.
    fn looked_at(&self, show: &ShowId) -> Arc<Followed> {
        self.present(show).unwrap_or_else(|| {
            let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
            let fresh = || Arc::new(Followed::new(show.clone()));
            Arc::clone(shows.entry(show.clone()).or_insert_with(fresh))
        })
    }

    fn forget(&self, show: &ShowId) {
        let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
        shows.remove(show);
    }

    /// One call of a show's script in a life.
    async fn call<'a>(
        &self,
        script: &'a Script,
        followed: &Followed,
        life: u64,
        with: impl FnOnce(Call<'a>) -> Call<'a>,
    ) -> Result<Reply, Error> {
        let now_ms = self.options.clock.now_ms();
        self.call_at(script, followed, Some(life), now_ms, with)
            .await
    }

    /// One call of a show's script in whatever life it is.
    async fn call_any<'a>(
        &self,
        script: &'a Script,
        followed: &Followed,
        with: impl FnOnce(Call<'a>) -> Call<'a>,
    ) -> Result<Reply, Error> {
        let now_ms = self.options.clock.now_ms();
        self.call_at(script, followed, None, now_ms, with).await
    }

    async fn call_at<'a>(
        &self,
        script: &'a Script,
        followed: &Followed,
        life: Option<u64>,
        now_ms: i64,
        with: impl FnOnce(Call<'a>) -> Call<'a>,
    ) -> Result<Reply, Error> {
        if self.foreign.load(Ordering::Relaxed) {
            return Err(Error::Unreachable("it belongs to another ledger".into()));
        }
        let life = life.map_or_else(String::new, |life| life.to_string());
        let call = script
            .call()
            .key(keys::meta(&followed.show))
            .arg(life)
            .arg(now_ms)
            .arg(self.options.clock_off_ms_max);
        self.redis.run(&with(call)).await
    }

    /// One transition: in the life that is known, and once more where another process has begun the next.
    async fn act<'a>(
        &self,
        show: &ShowId,
        script: &'a Script,
        with: impl Fn(Call<'a>) -> Call<'a>,
    ) -> Result<Reply, Refused> {
        let now_ms = self.options.clock.now_ms();
        let followed = self.followed(show);
        self.act_at(&followed, script, now_ms, with).await
    }

    async fn act_at<'a>(
        &self,
        followed: &Followed,
        script: &'a Script,
        now_ms: i64,
        with: impl Fn(Call<'a>) -> Call<'a>,
    ) -> Result<Reply, Refused> {
        let mut life = match followed.life() {
            Some(life) => life,
            None => self.life_anew(followed).await?,
        };
        let mut again = true;
        loop {
            let answer = self
                .call_at(script, followed, Some(life), now_ms, &with)
                .await;
            match answer {
                Ok(reply) => {
                    let at = reply.at(1).and_then(known::position);
                    let at = at.map_err(|error| self.unread(followed, &error))?;
                    followed.saw(life, at);
                    return Ok(reply);
                }
                Err(Error::Refused(code, _)) if code == "LIFE" && again => {
                    again = false;
                    life = self.life_anew(followed).await?;
                }
                Err(error) => return Err(self.refusal(followed, life, error).await),
            }
        }
    }

    async fn life_anew(&self, followed: &Followed) -> Result<u64, Refused> {
        self.catch_up(followed).await?;
        followed.life().ok_or(Refused::NotReady)
    }

    /// What an error means for who asked, and for the show.
    async fn refusal(&self, followed: &Followed, life: u64, error: Error) -> Refused {
        let closed = match error.code() {
            Some("MISSING") => Closed::Missing,
            Some("LIFE") => Closed::Building,
            Some("SERVER") => Closed::Server,
            Some("CLOCK") => {
                // A process that was stopped for a while asks with an old time; only two measurements in a row are a
                // clock that is off.
                let nothing = |call: Call<'static>| call.arg(i64::MAX).arg(0_u32).arg(1_u32);
                match self.call_any(&SCRIPTS.follow, followed, nothing).await {
                    Err(error) if error.code() == Some("CLOCK") => Closed::Clock,
                    _ => return Refused::NotReady,
                }
            }
            _ => {
                tracing::warn!(show = %followed.show, life, %error, "Redis did not do what it was asked");
                return Refused::Unreachable;
            }
        };
        self.close(followed, &mut followed.state(), closed);
        Refused::NotReady
    }

    /// Notes that a show must be opened again. Its last picture stays for who only looks.
    fn close(&self, followed: &Followed, state: &mut State, closed: Closed) {
        if state.closed != Some(closed) {
            let reason = closed.word();
            if state.known.is_some() {
                tracing::warn!(show = %followed.show, reason, "a show's seats in Redis cannot be relied on any more");
                metrics::counter!("fairgate_shows_closed_total", "reason" => reason).increment(1);
            }
            state.closed = Some(closed);
        }
    }

    fn unread(&self, followed: &Followed, error: &Error) -> Refused {
        tracing::error!(show = %followed.show, %error, "an answer of Redis cannot be read");
        Refused::Unreachable
    }

    fn is(&self, reply: &Reply, word: &str) -> Result<bool, Refused> {
        let said = reply.at(0).and_then(Reply::bytes);
        said.map(|said| said == word.as_bytes())
            .map_err(|_| Refused::Unreachable)
    }

    /// Finds out whether the data set was taken over by another installation, and marks one that was emptied.
    async fn check_ledger(&self) {
        if let Ok(stored) = belongs_to(&self.redis, &self.ledger_id).await {
            let foreign = stored != self.ledger_id;
            if foreign && !self.foreign.swap(foreign, Ordering::Relaxed) {
                tracing::error!(
                    stored,
                    "this Redis belongs to another ledger now; it is not used any more"
                );
            }
            self.foreign.store(foreign, Ordering::Relaxed);
        }
    }

    /// The picture as it is, brought up to date where that is possible.
    async fn look<T>(&self, show: &ShowId, look: impl FnOnce(&Known) -> T) -> Option<T> {
        let followed = self.looked_at(show);
        // What cannot be reached or is being opened anew answers from its last picture, where there is one, and then nobody
        // waits long for a newer one.
        let at_most = match followed.state().known {
            Some(_) => LOOKED_FOR_MAX,
            None => Duration::MAX,
        };
        let _ = tokio::time::timeout(at_most, self.refresh(&followed)).await;
        let state = followed.state();
        state.known.as_ref().map(look)
    }
}

/// What a script answered, where it is no hold.
fn refused(reply: &Reply, limit: u32) -> Result<(), Refused> {
    let cells = || {
        let cells = reply.at(2).and_then(Reply::bytes);
        cells.map(packing::read_numbers).unwrap_or_default()
    };
    let word = reply.at(0).and_then(Reply::text).unwrap_or_default();
    Err(match word {
        "OK" => return Ok(()),
        "TAKEN" => Refused::Taken(cells()),
        "LIMIT" => {
            let have = reply.at(2).and_then(Reply::count).unwrap_or_default();
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            Refused::Limit { have, limit }
        }
        "GONE" => Refused::Gone,
        "FOREIGN" => Refused::Foreign,
        "ORDERED" => Refused::Ordered,
        "NOTHELD" => Refused::NotHeld(cells()),
        "NOEXTENSIONS" => Refused::NoExtensions,
        "PLAN" => Refused::PlanChanged,
        _ => Refused::Unreachable,
    })
}

/// How far the outbox was carried out, as `deliver` answers.
fn cursor_in(reply: &Reply) -> Result<u64, Refused> {
    refused(reply, 0)?;
    let cursor = reply.at(2).and_then(Reply::count);
    cursor.map_err(|_| Refused::Unreachable)
}

fn own<'a>(call: Call<'a>, hold: &HoldId, visitor: Holder) -> Call<'a> {
    call.arg(&keys::tail(hold)[..]).arg(&visitor.0[..])
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
        let reply = self
            .inner
            .act(&id.show(), script, |call| with(own(call, id, visitor)))
            .await?;
        refused(&reply, limit)?;
        let hold = reply.at(2).and_then(|hold| packing::read_hold(id, hold));
        hold.map_err(|error| {
            tracing::error!(hold = %id, %error, "a hold in Redis cannot be read");
            Refused::Unreachable
        })
    }
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

    async fn open(&self, show: &ShowId, opening: Opening) -> Result<(), Refused> {
        let followed = self.inner.followed(show);
        self.inner.open(&followed, opening).await
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
        let now_ms = self.inner.options.clock.now_ms();
        let items = packing::items(&hold.items);
        let reply = self
            .inner
            .act_at(&followed, &SCRIPTS.take, now_ms, |call| {
                own(call, &hold.id, hold.visitor)
                    .arg(limit)
                    .arg(hold.plan_version)
                    .arg(&items[..])
                    .arg(hold.room.as_str())
                    .arg(u32::from(hold.next_to_each_other))
                    .arg(hold.expires_at_ms)
                    .arg(hold.lock_until_ms)
                    .arg(hold.extensions_left)
            })
            .await?;
        refused(&reply, limit)?;
        match reply.at(2) {
            // A retry: the hold as it is.
            Ok(present) => packing::read_hold(&hold.id, present)
                .map_err(|error| self.inner.unread(&followed, &error)),
            Err(_) => Ok(hold),
        }
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
            call.arg(limit)
                .arg(&add[..])
                .arg(&remove[..])
                .arg(u32::from(side_by_side))
                .arg(&wish[..16])
        })
        .await
    }

    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, Refused> {
        self.of_hold(&SCRIPTS.hold, hold, visitor, 0, |call| call)
            .await
    }

    async fn release(&self, hold: &HoldId, visitor: Holder) -> Result<(), Refused> {
        let reply = self
            .inner
            .act(&hold.show(), &SCRIPTS.release, |call| {
                own(call, hold, visitor).arg(RELEASED_MS)
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
            let asked = asked.arg(&call.0[..]);
            asked.arg(expires_at_ms).arg(lock_until_ms)
        })
        .await
    }

    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        lock_until_ms: i64,
    ) -> Result<Hold, Refused> {
        self.of_hold(&SCRIPTS.secure, hold, visitor, 0, |call| {
            call.arg(lock_until_ms)
        })
        .await
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
        let reply = self
            .inner
            .act_at(&followed, &SCRIPTS.deliver, now_ms, |call| call)
            .await?;
        cursor_in(&reply)
    }

    async fn deliver(&self, show: &ShowId, rows: &[SeatRow]) -> Result<u64, Refused> {
        let items: Vec<Vec<u8>> = rows.iter().map(|row| packing::items(&row.items)).collect();
        let reply = self
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
            let Ok(reply) = reply else { continue };
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

//! The inventory store of many processes: every transition is one script on the show's slot in
//! Redis, and each process keeps the picture of the shows it serves, by their feeds.
//!
//! Three things protect against what Redis may do to its data. Every key but one is of a **life**
//! (incarnation), and a script that is called for another life refuses. Every script compares the
//! **history of the data**, which names the server, with the one the life was written on, so a
//! restarted server and a promoted replica refuse. Every script compares the **clock** with its
//! caller's. Where one of them fails the show is closed, and opened again from the ledger.

mod act;
mod follow;
mod followed;
mod holding;
mod keys;
mod known;
mod open;
mod packing;
mod scripts;
#[cfg(test)]
mod tests;
mod transitions;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_model::ids::ShowId;
use fairgate_redis::{CLOCK_OFF_MS_MAX, Redis, RedisCallError, RedisCommand};
use tokio::sync::broadcast;

use super::HoldSignal;
use followed::FollowedShow;
use known::CachedShow;

/// Signals kept for a slow reader; a socket that missed one reads its hold again.
const SIGNALS_MAX: usize = 4_096;
/// What is answered from memory is at most so old.
const REFRESH: Duration = Duration::from_millis(100);
/// When a show comes to rest.
const IDLE: Duration = Duration::from_secs(10);
/// Who only looks waits at most so long for a newer picture.
const LOOKED_FOR_MAX: Duration = Duration::from_millis(300);
/// How young a picture must be to refuse cells.
const SHIELD: Duration = Duration::from_secs(1);

/// How the store keeps time, and how long it trusts its memory.
#[derive(Clone)]
pub struct RedisStoreOptions {
    /// The ledger's time.
    pub clock: Clock,
    /// How far Redis's clock may be off it, as the two were when the show was opened: 5 s.
    pub clock_off_ms_max: i64,
    /// How far ahead Redis's clock is taken to be beyond what is measured: 0. Nothing ends before
    /// both clocks say so, so a clock far ahead leaves the ledger's to decide alone.
    pub assumed_ahead_ms: i64,
    /// A picture younger than this refuses cells that it knows to be taken, without asking Redis: 1
    /// s.
    pub shield: Duration,
    /// A show that nobody used for so long comes to rest here: its feed is not read any more, but
    /// now and then where holds may run out in it: 10 s.
    pub idle: Duration,
}

impl RedisStoreOptions {
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
pub enum RedisStoreOpenError {
    /// The data set belongs to another ledger: two installations share one Redis, or the wrong
    /// database is named.
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
    Redis(#[from] RedisCallError),
}

/// The inventory store in Redis: a cheap handle.
#[derive(Clone)]
pub struct RedisStore {
    inner: Arc<InventoryStoreState>,
}

struct InventoryStoreState {
    redis: Redis,
    options: RedisStoreOptions,
    ledger_id: String,
    /// The data set was found to belong to another ledger while this process ran.
    foreign: AtomicBool,
    shows: RwLock<HashMap<ShowId, Arc<FollowedShow>>>,
    signals: broadcast::Sender<HoldSignal>,
}

impl RedisStore {
    /// Opens the store for the ledger with this id, and follows the shows that are asked for from
    /// then on.
    ///
    /// # Errors
    /// Where the data set belongs to another ledger, or Redis cannot be asked.
    pub async fn open(
        redis: Redis,
        ledger_id: &str,
        options: RedisStoreOptions,
    ) -> Result<Self, RedisStoreOpenError> {
        let stored = belongs_to(&redis, ledger_id).await?;
        if stored != ledger_id {
            return Err(RedisStoreOpenError::OtherLedger {
                stored,
                own: ledger_id.to_owned(),
            });
        }
        let inner = Arc::new(InventoryStoreState {
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
async fn belongs_to(redis: &Redis, ledger_id: &str) -> Result<String, RedisCallError> {
    let set = RedisCommand::new("SET").arg(keys::LEDGER).arg(ledger_id);
    redis.ask(&set.arg("NX")).await?;
    let stored = redis
        .ask(&RedisCommand::new("GET").arg(keys::LEDGER))
        .await?;
    Ok(stored.as_text()?.to_owned())
}

impl InventoryStoreState {
    fn followed_shows(&self) -> Vec<Arc<FollowedShow>> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        shows.values().cloned().collect()
    }

    /// A show that is followed already.
    fn present(&self, show: &ShowId) -> Option<Arc<FollowedShow>> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        shows.get(show).cloned()
    }

    /// A show that somebody uses.
    fn followed(&self, show: &ShowId) -> Arc<FollowedShow> {
        let followed = self.looked_at(show);
        followed.touch();
        followed
    }

    /// A show as those see it who only look after it: it may come to rest all the same.
    fn looked_at(&self, show: &ShowId) -> Arc<FollowedShow> {
        self.present(show).unwrap_or_else(|| {
            let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
            let fresh = || Arc::new(FollowedShow::new(show.clone()));
            Arc::clone(shows.entry(show.clone()).or_insert_with(fresh))
        })
    }

    fn forget(&self, show: &ShowId) {
        let mut shows = self.shows.write().unwrap_or_else(PoisonError::into_inner);
        shows.remove(show);
    }

    /// Finds out whether the data set was taken over by another installation, and marks one that
    /// was emptied.
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
    async fn read_show<T>(&self, show: &ShowId, look: impl FnOnce(&CachedShow) -> T) -> Option<T> {
        let followed = self.looked_at(show);
        // What cannot be reached or is being opened anew answers from its last picture, where there
        // is one, and then nobody waits long for a newer one.
        let at_most = match followed.state().known {
            Some(_) => LOOKED_FOR_MAX,
            None => Duration::MAX,
        };
        let _ = tokio::time::timeout(at_most, self.refresh(&followed)).await;
        let state = followed.state();
        state.known.as_ref().map(look)
    }
}

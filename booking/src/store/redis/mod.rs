//! The inventory store for many processes. Every transition is one script on the show's slot in
//! Redis. Each process reads the feeds of the shows that it serves, and keeps their pictures.
//!
//! Three checks guard against what Redis may do to its data. Every key but one belongs to a
//! **life** (incarnation), and a script that is called for another life refuses. Every script
//! compares the **history of the data**, which names the server, with the history on which the life
//! was written: so a restarted server and a promoted replica refuse. Every script compares the
//! **clock** with its caller's clock. If a check fails, the show is closed and opened again from
//! the ledger.

mod act;
mod cached_show;
mod follow;
mod followed;
mod holding;
mod keys;
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
use cached_show::CachedShow;
use followed::FollowedShow;

/// The number of signals kept for a slow reader; a socket that missed one reads its hold again.
const SIGNALS_MAX: usize = 4_096;
/// The greatest age of a picture that answers a question from memory.
const REFRESH: Duration = Duration::from_millis(100);
/// After how long without use a show comes to rest.
const IDLE: Duration = Duration::from_secs(10);
/// The longest that a caller which only looks waits for a newer picture.
const LOOKED_FOR_MAX: Duration = Duration::from_millis(300);
/// The greatest age of a picture that may refuse cells.
const SHIELD: Duration = Duration::from_secs(1);

/// How the store keeps time, and how long it trusts its memory.
#[derive(Clone)]
pub struct RedisStoreOptions {
    /// The ledger's time.
    pub clock: Clock,
    /// The most that Redis's clock may differ from the ledger's, compared with the difference when
    /// the show was opened: 5 s.
    pub clock_off_ms_max: i64,
    /// How far ahead Redis's clock is taken to be beyond the measured difference: 0. Nothing ends
    /// before both clocks say so, so a clock far ahead lets the ledger's clock decide alone.
    pub assumed_ahead_ms: i64,
    /// A picture younger than this refuses cells that it knows to be taken, without asking Redis: 1
    /// s.
    pub shield: Duration,
    /// After how long without use a show comes to rest here: 10 s. The feed of a show at rest is
    /// read only now and then, and only if holds may run out in it.
    pub idle: Duration,
}

impl RedisStoreOptions {
    /// Returns the product's limits.
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
        /// The id of this process's ledger.
        own: String,
    },
    /// Redis did not carry out or answer a command.
    #[error("Redis cannot be used: {0}")]
    Redis(#[from] RedisCallError),
}

/// The inventory store in Redis: a handle that is cheap to clone.
#[derive(Clone)]
pub struct RedisStore {
    inner: Arc<InventoryStoreState>,
}

struct InventoryStoreState {
    redis: Redis,
    options: RedisStoreOptions,
    ledger_id: String,
    /// Whether the data set was found to belong to another ledger while this process ran.
    foreign: AtomicBool,
    shows: RwLock<HashMap<ShowId, Arc<FollowedShow>>>,
    signals: broadcast::Sender<HoldSignal>,
}

impl RedisStore {
    /// Opens the store for the ledger with this id. From then on the store follows the shows that
    /// are asked for.
    ///
    /// # Errors
    /// Where the data set belongs to another ledger, or Redis does not answer.
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

/// Returns the ledger to which the data set belongs; a data set without a ledger becomes this
/// ledger's.
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

    /// Returns a show that is followed already.
    fn present(&self, show: &ShowId) -> Option<Arc<FollowedShow>> {
        let shows = self.shows.read().unwrap_or_else(PoisonError::into_inner);
        shows.get(show).cloned()
    }

    /// Returns a show for a caller that uses it.
    fn followed(&self, show: &ShowId) -> Arc<FollowedShow> {
        let followed = self.looked_at(show);
        followed.touch();
        followed
    }

    /// Returns a show for a caller that only checks it: the show may still come to rest.
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

    /// Checks whether another installation has taken the data set over, and claims an emptied data
    /// set for this ledger.
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

    /// Reads the picture of a show, brought up to date if possible.
    async fn read_show<T>(&self, show: &ShowId, look: impl FnOnce(&CachedShow) -> T) -> Option<T> {
        let followed = self.looked_at(show);
        // A show that cannot be reached or is being opened again is read from its last picture, if
        // there is one. Then nobody waits long for a newer one.
        let at_most = match followed.state().known {
            Some(_) => LOOKED_FOR_MAX,
            None => Duration::MAX,
        };
        let _ = tokio::time::timeout(at_most, self.refresh(&followed)).await;
        let state = followed.state();
        state.known.as_ref().map(look)
    }
}

//! The inventory store for many processes. Every transition is one script on the show's slot in
//! Redis. Each process reads the feeds of the shows that it serves, and keeps their pictures.
//!
//! Every transition makes three checks, because Redis may lose data or go back to older data. All
//! keys of a show except its meta hash belong to a **life** (incarnation), and a transition in an
//! old life is refused. Redis has an id for the **history of its data** (`master_replid`), and a
//! life stores this id when it begins. A restarted server and a promoted replica have another
//! history, so they refuse the transition. The **clock** of Redis is compared with the caller's
//! clock. If a check fails, the show is closed and opened again from the ledger.

mod act;
mod cached_show;
mod counter;
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

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_model::ids::ShowId;
use fairgate_redis::{CLOCK_OFF_MS_MAX, Redis, RedisCallError, RedisCommand};
use tokio::sync::broadcast;

use super::HoldSignal;
use cached_show::CachedShow;
pub use counter::RedisLedgerCounter;
use followed::FollowedShow;

/// The number of signals that are kept for a slow reader. A socket that missed a signal reads its
/// hold again.
const SIGNALS_MAX: usize = 4_096;
/// The greatest age of a picture that answers a question from memory.
const REFRESH: Duration = Duration::from_millis(100);
/// A show that was not used for this long comes to rest.
const IDLE: Duration = Duration::from_secs(10);
/// How long a caller that only reads waits for a newer picture, if there is an older one.
const NEWER_PICTURE_WAIT_MAX: Duration = Duration::from_millis(300);
/// The greatest age of a picture from which a hold is refused without asking Redis.
const SHIELD: Duration = Duration::from_secs(1);

/// How the store keeps time, and how long it trusts its memory.
#[derive(Clone)]
pub struct RedisStoreOptions {
    /// The ledger's time.
    pub clock: Clock,
    /// How much the difference between Redis's clock and the ledger's clock may change after the
    /// show was opened: 5 s.
    pub clock_off_ms_max: i64,
    /// How many milliseconds are added to the time that Redis's clock shows: 0, except in tests. A
    /// hold ends only when its deadline has passed by both clocks. With a large value, the ledger's
    /// clock alone therefore decides.
    pub assumed_ahead_ms: i64,
    /// While the known picture is younger than this, a hold is refused without asking Redis if the
    /// picture shows that one of its cells is not free: 1 s.
    pub shield: Duration,
    /// A show that was not used here for this long comes to rest: 10 s. The feed of a show at rest
    /// is read every 2 s if the show has holds, and when the known picture lacks a reported change.
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
    /// This Redis belongs to another ledger. Either two installations share one Redis, or a setting
    /// names the wrong database.
    #[error(
        "this Redis belongs to another ledger ({stored}, and this one is {own}). Nothing was changed. Set FAIRGATE_DATABASE_URL to the database of that ledger, or FAIRGATE_REDIS_URL to another Redis."
    )]
    OtherLedger {
        /// The id in Redis.
        stored: String,
        /// The id of this process's ledger.
        own: String,
    },
    /// Redis refused a command or did not answer.
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
    /// Whether this Redis was found to belong to another ledger while this process ran.
    foreign: AtomicBool,
    shows: RwLock<HashMap<ShowId, Arc<FollowedShow>>>,
    signals: broadcast::Sender<HoldSignal>,
}

impl RedisStore {
    /// Opens the store for the ledger with this id. From then on the store follows every show that
    /// a caller names.
    ///
    /// # Errors
    /// Fails if this Redis belongs to another ledger, or if it does not answer.
    pub async fn open(
        redis: Redis,
        ledger_id: &str,
        options: RedisStoreOptions,
    ) -> Result<Self, RedisStoreOpenError> {
        let stored = read_or_write_ledger_id(&redis, ledger_id).await?;
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
        tokio::spawn(follow::follow_shows(Arc::downgrade(&inner)));
        Ok(Self { inner })
    }
}

/// Returns the id of the ledger that this Redis belongs to. If Redis has no ledger id yet, first
/// writes the id of this ledger.
async fn read_or_write_ledger_id(redis: &Redis, ledger_id: &str) -> Result<String, RedisCallError> {
    let set = RedisCommand::new("SET").arg(keys::LEDGER).arg(ledger_id);
    redis.ask(&set.arg("NX")).await?;
    let stored = redis
        .ask(&RedisCommand::new("GET").arg(keys::LEDGER))
        .await?;
    Ok(stored.as_text()?.to_owned())
}

impl InventoryStoreState {
    fn followed_shows(&self) -> Vec<Arc<FollowedShow>> {
        let shows = self.shows.read();
        shows.values().cloned().collect()
    }

    /// Returns a show that is followed already.
    fn find_followed(&self, show: &ShowId) -> Option<Arc<FollowedShow>> {
        let shows = self.shows.read();
        shows.get(show).cloned()
    }

    /// Returns whether a show is open and was used in this process lately.
    fn is_in_use(&self, followed: &FollowedShow) -> bool {
        followed.life().is_some() && followed.idle_time() < self.options.idle
    }

    /// Returns a show, and notes that it is used. Begins to follow the show if necessary.
    fn followed(&self, show: &ShowId) -> Arc<FollowedShow> {
        let followed = self.followed_without_use(show);
        followed.touch();
        followed
    }

    /// Returns a show without noting that it is used. Begins to follow the show if necessary.
    fn followed_without_use(&self, show: &ShowId) -> Arc<FollowedShow> {
        self.find_followed(show).unwrap_or_else(|| {
            let mut shows = self.shows.write();
            let fresh = || Arc::new(FollowedShow::new(show.clone()));
            Arc::clone(shows.entry(show.clone()).or_insert_with(fresh))
        })
    }

    fn forget(&self, show: &ShowId) {
        let mut shows = self.shows.write();
        shows.remove(show);
    }

    /// Checks whether this Redis now belongs to another ledger. If Redis was emptied, writes this
    /// ledger's id into it.
    async fn check_ledger(&self) {
        if let Ok(stored) = read_or_write_ledger_id(&self.redis, &self.ledger_id).await {
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

    /// Reads the known picture of a show, after bringing it up to date if possible.
    async fn read_show<T>(&self, show: &ShowId, look: impl FnOnce(&CachedShow) -> T) -> Option<T> {
        let followed = self.followed_without_use(show);
        // If Redis does not answer or the show is being opened again, the last picture is read. If
        // there is a picture, the caller therefore waits only for a short time.
        let at_most = match followed.state().known {
            Some(_) => NEWER_PICTURE_WAIT_MAX,
            None => Duration::MAX,
        };
        let _ = tokio::time::timeout(at_most, self.refresh(&followed)).await;
        let state = followed.state();
        state.known.as_ref().map(look)
    }
}

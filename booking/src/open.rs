//! Opens booking over the stores that the settings name. This module chooses the ledger's database
//! and the implementation of [`InventoryStore`]. A gateway that hosts booking also uses this
//! module.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::{Clock, follow_clock};
use fairgate_base::config::{SecretSetting, StoreSettings};
use fairgate_base::log_failed_try;
use fairgate_base::process::data::{self, DataLock, DataLockError};
use fairgate_base::process::leases::{ProcessLeases, ProcessRefusal, ProcessStoreKind};
use fairgate_base::secret::SecretError;
use fairgate_databases::{DatabaseOpenError, Installation, PostgresDatabase, SqliteDatabase};
use fairgate_redis::{Redis, RedisStartError};

use crate::app::{Booking, BookingSetup};
use crate::backup::restore;
use crate::door::signing::SigningKeyError;
use crate::ledger::{LEDGER_FILE, Ledger, LedgerError};
use crate::set_back::keeper::CounterKeeper;
use crate::set_back::start::{CounterAtStart, CounterStartError};
use crate::store::memory::MemoryStore;
use crate::store::redis::{RedisLedgerCounter, RedisStore, RedisStoreOpenError, RedisStoreOptions};

/// How long closing the ledger may take. Without a limit, a disk that does not answer would keep
/// the process running.
const CLOSING_MAX: Duration = Duration::from_secs(30);

/// Why booking was not opened.
#[derive(Debug, thiserror::Error)]
pub enum BookingOpenError {
    /// The data folder cannot be locked.
    #[error(transparent)]
    Data(#[from] DataLockError),
    /// The database cannot be used.
    #[error("FAIRGATE_DATABASE_URL: {0}")]
    Database(#[from] DatabaseOpenError),
    /// The ledger's file cannot be used.
    #[error(
        "FAIRGATE_DATA (--data): the ledger {} cannot be used: {error}; restore it from a backup, or name another folder", .file.display()
    )]
    File {
        /// The file.
        file: PathBuf,
        /// The database's error.
        error: LedgerError,
    },
    /// A backup was not restored to its end, so there is no ledger yet.
    #[error("{} was left by a restore that did not end, so there is no ledger here. Nothing was changed. Run `gateway restore FILE --data DIR` again", .0.display())]
    Unfinished(PathBuf),
    /// The counter outside the ledger cannot be used, or does not fit the ledger.
    #[error(transparent)]
    Counter(#[from] CounterStartError),
    /// The ledger cannot be opened.
    #[error("the ledger cannot be used: {0}")]
    Ledger(#[from] LedgerError),
    /// The installation's secret is missing or wrong.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// There is no usable signing key.
    #[error("there is no key to sign with: {0}")]
    Keys(#[from] SigningKeyError),
    /// Another process uses the database, and this process must not run at the same time.
    #[error(transparent)]
    Company(#[from] ProcessRefusal),
    /// The address of Redis cannot be used.
    #[error("FAIRGATE_REDIS_URL: {0}; write it as redis://user:password@host:port")]
    Redis(#[from] fairgate_redis::RedisCallError),
    /// Redis cannot be used.
    #[error("FAIRGATE_REDIS_URL: {0}")]
    RedisStart(#[from] RedisStartError),
    /// The store in Redis cannot be opened.
    #[error("FAIRGATE_REDIS_URL: {0}")]
    Store(#[from] RedisStoreOpenError),
}

/// Opens the database that the settings name: PostgreSQL or, if none is named, the file in the data
/// folder. For a file, also locks the data folder: no other process can use it until the returned
/// lock is dropped.
///
/// # Errors
/// [`BookingOpenError`].
pub async fn open_installation(
    stores: &StoreSettings,
    data: &Path,
) -> Result<(Installation, Option<DataLock>), BookingOpenError> {
    if let Some(url) = &stores.database_url {
        let database = PostgresDatabase::open(&url.0).await?;
        let installation = Installation::Server(database);
        if let Some(file) = stores.counter_file.as_deref() {
            let counter = CounterAtStart::read(Some(file), data)?;
            counter.compare(&installation).await?;
        }
        return Ok((installation, None));
    }
    let lock = data::lock_data_folder(data)?;
    let file = data.join(LEDGER_FILE);
    let unfinished = restore::unfinished(data);
    if unfinished.exists() && !file.exists() {
        return Err(BookingOpenError::Unfinished(unfinished));
    }
    let counter = CounterAtStart::read(stores.counter_file.as_deref(), data)?;
    counter.require_ledger(&file)?;
    let opened = SqliteDatabase::open(&file);
    let writer = opened.map_err(|error| BookingOpenError::File { file, error })?;
    let installation = Installation::File(writer);
    counter.compare(&installation).await?;
    // The lock shows that the process that held these leases has ended. If the file takes no write
    // now, the leases run out by themselves.
    if let Err(error) = installation.end_all_leases().await {
        log_failed_try!(error, "the leases of an ended process were not ended");
    }
    Ok((installation, Some(lock)))
}

/// Opens the database that the settings name for one command, while other processes may be using
/// it. Makes and changes no tables, and does not lock the data folder.
///
/// # Errors
/// [`BookingOpenError`].
pub async fn open_beside(
    stores: &StoreSettings,
    data: &Path,
) -> Result<Installation, BookingOpenError> {
    if let Some(url) = &stores.database_url {
        let database = PostgresDatabase::open_beside(&url.0).await?;
        return Ok(Installation::Server(database));
    }
    let file = data.join(LEDGER_FILE);
    let opened = SqliteDatabase::open_beside(&file);
    let writer = opened.map_err(|error| BookingOpenError::File { file, error })?;
    Ok(Installation::File(writer))
}

/// Opens the ledger in an installation's database, and brings its tables up to date.
///
/// # Errors
/// Returns an error if the tables cannot be brought up to date.
pub async fn open_ledger(installation: &Installation) -> Result<Ledger, BookingOpenError> {
    Ok(Ledger::open(installation.clone()).await?)
}

/// Opens booking over an installation's database. The inventory store is in Redis if `redis_url` is
/// given, and otherwise in this process's memory.
///
/// # Errors
/// [`BookingOpenError`].
pub async fn booking(
    installation: &Installation,
    redis_url: Option<&SecretSetting>,
    setup: BookingSetup,
) -> Result<Booking, BookingOpenError> {
    let ledger = open_ledger(installation).await?;
    let Some(url) = redis_url else {
        let store = Arc::new(MemoryStore::default());
        return Ok(Booking::with_store(store, ledger, setup).await?);
    };
    let id = hex::encode(ledger.id().await?);
    let options = RedisStoreOptions::new(setup.clock.clone());
    let redis = open_redis(url).await?;
    let store = Arc::new(RedisStore::open(redis.clone(), &id, options).await?);
    let keeper = CounterKeeper {
        ledger: ledger.clone(),
        redis: Some(RedisLedgerCounter::new(redis)),
    };
    // Shows are closed before anything is sold.
    keeper.compare_and_raise().await?;
    let booking = Booking::with_store(store, ledger, setup).await?;
    Ok(booking.with_counter_keeper(keeper))
}

/// Opens the Redis at this address, and checks that it can be used.
///
/// # Errors
/// [`BookingOpenError`].
pub async fn open_redis(url: &SecretSetting) -> Result<Redis, BookingOpenError> {
    let redis = Redis::connect(&url.0)?;
    redis.check_at_start().await?;
    Ok(redis)
}

/// Returns the clock of an installation. If several processes may share the database, the clock
/// follows the database's clock for as long as this process runs.
///
/// # Errors
/// Returns an error if the database does not answer.
pub async fn installation_clock(installation: &Installation) -> Result<Clock, LedgerError> {
    if matches!(installation, Installation::File(_)) {
        return Ok(Clock::system());
    }
    let clock = Clock::following(installation.now_ms().await?);
    let installation = installation.clone();
    let ask = move || {
        let installation = installation.clone();
        async move { installation.now_ms().await }
    };
    tokio::spawn(follow_clock(clock.clone(), ask));
    Ok(clock)
}

/// Acquires the leases that a process needs to share a database with other processes. `stores`
/// lists the stores of this process, each with a flag: whether the store is in Redis, where other
/// processes share it. A ledger file needs no leases, because only one process uses its folder.
///
/// # Errors
/// [`BookingOpenError`].
pub async fn process_leases(
    installation: &Installation,
    stores: &[(ProcessStoreKind, bool)],
) -> Result<Option<ProcessLeases>, BookingOpenError> {
    match installation {
        Installation::File(_) => Ok(None),
        Installation::Server(database) => {
            Ok(Some(ProcessLeases::acquire_all(database, stores).await?))
        }
    }
}

/// Erases what an earlier version stored plain and this one has sealed, if anything is left. It is
/// called when all parts are open, because each of them seals its own values.
pub async fn erase_plain_values(installation: &Installation) {
    match installation.erase_plain_values().await {
        Ok(false) => {}
        Ok(true) => tracing::warn!(
            "the keys in the ledger are sealed now; an earlier version stored them plain, so earlier backups still show them: delete these, and run `gateway keys rotate`"
        ),
        Err(error) => tracing::warn!(
            %error,
            "the keys in the ledger are sealed now, but their plain form may be left in the file; the next start tries again to erase it"
        ),
    }
}

/// Closes the database. This is the last step of a process. A closed ledger file is complete
/// without its `-wal` file.
pub async fn close_installation(installation: &Installation) {
    match tokio::time::timeout(CLOSING_MAX, installation.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(%error, "the ledger was not closed; it is whole together with the -wal file beside it");
        }
        Err(_) => tracing::warn!(
            "the ledger did not close in time; it is whole together with the -wal file beside it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_ends_with_the_only_process_that_uses_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let lease = async |owner| {
            let stores = StoreSettings::default();
            let opened = open_installation(&stores, folder.path()).await;
            let (installation, lock) = opened.expect("nobody else has the folder");
            let taken = installation.lease("rooms", owner, 60_000).await;
            close_installation(&installation).await;
            drop(lock);
            taken.expect("the file takes writes")
        };
        assert!(lease("one").await, "nobody has the lease");
        assert!(lease("another").await, "its owner has ended");
    }
}

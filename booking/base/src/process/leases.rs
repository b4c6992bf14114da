//! Checks which other processes work on this database. Rooms or seats in a process's own memory are
//! correct only if no other process works on them. A process without Redis must therefore be alone.
//! Several processes must share their rooms or seats through Redis. A lease in the ledger enforces
//! this. A process that must be alone takes the lease under its own name. Processes that share take
//! it under a common name.

use std::time::{Duration, Instant};

use fairgate_databases::{Installation, LedgerError, PostgresDatabase};
use rand::RngExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a lease lasts without renewal, in milliseconds. A process that was killed therefore
/// keeps other processes away for at most this time.
const TTL_MS: i64 = 6_000;
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// How long a starting process waits for a lease. It is longer than a lease lasts, so that the
/// lease of a process that was just killed runs out meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(8);
const ASK_AGAIN_EVERY: Duration = Duration::from_millis(250);
/// The owner's name under which all processes that share take the lease.
const SHARED: &str = "shared through Redis";

/// The kinds of state that a process keeps in a store. The store is shared, or the process's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStoreKind {
    /// The lines of the rooms, which a gateway keeps.
    Rooms,
    /// The holds of seats, which a process with booking keeps.
    Seats,
}

impl ProcessStoreKind {
    fn lease_name(self) -> &'static str {
        match self {
            Self::Rooms => "keeps rooms",
            Self::Seats => "keeps seats",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rooms => "rooms",
            Self::Seats => "seats",
        }
    }
}

/// Why a process may not work on this database.
#[derive(Debug, thiserror::Error)]
pub enum ProcessRefusal {
    /// This process does not share its store, and another process works on the database.
    #[error(
        "another process works on this database, and this one keeps its {} in its own memory, so neither would see what the other does. Nothing was started. Set FAIRGATE_REDIS_URL at both, or stop the other one",
        .0.name()
    )]
    NotAlone(ProcessStoreKind),
    /// This process shares its store, and another process that does not share works on the
    /// database.
    #[error(
        "another process works on this database and keeps its {} in its own memory, so it would not see what this one does. Nothing was started. Set FAIRGATE_REDIS_URL there too and start it again, or stop it",
        .0.name()
    )]
    OtherAlone(ProcessStoreKind),
    /// The database did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The leases under which this process works on the database. They are renewed until this value is
/// dropped.
pub struct ProcessLeases {
    installation: Installation,
    leases: Vec<StoreLease>,
    renewing: JoinHandle<()>,
    lost: watch::Receiver<Option<ProcessStoreKind>>,
}

/// One lease of this process.
#[derive(Debug, Clone)]
struct StoreLease {
    store: ProcessStoreKind,
    owner: String,
    shared: bool,
}

impl ProcessLeases {
    /// Takes a lease for each store that this process keeps. The flag in `stores` is true if the
    /// store is shared. Other processes can take the lease of a shared store, too.
    ///
    /// # Errors
    /// [`ProcessRefusal`] if the database does not answer, or another process still has a lease
    /// after the time in which the lease of a killed process runs out.
    pub async fn acquire_all(
        database: &PostgresDatabase,
        stores: &[(ProcessStoreKind, bool)],
    ) -> Result<Self, ProcessRefusal> {
        Self::acquire_all_within(database, stores, WAIT_MAX).await
    }

    async fn acquire_all_within(
        database: &PostgresDatabase,
        stores: &[(ProcessStoreKind, bool)],
        wait_max: Duration,
    ) -> Result<Self, ProcessRefusal> {
        let installation = Installation::Server(database.clone());
        let mut leases = Vec::new();
        for (store, shared) in stores.iter().copied() {
            leases.push(acquire_lease(&installation, store, shared, wait_max).await?);
        }
        let (lost_sender, lost) = watch::channel(None);
        let renewing = tokio::spawn(renew_leases(
            installation.clone(),
            leases.clone(),
            lost_sender,
        ));
        Ok(Self {
            installation,
            leases,
            renewing,
            lost,
        })
    }

    /// Returns once another process has taken one of the leases. This happens if this process stood
    /// still for so long that its lease ran out and another process took it. This process must then
    /// end.
    pub async fn wait_until_lost(&self) {
        let mut lost = self.lost.clone();
        let taken = lost.wait_for(Option::is_some).await.map(|keeps| *keeps);
        let Ok(keeps) = taken else {
            // Nobody renews the leases any more, because they are being released.
            return std::future::pending().await;
        };
        let keeps = keeps.map_or("", ProcessStoreKind::name);
        tracing::error!(
            keeps,
            "another process has taken this one's place on the database"
        );
    }

    /// Releases the leases that are not shared, so that the next process need not wait.
    pub async fn release_all(self) {
        self.renewing.abort();
        // A shared lease is still needed by the other processes.
        for held in self.leases.iter().filter(|lease| !lease.shared) {
            let lease = held.store.lease_name();
            if let Err(error) = self.installation.release_lease(lease, &held.owner).await {
                tracing::debug!(%error, "the lease could not be ended; it runs out by itself");
            }
        }
    }
}

impl Drop for ProcessLeases {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

async fn acquire_lease(
    installation: &Installation,
    store: ProcessStoreKind,
    shared: bool,
    wait_max: Duration,
) -> Result<StoreLease, ProcessRefusal> {
    let owner = if shared {
        SHARED.to_owned()
    } else {
        format!("alone-{:032x}", rand::rng().random::<u128>())
    };
    let started = Instant::now();
    while !installation
        .lease(store.lease_name(), &owner, TTL_MS)
        .await?
    {
        if started.elapsed() >= wait_max {
            return Err(if shared {
                ProcessRefusal::OtherAlone(store)
            } else {
                ProcessRefusal::NotAlone(store)
            });
        }
        tokio::time::sleep(ASK_AGAIN_EVERY).await;
    }
    Ok(StoreLease {
        store,
        owner,
        shared,
    })
}

/// Renews the leases until another process has one of them. A database that does not answer is
/// asked again at the next renewal, because a missing answer does not mean that a lease is lost.
async fn renew_leases(
    installation: Installation,
    leases: Vec<StoreLease>,
    lost: watch::Sender<Option<ProcessStoreKind>>,
) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        for StoreLease { store, owner, .. } in &leases {
            match installation.lease(store.lease_name(), owner, TTL_MS).await {
                Ok(true) => {}
                Ok(false) => {
                    lost.send_replace(Some(*store));
                    return;
                }
                Err(error) => tracing::debug!(%error, "a lease could not be renewed; trying again"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairgate_servers::{PostgresServer, must_skip};

    #[tokio::test(flavor = "multi_thread")]
    async fn one_process_is_alone_or_all_of_them_share() {
        if must_skip("who works on one database") {
            return;
        }
        let server = PostgresServer::options().without_fsync().start().await;
        let server = server.expect("a server");
        let database = PostgresDatabase::connect(&server.url())
            .await
            .expect("it connects");
        let enter = async |shared| {
            ProcessLeases::acquire_all_within(
                &database,
                &[(ProcessStoreKind::Rooms, shared)],
                Duration::ZERO,
            )
            .await
        };

        let alone = enter(false).await.expect("no other process has a lease");
        let (second, sharing) = tokio::join!(enter(false), enter(true));
        assert!(matches!(second, Err(ProcessRefusal::NotAlone(_))));
        assert!(matches!(sharing, Err(ProcessRefusal::OtherAlone(_))));
        let seats =
            ProcessLeases::acquire_all(&database, &[(ProcessStoreKind::Seats, false)]).await;
        assert!(seats.is_ok(), "rooms and seats have different leases");

        alone.release_all().await;
        let shared = enter(true).await.expect("the first has left");
        assert!(enter(true).await.is_ok(), "several processes may share");
        assert!(matches!(
            enter(false).await,
            Err(ProcessRefusal::NotAlone(_))
        ));
        drop(shared);

        // Now another process has the lease, as happens if this process stands still for too long.
        let taken = enter(true).await.expect("the lease is shared");
        let sql = "UPDATE leases SET owner = 'another', until = until + 60000";
        server.query(sql).await.expect("it is written");
        tokio::time::timeout(Duration::from_secs(20), taken.wait_until_lost())
            .await
            .expect("the process notices the loss in time");
    }
}

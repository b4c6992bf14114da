//! Checks which other processes work on this database. Rooms or seats in a process's own memory are
//! correct only if no other process works on them. A process without Redis must therefore be alone.
//! Several processes must share their rooms or seats through Redis. A lease in the ledger enforces
//! this. A process that must be alone takes the lease under its own name. Processes that share take
//! it under a common name.

use std::time::{Duration, Instant};

use fairgate_databases::{Installation, LedgerError, PostgresDatabase};
use rand::RngExt;
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
/// dropped. Without them, the database takes no write of this process.
pub struct ProcessLeases {
    database: PostgresDatabase,
    leases: Vec<StoreLease>,
    renewing: JoinHandle<()>,
}

/// One lease of this process.
#[derive(Debug, Clone)]
struct StoreLease {
    store: ProcessStoreKind,
    owner: String,
    shared: bool,
}

impl StoreLease {
    fn name_and_owner(&self) -> (&str, &str) {
        (self.store.lease_name(), &self.owner)
    }
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
        let required: Vec<(&str, &str)> = leases.iter().map(StoreLease::name_and_owner).collect();
        database.require_leases(&required);
        let renewing = tokio::spawn(renew_leases(installation, leases.clone()));
        Ok(Self {
            database: database.clone(),
            leases,
            renewing,
        })
    }

    /// Returns once another process has taken one of the leases. This happens if this process stood
    /// still for so long that its lease ran out and another process took it. From then on the
    /// database takes no write of this process, and this process must end.
    pub async fn wait_until_lost(&self) {
        self.database.wait_until_leases_lost().await;
        tracing::error!("another process has taken this one's place on the database");
    }

    /// Releases the leases that are not shared, so that the next process need not wait.
    pub async fn release_all(self) {
        self.renewing.abort();
        // A shared lease is still needed by the other processes.
        let own = self.leases.iter().filter(|lease| !lease.shared);
        let own: Vec<(String, String)> = own
            .map(StoreLease::name_and_owner)
            .map(|(name, owner)| (name.to_owned(), owner.to_owned()))
            .collect();
        if own.is_empty() {
            return;
        }
        let installation = Installation::Server(self.database.clone());
        if let Err(error) = installation.release_leases(own).await {
            tracing::debug!(%error, "the leases could not be ended; they run out by themselves");
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
        .take_over_lease(store.lease_name(), &owner, TTL_MS)
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

/// Renews the leases for ever. A database that does not answer is asked again at the next renewal,
/// because a missing answer does not mean that a lease is lost. If one is lost, the database says
/// so to every write, also to this one.
async fn renew_leases(installation: Installation, leases: Vec<StoreLease>) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        for (name, owner) in leases.iter().map(StoreLease::name_and_owner) {
            if let Err(error) = installation.lease(name, owner, TTL_MS).await {
                tracing::debug!(%error, "a lease could not be renewed; trying again");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use fairgate_servers::{PostgresServer, must_skip};
    use tokio::sync::Notify;

    async fn connected(server: &PostgresServer) -> PostgresDatabase {
        let connected = PostgresDatabase::connect(&server.url()).await;
        connected.expect("it connects")
    }

    async fn started() -> PostgresServer {
        let server = PostgresServer::options().without_fsync().start().await;
        let server = server.expect("a server");
        drop(connected(&server).await);
        server
    }

    /// Takes the lease of the rooms, in a process of its own.
    async fn enter(server: &PostgresServer, shared: bool) -> Result<ProcessLeases, ProcessRefusal> {
        let stores = [(ProcessStoreKind::Rooms, shared)];
        let database = connected(server).await;
        ProcessLeases::acquire_all_within(&database, &stores, Duration::ZERO).await
    }

    /// Lets all leases run out, as happens if their owners stand still for too long.
    async fn run_out(server: &PostgresServer) {
        let done = server.query("UPDATE leases SET until = 0").await;
        done.expect("it is written");
    }

    /// Writes a value, as a process does.
    async fn write(leases: &ProcessLeases) -> Result<Vec<u8>, LedgerError> {
        let installation = Installation::Server(leases.database.clone());
        installation.value("of a test", vec![1]).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_process_is_alone_or_all_of_them_share() {
        if must_skip("who works on one database") {
            return;
        }
        let server = started().await;
        let alone = enter(&server, false).await;
        let alone = alone.expect("no other process has a lease");
        let (second, sharing) = tokio::join!(enter(&server, false), enter(&server, true));
        assert!(matches!(second, Err(ProcessRefusal::NotAlone(_))));
        assert!(matches!(sharing, Err(ProcessRefusal::OtherAlone(_))));
        let seats = [(ProcessStoreKind::Seats, false)];
        let seats = ProcessLeases::acquire_all(&connected(&server).await, &seats).await;
        assert!(seats.is_ok(), "rooms and seats have different leases");

        alone.release_all().await;
        let shared = enter(&server, true).await.expect("the first has left");
        assert!(enter(&server, true).await.is_ok(), "several may share");
        let third = enter(&server, false).await;
        assert!(matches!(third, Err(ProcessRefusal::NotAlone(_))));
        write(&shared).await.expect("it has its lease");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_process_that_lost_its_lease_writes_nothing_and_notices_it() {
        if must_skip("a process that lost its lease") {
            return;
        }
        for shared in [false, true] {
            let server = started().await;
            let old = enter(&server, shared).await.expect("nobody has a lease");
            run_out(&server).await;
            write(&old).await.expect("nobody has taken its place");
            run_out(&server).await;
            let new = enter(&server, !shared).await;
            let new = new.expect("the lease has run out");
            let refused = write(&old).await.expect_err("its place is taken");
            assert!(refused.to_string().contains("another process"), "{refused}");
            tokio::time::timeout(Duration::from_secs(20), old.wait_until_lost())
                .await
                .expect("the process notices the loss in time");
            write(&new).await.expect("it has its lease");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_lease_changes_hands_only_while_no_transaction_of_its_owner_is_running() {
        if must_skip("a lease that is taken while its owner writes") {
            return;
        }
        let server = started().await;
        let old = enter(&server, false).await.expect("nobody has a lease");
        let [begun, finish] = [(); 2].map(|()| Arc::new(Notify::new()));
        let installation = Installation::Server(old.database.clone());
        let steps = (Arc::clone(&begun), Arc::clone(&finish));
        let writing = tokio::spawn(async move {
            let written = installation.write(steps, |tx, (begun, finish)| {
                Box::pin(async move {
                    begun.notify_one();
                    finish.notified().await;
                    let sql = "INSERT INTO installation (name, value) VALUES ('slow', '')";
                    tx.execute(sql, &[]).await
                })
            });
            written.await
        });
        begun.notified().await;
        run_out(&server).await;
        let early = enter(&server, false).await;
        assert!(matches!(early, Err(ProcessRefusal::NotAlone(_))));
        finish.notify_one();
        let written = writing.await.expect("no panic");
        assert_eq!(written.expect("it had its lease"), 1);
        run_out(&server).await;
        let new = enter(&server, false).await;
        let _new = new.expect("the lease has run out");
        write(&old).await.expect_err("its place is taken");
    }
}

//! Who else works on this database. Rooms or seats in a process's own memory are right for one
//! process only, so a process without Redis must be alone, and the others must all share theirs
//! through it. A lease in the ledger says which of the two holds: taken by one process as itself,
//! or by all that share as one.

use std::time::{Duration, Instant};

use fairgate_databases::{Database, Installation, LedgerError};
use rand::RngExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A process that was killed is forgotten after so long.
const TTL_MS: i64 = 6_000;
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// Whoever starts right after a process was killed waits for that.
const WAIT_MAX: Duration = Duration::from_secs(8);
const AGAIN: Duration = Duration::from_millis(250);
/// What all that share take the lease as.
const SHARED: &str = "shared through Redis";

/// What a process keeps, and shares or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// The lines of the rooms: a gateway.
    Rooms,
    /// Who holds which seat: whoever hosts booking.
    Seats,
}

impl Keeps {
    fn lease(self) -> &'static str {
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
pub enum Refused {
    /// It is alone, and another one is there.
    #[error(
        "another process works on this database, and this one keeps its {} in its own memory, so neither would see what the other does. Nothing was started. Set FAIRGATE_REDIS_URL at both, or stop the other one",
        .0.name()
    )]
    NotAlone(Keeps),
    /// It shares, and one that does not is there.
    #[error(
        "another process works on this database and keeps its {} in its own memory, so it would not see what this one does. Nothing was started. Set FAIRGATE_REDIS_URL there too and start it again, or stop it",
        .0.name()
    )]
    OtherAlone(Keeps),
    /// The database did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// This process's leave to work on the database, kept for as long as this lives.
pub struct Company {
    installation: Installation,
    places: Vec<Place>,
    renewing: JoinHandle<()>,
    lost: watch::Receiver<Option<Keeps>>,
}

/// One lease that this process works under.
#[derive(Debug, Clone)]
struct Place {
    keeps: Keeps,
    owner: String,
    shared: bool,
}

impl Company {
    /// Takes a lease for each thing this process keeps: alone, or (where its store is `shared`)
    /// together with others.
    ///
    /// # Errors
    /// [`Refused`], after waiting for a process that may have been killed just now.
    pub async fn enter(database: &Database, keeps: &[(Keeps, bool)]) -> Result<Self, Refused> {
        Self::enter_within(database, keeps, WAIT_MAX).await
    }

    async fn enter_within(
        database: &Database,
        keeps: &[(Keeps, bool)],
        wait_max: Duration,
    ) -> Result<Self, Refused> {
        let installation = Installation::Server(database.clone());
        let mut places = Vec::new();
        for (keeps, shared) in keeps.iter().copied() {
            places.push(take(&installation, keeps, shared, wait_max).await?);
        }
        let (tell, lost) = watch::channel(None);
        let renewing = tokio::spawn(renew(installation.clone(), places.clone(), tell));
        Ok(Self {
            installation,
            places,
            renewing,
            lost,
        })
    }

    /// Answers when a lease is somebody else's: this process stood still for so long that another
    /// one took its place, and must end.
    pub async fn lost(&self) {
        let mut lost = self.lost.clone();
        let taken = lost.wait_for(Option::is_some).await.map(|keeps| *keeps);
        let Ok(keeps) = taken else {
            // Nobody renews any more because this is being given up.
            return std::future::pending().await;
        };
        let keeps = keeps.map_or("", Keeps::name);
        tracing::error!(
            keeps,
            "another process has taken this one's place on the database"
        );
    }

    /// Gives the places up, so that the next process need not wait.
    pub async fn leave(self) {
        self.renewing.abort();
        // What others share goes on being theirs.
        for place in self.places.iter().filter(|place| !place.shared) {
            let lease = place.keeps.lease();
            if let Err(error) = self.installation.let_go(lease, &place.owner).await {
                tracing::debug!(%error, "the lease runs out by itself");
            }
        }
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

async fn take(
    installation: &Installation,
    keeps: Keeps,
    shared: bool,
    wait_max: Duration,
) -> Result<Place, Refused> {
    let owner = if shared {
        SHARED.to_owned()
    } else {
        format!("alone-{:032x}", rand::rng().random::<u128>())
    };
    let asked = Instant::now();
    while !installation.lease(keeps.lease(), &owner, TTL_MS).await? {
        if asked.elapsed() >= wait_max {
            return Err(if shared {
                Refused::OtherAlone(keeps)
            } else {
                Refused::NotAlone(keeps)
            });
        }
        tokio::time::sleep(AGAIN).await;
    }
    Ok(Place {
        keeps,
        owner,
        shared,
    })
}

/// Renews until somebody else has a lease. A database that does not answer has not given it to
/// anybody.
async fn renew(installation: Installation, places: Vec<Place>, lost: watch::Sender<Option<Keeps>>) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        for Place { keeps, owner, .. } in &places {
            match installation.lease(keeps.lease(), owner, TTL_MS).await {
                Ok(true) => {}
                Ok(false) => {
                    lost.send_replace(Some(*keeps));
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
    use fairgate_servers::{Postgres, or_skip};

    #[tokio::test(flavor = "multi_thread")]
    async fn one_process_is_alone_or_all_of_them_share() {
        if or_skip("who works on one database") {
            return;
        }
        let server = Postgres::options().without_fsync().start().await;
        let server = server.expect("a server");
        let database = Database::connect(&server.url()).await.expect("it connects");
        let enter = async |shared| {
            Company::enter_within(&database, &[(Keeps::Rooms, shared)], Duration::ZERO).await
        };

        let alone = enter(false).await.expect("nobody is there");
        let (second, sharing) = tokio::join!(enter(false), enter(true));
        assert!(matches!(second, Err(Refused::NotAlone(_))));
        assert!(matches!(sharing, Err(Refused::OtherAlone(_))));
        let seats = Company::enter(&database, &[(Keeps::Seats, false)]).await;
        assert!(seats.is_ok(), "rooms and seats are kept apart");

        alone.leave().await;
        let shared = enter(true).await.expect("the first has left");
        assert!(enter(true).await.is_ok(), "all that share may");
        assert!(matches!(enter(false).await, Err(Refused::NotAlone(_))));
        drop(shared);

        // Somebody else took the place while this process stood still.
        let taken = enter(true).await.expect("the place is theirs");
        let sql = "UPDATE leases SET owner = 'another', until = until + 60000";
        server.query(sql).await.expect("it is written");
        tokio::time::timeout(Duration::from_secs(20), taken.lost())
            .await
            .expect("it hears of it");
    }
}

//! The data of the whole installation, which belongs to no single crate: the ledger's id, values
//! that are made once, and named leases. Also tells the time, and whether the database takes
//! writes.

use super::Installation;
use crate::own_tables::WRITERS_LOCK;
use crate::sql::now_ms;
use crate::write_check::LastWriteCheck;
use crate::{LedgerError, SqlTransaction};

/// Takes or renews a lease. The same statement compares the lease's end with the database's clock
/// and sets the new end. If the lease was taken by a clock that was more than a second ahead, it
/// stays with its owner, and ends after the time for which it was taken, counted from now.
const TAKE_LEASE: &str = concat!(
    "INSERT INTO leases AS l (name, owner, until, taken_at) VALUES ($1, $2, ",
    now_ms!(),
    " + $3, ",
    now_ms!(),
    ") ON CONFLICT (name) DO UPDATE SET \
     owner = CASE WHEN l.owner = excluded.owner OR l.until <= ",
    now_ms!(),
    " THEN excluded.owner ELSE l.owner END, \
     until = CASE WHEN l.owner = excluded.owner OR l.until <= ",
    now_ms!(),
    " THEN excluded.until ELSE excluded.taken_at + l.until - l.taken_at END, \
     taken_at = excluded.taken_at WHERE l.owner = excluded.owner OR l.until <= ",
    now_ms!(),
    " OR l.taken_at > ",
    now_ms!(),
    " + 1000 RETURNING owner"
);

/// The name of a lease that is written only to find out whether the database takes writes. It
/// protects nothing.
const PROBE: &str = "condition";

impl Installation {
    /// Returns the ledger's id: 32 random bytes, made on the ledger's first start.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn ledger_id(&self) -> Result<[u8; 32], LedgerError> {
        self.read((), |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT value FROM installation WHERE name = 'ledger_id'";
                tx.query_one(sql, &[]).await?.get(0)
            })
        })
        .await
    }

    /// Returns the value that is stored under `name`. If there is none, stores and returns `fresh`.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn value(&self, name: &'static str, fresh: Vec<u8>) -> Result<Vec<u8>, LedgerError> {
        self.write(fresh, move |tx, fresh| {
            Box::pin(async move {
                let sql = "INSERT INTO installation (name, value) VALUES ($1, $2) \
                     ON CONFLICT (name) DO NOTHING";
                tx.execute(sql, &[&name, fresh]).await?;
                let sql = "SELECT value FROM installation WHERE name = $1";
                tx.query_one(sql, &[&name]).await?.get(0)
            })
        })
        .await
    }

    /// Returns the ledger's time, in milliseconds since the epoch.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.read((), |tx, ()| Box::pin(tx.now_ms())).await
    }

    /// Takes or renews the lease `name` for `owner`. The lease ends after `ttl_ms` milliseconds by
    /// the ledger's clock. Returns false while another owner holds the lease. The owner must count
    /// `ttl_ms` from the moment of this call, not from the moment of the answer.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        let lease = (name.to_owned(), owner.to_owned());
        self.write(lease, move |tx, (name, owner)| {
            Box::pin(take_lease(tx, name, owner, ttl_ms))
        })
        .await
    }

    /// Takes a lease as [`Self::lease`] does, for a process that will require it for every write
    /// ([`PostgresDatabase::require_leases`](crate::PostgresDatabase::require_leases)). It is taken
    /// from another owner only while no transaction of a process with such leases is running, so
    /// that no process commits anything after it has lost its lease. Returns false until then.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn take_over_lease(
        &self,
        name: &str,
        owner: &str,
        ttl_ms: i64,
    ) -> Result<bool, LedgerError> {
        let lease = (name.to_owned(), owner.to_owned());
        self.write(lease, move |tx, (name, owner)| {
            Box::pin(async move {
                let sql = "SELECT 1 FROM leases WHERE name = $1 AND owner = $2";
                let is_own = tx.first(sql, &[name, owner]).await?.is_some();
                if !is_own && tx.is_postgres() {
                    let sql = format!("SELECT pg_try_advisory_xact_lock({WRITERS_LOCK}, 0)");
                    let has_no_writers: bool = tx.query_one(&sql, &[]).await?.get(0)?;
                    if !has_no_writers {
                        return Ok(false);
                    }
                }
                take_lease(tx, name, owner, ttl_ms).await
            })
        })
        .await
    }

    /// Gives the lease `name` back, so that nobody has to wait for its end. If another owner holds
    /// it, nothing changes.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn release_lease(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        self.release_leases(vec![(name.to_owned(), owner.to_owned())])
            .await
    }

    /// Gives back several leases in one transaction. Each is given as its name and its owner. A
    /// process that requires them for its writes cannot write after that.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn release_leases(&self, leases: Vec<(String, String)>) -> Result<(), LedgerError> {
        self.write(leases, |tx, leases| {
            Box::pin(async move {
                let sql = "DELETE FROM leases WHERE name = $1 AND owner = $2";
                for (name, owner) in leases {
                    tx.execute(sql, &[name, owner]).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Ends every lease, whoever holds it. The caller must be the only process that uses the
    /// database, and must not have taken a lease yet. Then every lease belongs to a process that
    /// has ended.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn end_all_leases(&self) -> Result<(), LedgerError> {
        self.write((), |tx, ()| {
            Box::pin(async move { tx.execute("DELETE FROM leases", &[]).await.map(drop) })
        })
        .await
    }

    /// Finds out whether the database takes writes now, by making a small write. For a SQLite file
    /// it also checks that the disk has free space, and that no commit failed within the last
    /// second. All callers within half a second get the same answer.
    ///
    /// # Errors
    /// Returns [`LedgerError::Unavailable`] with the reason where the database takes no writes.
    pub async fn check_writable(&self) -> Result<(), LedgerError> {
        self.write_check().get_or_check(self.probe_write()).await
    }

    fn write_check(&self) -> &LastWriteCheck {
        match self {
            Self::File(writer) => writer.write_check(),
            Self::Server(database) => database.write_check(),
        }
    }

    async fn probe_write(&self) -> Result<(), LedgerError> {
        if let Self::File(writer) = self {
            writer.check_space_and_last_commit()?;
        }
        self.lease(PROBE, PROBE, 0).await.map(drop)
    }
}

/// Takes or renews a lease. Returns whether `owner` has it now.
async fn take_lease(
    tx: &SqlTransaction,
    name: &str,
    owner: &str,
    ttl_ms: i64,
) -> Result<bool, LedgerError> {
    match tx.first(TAKE_LEASE, &[&name, &owner, &ttl_ms]).await? {
        Some(row) => Ok(row.get::<String>(0)? == owner),
        None => Ok(false),
    }
}

//! How far the ledger got. A ledger in a file counts its transactions in the commits themselves. On
//! a server the counter is raised once a second, because a row that every transaction changes would
//! let only one transaction run at a time.

use super::Installation;
use crate::counter_file::CounterFile;
use crate::own_tables::RAISE_COUNTER;
use crate::{LedgerError, SqlRow, SqlTransaction, ToSqlValue};

/// How far the ledger got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerCounter {
    /// Grows with the ledger's commits.
    pub counter: u64,
    /// When it last grew, in milliseconds since the epoch. 0 if it never did.
    pub raised_at_ms: i64,
}

/// The ledger was found to be behind a counter outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerSetBack {
    /// The ledger's counter from then on, which no other one has.
    pub counter: u64,
    /// When it was noticed, in milliseconds since the epoch.
    pub noticed_at_ms: i64,
    /// By how much the ledger was behind. In a file, at most so many transactions are lost.
    pub lacking: u64,
    /// When the ledger's last commit before was made, in milliseconds since the epoch. 0 if that is
    /// not known.
    pub last_commit_at_ms: i64,
    /// Whether it was restored from a backup. How much it lacks is then not known, and `lacking` is
    /// what is assumed at least.
    pub is_restored: bool,
}

impl Installation {
    /// Writes the counter to this file after each commit, or on a server after each raise.
    /// Only the first call has an effect.
    pub fn count_into(&self, file: CounterFile) {
        let known = match self {
            Self::File(writer) => writer.counter_file(),
            Self::Server(database) => database.counter_file(),
        };
        // A second file would be written by nobody.
        let _ = known.set(file);
    }

    /// Returns the file outside the ledger, if there is one.
    #[must_use]
    pub fn counter_file(&self) -> Option<&CounterFile> {
        match self {
            Self::File(writer) => writer.counter_file().get(),
            Self::Server(database) => database.counter_file().get(),
        }
    }

    /// Returns how far the ledger got.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn counter(&self) -> Result<LedgerCounter, LedgerError> {
        self.read((), |tx, ()| Box::pin(read_counter(tx))).await
    }

    /// Raises the counter of a server, and returns it once that is durable. In a file each commit
    /// raises it, so there this only reads.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn raise_counter(&self) -> Result<u64, LedgerError> {
        if let Self::File(_) = self {
            return Ok(self.counter().await?.counter);
        }
        let raised = self.write((), |tx, ()| {
            Box::pin(async move {
                let one = 1_i64;
                count(&tx.query_one(RAISE_COUNTER, &[&one]).await?, 0)
            })
        });
        let counter = raised.await?;
        if let Some(file) = self.counter_file() {
            file.note(counter);
        }
        Ok(counter)
    }

    /// Compares the ledger with a counter that was read outside it before this call. If the ledger
    /// is behind, stores that and returns it. The ledger's counter then goes on above the other
    /// one, so that it is found once.
    ///
    /// # Errors
    /// Returns an error where the database does not answer or did not take the write.
    pub async fn note_outside_counter(
        &self,
        outside: u64,
    ) -> Result<Option<LedgerSetBack>, LedgerError> {
        if self.counter().await?.counter >= outside {
            return Ok(None);
        }
        self.write(outside, |tx, outside| Box::pin(mark_set_back(tx, *outside)))
            .await
    }

    /// Stores that the ledger was restored from a backup, so that it lacks what was written since:
    /// `lacking` transactions at least, as is assumed.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn mark_restored(&self, lacking: u64) -> Result<LedgerSetBack, LedgerError> {
        self.write(lacking, |tx, lacking| {
            Box::pin(async move {
                let now_has = locked_counter(tx).await?;
                store_set_back(tx, now_has, now_has.counter + lacking, true).await
            })
        })
        .await
    }

    /// Returns the last time that the ledger was found to be behind.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn last_set_back(&self) -> Result<Option<LedgerSetBack>, LedgerError> {
        self.read((), |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT counter, noticed_at, lacking, last_commit_at, is_restored \
                     FROM ledger_set_backs ORDER BY counter DESC LIMIT 1";
                let row = tx.first(sql, &[]).await?;
                row.map(|row| {
                    Ok(LedgerSetBack {
                        counter: count(&row, 0)?,
                        noticed_at_ms: row.get(1)?,
                        lacking: count(&row, 2)?,
                        last_commit_at_ms: row.get(3)?,
                        is_restored: row.get(4)?,
                    })
                })
                .transpose()
            })
        })
        .await
    }
}

async fn read_counter(tx: &SqlTransaction) -> Result<LedgerCounter, LedgerError> {
    let sql = "SELECT counter, raised_at FROM ledger_counter WHERE one = 1";
    let row = tx.query_one(sql, &[]).await?;
    Ok(LedgerCounter {
        counter: count(&row, 0)?,
        raised_at_ms: row.get(1)?,
    })
}

/// Stores that the ledger is behind `outside`. Another node may have done so already.
async fn mark_set_back(
    tx: &SqlTransaction,
    outside: u64,
) -> Result<Option<LedgerSetBack>, LedgerError> {
    let now_has = locked_counter(tx).await?;
    if now_has.counter >= outside {
        return Ok(None);
    }
    store_set_back(tx, now_has, outside, false).await.map(Some)
}

/// Reads the counter, and keeps others from raising it until this transaction ends.
async fn locked_counter(tx: &SqlTransaction) -> Result<LedgerCounter, LedgerError> {
    let sql = "SELECT counter, raised_at FROM ledger_counter WHERE one = 1 FOR UPDATE";
    let row = tx.query_one(sql, &[]).await?;
    Ok(LedgerCounter {
        counter: count(&row, 0)?,
        raised_at_ms: row.get(1)?,
    })
}

/// Stores that the ledger is behind `outside`, and lets its counter go on above that.
async fn store_set_back(
    tx: &SqlTransaction,
    now_has: LedgerCounter,
    outside: u64,
    is_restored: bool,
) -> Result<LedgerSetBack, LedgerError> {
    let set_back = LedgerSetBack {
        counter: outside + 1,
        noticed_at_ms: tx.now_ms().await?,
        lacking: outside - now_has.counter,
        last_commit_at_ms: now_has.raised_at_ms,
        is_restored,
    };
    let (counter, lacking) = (as_i64(set_back.counter), as_i64(set_back.lacking));
    let (noticed_at_ms, last_commit_at_ms) = (set_back.noticed_at_ms, set_back.last_commit_at_ms);
    let sql = "INSERT INTO ledger_set_backs \
         (counter, noticed_at, lacking, last_commit_at, is_restored) VALUES ($1, $2, $3, $4, $5)";
    let row: [&(dyn ToSqlValue + Sync); 5] = [
        &counter,
        &noticed_at_ms,
        &lacking,
        &last_commit_at_ms,
        &is_restored,
    ];
    tx.execute(sql, &row).await?;
    let sql = "UPDATE ledger_counter SET counter = $1, raised_at = $2 WHERE one = 1";
    tx.execute(sql, &[&counter, &noticed_at_ms]).await?;
    Ok(set_back)
}

fn count(row: &SqlRow, column: usize) -> Result<u64, LedgerError> {
    let counted: i64 = row.get(column)?;
    u64::try_from(counted).map_err(|_| LedgerError::Corrupt(format!("a counter of {counted}")))
}

fn as_i64(counter: u64) -> i64 {
    i64::try_from(counter).unwrap_or(i64::MAX)
}

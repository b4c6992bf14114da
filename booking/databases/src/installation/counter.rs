//! How far the ledger got. A ledger in a file counts its transactions in the commits themselves. On
//! a server the counter is raised once a second, because a row that every transaction changes would
//! let only one transaction run at a time.

use std::sync::atomic::Ordering;

use super::Installation;
use crate::counter_file::{CountedOutside, CounterFile};
use crate::own_tables::RAISE_COUNTER;
use crate::sql::now_ms;
use crate::{LedgerError, SqlRow, SqlTransaction, ToSqlValue};

/// The value that says that a file outside the ledger remembers its counter.
const WITNESS: &str = "counter_witness";

/// How far the ledger got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerCounter {
    /// Grows with the ledger's commits.
    pub counter: u64,
    /// How many orders got tickets of which no payment provider knows: they cost nothing, or the
    /// sandbox took the money. If the ledger goes back, no provider can give them back. Exchanged
    /// and refunded orders count, too.
    pub orders_without_provider: u64,
    /// When it last grew, in milliseconds since the epoch. 0 if it never did.
    pub raised_at_ms: i64,
}

impl LedgerCounter {
    /// Returns what a place outside the ledger is to remember.
    #[must_use]
    pub fn to_outside(self) -> CountedOutside {
        CountedOutside {
            counter: self.counter,
            orders_without_provider: Some(self.orders_without_provider),
        }
    }
}

/// The ledger was found to be behind a counter outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerSetBack {
    /// The ledger's counter from then on, which no other one has.
    pub counter: u64,
    /// When it was noticed, in milliseconds since the epoch.
    pub noticed_at_ms: i64,
    /// By how much the ledger was behind. In a file, at most so many transactions are lost. 0 if
    /// nobody can tell, because the counter outside it is missing.
    pub lacking: u64,
    /// When the ledger's last commit before was made, in milliseconds since the epoch. 0 if that is
    /// not known.
    pub last_commit_at_ms: i64,
    /// Whether it was restored from a backup. How much it lacks is then not known, and `lacking` is
    /// what is assumed at least.
    pub is_restored: bool,
    /// How many orders are lost at least of which no payment provider knows. `None` if nothing
    /// outside the ledger has told it.
    pub orders_lost: Option<u64>,
}

impl LedgerSetBack {
    /// Returns how many orders are lost, if that is not stored yet and a place outside tells it: it
    /// was last written before this set back, and after the state to which the ledger went back.
    fn orders_lost_by(&self, now_has: LedgerCounter, outside: CountedOutside) -> Option<u64> {
        if self.orders_lost.is_some() {
            return None;
        }
        let own = now_has.orders_without_provider;
        let other = outside.orders_without_provider?;
        let went_back_to = self.counter.saturating_sub(self.lacking + 1);
        let is_between = (went_back_to..self.counter).contains(&outside.counter);
        (is_between || other > own).then(|| other.saturating_sub(own))
    }
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
    pub async fn raise_counter(&self) -> Result<LedgerCounter, LedgerError> {
        let Self::Server(database) = self else {
            return self.counter().await;
        };
        let uncounted = database.uncounted_orders();
        let orders = uncounted.swap(0, Ordering::AcqRel);
        let raised = self.write(orders, |tx, orders| {
            Box::pin(async move {
                let one = 1_u64;
                counter_of(&tx.query_one(RAISE_COUNTER, &[&one, orders]).await?)
            })
        });
        let raised = raised.await;
        match &raised {
            Ok(counter) => {
                if let Some(file) = self.counter_file() {
                    file.note(counter.to_outside());
                }
            }
            // They may be counted already, and none is counted twice.
            Err(LedgerError::Unknown(_)) => {}
            Err(_) => {
                uncounted.fetch_add(orders, Ordering::AcqRel);
            }
        }
        raised
    }

    /// Compares the ledger with a counter that was read outside it before this call. If the ledger
    /// is behind, stores that and returns it. The ledger's counter then goes on above the other
    /// one, so that it is found once. Also if the counter tells how many orders the last set back
    /// lost, and that was not known, stores that and returns it.
    ///
    /// # Errors
    /// Returns an error where the database does not answer or did not take the write.
    pub async fn note_outside_counter(
        &self,
        outside: CountedOutside,
    ) -> Result<Option<LedgerSetBack>, LedgerError> {
        let is_news = self.read(outside, |tx, outside| Box::pin(is_news(tx, *outside)));
        if !is_news.await? {
            return Ok(None);
        }
        self.write(outside, |tx, outside| Box::pin(note_outside(tx, *outside)))
            .await
    }

    /// Notes that a file outside this ledger remembers its counter. From then on, a missing file is
    /// noticed.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn note_witness(&self) -> Result<(), LedgerError> {
        self.value(WITNESS, vec![1]).await.map(drop)
    }

    /// Returns whether a file outside remembered the ledger's counter before.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn had_witness(&self) -> Result<bool, LedgerError> {
        Ok(self.stored_value(WITNESS).await?.is_some())
    }

    /// Stores that the file which remembered the counter is missing, so that nobody can tell
    /// whether the ledger went back.
    ///
    /// # Errors
    /// Returns an error where the database did not take the write.
    pub async fn mark_without_witness(&self) -> Result<LedgerSetBack, LedgerError> {
        self.write((), |tx, ()| {
            Box::pin(async move {
                let now_has = locked_counter(tx).await?;
                let unknown = CountedOutside {
                    counter: now_has.counter,
                    orders_without_provider: None,
                };
                store_set_back(tx, now_has, unknown, false).await
            })
        })
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
                // The restored ledger begins without a file outside it.
                let sql = "DELETE FROM installation WHERE name = $1";
                tx.execute(sql, &[&WITNESS]).await?;
                let assumed = CountedOutside {
                    counter: now_has.counter + lacking,
                    orders_without_provider: None,
                };
                store_set_back(tx, now_has, assumed, true).await
            })
        })
        .await
    }

    /// Returns the last time that the ledger was found to be behind.
    ///
    /// # Errors
    /// Returns an error where the database does not answer.
    pub async fn last_set_back(&self) -> Result<Option<LedgerSetBack>, LedgerError> {
        self.read((), |tx, ()| Box::pin(last_set_back(tx))).await
    }
}

async fn last_set_back(tx: &SqlTransaction) -> Result<Option<LedgerSetBack>, LedgerError> {
    let sql = "SELECT counter, noticed_at, lacking, last_commit_at, is_restored, orders_lost \
         FROM ledger_set_backs ORDER BY counter DESC LIMIT 1";
    let Some(row) = tx.first(sql, &[]).await? else {
        return Ok(None);
    };
    Ok(Some(LedgerSetBack {
        counter: count(&row, 0)?,
        noticed_at_ms: row.get(1)?,
        lacking: count(&row, 2)?,
        last_commit_at_ms: row.get(3)?,
        is_restored: row.get(4)?,
        orders_lost: row.get(5)?,
    }))
}

async fn read_counter(tx: &SqlTransaction) -> Result<LedgerCounter, LedgerError> {
    let sql =
        "SELECT counter, orders_without_provider, raised_at FROM ledger_counter WHERE one = 1";
    counter_of(&tx.query_one(sql, &[]).await?)
}

/// Reads the counter, and keeps others from raising it until this transaction ends.
async fn locked_counter(tx: &SqlTransaction) -> Result<LedgerCounter, LedgerError> {
    let sql = "SELECT counter, orders_without_provider, raised_at FROM ledger_counter \
         WHERE one = 1 FOR UPDATE";
    counter_of(&tx.query_one(sql, &[]).await?)
}

fn counter_of(row: &SqlRow) -> Result<LedgerCounter, LedgerError> {
    Ok(LedgerCounter {
        counter: count(row, 0)?,
        orders_without_provider: count(row, 1)?,
        raised_at_ms: row.get(2)?,
    })
}

/// Returns whether a counter outside tells something that the ledger has not stored.
async fn is_news(tx: &SqlTransaction, outside: CountedOutside) -> Result<bool, LedgerError> {
    let now_has = read_counter(tx).await?;
    if now_has.counter < outside.counter {
        return Ok(true);
    }
    let last = last_set_back(tx).await?;
    Ok(last.is_some_and(|last| last.orders_lost_by(now_has, outside).is_some()))
}

/// Stores that the ledger is behind `outside`, or how many orders it lost before. Another node may
/// have done so already.
async fn note_outside(
    tx: &SqlTransaction,
    outside: CountedOutside,
) -> Result<Option<LedgerSetBack>, LedgerError> {
    let now_has = locked_counter(tx).await?;
    if now_has.counter < outside.counter {
        return store_set_back(tx, now_has, outside, false).await.map(Some);
    }
    let Some(last) = last_set_back(tx).await? else {
        return Ok(None);
    };
    let Some(lost) = last.orders_lost_by(now_has, outside) else {
        return Ok(None);
    };
    let sql = "UPDATE ledger_set_backs SET orders_lost = $2 WHERE counter = $1";
    tx.execute(sql, &[&last.counter, &lost]).await?;
    let orders = now_has.orders_without_provider + lost;
    go_on(tx, now_has.counter, orders).await?;
    Ok(Some(LedgerSetBack {
        orders_lost: Some(lost),
        ..last
    }))
}

/// Stores that the ledger is behind `outside`, and lets its counter go on above that.
async fn store_set_back(
    tx: &SqlTransaction,
    now_has: LedgerCounter,
    outside: CountedOutside,
    is_restored: bool,
) -> Result<LedgerSetBack, LedgerError> {
    let own = now_has.orders_without_provider;
    let other = outside.orders_without_provider;
    let set_back = LedgerSetBack {
        counter: outside.counter + 1,
        noticed_at_ms: tx.now_ms().await?,
        lacking: outside.counter - now_has.counter,
        last_commit_at_ms: now_has.raised_at_ms,
        is_restored,
        orders_lost: other.map(|other| other.saturating_sub(own)),
    };
    let sql = "INSERT INTO ledger_set_backs \
         (counter, noticed_at, lacking, last_commit_at, is_restored, orders_lost) \
         VALUES ($1, $2, $3, $4, $5, $6)";
    let row: [&(dyn ToSqlValue + Sync); 6] = [
        &set_back.counter,
        &set_back.noticed_at_ms,
        &set_back.lacking,
        &set_back.last_commit_at_ms,
        &set_back.is_restored,
        &set_back.orders_lost,
    ];
    tx.execute(sql, &row).await?;
    go_on(tx, set_back.counter, own.max(other.unwrap_or(0))).await?;
    Ok(set_back)
}

/// Lets the ledger's own numbers go on from these.
async fn go_on(tx: &SqlTransaction, counter: u64, orders: u64) -> Result<(), LedgerError> {
    let sql = concat!(
        "UPDATE ledger_counter SET counter = $1, orders_without_provider = $2, raised_at = ",
        now_ms!(),
        " WHERE one = 1"
    );
    tx.execute(sql, &[&counter, &orders]).await?;
    Ok(())
}

fn count(row: &SqlRow, column: usize) -> Result<u64, LedgerError> {
    let counted: i64 = row.get(column)?;
    u64::try_from(counted).map_err(|_| LedgerError::Corrupt(format!("a counter of {counted}")))
}

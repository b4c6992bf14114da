//! Stores departures, which are shows with a run. Opening a departure does not change the version
//! of the catalogue. Instead each departure has a number, and nodes read the rows above the last
//! number that they know.

use fairgate_databases::{LedgerError, SqlDialect, SqlRow, SqlTransaction};
use fairgate_model::ids::ShowId;
use fairgate_model::shows::document::ShowDocument;

use super::catalogue::{STORED, STORED_COUNT, stored};
use super::rows::{Result, as_i64, count, stored_run, to_json};
use super::{Ledger, terms, timetable_version};
use crate::ledger::StoredShow;

/// Departures that somebody touched.
impl Ledger {
    /// Stores a departure as a show and returns the stored show with its number, as
    /// [`Self::departures`] does. If a show with its id exists, returns that show and stores
    /// nothing. `timetable` is the version of the timetable that the departure was made from. The
    /// catalogue's version does not change. Nodes find new departures with [`Self::departures`].
    ///
    /// # Errors
    /// [`LedgerError::Overtaken`] if the timetable was replaced meanwhile, or the ledger's error.
    pub async fn open_departure(
        &self,
        departure: StoredShow,
        timetable: Option<u32>,
        now_ms: i64,
    ) -> Result<(u64, StoredShow)> {
        self.installation
            .write(departure, move |tx, departure| {
                Box::pin(open_departure(tx, departure, timetable, now_ms))
            })
            .await
    }

    /// Returns stored departures with a number above `after`, each with its number, in order. Later
    /// commits have larger numbers. A departure that changes gets a new number.
    pub async fn departures(&self, after: u64, batch_max: u32) -> Result<Vec<(u64, StoredShow)>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = format!(
                        "SELECT {STORED}, departure FROM shows WHERE departure > $1 \
                         ORDER BY departure LIMIT $2"
                    );
                    let rows = tx.query(&sql, &[&as_i64(after), &batch_max]).await?;
                    rows.iter().map(numbered).collect()
                })
            })
            .await
    }
}

/// Reads a departure with its number.
fn numbered(row: &SqlRow) -> Result<(u64, StoredShow)> {
    Ok((count(row, STORED_COUNT)?, stored(row)?))
}

/// Returns the departures that begin at `since_ms` or later, in the order of their ids.
pub(super) async fn departures_since(
    tx: &SqlTransaction,
    since_ms: i64,
) -> Result<Vec<StoredShow>> {
    let sql = format!("SELECT {STORED} FROM shows WHERE departure IS NOT NULL ORDER BY show");
    let rows = tx.query(&sql, &[]).await?;
    let mut departures: Vec<StoredShow> = rows.iter().map(stored).collect::<Result<_>>()?;
    departures.retain(|show| show.document.starts_at.as_millisecond() >= since_ms);
    Ok(departures)
}

/// Replaces the document of a departure. Every node reads the departure again.
pub(super) async fn rewrite_departure(
    tx: &SqlTransaction,
    show: &ShowId,
    document: &ShowDocument,
    now_ms: i64,
) -> Result<()> {
    let id = show.as_str();
    let sql = "UPDATE shows SET document = $2, updated_at = $3 WHERE show = $1";
    tx.execute(sql, &[&id, &to_json(document)?, &now_ms])
        .await?;
    terms::record_present(tx, show, now_ms).await?;
    renumber_departure(tx, show).await
}

/// Gives a show a new number if it is a departure, so that every node reads it again.
pub(super) async fn renumber_departure(tx: &SqlTransaction, show: &ShowId) -> Result<()> {
    let sql = match tx.dialect() {
        SqlDialect::Postgres => {
            "WITH given AS (UPDATE departure_numbers SET last = last + 1 WHERE EXISTS \
                 (SELECT 1 FROM shows WHERE show = $1 AND departure IS NOT NULL) RETURNING last) \
             UPDATE shows SET departure = given.last FROM given WHERE show = $1"
        }
        SqlDialect::Sqlite => {
            "UPDATE shows SET departure = (SELECT MAX(departure) + 1 FROM shows) \
             WHERE show = $1 AND departure IS NOT NULL"
        }
    };
    tx.execute(sql, &[&show.as_str()]).await?;
    Ok(())
}

async fn open_departure(
    tx: &SqlTransaction,
    departure: &StoredShow,
    timetable: Option<u32>,
    now_ms: i64,
) -> Result<(u64, StoredShow)> {
    let id = departure.id.as_str();
    let find = format!("SELECT {STORED}, COALESCE(departure, 0) FROM shows WHERE show = $1");
    if let Some(row) = tx.first(&find, &[&id]).await? {
        return numbered(&row);
    }
    timetable_version::lock_against_switch(tx).await?;
    if timetable_version::newest_version(tx).await? != timetable {
        let change = "A new timetable has just been imported";
        return Err(LedgerError::Overtaken(change.to_owned()));
    }
    let insert = match tx.dialect() {
        // A file has a single writer, so no two departures get the same number.
        SqlDialect::Sqlite => {
            "INSERT INTO shows (show, document, plan_version, updated_at, run, departure) \
             SELECT $1, $2, $3, $4, $5, COALESCE(MAX(departure), 0) + 1 FROM shows WHERE TRUE \
             ON CONFLICT (show) DO NOTHING"
        }
        // All transactions that open a departure lock the one row of `departure_numbers`. A second
        // transaction for the same show waits for the first, and then finds its show.
        SqlDialect::Postgres => {
            "WITH given AS (UPDATE departure_numbers SET last = last + 1 RETURNING last) \
             INSERT INTO shows (show, document, plan_version, updated_at, run, departure) \
             SELECT $1, $2::jsonb, $3, $4, $5, last FROM given ON CONFLICT (show) DO NOTHING"
        }
    };
    let document = to_json(&departure.document)?;
    let run = departure.run.as_deref().map(stored_run).transpose()?;
    let version = departure.plan_version;
    let written = tx
        .execute(insert, &[&id, &document, &version, &now_ms, &run])
        .await?;
    if written > 0 {
        terms::record_present(tx, &departure.id, now_ms).await?;
    }
    numbered(&tx.query_one(&find, &[&id]).await?)
}

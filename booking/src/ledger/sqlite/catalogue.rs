//! Venues, shows, coverage, secrets.

use async_trait::async_trait;
use fairgate_databases::LedgerError;
use fairgate_databases::rusqlite::{Connection, Row};

use super::rows::{self, bytes32, collect, corrupt, fate, first, parsed, run_of, stored_run};
use super::{SqliteLedger, terms};
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::ids::{ShowId, VenueId};
use crate::ledger::{CatalogueLedger, SeatsKept, ShowRefused, StoredShow};

#[async_trait]
impl CatalogueLedger for SqliteLedger {
    async fn put_venue(
        &self,
        venue: &VenueId,
        plan: String,
        digest: [u8; 32],
        now_ms: i64,
    ) -> Result<u32, LedgerError> {
        let venue = venue.to_string();
        self.writer
            .write(move |tx| put_plan(tx, &venue, &plan, digest, now_ms))
            .await
    }

    async fn newest_plan(&self, venue: &VenueId) -> Result<Option<u32>, LedgerError> {
        let venue = venue.to_string();
        let newest = move |connection: &_| {
            first::<Option<u32>>(
                connection,
                "SELECT MAX(version) FROM venues WHERE venue = ?1",
                [&venue],
            )
        };
        Ok(self.writer.read(newest).await?.flatten())
    }

    async fn plan(&self, venue: &VenueId, version: u32) -> Result<Option<String>, LedgerError> {
        let venue = venue.to_string();
        self.writer
            .read(move |connection| {
                first(
                    connection,
                    "SELECT plan FROM venues WHERE venue = ?1 AND version = ?2",
                    (&venue, version),
                )
            })
            .await
    }

    async fn put_show(
        &self,
        show: StoredShow,
        keeps: Option<SeatsKept>,
        now_ms: i64,
    ) -> Result<u32, ShowRefused> {
        let document =
            serde_json::to_string(&show.document).map_err(|error| corrupt(&error.to_string()))?;
        self.writer
            .write(move |tx| {
                let id = show.id.as_str();
                let present: Option<String> = first(tx, "SELECT document FROM shows WHERE show = ?1", [id])?;
                if let Some(present) = present {
                    let present: ShowDocument = rows::json(&present)?;
                    let sold: Option<i64> = first(tx, "SELECT 1 FROM claims WHERE show = ?1 LIMIT 1", [id])?;
                    if present.currency != show.document.currency && sold.is_some() {
                        return Err(ShowRefused::CurrencyInUse(present.currency));
                    }
                }
                if let Some(keeps) = keeps {
                    let used = collect(tx, "SELECT DISTINCT seat FROM claims WHERE show = ?1", [id], |row| Ok(row.get::<_, u32>(0)?))?;
                    let moved: Vec<u32> = used.into_iter().filter(|seat| !keeps(*seat)).collect();
                    if !moved.is_empty() {
                        return Err(ShowRefused::PlanInUse(moved));
                    }
                }
                tx.prepare_cached(
                    "INSERT INTO shows (show, document, plan_version, updated_at) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT (show) DO UPDATE SET document = ?2, plan_version = ?3, updated_at = ?4",
                )
                .and_then(|mut statement| statement.execute((id, &document, show.plan_version, now_ms)))
                .map_err(LedgerError::from)?;
                let version = terms::note(tx, id, &SaleTerms::of(&show.document), now_ms)?;
                changed(tx)?;
                Ok(version)
            })
            .await
    }

    async fn open_departure(
        &self,
        departure: StoredShow,
        now_ms: i64,
    ) -> Result<StoredShow, LedgerError> {
        let document = rows::to_json(&departure.document)?;
        let run = departure.run.as_deref().map(stored_run).transpose()?;
        let id = departure.id.to_string();
        self.writer
            .write(move |tx| {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO shows (show, document, plan_version, updated_at, run, departure) \
                     SELECT ?1, ?2, ?3, ?4, ?5, COALESCE(MAX(departure), 0) + 1 FROM shows",
                )?
                .execute((&id, &document, departure.plan_version, now_ms, &run))?;
                if tx.changes() > 0 {
                    terms::note(tx, &id, &SaleTerms::of(&departure.document), now_ms)?;
                }
                let sql = format!("SELECT {STORED} FROM shows WHERE show = ?1");
                let stored = collect(tx, &sql, [&id], stored)?.pop();
                stored.ok_or_else(|| corrupt("a departure that was not written"))
            })
            .await
    }

    async fn departures(
        &self,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<(u64, StoredShow)>, LedgerError> {
        self.writer
            .read(move |connection| {
                let sql = format!(
                    "SELECT {STORED}, departure FROM shows WHERE departure > ?1 ORDER BY departure LIMIT ?2"
                );
                collect(connection, &sql, (rows::as_i64(after), batch_max), |row| {
                    Ok((row.get::<_, i64>(7)?.unsigned_abs(), stored(row)?))
                })
            })
            .await
    }

    async fn shows(&self) -> Result<Vec<StoredShow>, LedgerError> {
        self.writer
            .read(|connection| {
                let sql =
                    format!("SELECT {STORED} FROM shows WHERE departure IS NULL ORDER BY show");
                collect(connection, &sql, [], stored)
            })
            .await
    }

    async fn put_coverage(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), LedgerError> {
        self.writer
            .write(move |tx| {
                tx.execute("DELETE FROM coverage", [])?;
                let mut insert =
                    tx.prepare_cached("INSERT INTO coverage (room, pattern) VALUES (?1, ?2)")?;
                for (room, patterns) in &coverage {
                    for pattern in patterns {
                        insert.execute((room, pattern))?;
                    }
                }
                changed(tx)
            })
            .await
    }

    async fn coverage(&self) -> Result<Vec<(String, Vec<String>)>, LedgerError> {
        let rows: Vec<(String, String)> = self
            .writer
            .read(|connection| {
                collect(
                    connection,
                    "SELECT room, pattern FROM coverage ORDER BY position",
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
            })
            .await?;
        Ok(rows::coverage(rows))
    }

    async fn catalogue_version(&self) -> Result<u64, LedgerError> {
        let version =
            |connection: &_| first::<i64>(connection, "SELECT version FROM catalogue_version", []);
        Ok(self.writer.read(version).await?.unwrap_or(0).unsigned_abs())
    }

    async fn terms(&self, show: &ShowId, version: u32) -> Result<Option<SaleTerms>, LedgerError> {
        let show = show.to_string();
        self.writer
            .read(move |connection| terms::read(connection, &show, version))
            .await
    }

    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<[u8; 32], LedgerError> {
        self.writer
            .write(move |tx| {
                tx.execute(
                    "INSERT OR IGNORE INTO secrets (name, value) VALUES (?1, ?2)",
                    (name, fresh),
                )?;
                let value: Option<Vec<u8>> =
                    first(tx, "SELECT value FROM secrets WHERE name = ?1", [name])?;
                let value = value.ok_or_else(|| corrupt(name))?;
                bytes32(&value)
            })
            .await
    }
}

/// What [`stored`] reads.
const STORED: &str = "show, document, plan_version, run, \
     (SELECT f.fate FROM show_fates f WHERE f.show = shows.show), \
     (SELECT f.refunds_until FROM show_fates f WHERE f.show = shows.show), terms";

fn stored(row: &Row<'_>) -> Result<StoredShow, LedgerError> {
    let (document, run): (String, Option<String>) = (row.get(1)?, row.get(3)?);
    Ok(StoredShow {
        id: parsed(&row.get::<_, String>(0)?)?,
        document: serde_json::from_str(&document).map_err(|error| corrupt(&error.to_string()))?,
        plan_version: row.get(2)?,
        run: run.as_deref().map(run_of).transpose()?,
        fate: fate(row.get(4)?, row.get(5)?)?,
        terms: row.get(6)?,
    })
}

/// Stores a plan as the venue's next version, unless the newest one is the same.
pub(super) fn put_plan(
    tx: &Connection,
    venue: &str,
    plan: &str,
    digest: [u8; 32],
    now_ms: i64,
) -> Result<u32, LedgerError> {
    let (version, new) = next_plan(tx, venue, plan, digest, now_ms)?;
    if new {
        changed(tx)?;
    }
    Ok(version)
}

/// The version of a plan, and whether it is a new one; nobody is told of it yet.
pub(super) fn next_plan(
    tx: &Connection,
    venue: &str,
    plan: &str,
    digest: [u8; 32],
    now_ms: i64,
) -> Result<(u32, bool), LedgerError> {
    let newest: Option<(u32, Vec<u8>)> = collect(
        tx,
        "SELECT version, digest FROM venues WHERE venue = ?1 ORDER BY version DESC LIMIT 1",
        [venue],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?
    .pop();
    if let Some((version, present)) = &newest
        && *present == digest
    {
        return Ok((*version, false));
    }
    let version = newest.map_or(1, |(version, _)| version + 1);
    tx.prepare_cached(
        "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((venue, version, plan, digest, now_ms))?;
    Ok((version, true))
}

/// Tells every node that the catalogue is another one.
pub(super) fn changed(tx: &Connection) -> Result<(), LedgerError> {
    tx.execute("UPDATE catalogue_version SET version = version + 1", [])?;
    Ok(())
}

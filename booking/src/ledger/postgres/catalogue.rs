//! Venues, shows, coverage, secrets. Changes of the catalogue come one after another: each locks the row that tells
//! their number, so the number that a node reads says exactly which changes it will find.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fairgate_databases::tokio_postgres::Row;
use fairgate_databases::{LedgerError, Tx};

use super::rows::{
    Result, as_i64, bytes32, count, coverage, fate, json, parsed, run_of, small, stored_run, text,
    to_json,
};
use super::{PostgresLedger, lock, terms};
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::ids::{ShowId, VenueId};
use crate::ledger::{CatalogueLedger, SeatsKept, ShowRefused, StoredShow};

#[async_trait]
impl CatalogueLedger for PostgresLedger {
    async fn put_venue(
        &self,
        venue: &VenueId,
        plan: String,
        digest: [u8; 32],
        now_ms: i64,
    ) -> Result<u32> {
        let given = Arc::new((venue.to_string(), plan));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let (venue, plan) = (&given.0, &given.1);
                    one_at_a_time(&tx).await?;
                    put_plan(&tx, venue, plan, digest, now_ms).await
                }
            })
            .await
    }

    async fn newest_plan(&self, venue: &VenueId) -> Result<Option<u32>> {
        let venue = venue.to_string();
        self.database
            .read(async move |tx: Tx| {
                let sql =
                    "SELECT version FROM venues WHERE venue = $1 ORDER BY version DESC LIMIT 1";
                let newest = tx.first(sql, &[&venue]).await?;
                newest.map(|row| small(&row, 0)).transpose()
            })
            .await
    }

    async fn plan(&self, venue: &VenueId, version: u32) -> Result<Option<String>> {
        let venue = venue.to_string();
        self.database
            .read(async move |tx: Tx| {
                let sql = "SELECT plan FROM venues WHERE venue = $1 AND version = $2";
                let plan = tx.first(sql, &[&venue, &i64::from(version)]).await?;
                plan.map(|row| Ok(row.try_get(0)?)).transpose()
            })
            .await
    }

    async fn put_show(
        &self,
        show: StoredShow,
        keeps: Option<SeatsKept>,
        now_ms: i64,
    ) -> std::result::Result<u32, ShowRefused> {
        let document = to_json(&show.document)?;
        let given = Arc::new((show, document, Mutex::new(keeps)));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let (show, document, keeps) = &*given;
                    one_at_a_time(&tx).await?;
                    let id = show.id.as_str();
                    // Nobody claims a seat between the look at the claims and the new plan.
                    let sql = "SELECT pg_advisory_xact_lock($1, hashtext($2))";
                    tx.one(sql, &[&lock::PLAN, &id]).await?;
                    let sql = "SELECT document::text, EXISTS (SELECT 1 FROM claims WHERE show = $1) FROM shows WHERE show = $1";
                    if let Some(present) = tx.first(sql, &[&id]).await? {
                        let sold: bool = present.try_get(1).map_err(LedgerError::from)?;
                        let present: ShowDocument = json(text(&present, 0)?)?;
                        if sold && present.currency != show.document.currency {
                            return Err(ShowRefused::CurrencyInUse(present.currency));
                        }
                    }
                    let sql = "SELECT DISTINCT seat FROM claims WHERE show = $1 ORDER BY seat";
                    let used = tx.query(sql, &[&id]).await?;
                    let used: Vec<u32> = used.iter().map(|row| small(row, 0)).collect::<Result<_>>()?;
                    let moved = moved_seats(keeps, used);
                    if !moved.is_empty() {
                        return Err(ShowRefused::PlanInUse(moved));
                    }
                    tx.execute(
                        "INSERT INTO shows (show, document, plan_version, updated_at) VALUES ($1, $2::text::jsonb, $3, $4) \
                         ON CONFLICT (show) DO UPDATE SET document = excluded.document, plan_version = excluded.plan_version, \
                         updated_at = excluded.updated_at",
                        &[&id, document, &i64::from(show.plan_version), &now_ms],
                    )
                    .await?;
                    let noted = [(id, SaleTerms::of(&show.document))];
                    let noted = terms::note(&tx, &noted, now_ms).await?;
                    changed(&tx).await?;
                    Ok(noted.get(id).copied().unwrap_or_default())
                }
            })
            .await
    }

    async fn open_departure(&self, departure: StoredShow, now_ms: i64) -> Result<StoredShow> {
        let document = to_json(&departure.document)?;
        let run = departure.run.as_deref().map(stored_run).transpose()?;
        let given = Arc::new((departure, document, run));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let (departure, document, run) = &*given;
                    let id = departure.id.as_str();
                    let sql = format!("SELECT {STORED} FROM shows WHERE show = $1");
                    if let Some(row) = tx.first(&sql, &[&id]).await? {
                        return stored(&row);
                    }
                    // Whoever comes second waits here, and finds the first one's row.
                    let written = tx.execute(
                        "WITH given AS (UPDATE departure_numbers SET last = last + 1 RETURNING last) \
                         INSERT INTO shows (show, document, plan_version, updated_at, run, departure) \
                         SELECT $1, $2::text::jsonb, $3, $4, $5, last FROM given ON CONFLICT (show) DO NOTHING",
                        &[&id, document, &i64::from(departure.plan_version), &now_ms, run],
                    )
                    .await?;
                    if written > 0 {
                        let noted = [(id, SaleTerms::of(&departure.document))];
                        terms::note(&tx, &noted, now_ms).await?;
                    }
                    stored(&tx.one(&sql, &[&id]).await?)
                }
            })
            .await
    }

    async fn departures(&self, after: u64, batch_max: u32) -> Result<Vec<(u64, StoredShow)>> {
        self.database
            .read(async move |tx: Tx| {
                let sql = format!(
                    "SELECT {STORED}, departure FROM shows WHERE departure > $1 ORDER BY departure LIMIT $2"
                );
                let rows = tx.query(&sql, &[&as_i64(after), &i64::from(batch_max)]).await?;
                let read = |row| Ok((count(row, 7)?, stored(row)?));
                rows.iter().map(read).collect()
            })
            .await
    }

    async fn shows(&self) -> Result<Vec<StoredShow>> {
        self.database
            .read(async |tx: Tx| {
                let sql = format!(
                    "SELECT {STORED} FROM shows WHERE departure IS NULL ORDER BY show COLLATE \"C\""
                );
                let rows = tx.query(&sql, &[]).await?;
                rows.iter().map(stored).collect()
            })
            .await
    }

    async fn put_coverage(&self, coverage: Vec<(String, Vec<String>)>) -> Result<()> {
        let (mut rooms, mut patterns) = (Vec::new(), Vec::new());
        for (room, of_room) in coverage {
            rooms.extend(std::iter::repeat_n(room, of_room.len()));
            patterns.extend(of_room);
        }
        let given = Arc::new((rooms, patterns));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    one_at_a_time(&tx).await?;
                    tx.execute("DELETE FROM coverage", &[]).await?;
                    tx.execute(
                        "INSERT INTO coverage (room, pattern) SELECT room, pattern \
                         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS put (room, pattern, nth) ORDER BY nth",
                        &[&given.0, &given.1],
                    )
                    .await?;
                    changed(&tx).await
                }
            })
            .await
    }

    async fn coverage(&self) -> Result<Vec<(String, Vec<String>)>> {
        self.database
            .read(async |tx: Tx| {
                let sql = "SELECT room, pattern FROM coverage ORDER BY position";
                let rows = tx.query(sql, &[]).await?;
                let read = |row| Ok((text(row, 0)?.to_owned(), text(row, 1)?.to_owned()));
                let rows: Vec<_> = rows.iter().map(read).collect::<Result<_>>()?;
                Ok(coverage(rows))
            })
            .await
    }

    async fn catalogue_version(&self) -> Result<u64> {
        self.database
            .read(async |tx: Tx| {
                let row = tx.one("SELECT version FROM catalogue_version", &[]).await?;
                count(&row, 0)
            })
            .await
    }

    async fn terms(&self, show: &ShowId, version: u32) -> Result<Option<SaleTerms>> {
        let show = show.to_string();
        self.database
            .read(async move |tx: Tx| terms::read(&tx, &show, version).await)
            .await
    }

    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<[u8; 32]> {
        self.database
            .write(move |tx| async move {
                let sql = "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
                tx.execute(sql, &[&name, &fresh.as_slice()]).await?;
                let sql = "SELECT value FROM secrets WHERE name = $1";
                bytes32(tx.one(sql, &[&name]).await?.try_get(0)?)
            })
            .await
    }
}

/// What [`stored`] reads.
const STORED: &str = "show, document::text, plan_version, run, \
     (SELECT f.fate FROM show_fates f WHERE f.show = shows.show), \
     (SELECT f.refunds_until FROM show_fates f WHERE f.show = shows.show), terms";

fn stored(row: &Row) -> Result<StoredShow> {
    let run: Option<&str> = row.try_get(3)?;
    Ok(StoredShow {
        id: parsed(text(row, 0)?)?,
        document: json(text(row, 1)?)?,
        plan_version: small(row, 2)?,
        run: run.map(run_of).transpose()?,
        fate: fate(row.try_get(4)?, row.try_get(5)?)?,
        terms: small(row, 6)?,
    })
}

/// Stores a plan as the venue's next version, unless the newest one is the same. No other change may be on its way.
pub(super) async fn put_plan(
    tx: &Tx,
    venue: &str,
    plan: &str,
    digest: [u8; 32],
    now_ms: i64,
) -> Result<u32> {
    let sql = "SELECT version, digest FROM venues WHERE venue = $1 ORDER BY version DESC LIMIT 1";
    let newest = tx.first(sql, &[&venue]).await?;
    let mut version = 1_u32;
    if let Some(newest) = newest {
        let present: u32 = small(&newest, 0)?;
        if newest.try_get::<_, &[u8]>(1)? == digest {
            return Ok(present);
        }
        version = present + 1;
    }
    tx.execute(
        "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES ($1, $2, $3, $4, $5)",
        &[
            &venue,
            &i64::from(version),
            &plan,
            &digest.as_slice(),
            &now_ms,
        ],
    )
    .await?;
    changed(tx).await?;
    Ok(version)
}

/// Waits until no other change of the catalogue is on its way.
pub(super) async fn one_at_a_time(tx: &Tx) -> Result<()> {
    let sql = "SELECT version FROM catalogue_version FOR UPDATE";
    tx.one(sql, &[]).await?;
    Ok(())
}

/// Tells every node that the catalogue is another one.
pub(super) async fn changed(tx: &Tx) -> Result<()> {
    let sql = "UPDATE catalogue_version SET version = version + 1";
    tx.execute(sql, &[]).await?;
    Ok(())
}

fn moved_seats(keeps: &Mutex<Option<SeatsKept>>, used: Vec<u32>) -> Vec<u32> {
    // What it asks is pure, so it may be asked again when the transaction is run again.
    let keeps = keeps.lock().unwrap_or_else(PoisonError::into_inner);
    match &*keeps {
        Some(keeps) => used.into_iter().filter(|seat| !keeps(*seat)).collect(),
        None => Vec::new(),
    }
}

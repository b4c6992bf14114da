//! A cinema programme, in one transaction of a few statements over arrays: thousands of showings are no thousands of
//! round trips.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;
use fairgate_databases::tokio_postgres::Row;

use super::catalogue::{changed, one_at_a_time};
use super::rows::{Result, as_i64, bytes32, corrupt, count, json, parsed, small, text, to_json};
use super::{PostgresLedger, lock, terms};
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::ids::ShowId;
use crate::ledger::{NewHallPlan, NewProgramme, ProgrammeLedger, ProgrammePut, ProgrammeRefused};

#[async_trait]
impl ProgrammeLedger for PostgresLedger {
    async fn put_programme(
        &self,
        programme: NewProgramme,
        now_ms: i64,
    ) -> std::result::Result<ProgrammePut, ProgrammeRefused> {
        let programme = Arc::new(programme);
        self.database
            .write(move |tx| {
                let programme = Arc::clone(&programme);
                async move { put(&tx, &programme, now_ms).await }
            })
            .await
    }

    async fn programme(&self, known: u64) -> Result<Option<(u64, String)>> {
        self.database
            .read(async move |tx: Tx| {
                let sql = "SELECT version, document FROM programme WHERE version > $1";
                let newer = tx.first(sql, &[&as_i64(known)]).await?;
                let read = |row| Ok((count(&row, 0)?, text(&row, 1)?.to_owned()));
                newer.map(read).transpose()
            })
            .await
    }
}

async fn put(
    tx: &Tx,
    programme: &NewProgramme,
    now_ms: i64,
) -> std::result::Result<ProgrammePut, ProgrammeRefused> {
    one_at_a_time(tx).await?;
    let venues = programme.shows.iter().map(|(_, document)| &document.venue);
    let venues = programme.plans.iter().map(|plan| &plan.venue).chain(venues);
    let mut names: Vec<String> = venues.map(ToString::to_string).collect();
    names.sort_unstable();
    names.dedup();
    let mut newest = newest_plans(tx, &names).await?;
    let new_plans: Vec<(&NewHallPlan, i64)> = programme
        .plans
        .iter()
        .filter_map(|plan| match newest.get(plan.venue.as_str()) {
            Some((_, digest)) if *digest == plan.digest => None,
            Some((version, _)) => Some((plan, i64::from(*version) + 1)),
            None => Some((plan, 1)),
        })
        .collect();
    write_plans(tx, &new_plans, now_ms).await?;
    for (plan, version) in &new_plans {
        let version = u32::try_from(*version).unwrap_or(u32::MAX);
        newest.insert(plan.venue.to_string(), (version, plan.digest));
    }
    let (mut put, rows, pinned_anew, other_currency) = compare(tx, programme, &newest).await?;
    let sold = sold_of(tx, &other_currency).await?;
    if !sold.is_empty() {
        return Err(ProgrammeRefused::CurrencyInUse(sold));
    }
    let in_use = moved_seats(tx, programme, &pinned_anew).await?;
    if !in_use.is_empty() {
        return Err(ProgrammeRefused::PlanInUse(in_use));
    }
    write_shows(tx, &rows, now_ms).await?;
    let noted: Vec<(&str, SaleTerms)> = rows
        .shows
        .iter()
        .map(String::as_str)
        .zip(rows.terms.iter().cloned())
        .collect();
    terms::note(tx, &noted, now_ms).await?;
    put.plans = new_plans.len();
    let sql = "SELECT document = $1 FROM programme";
    let same = tx.first(sql, &[&programme.document]).await?;
    let same = same.map(|row| row.try_get::<_, bool>(0)).transpose();
    let same = same.map_err(fairgate_databases::LedgerError::from)?;
    put.written = put.plans + put.new + put.changed > 0 || same != Some(true);
    if put.written {
        let sql = "INSERT INTO programme (id, version, document, put_at) VALUES (1, 1, $1, $2) \
             ON CONFLICT (id) DO UPDATE SET version = programme.version + 1, document = excluded.document, \
             put_at = excluded.put_at";
        tx.execute(sql, &[&programme.document, &now_ms]).await?;
        changed(tx).await?;
    }
    Ok(put)
}

/// Version and digest by hall.
type Newest = HashMap<String, (u32, [u8; 32])>;

async fn newest_plans(tx: &Tx, venues: &[String]) -> Result<Newest> {
    let sql = "SELECT DISTINCT ON (venue) venue, version, digest FROM venues WHERE venue = ANY($1) \
         ORDER BY venue, version DESC";
    let rows = tx.query(sql, &[&venues]).await?;
    let read = |row: &Row| {
        let digest = bytes32(row.try_get(2)?)?;
        Ok((text(row, 0)?.to_owned(), (small(row, 1)?, digest)))
    };
    rows.iter().map(read).collect()
}

async fn write_plans(tx: &Tx, plans: &[(&NewHallPlan, i64)], now_ms: i64) -> Result<()> {
    let sql =
        "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES ($1, $2, $3, $4, $5)";
    for (plan, version) in plans {
        let (venue, digest) = (plan.venue.as_str(), plan.digest.as_slice());
        let text: &str = &plan.plan;
        tx.execute(sql, &[&venue, version, &text, &digest, &now_ms])
            .await?;
    }
    Ok(())
}

/// What is to be written of the shows, column by column.
#[derive(Default)]
struct ShowRows {
    shows: Vec<String>,
    documents: Vec<String>,
    versions: Vec<i64>,
    terms: Vec<SaleTerms>,
}

/// What differs from what is there, which shows change their plan, and which their currency.
async fn compare(
    tx: &Tx,
    programme: &NewProgramme,
    newest: &Newest,
) -> Result<(ProgrammePut, ShowRows, Vec<String>, Vec<String>)> {
    let ids: Vec<&str> = programme.shows.iter().map(|(id, _)| id.as_str()).collect();
    let sql = "SELECT show, document::text, plan_version FROM shows WHERE show = ANY($1)";
    let present = tx.query(sql, &[&ids]).await?;
    let read = |row: &Row| {
        let document: ShowDocument = json(text(row, 1)?)?;
        Ok((text(row, 0)?.to_owned(), (document, small(row, 2)?)))
    };
    let present: HashMap<String, (ShowDocument, u32)> =
        present.iter().map(read).collect::<Result<_>>()?;
    let (mut put, mut rows) = (ProgrammePut::default(), ShowRows::default());
    let (mut pinned_anew, mut other_currency) = (Vec::new(), Vec::new());
    for (id, document) in &programme.shows {
        let (version, _) = *newest
            .get(document.venue.as_str())
            .ok_or_else(|| corrupt("a hall without a plan"))?;
        match present.get(id.as_str()) {
            Some((known, pinned)) if *pinned == version && known == document => continue,
            Some((known, pinned)) => {
                if known.currency != document.currency {
                    other_currency.push(id.to_string());
                }
                if *pinned != version {
                    pinned_anew.push(id.to_string());
                }
                put.changed += 1;
            }
            None => put.new += 1,
        }
        rows.shows.push(id.to_string());
        rows.documents.push(to_json(document)?);
        rows.versions.push(i64::from(version));
        rows.terms.push(SaleTerms::of(document));
    }
    Ok((put, rows, pinned_anew, other_currency))
}

/// Those of some shows that seats were sold of; nobody claims one meanwhile.
async fn sold_of(tx: &Tx, shows: &[String]) -> Result<Vec<ShowId>> {
    if shows.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT pg_advisory_xact_lock($1, hashtext(show)) FROM unnest($2::text[]) AS show";
    tx.query(sql, &[&lock::PLAN, &shows]).await?;
    let sql = "SELECT DISTINCT show FROM claims WHERE show = ANY ($1) ORDER BY show";
    let sold = tx.query(sql, &[&shows]).await?;
    sold.iter().map(|row| parsed(text(row, 0)?)).collect()
}

/// Nobody claims a seat between the look at the claims and the new plans.
async fn moved_seats(
    tx: &Tx,
    programme: &NewProgramme,
    pinned_anew: &[String],
) -> Result<Vec<(ShowId, Vec<u32>)>> {
    if pinned_anew.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT pg_advisory_xact_lock($1, hashtext(show)) FROM unnest($2::text[]) AS show";
    tx.query(sql, &[&lock::PLAN, &pinned_anew]).await?;
    let sql = "SELECT DISTINCT show, seat FROM claims WHERE show = ANY($1) ORDER BY show, seat";
    let mut in_use: Vec<(ShowId, Vec<u32>)> = Vec::new();
    for row in tx.query(sql, &[&pinned_anew]).await? {
        let (show, seat) = (parsed(text(&row, 0)?)?, small(&row, 1)?);
        if (programme.keeps)(&show, seat) {
            continue;
        }
        match in_use.last_mut() {
            Some((last, seats)) if *last == show => seats.push(seat),
            _ => in_use.push((show, vec![seat])),
        }
    }
    Ok(in_use)
}

async fn write_shows(tx: &Tx, rows: &ShowRows, now_ms: i64) -> Result<()> {
    let sql = "INSERT INTO shows (show, document, plan_version, updated_at) \
         SELECT show, document::jsonb, version, $4 \
         FROM unnest($1::text[], $2::text[], $3::bigint[]) AS put (show, document, version) \
         ON CONFLICT (show) DO UPDATE SET document = excluded.document, plan_version = excluded.plan_version, \
         updated_at = excluded.updated_at";
    tx.execute(
        sql,
        &[&rows.shows, &rows.documents, &rows.versions, &now_ms],
    )
    .await?;
    Ok(())
}

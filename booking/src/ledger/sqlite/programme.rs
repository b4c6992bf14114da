//! A cinema programme, in one transaction.

use std::collections::HashMap;

use async_trait::async_trait;
use fairgate_databases::rusqlite::{Connection, OptionalExtension};

use super::catalogue::{changed, next_plan};
use super::rows::{Result, as_i64, collect, corrupt, first, json, to_json};
use super::{SqliteLedger, terms};
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::ids::ShowId;
use crate::ledger::{NewProgramme, ProgrammeLedger, ProgrammePut, ProgrammeRefused};

#[async_trait]
impl ProgrammeLedger for SqliteLedger {
    async fn put_programme(
        &self,
        programme: NewProgramme,
        now_ms: i64,
    ) -> std::result::Result<ProgrammePut, ProgrammeRefused> {
        self.writer
            .write(move |tx| put(tx, &programme, now_ms))
            .await
    }

    async fn programme(&self, known: u64) -> Result<Option<(u64, String)>> {
        self.writer
            .read(move |connection| {
                let newer = collect(
                    connection,
                    "SELECT version, document FROM programme WHERE version > ?1",
                    [as_i64(known)],
                    |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?)),
                )?;
                Ok(newer.into_iter().next())
            })
            .await
    }
}

fn put(
    tx: &Connection,
    programme: &NewProgramme,
    now_ms: i64,
) -> std::result::Result<ProgrammePut, ProgrammeRefused> {
    let mut put = ProgrammePut::default();
    let mut versions = HashMap::new();
    for plan in &programme.plans {
        let (version, new) = next_plan(tx, plan.venue.as_str(), &plan.plan, plan.digest, now_ms)?;
        put.plans += usize::from(new);
        versions.insert(plan.venue.as_str(), version);
    }
    let mut in_use = Vec::new();
    let mut other_currency = Vec::new();
    for (id, document) in &programme.shows {
        let venue = document.venue.as_str();
        let version = match versions.get(venue) {
            Some(version) => *version,
            None => *versions.entry(venue).or_insert(newest_plan(tx, venue)?),
        };
        let text = to_json(document)?;
        if let Some((present, _)) = standing(tx, id)?
            && json::<ShowDocument>(&present)?.currency != document.currency
            && is_sold(tx, id)?
        {
            other_currency.push(id.clone());
        }
        match standing(tx, id)? {
            Some((present, pinned)) if pinned == version && present == text => continue,
            Some((_, pinned)) if pinned != version => {
                let moved = moved_seats(tx, programme, id)?;
                if !moved.is_empty() {
                    in_use.push((id.clone(), moved));
                }
                put.changed += 1;
            }
            Some(_) => put.changed += 1,
            None => put.new += 1,
        }
        write_show(tx, id, &text, version, now_ms)?;
        terms::note(tx, id.as_str(), &SaleTerms::of(document), now_ms)?;
    }
    if !other_currency.is_empty() {
        return Err(ProgrammeRefused::CurrencyInUse(other_currency));
    }
    if !in_use.is_empty() {
        return Err(ProgrammeRefused::PlanInUse(in_use));
    }
    let same: Option<bool> = first(
        tx,
        "SELECT document = ?1 FROM programme",
        [&programme.document],
    )?;
    put.written = put.plans + put.new + put.changed > 0 || same != Some(true);
    if put.written {
        write_document(tx, &programme.document, now_ms)?;
        changed(tx)?;
    }
    Ok(put)
}

fn newest_plan(tx: &Connection, venue: &str) -> Result<u32> {
    let sql = "SELECT MAX(version) FROM venues WHERE venue = ?1";
    let newest: Option<Option<u32>> = first(tx, sql, [venue])?;
    newest
        .flatten()
        .ok_or_else(|| corrupt("a hall without a plan"))
}

fn standing(tx: &Connection, id: &ShowId) -> Result<Option<(String, u32)>> {
    Ok(tx
        .prepare_cached("SELECT document, plan_version FROM shows WHERE show = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

fn is_sold(tx: &Connection, id: &ShowId) -> Result<bool> {
    let sql = "SELECT 1 FROM claims WHERE show = ?1 LIMIT 1";
    Ok(first::<i64>(tx, sql, [id.as_str()])?.is_some())
}

fn moved_seats(tx: &Connection, programme: &NewProgramme, id: &ShowId) -> Result<Vec<u32>> {
    let sql = "SELECT DISTINCT seat FROM claims WHERE show = ?1 ORDER BY seat";
    let used = collect(tx, sql, [id.as_str()], |row| Ok(row.get::<_, u32>(0)?))?;
    let moved = used
        .into_iter()
        .filter(|seat| !(programme.keeps)(id, *seat));
    Ok(moved.collect())
}

fn write_show(tx: &Connection, id: &ShowId, text: &str, version: u32, now_ms: i64) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO shows (show, document, plan_version, updated_at) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (show) DO UPDATE SET document = ?2, plan_version = ?3, updated_at = ?4",
    )?
    .execute((id.as_str(), text, version, now_ms))?;
    Ok(())
}

fn write_document(tx: &Connection, document: &str, now_ms: i64) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO programme (id, version, document, put_at) VALUES (1, 1, ?1, ?2) \
         ON CONFLICT (id) DO UPDATE SET version = version + 1, document = ?1, put_at = ?2",
    )?
    .execute((document, now_ms))?;
    Ok(())
}

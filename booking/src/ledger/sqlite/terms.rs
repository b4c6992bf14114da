//! Terms of sale as numbered versions.

use fairgate_databases::rusqlite::Connection;

use super::rows::{Result, collect, corrupt, fate, json, next_terms, priced, run_of};
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::ids::ShowId;
use crate::orders::terms::OrderTerms;
use crate::orders::{Order, OrderItem};

/// Notes what a show is sold under from now on, as the next version unless the newest one is the same; gives its number.
pub(super) fn note(tx: &Connection, show: &str, terms: &SaleTerms, now_ms: i64) -> Result<u32> {
    let newest = collect(
        tx,
        "SELECT version, terms FROM terms WHERE show = ?1 ORDER BY version DESC LIMIT 1",
        [show],
        |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)),
    )?;
    let (version, new) = next_terms(newest.into_iter().next(), terms)?;
    if let Some(text) = new {
        tx.prepare_cached("INSERT INTO terms (show, version, terms, at) VALUES (?1, ?2, ?3, ?4)")?
            .execute((show, version, text, now_ms))?;
    }
    tx.prepare_cached("UPDATE shows SET terms = ?2 WHERE show = ?1 AND terms <> ?2")?
        .execute((show, version))?;
    Ok(version)
}

/// A version of a show's terms.
pub(super) fn read(connection: &Connection, show: &str, version: u32) -> Result<Option<SaleTerms>> {
    let sql = "SELECT terms FROM terms WHERE show = ?1 AND version = ?2";
    let found = collect(connection, sql, (show, version), |row| {
        json(&row.get::<_, String>(0)?)
    })?;
    Ok(found.into_iter().next())
}

/// Refuses seats whose prices are not those of a version of the show's terms.
pub(super) fn are_prices_of(
    tx: &Connection,
    show: &ShowId,
    version: u32,
    items: &[OrderItem],
) -> Result<()> {
    let sql = "SELECT t.terms, s.run FROM terms t JOIN shows s ON s.show = t.show WHERE t.show = ?1 AND t.version = ?2";
    let found = collect(tx, sql, (show.as_str(), version), |row| {
        let run: Option<String> = row.get(1)?;
        let terms: SaleTerms = json(&row.get::<_, String>(0)?)?;
        Ok((terms, run.as_deref().map(run_of).transpose()?))
    })?;
    match found.into_iter().next() {
        Some((terms, run)) => priced(items, &terms, run.as_deref()),
        None => Err(corrupt("an order under terms that nobody noted")),
    }
}

/// The terms that count for an order, as they stand in this transaction.
pub(super) fn of_order(tx: &Connection, order: &Order) -> Result<OrderTerms> {
    let sql = "SELECT s.document, s.run, f.fate, f.refunds_until, t.terms FROM shows s \
         LEFT JOIN show_fates f ON f.show = s.show \
         LEFT JOIN terms t ON t.show = s.show AND t.version = ?2 WHERE s.show = ?1";
    let found = collect(tx, sql, (order.show.as_str(), order.terms), |row| {
        let document: ShowDocument = json(&row.get::<_, String>(0)?)?;
        let (run, kept): (Option<String>, Option<String>) = (row.get(1)?, row.get(4)?);
        let present = SaleTerms::of(&document);
        Ok(OrderTerms {
            kept: match kept {
                Some(kept) => json(&kept)?,
                None => present.clone(),
            },
            present,
            run: run.as_deref().map(run_of).transpose()?,
            fate: fate(row.get(2)?, row.get(3)?)?,
        })
    })?;
    let found = found.into_iter().next();
    found.ok_or_else(|| corrupt("an order without a show"))
}

//! Stores terms of sale as numbered versions. A caller that records terms must make sure that no
//! other transaction changes the same shows at the same time.

use std::collections::HashMap;

use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_model::ids::ShowId;
use fairgate_model::orders::Order;
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::terms::SaleTerms;

use super::rows::{Result, corrupt, from_json, next_terms, read_fate, run_of, small, text};

/// A version of terms that is not stored yet: the show, the version, and the terms as JSON.
type NewTermsVersion<'a> = (&'a str, u32, String);

/// Records the terms under which shows are sold from now on. Terms that differ from the show's
/// newest version become its next version. Returns the version of each show's terms.
pub(super) async fn record_versions(
    tx: &SqlTransaction,
    shows: &[(&str, SaleTerms)],
    now_ms: i64,
) -> Result<HashMap<String, u32>> {
    let mut newest = newest_versions(tx, shows).await?;
    let mut versions = HashMap::new();
    let mut new: Vec<NewTermsVersion<'_>> = Vec::new();
    for (show, terms) in shows {
        let (version, document) = next_terms(newest.remove(*show), terms)?;
        versions.insert((*show).to_owned(), version);
        if let Some(document) = document {
            new.push((show, version, document));
        }
    }
    if new.is_empty() {
        return Ok(versions);
    }
    if tx.is_postgres() {
        put_versions_fused(tx, new, now_ms).await?;
    } else {
        put_versions(tx, new, now_ms).await?;
    }
    Ok(versions)
}

/// Records the terms of a stored show, as [`record_versions`] does.
pub(super) async fn record_present(tx: &SqlTransaction, show: &ShowId, now_ms: i64) -> Result<()> {
    let id = show.as_str();
    let sql = "SELECT document::text, run FROM shows WHERE show = $1";
    let row = tx.query_one(sql, &[&id]).await?;
    let terms = present(&row)?;
    record_versions(tx, &[(id, terms)], now_ms).await?;
    Ok(())
}

/// Reads a show's present terms from its document and its run, which are the row's first columns.
fn present(row: &SqlRow) -> Result<SaleTerms> {
    let document: ShowDocument = from_json(text(row, 0)?)?;
    let run: Option<&str> = row.get(1)?;
    let run = run.map(run_of).transpose()?;
    Ok(SaleTerms::from_document(&document, run))
}

/// Returns the newest version of each show that has terms, with the terms as JSON.
async fn newest_versions(
    tx: &SqlTransaction,
    shows: &[(&str, SaleTerms)],
) -> Result<HashMap<String, (u32, String)>> {
    let ids: Vec<&str> = shows.iter().map(|(show, _)| *show).collect();
    let sql = "SELECT show, version, terms FROM terms WHERE (show, version) IN \
         (SELECT show, MAX(version) FROM terms WHERE show = ANY ($1) GROUP BY show)";
    let rows = tx.query(sql, &[&ids]).await?;
    let read = |row: &SqlRow| Ok((row.get(0)?, (small(row, 1)?, row.get(2)?)));
    rows.iter().map(read).collect()
}

async fn put_versions(
    tx: &SqlTransaction,
    new: Vec<NewTermsVersion<'_>>,
    now_ms: i64,
) -> Result<()> {
    for (show, version, document) in &new {
        let sql = "INSERT INTO terms (show, version, terms, at) VALUES ($1, $2, $3, $4)";
        tx.execute(sql, &[show, version, document, &now_ms]).await?;
        let sql = "UPDATE shows SET terms = $2 WHERE show = $1";
        tx.execute(sql, &[show, version]).await?;
    }
    Ok(())
}

/// Does the work of [`put_versions`] in one statement, instead of two round trips for each of a
/// programme's thousands of shows. Every other change of the catalogue waits for this one.
async fn put_versions_fused(
    tx: &SqlTransaction,
    new: Vec<NewTermsVersion<'_>>,
    now_ms: i64,
) -> Result<()> {
    let (mut shows, mut versions, mut documents) = (Vec::new(), Vec::new(), Vec::new());
    for (show, version, document) in new {
        shows.push(show);
        versions.push(i64::from(version));
        documents.push(document);
    }
    let sql = "WITH put AS (SELECT * \
         FROM unnest($1::text[], $2::bigint[], $3::text[]) AS p (show, version, terms)), \
         noted AS (INSERT INTO terms (show, version, terms, at) \
         SELECT show, version, terms, $4 FROM put) \
         UPDATE shows SET terms = put.version FROM put WHERE shows.show = put.show";
    tx.execute(sql, &[&shows, &versions, &documents, &now_ms])
        .await?;
    Ok(())
}

/// Reads a version of a show's terms.
pub(super) async fn read(
    tx: &SqlTransaction,
    show: &str,
    version: u32,
) -> Result<Option<SaleTerms>> {
    let sql = "SELECT terms FROM terms WHERE show = $1 AND version = $2";
    let stored = tx.first(sql, &[&show, &version]).await?;
    stored.map(|row| from_json(text(&row, 0)?)).transpose()
}

/// Reads the terms that count for an order: those under which it was made, and the show's present
/// terms.
pub(super) async fn of_order(tx: &SqlTransaction, order: &Order) -> Result<OrderTerms> {
    let sql = "SELECT s.document::text, s.run, f.fate, f.at, f.refunds_until, t.terms FROM shows s \
         LEFT JOIN show_fates f ON f.show = s.show \
         LEFT JOIN terms t ON t.show = s.show AND t.version = $2 WHERE s.show = $1";
    let row = tx.first(sql, &[&order.show.as_str(), &order.terms]).await?;
    order_terms(&row.ok_or_else(|| corrupt("an order without a show"))?)
}

fn order_terms(row: &SqlRow) -> Result<OrderTerms> {
    let present = present(row)?;
    let kept: Option<&str> = row.get(5)?;
    Ok(OrderTerms {
        original: match kept {
            Some(kept) => from_json(kept)?,
            None => present.clone(),
        },
        run: present.run.clone(),
        present,
        fate: read_fate(row.get(2)?, row.get(3)?, row.get(4)?)?,
    })
}

//! Terms of sale as numbered versions. Whoever notes new ones is the only one who changes the catalogue at that moment.

use std::collections::HashMap;

use fairgate_databases::Tx;
use fairgate_databases::tokio_postgres::Row;

use super::rows::{Result, corrupt, fate, json, next_terms, run_of, small, text};
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::orders::Order;
use crate::orders::terms::OrderTerms;

/// Notes what shows are sold under from now on, each as the next version unless its newest one is the same; gives their
/// numbers.
pub(super) async fn note(
    tx: &Tx,
    shows: &[(&str, SaleTerms)],
    now_ms: i64,
) -> Result<HashMap<String, u32>> {
    let ids: Vec<&str> = shows.iter().map(|(show, _)| *show).collect();
    let sql = "SELECT DISTINCT ON (show) show, version, terms FROM terms WHERE show = ANY ($1) ORDER BY show, version DESC";
    let mut newest = HashMap::new();
    for row in tx.query(sql, &[&ids]).await? {
        let found = (small::<u32>(&row, 1)?, text(&row, 2)?.to_owned());
        newest.insert(text(&row, 0)?.to_owned(), found);
    }
    let (mut of, mut numbers, mut texts) = (Vec::new(), Vec::<i64>::new(), Vec::new());
    let mut noted = HashMap::new();
    for (show, terms) in shows {
        let (version, new) = next_terms(newest.remove(*show), terms)?;
        noted.insert((*show).to_owned(), version);
        if let Some(text) = new {
            of.push(*show);
            numbers.push(version.into());
            texts.push(text);
        }
    }
    let sql = "WITH put AS (SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) AS p (show, version, terms)), \
         noted AS (INSERT INTO terms (show, version, terms, at) SELECT show, version, terms, $4 FROM put) \
         UPDATE shows SET terms = put.version FROM put WHERE shows.show = put.show";
    tx.execute(sql, &[&of, &numbers, &texts, &now_ms]).await?;
    Ok(noted)
}

/// A version of a show's terms.
pub(super) async fn read(tx: &Tx, show: &str, version: u32) -> Result<Option<SaleTerms>> {
    let sql = "SELECT terms FROM terms WHERE show = $1 AND version = $2";
    let found = tx.first(sql, &[&show, &i64::from(version)]).await?;
    found.map(|row| json(text(&row, 0)?)).transpose()
}

/// The terms that count for an order, which stay as they are until this transaction ends where the caller keeps the
/// show's plan.
pub(super) async fn of_order(tx: &Tx, order: &Order) -> Result<OrderTerms> {
    let sql = "SELECT s.document::text, s.run, f.fate, f.refunds_until, t.terms FROM shows s \
         LEFT JOIN show_fates f ON f.show = s.show \
         LEFT JOIN terms t ON t.show = s.show AND t.version = $2 WHERE s.show = $1";
    let with = i64::from(order.terms);
    let row = tx.first(sql, &[&order.show.as_str(), &with]).await?;
    read_order_terms(&row.ok_or_else(|| corrupt("an order without a show"))?)
}

fn read_order_terms(row: &Row) -> Result<OrderTerms> {
    let document: ShowDocument = json(text(row, 0)?)?;
    let (run, kept): (Option<&str>, Option<&str>) = (row.try_get(1)?, row.try_get(4)?);
    let present = SaleTerms::of(&document);
    Ok(OrderTerms {
        kept: match kept {
            Some(kept) => json(kept)?,
            None => present.clone(),
        },
        present,
        run: run.map(run_of).transpose()?,
        fate: fate(row.try_get(2)?, row.try_get(3)?)?,
    })
}

//! Writes booking's part of an on-sale file in one transaction: which room covers which shows,
//! then venues, then shows. It also keeps the file's entries as they were applied, so that the next
//! apply can tell what the file changed since.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::ShowId;
use parking_lot::Mutex;

use super::Ledger;
use super::catalogue::{
    lock_catalogue, put_coverage, put_location, put_plan, put_show, raise_version, release_show,
};
use super::rows::{Result, count, parsed, small, text};
use crate::ledger::{AppliedEntry, NewOnsale, OnsaleRefused, ShowRefused, UnchangedSeatCheck};

/// The check of one show. A transaction may run more than once, so it cannot consume the check.
type SharedCheck = Option<Mutex<UnchangedSeatCheck>>;

/// On-sale files.
impl Ledger {
    /// Writes an on-sale file, if the catalogue still has the version that the file was compared
    /// with. All of it is written, or nothing. `checks` are the checks that run on the sold seats
    /// of the shows whose plan changes, in the order of the shows.
    pub async fn apply_onsale(
        &self,
        onsale: NewOnsale,
        checks: Vec<Option<UnchangedSeatCheck>>,
        now_ms: i64,
    ) -> std::result::Result<(), OnsaleRefused> {
        let checks: Vec<SharedCheck> = checks
            .into_iter()
            .map(|check| check.map(Mutex::new))
            .collect();
        self.installation
            .write((onsale, checks), move |tx, (onsale, checks)| {
                Box::pin(apply_onsale(tx, onsale, checks, now_ms))
            })
            .await
    }

    /// Withholds shows, if the catalogue still has the version that the file was compared with.
    /// They are withheld until they are written.
    pub async fn withhold_shows(
        &self,
        compared_with: u64,
        shows: Vec<ShowId>,
    ) -> std::result::Result<(), OnsaleRefused> {
        self.installation
            .write(shows, move |tx, shows| {
                Box::pin(withhold_shows(tx, compared_with, shows))
            })
            .await
    }

    /// Returns the shows that are withheld.
    pub async fn withheld_shows(&self) -> Result<Vec<ShowId>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let rows = tx.query("SELECT show FROM withheld_shows", &[]).await?;
                    rows.iter().map(|row| parsed(text(row, 0)?)).collect()
                })
            })
            .await
    }

    /// Returns the entries of on-sale files as they were last applied.
    pub async fn applied_entries(&self) -> Result<Vec<AppliedEntry>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT kind, id, document FROM applied_entries";
                    let rows = tx.query(sql, &[]).await?;
                    let entries = rows.iter().map(|row| {
                        Ok(AppliedEntry {
                            kind: row.get(0)?,
                            id: row.get(1)?,
                            document: row.get(2)?,
                        })
                    });
                    entries.collect()
                })
            })
            .await
    }
}

async fn apply_onsale(
    tx: &SqlTransaction,
    onsale: &NewOnsale,
    checks: &[SharedCheck],
    now_ms: i64,
) -> std::result::Result<(), OnsaleRefused> {
    lock_compared_catalogue(tx, onsale.compared_with).await?;
    put_coverage(tx, &onsale.coverage).await?;
    for venue in &onsale.venues {
        put_location(tx, venue.id.as_str(), &venue.location).await?;
        if let Some(new) = &venue.plan {
            put_plan(tx, venue.id.as_str(), &new.plan, new.digest, now_ms).await?;
        }
    }
    for (write, check) in onsale.shows.iter().zip(checks) {
        let mut show = write.show.clone();
        if write.pins_newest_plan {
            let sql = "SELECT MAX(version) FROM venues WHERE venue = $1";
            let newest = tx.query_one(sql, &[&show.document.venue.as_str()]).await?;
            show.plan_version = small(&newest, 0)?;
        }
        put_show(tx, &show, check.as_ref(), now_ms)
            .await
            .map_err(|refused| match refused {
                ShowRefused::Ledger(error) => OnsaleRefused::Ledger(error),
                refused => OnsaleRefused::Show(show.id.clone(), refused),
            })?;
    }
    for entry in &onsale.applied {
        let sql = "INSERT INTO applied_entries (kind, id, document) VALUES ($1, $2, $3) \
             ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document";
        tx.execute(sql, &[&entry.kind, &entry.id, &entry.document])
            .await?;
    }
    for show in &onsale.released {
        release_show(tx, show).await?;
    }
    Ok(raise_version(tx).await?)
}

async fn withhold_shows(
    tx: &SqlTransaction,
    compared_with: u64,
    shows: &[ShowId],
) -> std::result::Result<(), OnsaleRefused> {
    lock_compared_catalogue(tx, compared_with).await?;
    for show in shows {
        let sql = "INSERT INTO withheld_shows (show) VALUES ($1) ON CONFLICT (show) DO NOTHING";
        tx.execute(sql, &[&show.as_str()]).await?;
    }
    Ok(raise_version(tx).await?)
}

/// Locks the catalogue, if it still has this version.
async fn lock_compared_catalogue(
    tx: &SqlTransaction,
    compared_with: u64,
) -> std::result::Result<(), OnsaleRefused> {
    lock_catalogue(tx).await?;
    let sql = "SELECT version FROM catalogue_version";
    if count(&tx.query_one(sql, &[]).await?, 0)? == compared_with {
        Ok(())
    } else {
        Err(OnsaleRefused::ChangedMeanwhile)
    }
}

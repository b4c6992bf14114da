//! Stores and reads timetables with the plans of their trains.

use fairgate_databases::SqlTransaction;

use super::Ledger;
use super::catalogue::{lock_catalogue, put_plan, raise_version};
use super::rows::{Result, from_json, small, text, to_json};
use crate::ledger::{NewTimetable, StoredTimetable};

/// Timetables: each is an immutable version, and the newest version is in force.
impl Ledger {
    /// Stores a timetable as the next version, with the plans of its trains, and returns the
    /// version. Each plan becomes its venue's next version, unless the newest plan is the same. If
    /// the newest timetable has the same text and plans, returns its version and stores nothing.
    pub async fn put_timetable(&self, new: NewTimetable, now_ms: i64) -> Result<u32> {
        self.installation
            .write(new, move |tx, new| Box::pin(put_timetable(tx, new, now_ms)))
            .await
    }

    /// Returns the version of the newest timetable, if there is one. This call is cheap.
    pub async fn newest_timetable(&self) -> Result<Option<u32>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT version FROM timetables ORDER BY version DESC LIMIT 1";
                    let newest = tx.first(sql, &[]).await?;
                    newest.map(|row| small(&row, 0)).transpose()
                })
            })
            .await
    }

    /// Returns a version of the timetable.
    pub async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT timetable, plans FROM timetables WHERE version = $1";
                    let Some(row) = tx.first(sql, &[&version]).await? else {
                        return Ok(None);
                    };
                    Ok(Some(StoredTimetable {
                        text: row.get(0)?,
                        plans: from_json(text(&row, 1)?)?,
                    }))
                })
            })
            .await
    }
}

async fn put_timetable(tx: &SqlTransaction, new: &NewTimetable, now_ms: i64) -> Result<u32> {
    lock_catalogue(tx).await?;
    let mut plans = Vec::new();
    for plan in &new.plans {
        let venue = plan.venue.as_str();
        let version = put_plan(tx, venue, &plan.plan, plan.digest, now_ms).await?;
        plans.push((venue, version));
    }
    let plans = to_json(&plans)?;
    let sql = "SELECT version, digest, plans FROM timetables ORDER BY version DESC LIMIT 1";
    let mut version = 1_u32;
    if let Some(newest) = tx.first(sql, &[]).await? {
        let present: u32 = small(&newest, 0)?;
        if newest.get::<&[u8]>(1)? == new.digest && text(&newest, 2)? == plans {
            return Ok(present);
        }
        version = present + 1;
    }
    let sql = "INSERT INTO timetables (version, timetable, plans, digest, created_at) \
         VALUES ($1, $2, $3, $4, $5)";
    tx.execute(sql, &[&version, &new.text, &plans, &new.digest, &now_ms])
        .await?;
    raise_version(tx).await?;
    Ok(version)
}

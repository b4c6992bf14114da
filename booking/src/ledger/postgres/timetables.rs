//! Timetables with the plans of their trains.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;

use super::PostgresLedger;
use super::catalogue::{changed, one_at_a_time, put_plan};
use super::rows::{Result, json, small, text, to_json};
use crate::ledger::{NewTimetable, StoredTimetable, TimetableLedger};

#[async_trait]
impl TimetableLedger for PostgresLedger {
    async fn put_timetable(&self, new: NewTimetable, now_ms: i64) -> Result<u32> {
        let given = Arc::new(new);
        self.database
            .write(move |tx| {
                let new = Arc::clone(&given);
                async move {
                    one_at_a_time(&tx).await?;
                    let mut plans = Vec::new();
                    for new in &new.plans {
                        let venue = new.venue.as_str();
                        let version = put_plan(&tx, venue, &new.plan, new.digest, now_ms).await?;
                        plans.push((venue, version));
                    }
                    let plans = to_json(&plans)?;
                    let sql = "SELECT version, digest, plans FROM timetables ORDER BY version DESC LIMIT 1";
                    let mut version = 1_u32;
                    if let Some(newest) = tx.first(sql, &[]).await? {
                        let present: u32 = small(&newest, 0)?;
                        if newest.try_get::<_, &[u8]>(1)? == new.digest && text(&newest, 2)? == plans {
                            return Ok(present);
                        }
                        version = present + 1;
                    }
                    tx.execute(
                        "INSERT INTO timetables (version, timetable, plans, digest, created_at) VALUES ($1, $2, $3, $4, $5)",
                        &[&i64::from(version), &new.text, &plans, &new.digest.as_slice(), &now_ms],
                    )
                    .await?;
                    changed(&tx).await?;
                    Ok(version)
                }
            })
            .await
    }

    async fn newest_timetable(&self) -> Result<Option<u32>> {
        self.database
            .read(async |tx: Tx| {
                let sql = "SELECT version FROM timetables ORDER BY version DESC LIMIT 1";
                let newest = tx.first(sql, &[]).await?;
                newest.map(|row| small(&row, 0)).transpose()
            })
            .await
    }

    async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>> {
        self.database
            .read(async move |tx: Tx| {
                let sql = "SELECT timetable, plans FROM timetables WHERE version = $1";
                let stored = tx.first(sql, &[&i64::from(version)]).await?;
                let read = |row| {
                    Ok(StoredTimetable {
                        text: text(&row, 0)?.to_owned(),
                        plans: json(text(&row, 1)?)?,
                    })
                };
                stored.map(read).transpose()
            })
            .await
    }
}

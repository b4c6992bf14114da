//! Timetables with the plans of their trains.

use async_trait::async_trait;
use fairgate_databases::LedgerError;

use super::SqliteLedger;
use super::catalogue::{changed, put_plan};
use super::rows::{collect, first, to_json};
use crate::ledger::stored::json;
use crate::ledger::{NewTimetable, StoredTimetable, TimetableLedger};

#[async_trait]
impl TimetableLedger for SqliteLedger {
    async fn put_timetable(&self, new: NewTimetable, now_ms: i64) -> Result<u32, LedgerError> {
        self.writer
            .write(move |tx| {
                let mut plans = Vec::new();
                for new in &new.plans {
                    let venue = new.venue.as_str();
                    plans.push((venue, put_plan(tx, venue, &new.plan, new.digest, now_ms)?));
                }
                let plans = to_json(&plans)?;
                let newest: Option<(u32, Vec<u8>, String)> = collect(
                    tx,
                    "SELECT version, digest, plans FROM timetables ORDER BY version DESC LIMIT 1",
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )?
                .pop();
                if let Some((version, digest, on)) = &newest
                    && (digest.as_slice(), on) == (&new.digest, &plans)
                {
                    return Ok(*version);
                }
                let version = newest.map_or(1, |(version, ..)| version + 1);
                let sql = "INSERT INTO timetables (version, timetable, plans, digest, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
                tx.execute(sql, (version, &new.text, plans, new.digest, now_ms))?;
                changed(tx)?;
                Ok(version)
            })
            .await
    }

    async fn newest_timetable(&self) -> Result<Option<u32>, LedgerError> {
        let newest = |connection: &_| {
            first::<Option<u32>>(connection, "SELECT MAX(version) FROM timetables", [])
        };
        Ok(self.writer.read(newest).await?.flatten())
    }

    async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>, LedgerError> {
        self.writer
            .read(move |connection| {
                let sql = "SELECT timetable, plans FROM timetables WHERE version = ?1";
                let stored = collect(connection, sql, [version], |row| {
                    Ok(StoredTimetable {
                        text: row.get(0)?,
                        plans: json(&row.get::<_, String>(1)?)?,
                    })
                });
                Ok(stored?.pop())
            })
            .await
    }
}

//! Writes and reads the audit and the samples of a room.

use fairgate_databases::{SqlRow, SqlTransaction};
use futures_util::FutureExt;

use super::RoomLedger;
use super::columns::{Result, from_json, to_json};
use crate::ledger::{AuditRow, RoomAuditEntry, RoomSample};

impl RoomLedger {
    /// Reads the audit of a room, oldest first.
    pub async fn audit(&self, room: &str) -> Result<Vec<AuditRow>> {
        self.installation
            .read(room.to_owned(), |tx, room| stored_audit(tx, room).boxed())
            .await
    }

    /// Adds one audit row.
    pub async fn note(&self, room: &str, entry: RoomAuditEntry) -> Result<()> {
        self.installation
            .write((room.to_owned(), entry), |tx, (room, entry)| {
                append_entry(tx, room, entry).boxed()
            })
            .await
    }

    /// Adds one sample for the report. If the ledger has a sample of the same time already, that
    /// sample stays.
    pub async fn sample(&self, room: &str, sample: RoomSample) -> Result<()> {
        self.installation
            .write((room.to_owned(), sample), |tx, (room, sample)| {
                add_sample(tx, room, sample).boxed()
            })
            .await
    }

    /// Reads the samples of a room, oldest first.
    pub async fn samples(&self, room: &str) -> Result<Vec<RoomSample>> {
        self.installation
            .read(room.to_owned(), |tx, room| stored_samples(tx, room).boxed())
            .await
    }
}

/// Adds an entry after the room's last one and chains the two.
pub(super) async fn append_entry(
    tx: &SqlTransaction,
    room: &str,
    entry: &RoomAuditEntry,
) -> Result<()> {
    lock_chain(tx, room).await?;
    let sql = "SELECT seq, hash FROM gw_audit WHERE room = $1 ORDER BY seq DESC LIMIT 1";
    let (seq, prev): (u64, String) = match tx.first(sql, &[&room]).await? {
        Some(last) => (last.get(0)?, last.get(1)?),
        None => (0, AuditRow::GENESIS.to_owned()),
    };
    let row = AuditRow::chain(seq + 1, &prev, entry);
    let sql = "INSERT INTO gw_audit (room, seq, at, role, action, detail, hash, prev)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let detail = row.detail.to_string();
    tx.execute(
        sql,
        &[
            &room,
            &row.seq,
            &row.at,
            &row.role,
            &row.action,
            &detail,
            &row.hash,
            &row.prev,
        ],
    )
    .await?;
    Ok(())
}

/// Locks the room's chain until the transaction ends. Otherwise two nodes would chain their entries
/// to the same row, and one of the entries would be refused. This is not a `NamedLock`, because
/// nodes of the previous version may run at the same time, and they use this lock.
async fn lock_chain(tx: &SqlTransaction, room: &str) -> Result<()> {
    if tx.is_postgres() {
        let sql = "SELECT pg_advisory_xact_lock(hashtextextended('gw_audit/' || $1, 0))";
        tx.query_one(sql, &[&room]).await?;
    }
    Ok(())
}

pub(super) async fn stored_audit(tx: &SqlTransaction, room: &str) -> Result<Vec<AuditRow>> {
    let sql = "SELECT seq, at, role, action, detail, hash, prev FROM gw_audit
         WHERE room = $1 ORDER BY seq";
    let audit_row = |row: &SqlRow| {
        Ok(AuditRow {
            seq: row.get(0)?,
            at: row.get(1)?,
            role: row.get(2)?,
            action: row.get(3)?,
            detail: from_json(row.get(4)?)?,
            hash: row.get(5)?,
            prev: row.get(6)?,
        })
    };
    tx.query(sql, &[&room])
        .await?
        .iter()
        .map(audit_row)
        .collect()
}

pub(super) async fn add_sample(tx: &SqlTransaction, room: &str, sample: &RoomSample) -> Result<()> {
    let sql = "INSERT INTO gw_samples (room, at, sample) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING";
    tx.execute(sql, &[&room, &sample.at_ms, &to_json(sample)?])
        .await?;
    Ok(())
}

pub(super) async fn stored_samples(tx: &SqlTransaction, room: &str) -> Result<Vec<RoomSample>> {
    let sql = "SELECT sample FROM gw_samples WHERE room = $1 ORDER BY at";
    let rows = tx.query(sql, &[&room]).await?;
    rows.iter().map(|row| from_json(row.get(0)?)).collect()
}

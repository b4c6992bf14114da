//! Audit and samples.

use fairgate_databases::Tx;

use crate::ledger::columns::{json, signed, to_json, unsigned};
use crate::ledger::{AuditRow, Entry, Failure, Sample};

/// Chains an entry behind the room's last one. The lock is the room's and ends with the transaction: without it two
/// nodes would chain theirs behind the same row, and one of them would be refused.
pub(super) async fn append(tx: &Tx, room: &str, entry: &Entry) -> Result<(), Failure> {
    tx.one(
        "SELECT pg_advisory_xact_lock(hashtextextended('gw_audit/' || $1, 0))",
        &[&room],
    )
    .await?;
    let last = tx
        .first(
            "SELECT seq, hash FROM gw_audit WHERE room = $1 ORDER BY seq DESC LIMIT 1",
            &[&room],
        )
        .await?;
    let (seq, prev) = last.map_or_else(
        || (0, AuditRow::GENESIS.to_owned()),
        |row| (row.get(0), row.get(1)),
    );
    let row = AuditRow::chain(unsigned(seq)? + 1, &prev, entry);
    tx.execute(
        "INSERT INTO gw_audit (room, seq, at, role, action, detail, hash, prev) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &room,
            &signed(row.seq),
            &row.at,
            &row.role,
            &row.action,
            &row.detail.to_string(),
            &row.hash,
            &row.prev,
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn audit(tx: &Tx, room: &str) -> Result<Vec<AuditRow>, Failure> {
    let sql = "SELECT seq, at, role, action, detail, hash, prev FROM gw_audit WHERE room = $1 ORDER BY seq";
    let rows = tx.query(sql, &[&room]).await?;
    rows.iter()
        .map(|row| {
            Ok(AuditRow {
                seq: unsigned(row.get(0))?,
                at: row.get(1),
                role: row.get(2),
                action: row.get(3),
                detail: json(row.get(4))?,
                hash: row.get(5),
                prev: row.get(6),
            })
        })
        .collect()
}

pub(super) async fn add_sample(tx: &Tx, room: &str, sample: &Sample) -> Result<(), Failure> {
    tx.execute(
        "INSERT INTO gw_samples (room, at, sample) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        &[&room, &sample.at_ms, &to_json(sample)?],
    )
    .await?;
    Ok(())
}

pub(super) async fn samples(tx: &Tx, room: &str) -> Result<Vec<Sample>, Failure> {
    let sql = "SELECT sample FROM gw_samples WHERE room = $1 ORDER BY at";
    let rows = tx.query(sql, &[&room]).await?;
    rows.iter().map(|row| json(row.get(0))).collect()
}

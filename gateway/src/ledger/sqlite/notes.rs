//! Audit and samples.

use fairgate_databases::rusqlite::{Connection, OptionalExtension, params};

use crate::ledger::columns::{json, signed, to_json, unsigned};
use crate::ledger::{AuditRow, Entry, Failure, Sample};

pub(super) fn append(c: &Connection, room: &str, entry: &Entry) -> Result<(), Failure> {
    let last: Option<(i64, String)> = c
        .prepare_cached("SELECT seq, hash FROM gw_audit WHERE room = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([room], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (seq, prev) = last.unwrap_or_else(|| (0, AuditRow::GENESIS.to_owned()));
    let row = AuditRow::chain(unsigned(seq)? + 1, &prev, entry);
    c.execute(
        "INSERT INTO gw_audit (room, seq, at, role, action, detail, hash, prev) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            room,
            signed(row.seq),
            row.at,
            row.role,
            row.action,
            row.detail.to_string(),
            row.hash,
            row.prev
        ],
    )?;
    Ok(())
}

pub(super) fn audit(c: &Connection, room: &str) -> Result<Vec<AuditRow>, Failure> {
    let mut statement = c.prepare_cached(
        "SELECT seq, at, role, action, detail, hash, prev FROM gw_audit WHERE room = ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query([room])?;
    let mut audit = Vec::new();
    while let Some(row) = rows.next()? {
        audit.push(AuditRow {
            seq: unsigned(row.get(0)?)?,
            at: row.get(1)?,
            role: row.get(2)?,
            action: row.get(3)?,
            detail: json(&row.get::<_, String>(4)?)?,
            hash: row.get(5)?,
            prev: row.get(6)?,
        });
    }
    Ok(audit)
}

pub(super) fn add_sample(c: &Connection, room: &str, sample: &Sample) -> Result<(), Failure> {
    c.execute(
        "INSERT OR IGNORE INTO gw_samples (room, at, sample) VALUES (?1, ?2, ?3)",
        params![room, sample.at_ms, to_json(sample)?],
    )?;
    Ok(())
}

pub(super) fn samples(c: &Connection, room: &str) -> Result<Vec<Sample>, Failure> {
    let mut statement =
        c.prepare_cached("SELECT sample FROM gw_samples WHERE room = ?1 ORDER BY at")?;
    let mut rows = statement.query([room])?;
    let mut samples = Vec::new();
    while let Some(row) = rows.next()? {
        samples.push(json(&row.get::<_, String>(0)?)?);
    }
    Ok(samples)
}

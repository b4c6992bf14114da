//! Measures how many pages a second a writer can write if it waits for the disk after each, and
//! reads how many transactions the ledger has committed.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::rig::Rig;

/// The size of a database page, in bytes.
const PAGE: usize = 4_096;
/// How long the disk is measured.
const TIME: Duration = Duration::from_secs(1);

/// Appends pages to a file in this folder, and waits until each is on the disk. Returns how many
/// pages a second the disk took.
///
/// # Errors
/// Where the file cannot be written.
pub fn syncs_per_s(folder: &Path) -> anyhow::Result<f64> {
    let mut file = tempfile::tempfile_in(folder).context("no file for the disk's speed")?;
    let (begun, page) = (Instant::now(), [0; PAGE]);
    let mut synced = 0_u32;
    while begun.elapsed() < TIME {
        file.write_all(&page)?;
        file.sync_data()?;
        synced += 1;
    }
    Ok(f64::from(synced) / begun.elapsed().as_secs_f64())
}

/// Returns how many transactions PostgreSQL has committed, or `None` if the ledger is in SQLite.
///
/// # Errors
/// Where PostgreSQL does not answer.
pub async fn commits(rig: &Rig) -> anyhow::Result<Option<f64>> {
    let sql = "SELECT sum(xact_commit) FROM pg_stat_database";
    let Some(postgres) = rig.postgres() else {
        return Ok(None);
    };
    let answer = postgres.query(sql).await?;
    Ok(Some(answer.trim().parse().with_context(|| {
        format!("PostgreSQL counts no commits: {answer}")
    })?))
}

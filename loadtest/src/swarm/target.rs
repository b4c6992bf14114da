//! Judges a run against an installation that the swarm did not start. Reads the installation's
//! ledger over the promoter API.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::verdict::{self, RunVerdict};

/// Reads the ledger's dump into a file, and compares it with the history.
///
/// # Errors
/// If the dump cannot be read, or a file cannot be written or read.
pub async fn judge(
    urls: &[String],
    key: &str,
    history: &Path,
    dump: &Path,
) -> anyhow::Result<RunVerdict> {
    let call = LoadHttpCall::get("/v1/promoter/dump").bearer(key);
    let answer = LoadHttpClient::new(urls).send_slow(&call).await;
    let answer = answer
        .map_err(anyhow::Error::msg)
        .context("the ledger's dump could not be read")?;
    ensure!(
        answer.is_ok(),
        "the ledger's dump was refused ({}): {}",
        answer.status,
        String::from_utf8_lossy(&answer.body)
    );
    std::fs::write(dump, &answer.body)
        .with_context(|| format!("{} could not be written", dump.display()))?;
    verdict::judge_run(history, dump, None).await
}

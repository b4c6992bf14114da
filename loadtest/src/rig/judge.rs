//! After a run: the ledger is dumped by booking's own tool, and an outside judge compares it with the history. Both are
//! programs of their own; nothing of them is linked into the crowd.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::process::Command;

/// What the judge said.
pub struct Judged {
    /// Whether every invariant held.
    pub held: bool,
    /// Its report.
    pub told: String,
}

/// Dumps the ledger of `data`, and asks `loadtest verdict`.
///
/// # Errors
/// Where either cannot be run.
pub async fn judge(data: &Path, history: &Path, folder: &Path) -> anyhow::Result<Judged> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let booking = std::env::var_os("FAIRGATE_BOOKING_BIN")
        .map_or_else(|| own.with_file_name("booking"), PathBuf::from);
    let dump = folder.join("ledger.jsonl");
    let dumped = Command::new(&booking)
        .arg("dump")
        .arg("--data")
        .arg(data)
        .arg("--out")
        .arg(&dump)
        .output()
        .await
        .with_context(|| {
            format!(
                "{} could not be started; build it with cargo build --release -p booking, or name it in FAIRGATE_BOOKING_BIN",
                booking.display()
            )
        })?;
    if !dumped.status.success() {
        bail!(
            "the ledger could not be dumped: {}",
            String::from_utf8_lossy(&dumped.stderr)
        );
    }
    let judged = Command::new(own)
        .arg("verdict")
        .arg(history)
        .arg("--ledger")
        .arg(&dump)
        .output()
        .await?;
    let told = String::from_utf8_lossy(&judged.stdout).into_owned();
    match judged.status.code() {
        Some(0) => Ok(Judged { held: true, told }),
        Some(99) => Ok(Judged { held: false, told }),
        _ => bail!(
            "the verdict could not be reached: {}",
            String::from_utf8_lossy(&judged.stderr)
        ),
    }
}

//! Judges a run after its end. Booking's own program dumps the ledger. The judge compares the dump
//! with the history.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::process::Command;

use super::Rig;
use crate::verdict::{self, RunVerdict};

/// Where a ledger is stored.
#[derive(Debug, Clone)]
pub enum LedgerLocation {
    /// A SQLite file in this folder.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Database(String),
}

/// Dumps the ledger, and compares the dump with the history. If the rig runs the payment provider,
/// writes the provider's books into the folder and compares them too.
///
/// # Errors
/// Where the ledger cannot be dumped, the books cannot be written, or a file cannot be read.
pub async fn judge(
    ledger: &LedgerLocation,
    history: &Path,
    dump: &Path,
    books: Option<&[Value]>,
    folder: &Path,
) -> anyhow::Result<RunVerdict> {
    dump_ledger(ledger, dump).await?;
    let provider = folder.join("provider.jsonl");
    if let Some(books) = books {
        let lines: String = books.iter().map(|record| format!("{record}\n")).collect();
        std::fs::write(&provider, lines).context("the provider's books could not be written")?;
    }
    let provider = books.map(|_| provider);
    verdict::judge_run(history, dump, provider).await
}

async fn dump_ledger(ledger: &LedgerLocation, dump: &Path) -> anyhow::Result<()> {
    let booking = booking_binary()?;
    let mut command = Command::new(&booking);
    command.arg("dump");
    match ledger {
        LedgerLocation::Folder(folder) => command.arg("--data").arg(folder),
        LedgerLocation::Database(url) => command.arg("--database").arg(url),
    };
    let dumped = command
        .arg("--out")
        .arg(dump)
        .output()
        .await
        .with_context(|| format!("{} could not be started", booking.display()))?;
    ensure!(
        dumped.status.success(),
        "the ledger could not be dumped: {}",
        String::from_utf8_lossy(&dumped.stderr)
    );
    Ok(())
}

impl Rig {
    /// Runs one of booking's commands, such as `import timetable`, on the path `on`. The command
    /// uses the ledger file of the first gateway. This gateway must not be running.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub async fn booking(&self, command: &[&str], on: &Path) -> anyhow::Result<Output> {
        let booking = booking_binary()?;
        let mut running = Command::new(&booking);
        let running = running.args(command).arg(on);
        let running = running.arg("--data").arg(self.gateways[0].data());
        let output = running.output().await;
        output.with_context(|| format!("{} could not be started", booking.display()))
    }
}

/// Returns booking's program. This is the file that `FAIRGATE_BOOKING_BIN` names. If the variable
/// is not set, it is the program next to this one. That program is built if it does not exist.
///
/// # Errors
/// Where the variable names no file, or the program cannot be built.
pub fn booking_binary() -> anyhow::Result<PathBuf> {
    super::process::find_or_build("booking", "FAIRGATE_BOOKING_BIN")
}

/// Returns the gateway's program.
///
/// # Errors
/// Where it cannot be found or built.
pub fn gateway_binary() -> anyhow::Result<PathBuf> {
    super::process::find_or_build("gateway", "FAIRGATE_GATEWAY_BIN")
}

/// Returns the gateway and booking of another build, which are in this folder.
///
/// # Errors
/// Where one of them is not there.
pub fn programs_in(folder: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let [gateway, booking] = ["gateway", "booking"].map(|name| folder.join(name));
    for program in [&gateway, &booking] {
        ensure!(program.is_file(), "there is no {}", program.display());
    }
    Ok((gateway, booking))
}

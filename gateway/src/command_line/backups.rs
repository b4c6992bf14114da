//! `gateway backup` and `gateway restore`: copies of a ledger in a file.

use std::path::Path;

use anyhow::bail;
use fairgate_base::clock::Clock;
use fairgate_base::secret::{find_secret, require_secret_of_file};
use fairgate_model::counted::counted;

use crate::config::GatewayConfig;
use crate::upstream::backup::{self, BackupHead, KEY_PURPOSE};

/// Writes a backup of the installation's ledger into the new file `file`, while it serves. Returns
/// what to print.
///
/// # Errors
/// Fails if the ledger is in a database, or if there is no backup in the end.
pub(super) fn back_up(config: &GatewayConfig, file: &Path, json: bool) -> anyhow::Result<String> {
    if config.stores.database_url.is_some() {
        bail!(
            "the ledger is in PostgreSQL, and PostgreSQL's own programs back it up: pg_dump --format=custom. Nothing was written"
        );
    }
    // A wrong folder has no secret, either, and is named as what it is.
    let ledger = backup::find_ledger(&config.data)?;
    // A backup that is signed with another secret could be restored by nobody.
    let secret = require_secret_of_file(&ledger, &config.secret, &config.data)?;
    let key = secret.sub_key(KEY_PURPOSE);
    let now_ms = Clock::system().now_ms();
    let head = backup::back_up(&config.data, file, &key, now_ms)?;
    if json {
        return Ok(serde_json::to_string(&head)?);
    }
    Ok(format!(
        "{}: {}, checked and signed\nThe secret is not in it. Keep a copy of FAIRGATE_SECRET, or of the file \"secret\" in {}, elsewhere: without it, nobody can restore this backup.",
        file.display(),
        contents(&head),
        config.data.display()
    ))
}

/// Restores a backup into the empty folder of `config`. Returns what to print.
///
/// # Errors
/// Fails if the folder is not empty, or if the file is not a whole backup of an installation with
/// this secret.
pub(super) async fn restore(
    config: &GatewayConfig,
    file: &Path,
    json: bool,
) -> anyhow::Result<String> {
    backup::open_backup(file, &config.data)?;
    let (secret, _) = find_secret(&config.secret, &config.data)?;
    let key = secret.sub_key(KEY_PURPOSE);
    let head = backup::restore(file, &config.data, &key).await?;
    if json {
        return Ok(serde_json::to_string(&head)?);
    }
    Ok(format!(
        "{}: {}\nWhat was ordered after {} is not in it, and its tickets are not known at the door. If keys were rotated since, run `gateway keys rotate` again. All shows are closed: start the gateway with the payment provider that it had, and run `gateway reopen SHOW`.",
        config.data.display(),
        contents(&head),
        head.made_at
    ))
}

/// Describes what a backup has.
fn contents(head: &BackupHead) -> String {
    format!(
        "{} and {} of {}",
        counted(head.orders, "order", "orders"),
        counted(head.tickets, "ticket", "tickets"),
        head.made_at
    )
}

//! A small disk for the ledger file of a gateway that hosts everything, so that it can be filled up
//! and freed again.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// How large it is, megabytes: enough for the ledger of a run.
const SIZE_MB: usize = 48;
/// Written at once.
const PIECE: usize = 64 * 1024;
/// What fills it.
const FILLER: &str = "filler";

/// A file system of its own in memory. Dropping it takes it away.
pub struct SmallDisk {
    folder: PathBuf,
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: whatever has a file open on it still ends by itself.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

impl SmallDisk {
    /// Whether this user may have one.
    pub fn can_be_had() -> bool {
        let Ok(folder) = tempfile::tempdir() else {
            return false;
        };
        Self::mount_at(folder.path()).is_ok()
    }

    /// Puts it where a folder is, or is to be.
    ///
    /// # Errors
    /// Where this user may not mount file systems.
    pub fn mount_at(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={SIZE_MB}m"), "none"])
            .arg(folder)
            .output()
            .context("mount could not be started")?;
        ensure!(
            mounted.status.success(),
            "no small disk could be made: {}",
            String::from_utf8_lossy(&mounted.stderr).trim()
        );
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Fills it to the last byte.
    ///
    /// # Errors
    /// Where it does not become full.
    pub fn fill(&self) -> anyhow::Result<()> {
        let mut filler = File::create(self.folder.join(FILLER))?;
        let piece = vec![0; PIECE];
        for _ in 0..=SIZE_MB * 1024 * 1024 / PIECE {
            if filler.write_all(&piece).is_err() {
                return Ok(());
            }
        }
        bail!("the disk did not become full")
    }

    /// Frees what filled it.
    ///
    /// # Errors
    /// Where it cannot be freed.
    pub fn free(&self) -> anyhow::Result<()> {
        std::fs::remove_file(self.folder.join(FILLER)).context("the disk could not be freed")
    }
}

//! Mounts a small disk for the ledger file of a gateway that hosts everything. A fault can fill the
//! disk and free it again.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// The size of the disk in mebibytes. It is enough for the ledger of a run.
const SIZE_MB: usize = 48;
/// The number of bytes written at once.
const PIECE: usize = 64 * 1024;
/// The name of the file that fills the disk.
const FILLER: &str = "filler";

/// A small file system in memory. Dropping this value unmounts the file system.
pub struct SmallDisk {
    folder: PathBuf,
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The unmount is lazy, so that a process with an open file on the disk can still end by
        // itself.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

impl SmallDisk {
    /// Returns whether this user may mount a disk.
    pub fn can_be_had() -> bool {
        let Ok(folder) = tempfile::tempdir() else {
            return false;
        };
        Self::mount_at(folder.path()).is_ok()
    }

    /// Mounts the disk at a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// Where the folder cannot be made, or this user may not mount file systems.
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

    /// Fills the disk to the last byte.
    ///
    /// # Errors
    /// Where the disk does not become full.
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

    /// Removes the file that fills the disk.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn free(&self) -> anyhow::Result<()> {
        std::fs::remove_file(self.folder.join(FILLER)).context("the disk could not be freed")
    }
}

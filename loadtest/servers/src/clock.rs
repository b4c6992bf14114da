//! A clock that can be moved under a process: libfaketime, and a file that says by how much.
//! Monotonic intervals go on as they were, as they do where a machine's clock is set.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use crate::needs;

/// The clock of one process, or of several that share it.
#[derive(Debug, Clone)]
pub struct MovableClock {
    file: PathBuf,
}

impl MovableClock {
    /// The clock that a file tells.
    #[must_use]
    pub fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// What a process is started with to go by it. libc stands behind the library so that memory
    /// comes from there: jemalloc asks for the time while the library is not ready to tell it.
    ///
    /// # Errors
    /// Where there is no libfaketime.
    pub fn environment(&self) -> anyhow::Result<Vec<(String, OsString)>> {
        let library = needs::clock_library().context("there is no libfaketime")?;
        let pair = |name: &str, value: OsString| (name.to_owned(), value);
        Ok(vec![
            pair(
                "LD_PRELOAD",
                format!("{} libc.so.6", library.display()).into(),
            ),
            pair("FAKETIME_TIMESTAMP_FILE", self.file.clone().into()),
            pair("FAKETIME_NO_CACHE", "1".into()),
            pair("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ])
    }

    /// Sets it so many seconds ahead of the true one; behind, where it is below zero.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn set_ahead(&self, seconds: i64) -> anyhow::Result<()> {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{seconds:+}\n")).context("the clock could not be set")?;
        // Whole at once: it is read at any time.
        std::fs::rename(&new, &self.file).context("the clock could not be set")
    }
}

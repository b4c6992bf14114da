//! Moves the clock of a process with libfaketime. A file contains the offset. Monotonic intervals
//! do not change. They do not change either when somebody sets the clock of a real machine.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use crate::needs;

/// A clock that one or several processes follow.
#[derive(Debug, Clone)]
pub struct MovableClock {
    file: PathBuf,
}

impl MovableClock {
    /// Makes a clock that reads its offset from this file. Does not write the file.
    #[must_use]
    pub fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns the environment variables that make a process follow the clock. They preload the
    /// library, and also libc. So the process uses the memory allocator of libc instead of
    /// jemalloc. jemalloc asks for the time before the library can answer.
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

    /// Sets the clock `seconds` ahead of the true time. A negative number sets it back.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn set_ahead(&self, seconds: i64) -> anyhow::Result<()> {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{seconds:+}\n")).context("the clock could not be set")?;
        // The file is replaced in one step, because it may be read at any time.
        std::fs::rename(&new, &self.file).context("the clock could not be set")
    }
}

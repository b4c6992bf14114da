//! The setting for how long an ending process waits for calls in flight.

use std::time::Duration;

use super::SettingReader;

/// The longest drain that may be set, in seconds.
const MAX_S: u64 = 600;

/// The settings for the end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainSettings {
    /// `FAIRGATE_DRAIN_S`: how long calls in flight may go on after SIGTERM, in seconds.
    /// Default 10.
    pub calls: Duration,
}

impl DrainSettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 1] = ["drain_s"];

    /// Reads these settings.
    pub fn read(reader: &mut SettingReader) -> Self {
        let calls = reader.parsed_or_default(
            "drain_s",
            Duration::from_secs(10),
            "a whole number of seconds from 0 to 600",
            |text| {
                let seconds = text.parse().ok().filter(|seconds| *seconds <= MAX_S);
                seconds.map(Duration::from_secs)
            },
        );
        Self { calls }
    }
}

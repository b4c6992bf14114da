//! The settings for the end of a process: how long it goes on before it ends, and how long it then
//! waits for calls in flight.

use std::time::Duration;

use super::SettingReader;

/// The longest time that may be set, in seconds.
const MAX_S: u64 = 600;
/// The values that these settings take.
const EXPECTED: &str = "a whole number of seconds from 0 to 600";

/// The settings for the end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainSettings {
    /// `FAIRGATE_DRAIN_NOTICE_S`: how long a process that was asked to end serves as before, while
    /// `/readyz` says that it is not ready, in seconds. Each program has a default of its own.
    pub notice: Option<Duration>,
    /// `FAIRGATE_DRAIN_S`: how long calls in flight may go on after SIGTERM, in seconds.
    /// Default 10.
    pub calls: Duration,
}

impl DrainSettings {
    /// The knobs of these settings.
    pub const KNOBS: [&'static str; 2] = ["drain_notice_s", "drain_s"];

    /// Reads these settings.
    pub fn read(reader: &mut SettingReader) -> Self {
        Self {
            notice: reader.parsed_or_default("drain_notice_s", None, EXPECTED, |text| {
                seconds(text).map(Some)
            }),
            calls: reader.parsed_or_default("drain_s", Duration::from_secs(10), EXPECTED, seconds),
        }
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= MAX_S);
    seconds.map(Duration::from_secs)
}

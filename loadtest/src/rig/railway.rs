//! Describes a railway line for crowds that also buy train tickets. Every day, a short and a long
//! train run. Imports the timetable with booking's program before any process uses the ledger.

use std::path::Path;

use anyhow::{Context, ensure};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use tokio::process::Command;

use super::judge::LedgerLocation;

/// The files of the timetable.
const FILES: [(&str, &str); 4] = [
    (
        "stations.csv",
        include_str!("../../scenarios/line/stations.csv"),
    ),
    (
        "trains.csv",
        include_str!("../../scenarios/line/trains.csv"),
    ),
    (
        "stop_times.csv",
        include_str!("../../scenarios/line/stop_times.csv"),
    ),
    ("rail.toml", include_str!("../../scenarios/line/rail.toml")),
];
/// The time zone of the line.
const TIME_ZONE: &str = "Europe/Berlin";
/// The crowd buys tickets for the departure in this number of days.
const LEAVES_IN_DAYS: i64 = 5;
/// The codes of the stations, in the order of the stops.
pub const STOPS: [&str; 4] = ["AAA", "BBB", "CCC", "DDD"];
/// The key of the only class.
pub const CLASS: &str = "second";
/// The id of the short train, without a date.
pub const SHORT_TRAIN: &str = "t1";
/// The id of the long train, without a date.
pub const LONG_TRAIN: &str = "t2";
/// The pattern with which the room names the departures of the short train.
pub const DEPARTURES: &str = "t1-*";

/// Returns the id of the departure of a train for which the crowd buys tickets.
///
/// # Errors
/// Where the time zone is unknown.
pub fn departure(train: &str) -> anyhow::Result<String> {
    let zone = TimeZone::get(TIME_ZONE)?;
    let date = Timestamp::now().to_zoned(zone).date();
    Ok(format!(
        "{train}-{}",
        date.checked_add(LEAVES_IN_DAYS.days())?
    ))
}

/// Imports the timetable into a ledger that no process uses yet. Writes the files of the timetable
/// into a new folder below `folder`.
///
/// # Errors
/// Where the files cannot be written, or the import fails.
pub async fn import(booking: &Path, ledger: &LedgerLocation, folder: &Path) -> anyhow::Result<()> {
    let line = folder.join("line");
    std::fs::create_dir(&line)?;
    for (name, text) in FILES {
        std::fs::write(line.join(name), text)?;
    }
    let mut command = Command::new(booking);
    command.args(["import", "timetable"]).arg(&line);
    command.args(["--timezone", TIME_ZONE, "--rail"]);
    command.arg(line.join("rail.toml"));
    match ledger {
        LedgerLocation::Folder(data) => command.arg("--data").arg(data),
        LedgerLocation::Database(url) => command.arg("--database").arg(url),
    };
    let output = command.output().await;
    let output = output.with_context(|| format!("{} could not be started", booking.display()))?;
    ensure!(
        output.status.success(),
        "the railway line was not imported: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

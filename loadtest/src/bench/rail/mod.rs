//! Measures a whole country's timetable. How long does its import take? How soon after a gateway
//! starts does it find the trips? How quickly are searches for free seats answered under load? Does
//! one hot train slow the others?

mod departure;
mod hot;
mod look;
mod pace;
mod timetable;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use jiff::civil::Date;
use serde::Serialize;

use super::{BenchOutcome, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigComponent};
use timetable::RailBenchTimetable;

/// The first day that is asked for, counted from today in UTC. On that day, no train has left yet
/// in any time zone.
const FIRST_DAY: i64 = 2;
/// The last day that is asked for.
const LAST_DAY: i64 = 14;
/// The station from which trips are counted.
const FROM: &str = "VNP";
/// The station to which trips are counted.
const TO: &str = "AOH";
/// The most time that the import may take.
const IMPORT_MAX: Duration = Duration::from_secs(30);
/// The most time that an import of the same timetable may take.
const AGAIN_MAX: Duration = Duration::from_millis(500);
/// The longest time from the start of the process until a trip is found.
const COLD_MAX: Duration = Duration::from_secs(1);
/// The number of visitors who hold seats. With fewer visitors, a visitor would ask for the same
/// train again before their last hold of it was released.
const VISITORS: usize = 600;
/// The longest wait for the first answer after a start.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Imports the timetable into one process with everything embedded, starts the process, and
/// measures it.
#[derive(clap::Args)]
pub struct RailBenchOptions {
    /// The folder with stations.csv, trains.csv and stop_times.csv.
    #[arg(long, default_value_os_t = data())]
    timetable: PathBuf,
    /// How many searches for free seats a second.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=20_000))]
    per_s: u32,
    /// How long each of the measurements lasts, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    for_s: u32,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

fn data() -> PathBuf {
    let real =
        std::env::var_os("FAIRGATE_REAL_DATA").map_or("../shared/data".into(), PathBuf::from);
    real.join("china-hsr-2016")
}

/// The figures of the bench.
#[derive(Serialize)]
struct RailBenchFigures {
    bench: &'static str,
    trips: usize,
    stops: usize,
    import_s: f64,
    import_max_s: f64,
    again_s: f64,
    again_max_s: f64,
    everyday_trips: usize,
    found: usize,
    dates: usize,
    cold_s: f64,
    cold_max_s: f64,
    look: look::AvailabilityFigures,
    hot: hot::HotTrainFigures,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &RailBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

async fn measure(options: &RailBenchOptions) -> anyhow::Result<RailBenchFigures> {
    let timetable = RailBenchTimetable::read(&options.timetable)?;
    let everyday_trips = timetable.everyday_between(FROM, TO).count();
    let spec = "gateways=1,bookings=0,redis=none,ledger=sqlite".parse();
    let rig = Rig::start(spec.map_err(anyhow::Error::msg)?).await?;
    let (import, imported) = import(&rig, options).await?;
    eprintln!("imported in {:.1} s", import.as_secs_f64());
    let http = LoadHttpClient::new(&rig.urls());
    let today = jiff::Zoned::now()
        .with_time_zone(jiff::tz::TimeZone::UTC)
        .date();
    let day = |days: i64| today.saturating_add(jiff::Span::new().days(days));
    let date = day(FIRST_DAY);
    let (cold, found) = cold_start(&rig, &http, date).await?;
    eprintln!(
        "{found} trips were found {:.2} s after the start",
        cold.as_secs_f64()
    );
    let mut fewest = found;
    let dates: Vec<Date> = (FIRST_DAY..=LAST_DAY).map(day).collect();
    for date in &dates {
        fewest = fewest.min(trips(&http, *date).await?.context("no answer")?);
    }
    let time = Duration::from_secs(options.for_s.into());
    // Together these patterns cover every departure. A room does not accept the pattern `*` alone.
    let patterns: Vec<String> = ('a'..='z')
        .chain('0'..='9')
        .map(|begins| format!("{begins}*"))
        .collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    people::open_room(&http, rig.promoter_key(), &patterns, VISITORS).await?;
    let passes = people::passes(&http, VISITORS).await?.into();
    let look = look::measure(&http, &passes, &timetable, &dates, options.per_s, time).await?;
    let hot = hot::measure(&http, &passes, &timetable, date, time).await?;
    let again = import_again(&rig, options, &imported["version"]).await?;
    rig.stop().await?;
    let held = import < IMPORT_MAX
        && again < AGAIN_MAX
        && cold < COLD_MAX
        && fewest >= everyday_trips
        && look.held()
        && hot.held();
    Ok(RailBenchFigures {
        bench: "rail",
        trips: timetable.trips.len(),
        stops: timetable.stops(),
        import_s: import.as_secs_f64(),
        import_max_s: IMPORT_MAX.as_secs_f64(),
        again_s: again.as_secs_f64(),
        again_max_s: AGAIN_MAX.as_secs_f64(),
        everyday_trips,
        found: fewest,
        dates: dates.len(),
        cold_s: cold.as_secs_f64(),
        cold_max_s: COLD_MAX.as_secs_f64(),
        look,
        hot,
        held,
    })
}

/// Kills the gateway first, because only one process at a time may use a ledger file. Then imports
/// the timetable. Returns how long the import took, and what it answered.
async fn import(
    rig: &Rig,
    options: &RailBenchOptions,
) -> anyhow::Result<(Duration, serde_json::Value)> {
    rig.kill(RigComponent::Gateway(0)).await?;
    let begun = Instant::now();
    let imported = rig
        .booking(&["import", "timetable", "--json"], &options.timetable)
        .await?;
    let took = begun.elapsed();
    ensure!(
        imported.status.success(),
        "the timetable was not imported: {}",
        String::from_utf8_lossy(&imported.stderr)
    );
    let answer = serde_json::from_slice(&imported.stdout);
    Ok((took, answer.context("the import's answer is no JSON")?))
}

/// Imports the same timetable again, of which departures were held meanwhile. Returns how long that
/// took. Fails if anything was changed.
async fn import_again(
    rig: &Rig,
    options: &RailBenchOptions,
    version: &serde_json::Value,
) -> anyhow::Result<Duration> {
    let (took, answer) = import(rig, options).await?;
    ensure!(
        answer["version"] == *version,
        "the unchanged timetable got another version: {answer}"
    );
    let kinds = answer["departures"].as_object();
    let kinds = kinds.context("the import says what it changed")?;
    let touched = kinds.values().any(|kind| kind["shows"] != 0);
    ensure!(
        !touched,
        "the unchanged timetable touched departures: {answer}"
    );
    Ok(took)
}

/// Starts the gateway. Returns the time until it answers a search for trips, and the number of
/// trips in that answer.
async fn cold_start(
    rig: &Rig,
    http: &LoadHttpClient,
    date: Date,
) -> anyhow::Result<(Duration, usize)> {
    let begun = Instant::now();
    rig.launch(RigComponent::Gateway(0)).await?;
    loop {
        if let Some(found) = trips(http, date).await? {
            let took = begun.elapsed();
            rig.until_ready().await?;
            return Ok((took, found));
        }
        if begun.elapsed() > ANSWERED_WITHIN {
            bail!(
                "the search for trips was not answered within {} s",
                ANSWERED_WITHIN.as_secs()
            );
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns how many trips the gateway finds between the two stations, or `None` if it is not ready
/// yet.
async fn trips(http: &LoadHttpClient, date: Date) -> anyhow::Result<Option<usize>> {
    let call = LoadHttpCall::get(departure::path(FROM, TO, date));
    let Ok(answer) = http.send_to(0, &call, 0).await else {
        return Ok(None);
    };
    if answer.status == 503 {
        return Ok(None);
    }
    ensure!(
        answer.is_ok(),
        "trips were refused ({}): {}",
        answer.status,
        answer.json()
    );
    let answer = answer.json();
    let trips = answer.as_array().context("trips are a list")?;
    Ok(Some(trips.len()))
}

impl report::BenchFigures for RailBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let (look, hot) = (&self.look, &self.hot);
        vec![
            format!(
                "a timetable of {} trips and {} stops, one process",
                self.trips, self.stops
            ),
            format!(
                "  imported in                     {:8.1} s    under {} s",
                self.import_s, self.import_max_s
            ),
            format!(
                "  imported again, unchanged in    {:8.2} s    under {} s",
                self.again_s, self.again_max_s
            ),
            format!(
                "  trips {FROM}-{TO}, least of {} dates {:4}      at least the {} of every day",
                self.dates, self.found, self.everyday_trips
            ),
            format!(
                "  found after a cold start        {:8.2} s    under {} s",
                self.cold_s, self.cold_max_s
            ),
            format!(
                "  availability at {:5}/s, p99     {:8.2} ms   under {} ms; p50 {:.2} ms, {} departures held",
                look.per_s, look.p99_ms, look.p99_max_ms, look.p50_ms, look.held_departures
            ),
            format!(
                "  holds of other trains, p99      {:8.2} ms   alone {:.2} ms",
                hot.beside_p99_ms, hot.alone_p99_ms
            ),
            format!(
                "  beside a train at {:2} x the load  {:7.2} x    at most {} x",
                hot.times, hot.ratio, hot.ratio_max
            ),
        ]
    }
}

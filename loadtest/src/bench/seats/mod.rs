//! Measures a million seats in one Redis. How much memory do they take? How long does it take to
//! import them, to sell a show out, to restart booking and to rebuild lost keys?

mod sale;
mod stages;

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::Serialize;
use serde_json::json;

use super::{BenchOutcome, people, report};
use crate::http::LoadHttpClient;
use crate::rig::{Rig, RigComponent};
use stages::{SeatBenchStage, ServedSeats};

/// The most time that the rebuild of a show may take.
const REBUILD_MAX: Duration = Duration::from_secs(5);
/// The longest time until every show is served. If it takes longer, the run is invalid.
const SERVED_WITHIN: Duration = Duration::from_secs(120);

/// Imports shows through the promoter's calls. Sells one of them out: parties of 100 hold, order
/// and pay. Starts booking again. Deletes the keys of the sold-out show, then all keys, and waits
/// each time until the shows are rebuilt.
#[derive(clap::Args)]
pub struct SeatBenchOptions {
    /// The number of shows.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    shows: u32,
    /// The number of rows of each show.
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    rows: u32,
    /// The number of seats of each row.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    columns: u32,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Serialize)]
struct SeatBenchFigures {
    bench: &'static str,
    shows: u32,
    seats: u64,
    stages: Vec<SeatBenchStage>,
    /// The seconds from the loss of the sold-out show's keys until its seats are served from new
    /// keys.
    rebuild_one_s: f64,
    /// The seconds from the loss of all keys until the last show is served again.
    rebuild_all_s: f64,
    /// The threshold of `rebuild_one_s`.
    rebuild_max_s: f64,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &SeatBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

async fn measure(options: &SeatBenchOptions) -> anyhow::Result<SeatBenchFigures> {
    let spec = "gateways=1,bookings=1,redis=single,ledger=postgres".parse();
    let rig = Rig::start(spec.map_err(anyhow::Error::msg)?).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let shows: Vec<String> = (1..=options.shows).map(|n| format!("night-{n}")).collect();
    let seats_per_show = options.rows as usize * options.columns as usize;
    let mut stages = vec![SeatBenchStage::read(&rig, "empty", Duration::ZERO).await?];

    let begun = Instant::now();
    import(&http, rig.promoter_key(), &shows, options).await?;
    stages.push(SeatBenchStage::read(&rig, "imported", begun.elapsed()).await?);

    let begun = Instant::now();
    let opened = stages::all_served(&http, &shows, &ServedSeats::default(), SERVED_WITHIN).await?;
    stages.push(SeatBenchStage::read(&rig, "opened in Redis", begun.elapsed()).await?);
    for show in &shows {
        let free = opened.counts(show)[0];
        ensure!(
            free == seats_per_show,
            "{show} has {free} free seats instead of {seats_per_show}"
        );
    }

    let begun = Instant::now();
    sale::sell_out(&http, rig.promoter_key(), &shows[0], seats_per_show).await?;
    stages.push(SeatBenchStage::read(&rig, "one sold out", begun.elapsed()).await?);

    let begun = Instant::now();
    rig.kill(RigComponent::Booking(0)).await?;
    rig.revive(RigComponent::Booking(0)).await?;
    let before = stages::all_served(&http, &shows, &ServedSeats::default(), SERVED_WITHIN).await?;
    stages.push(SeatBenchStage::read(&rig, "booking started again", begun.elapsed()).await?);
    is_as_sold(&before, &shows, seats_per_show)?;

    let begun = Instant::now();
    stages::delete_show_keys(&rig, &shows[0]).await?;
    let sold_out = std::slice::from_ref(&shows[0]);
    let rebuilt = stages::all_served(&http, sold_out, &before, SERVED_WITHIN).await?;
    let rebuild_one = begun.elapsed();
    stages.push(SeatBenchStage::read(&rig, "one lost and rebuilt", rebuild_one).await?);
    is_as_sold(&rebuilt, sold_out, seats_per_show)?;

    let before = stages::all_served(&http, &shows, &ServedSeats::default(), SERVED_WITHIN).await?;
    let begun = Instant::now();
    rig.redis()?.flush_all().await?;
    let all_rebuilt = stages::all_served(&http, &shows, &before, SERVED_WITHIN).await?;
    let rebuild_all = begun.elapsed();
    stages.push(SeatBenchStage::read(&rig, "emptied and rebuilt", rebuild_all).await?);
    is_as_sold(&all_rebuilt, &shows, seats_per_show)?;
    rig.stop().await?;

    Ok(SeatBenchFigures {
        bench: "seats",
        shows: options.shows,
        seats: u64::from(options.shows) * seats_per_show as u64,
        stages,
        rebuild_one_s: rebuild_one.as_secs_f64(),
        rebuild_all_s: rebuild_all.as_secs_f64(),
        rebuild_max_s: REBUILD_MAX.as_secs_f64(),
        held: rebuild_one < REBUILD_MAX && rebuild_all < REBUILD_MAX * options.shows,
    })
}

/// Checks that the first show is still sold out, and that all seats of the others are free.
fn is_as_sold(served: &ServedSeats, shows: &[String], seats_per_show: usize) -> anyhow::Result<()> {
    for (index, show) in shows.iter().enumerate() {
        let wanted = if index == 0 {
            [0, 0, seats_per_show]
        } else {
            [seats_per_show, 0, 0]
        };
        let [free, held, sold, _] = served.counts(show);
        ensure!(
            [free, held, sold] == wanted,
            "{show} has {free} free, {held} held and {sold} sold seats, and should have {wanted:?}"
        );
    }
    Ok(())
}

/// Imports one venue and the shows. Each visitor may hold the seats of a whole party.
async fn import(
    http: &LoadHttpClient,
    key: &str,
    shows: &[String],
    options: &SeatBenchOptions,
) -> anyhow::Result<()> {
    let plan = format!("grid:{}x{}", options.rows, options.columns);
    people::put(http, key, "venues/hall", json!({ "plan": plan })).await?;
    for show in shows {
        let document = json!({
            "venue": "hall", "title": show, "starts_at": "2099-06-01T20:00:00Z", "orphans": "allow",
            "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": sale::PARTY, "hold_s": 3_600,
        });
        people::put(http, key, &format!("shows/{show}"), document).await?;
    }
    Ok(())
}

impl report::BenchFigures for SeatBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{} shows, {} seats, in one Redis", self.shows, self.seats),
            format!("  {:<24}  took s   redis MB  booking MB  gateway MB", ""),
        ];
        lines.extend(self.stages.iter().map(|stage| {
            format!(
                "  {:<24} {:7.1} {:10.1} {:11.1} {:11.1}",
                stage.name, stage.took_s, stage.redis_mb, stage.booking_mb, stage.gateway_mb
            )
        }));
        lines.push(format!(
            "  rebuild of a show        {:.2} s       under {} s",
            self.rebuild_one_s, self.rebuild_max_s
        ));
        lines.push(format!(
            "  rebuild of all           {:.2} s       under {} s each",
            self.rebuild_all_s, self.rebuild_max_s
        ));
        lines
    }
}

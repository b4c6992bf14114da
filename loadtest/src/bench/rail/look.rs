//! Measures searches for free seats between two stations on a date, at a fixed rate. Half of the
//! searches are for any two stations of any train. The other half are for departures with held
//! seats.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use jiff::civil::Date;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::Serialize;

use super::departure::{self, RailBenchDeparture};
use super::pace;
use super::timetable::RailBenchTimetable;
use crate::http::{LoadHttpCall, LoadHttpClient};

/// The time within which 99 of 100 searches must be answered, in milliseconds.
const P99_MAX_MS: f64 = 5.0;
/// The number of seats that are held before the measurement, each on a random departure.
const HELD: usize = 500;
/// The seed of the random choices. Every run searches for the same pairs of stations.
const SEED: u64 = 4_458;

/// The figures of the measurement.
#[derive(Serialize)]
pub struct AvailabilityFigures {
    pub per_s: u32,
    pub held_departures: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p99_max_ms: f64,
}

impl AvailabilityFigures {
    pub fn held(&self) -> bool {
        self.p99_ms < self.p99_max_ms
    }
}

/// Measures the latency of the searches.
///
/// # Errors
/// Where a call is refused or gets no answer, or calls start too late.
pub async fn measure(
    http: &LoadHttpClient,
    passes: &Arc<[String]>,
    timetable: &RailBenchTimetable,
    dates: &[Date],
    per_s: u32,
    lasting: Duration,
) -> anyhow::Result<AvailabilityFigures> {
    let mut dice = StdRng::seed_from_u64(SEED);
    let departures = hold_departures(http, passes, timetable, dates, &mut dice).await?;
    let mut look = |number: usize| {
        let path = if number.is_multiple_of(2) {
            let chosen = &departures[dice.random_range(0..departures.len())];
            departure::path(&chosen.from, &chosen.to, chosen.date)
        } else {
            let (from, to) = timetable.stretch(&mut dice);
            departure::path(from, to, dates[dice.random_range(0..dates.len())])
        };
        let call = LoadHttpCall::get(path);
        let http = http.clone();
        async move {
            let answer = http.send(&call, number).await.map_err(anyhow::Error::msg)?;
            let answered_at = Instant::now();
            ensure!(
                answer.is_ok(),
                "{} was refused ({})",
                call.path,
                answer.status
            );
            Ok(answered_at)
        }
    };
    // A first run opens the connections and fills the caches.
    pace::call_at_pace(per_s, Duration::from_secs(2), &mut look).await?;
    let times = pace::call_at_pace(per_s, lasting, &mut look).await?;
    eprintln!("availability at {per_s}/s: p99 {:.2} ms", times.ms(99.0));
    Ok(AvailabilityFigures {
        per_s,
        held_departures: departures.len(),
        p50_ms: times.ms(50.0),
        p99_ms: times.ms(99.0),
        p99_max_ms: P99_MAX_MS,
    })
}

/// Holds one seat on each of [`HELD`] departures of random trains and dates.
async fn hold_departures(
    http: &LoadHttpClient,
    passes: &Arc<[String]>,
    timetable: &RailBenchTimetable,
    dates: &[Date],
    dice: &mut StdRng,
) -> anyhow::Result<Vec<RailBenchDeparture>> {
    let everyday: Vec<_> = timetable.everyday().collect();
    let mut departures = Vec::new();
    for number in 0..HELD {
        let trip = everyday[dice.random_range(0..everyday.len())];
        let date = dates[dice.random_range(0..dates.len())];
        let found = RailBenchDeparture::find(http, trip, trip.stretch(dice), date).await?;
        let person = number % passes.len();
        let key = format!("held-{number}");
        found.hold(http, person, &passes[person], &key).await?;
        departures.push(found);
    }
    Ok(departures)
}

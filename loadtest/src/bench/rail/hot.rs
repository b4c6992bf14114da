//! Measures how long holds of other trains take, with and without a rush on one hot train.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::civil::Date;
use rand::{SeedableRng, rngs::StdRng};
use serde::Serialize;

use super::departure::{self, RailBenchDeparture};
use super::pace::{self, CallLatencies};
use super::timetable::{RailBenchTimetable, RailBenchTrip};
use crate::http::LoadHttpClient;

/// The number of trains beside the hot one.
const OTHERS: usize = 50;
/// The holds a second of each train without a rush.
const EACH_PER_S: u32 = 2;
/// In a rush, the hot train gets this many times the holds a second of another train.
const TIMES: u32 = 20;
/// The largest factor by which the rush may raise the p99 of the other trains.
const RATIO_MAX: f64 = 2.0;
/// The number of rounds with the rush, and also of rounds without it. They alternate.
const ROUNDS: u32 = 3;
const SEED: u64 = 20;

/// The figures of the measurement.
#[derive(Serialize)]
pub struct HotTrainFigures {
    pub others: usize,
    pub times: u32,
    pub alone_p99_ms: f64,
    pub beside_p99_ms: f64,
    pub hot_p99_ms: f64,
    pub ratio: f64,
    pub ratio_max: f64,
}

impl HotTrainFigures {
    pub fn held(&self) -> bool {
        self.ratio <= self.ratio_max
    }
}

/// Measures the latencies of holds of the other trains, with and without the rush.
///
/// # Errors
/// Where a call is refused, or calls start too late.
pub async fn measure(
    http: &LoadHttpClient,
    passes: &Arc<[String]>,
    timetable: &RailBenchTimetable,
    date: Date,
    lasting: Duration,
) -> anyhow::Result<HotTrainFigures> {
    let trains: Arc<[RailBenchDeparture]> = trains(http, timetable, date).await?.into();
    let visitors = passes.len();
    let round = async |hot: bool, nth: u32| {
        let (others, per_s) = (OTHERS, EACH_PER_S * OTHERS as u32);
        let round_time = lasting / ROUNDS;
        let (http, passes, trains) = (http.clone(), Arc::clone(passes), Arc::clone(&trains));
        let hold = move |number: usize, train: usize, who: usize| {
            let (http, passes, trains) = (http.clone(), Arc::clone(&passes), Arc::clone(&trains));
            let key = format!("{nth}-{train}-{number}");
            async move {
                let (hold, done) = trains[train].hold(&http, who, &passes[who], &key).await?;
                // The time to release the hold is not measured.
                departure::release_hold(&http, who, &passes[who], &hold).await?;
                Ok(done)
            }
        };
        // The last train is the hot one. Half of the visitors ask only for this train, and the
        // other half never do.
        let half = visitors / 2;
        let beside = pace::call_at_pace(per_s, round_time, |number| {
            hold(number, number % others, number % half)
        });
        let rush = if hot { TIMES * EACH_PER_S } else { EACH_PER_S };
        let rush = pace::call_at_pace(rush, round_time, |number| {
            hold(number, others, half + number % half)
        });
        tokio::try_join!(beside, rush)
    };
    round(false, 0).await.context("the round that warms up")?;
    let [mut alone, mut beside, mut hot] = [
        CallLatencies::empty(),
        CallLatencies::empty(),
        CallLatencies::empty(),
    ];
    for nth in 0..ROUNDS {
        alone += &round(false, 2 * nth + 1).await?.0;
        let (others, rush) = round(true, 2 * nth + 2).await?;
        beside += &others;
        hot += &rush;
        eprintln!(
            "holds of other trains, p99: alone {:.2} ms, beside a hot one {:.2} ms",
            alone.ms(99.0),
            beside.ms(99.0)
        );
    }
    Ok(HotTrainFigures {
        others: OTHERS,
        times: TIMES,
        alone_p99_ms: alone.ms(99.0),
        beside_p99_ms: beside.ms(99.0),
        hot_p99_ms: hot.ms(99.0),
        ratio: beside.ms(99.0) / alone.ms(99.0),
        ratio_max: RATIO_MAX,
    })
}

/// Returns one train more than [`OTHERS`]. Each runs every day, and has a stretch and a class.
async fn trains(
    http: &LoadHttpClient,
    timetable: &RailBenchTimetable,
    date: Date,
) -> anyhow::Result<Vec<RailBenchDeparture>> {
    let mut dice = StdRng::seed_from_u64(SEED);
    let mut trains = Vec::new();
    // The trips are taken at even distances in the timetable, so that they include trains of all
    // kinds.
    let everyday: Vec<&RailBenchTrip> = timetable.everyday().collect();
    ensure!(
        everyday.len() > OTHERS,
        "the timetable has only {} trains that run every day, and the bench needs {}",
        everyday.len(),
        OTHERS + 1
    );
    for trip in everyday.iter().step_by(everyday.len() / (OTHERS + 1)) {
        let (from, to) = trip.stretch(&mut dice);
        trains.push(RailBenchDeparture::find(http, trip, (from, to), date).await?);
        if trains.len() > OTHERS {
            break;
        }
    }
    Ok(trains)
}

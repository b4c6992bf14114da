//! Everybody wants one train: what holds of the others take, with and without that.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::civil::Date;
use rand::{SeedableRng, rngs::StdRng};
use serde::Serialize;

use super::asked::{self, Asked};
use super::pace::{self, Times};
use super::timetable::{Timetable, Trip};
use crate::http::Http;

/// Trains beside the hot one.
const OTHERS: usize = 50;
/// Holds a second of each of them.
const EACH_PER_S: u32 = 2;
/// How much more the hot one is asked for.
const TIMES: u32 = 20;
/// The others' p99 grows at most so much.
const RATIO_MAX: f64 = 2.0;
/// Rounds with and without, in turn.
const ROUNDS: u32 = 3;
const SEED: u64 = 20;

/// The figures.
#[derive(Serialize)]
pub struct Rushed {
    pub others: usize,
    pub times: u32,
    pub alone_p99_ms: f64,
    pub beside_p99_ms: f64,
    pub hot_p99_ms: f64,
    pub ratio: f64,
    pub ratio_max: f64,
}

impl Rushed {
    pub fn held(&self) -> bool {
        self.ratio <= self.ratio_max
    }
}

/// Measures it.
///
/// # Errors
/// Where a hold is refused, or the pace was not kept.
pub async fn measure(
    http: &Http,
    passes: &Arc<[String]>,
    timetable: &Timetable,
    date: Date,
    lasting: Duration,
) -> anyhow::Result<Rushed> {
    let trains: Arc<[Asked]> = trains(http, timetable, date).await?.into();
    let visitors = passes.len();
    let round = async |hot: bool, nth: u32| {
        let (others, per_s) = (OTHERS, EACH_PER_S * OTHERS as u32);
        let each = lasting / ROUNDS;
        let (http, passes, trains) = (http.clone(), Arc::clone(passes), Arc::clone(&trains));
        let hold = move |number: usize, which: usize, who: usize| {
            let (http, passes, trains) = (http.clone(), Arc::clone(&passes), Arc::clone(&trains));
            let key = format!("{nth}-{which}-{number}");
            async move {
                let (hold, done) = trains[which].hold(&http, who, &passes[who], &key).await?;
                // Giving it back is not timed.
                asked::give_back(&http, who, &passes[who], &hold).await?;
                Ok(done)
            }
        };
        // The last train is the hot one; nobody who asks for it asks for another.
        let half = visitors / 2;
        let beside = pace::at(per_s, each, |number| {
            hold(number, number % others, number % half)
        });
        let rush = if hot { TIMES * EACH_PER_S } else { EACH_PER_S };
        let rush = pace::at(rush, each, |number| {
            hold(number, others, half + number % half)
        });
        tokio::try_join!(beside, rush)
    };
    round(false, 0).await.context("the round that warms up")?;
    let [mut alone, mut beside, mut hot] = [Times::none(), Times::none(), Times::none()];
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
    Ok(Rushed {
        others: OTHERS,
        times: TIMES,
        alone_p99_ms: alone.ms(99.0),
        beside_p99_ms: beside.ms(99.0),
        hot_p99_ms: hot.ms(99.0),
        ratio: beside.ms(99.0) / alone.ms(99.0),
        ratio_max: RATIO_MAX,
    })
}

/// Trains that run that day, each with a stretch and a class that it has.
async fn trains(http: &Http, timetable: &Timetable, date: Date) -> anyhow::Result<Vec<Asked>> {
    let mut dice = StdRng::seed_from_u64(SEED);
    let mut trains = Vec::new();
    // Far apart in the timetable, so that they are of all kinds.
    let everyday: Vec<&Trip> = timetable.everyday().collect();
    for trip in everyday.iter().step_by(everyday.len() / (OTHERS + 1)) {
        let (from, to) = trip.stretch(&mut dice);
        trains.push(Asked::find(http, trip, (from, to), date).await?);
        if trains.len() > OTHERS {
            break;
        }
    }
    Ok(trains)
}

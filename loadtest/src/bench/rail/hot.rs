//! Everybody wants one train: what holds of the others take, with and without that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hyper::Method;
use jiff::civil::Date;
use rand::{SeedableRng, rngs::StdRng};
use serde::Serialize;
use serde_json::{Value, json};

use super::pace::{self, Times};
use super::timetable::{Timetable, Trip};
use crate::bench::people;
use crate::rig::Rig;
use crate::swarm::{Call, Http};

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
/// Who asks: nobody asks again before the last hold was given back.
const VISITORS: usize = 600;
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

/// One train's run, and what is asked of it.
struct Asked {
    show: String,
    from: String,
    to: String,
    class: String,
}

/// Measures it.
///
/// # Errors
/// Where a hold is refused, or the pace was not kept.
pub async fn measure(
    rig: &Rig,
    http: &Http,
    timetable: &Timetable,
    date: Date,
    lasting: Duration,
) -> anyhow::Result<Rushed> {
    let trains: Arc<[Asked]> = trains(http, timetable, date).await?.into();
    let shows: Vec<&str> = trains.iter().map(|asked| asked.show.as_str()).collect();
    people::open_room(http, rig.promoter_key(), &shows, VISITORS).await?;
    let passes: Arc<[String]> = people::passes(http, VISITORS).await?.into();
    let round = async |hot: bool, nth: u32| {
        let (others, per_s) = (OTHERS, EACH_PER_S * OTHERS as u32);
        let each = lasting / ROUNDS;
        let (http, passes, trains) = (http.clone(), Arc::clone(&passes), Arc::clone(&trains));
        let hold = move |number: usize, which: usize, who: usize| {
            let (http, passes, trains) = (http.clone(), Arc::clone(&passes), Arc::clone(&trains));
            let key = format!("{nth}-{which}-{number}");
            async move { hold(&http, who, &passes[who], &trains[which], &key).await }
        };
        // The last train is the hot one; nobody who asks for it asks for another.
        let half = VISITORS / 2;
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

/// Takes a seat; giving it back is not timed.
async fn hold(
    http: &Http,
    who: usize,
    pass: &str,
    asked: &Asked,
    key: &str,
) -> anyhow::Result<Instant> {
    let body =
        json!({"from": asked.from, "to": asked.to, "best": {"quantity": 1, "class": asked.class}});
    let call = Call::post(format!("/v1/shows/{}/holds", asked.show), body);
    let answer = http.send(&call.bearer(pass).key(key), who).await;
    let answer = answer.map_err(anyhow::Error::msg)?;
    let done = Instant::now();
    ensure!(
        answer.status == 201,
        "a seat of {} was refused ({}): {}",
        asked.show,
        answer.status,
        answer.json()
    );
    let hold = people::text(&answer.json(), "hold")?;
    let back = Call::new(Method::DELETE, format!("/v1/holds/{hold}")).bearer(pass);
    let given = http.send(&back, who).await.map_err(anyhow::Error::msg)?;
    ensure!(
        given.is_ok(),
        "{hold} was not given back ({})",
        given.status
    );
    Ok(done)
}

/// Trains that run that day, each with a stretch and a class that it has.
async fn trains(http: &Http, timetable: &Timetable, date: Date) -> anyhow::Result<Vec<Asked>> {
    let mut dice = StdRng::seed_from_u64(SEED);
    let mut trains = Vec::new();
    // Far apart in the timetable, so that they are of all kinds.
    let everyday: Vec<&Trip> = timetable.everyday().collect();
    for trip in everyday.iter().step_by(everyday.len() / (OTHERS + 1)) {
        let (from, to) = trip.stretch(&mut dice);
        let call = Call::get(format!("/v1/rail/trips?from={from}&to={to}&date={date}"));
        let told = people::granted(http, 0, &call).await?;
        let told = told.as_array().context("trips are a list")?.iter();
        let own = told.clone().find(|one| one["train"] == trip.train.as_str());
        let own =
            own.with_context(|| format!("{} does not run from {from} to {to}", trip.train))?;
        let cheapest = |classes: &Value| classes.as_array().and_then(|all| all.last().cloned());
        let class = cheapest(&own["classes"]).context("a train has classes")?;
        trains.push(Asked {
            show: people::text(own, "show")?,
            from: from.to_owned(),
            to: to.to_owned(),
            class: people::text(&class, "class")?,
        });
        if trains.len() > OTHERS {
            break;
        }
    }
    Ok(trains)
}

//! Looks up a train on a date, holds one of its seats for a stretch and a class, and releases the
//! hold.

use std::time::Instant;

use anyhow::{Context, ensure};
use hyper::Method;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::timetable::RailBenchTrip;
use crate::bench::people;
use crate::http::{LoadHttpCall, LoadHttpClient};

/// One departure, with the stretch and the class that visitors ask for.
pub struct RailBenchDeparture {
    pub show: String,
    pub from: String,
    pub to: String,
    pub date: Date,
    class: String,
}

impl RailBenchDeparture {
    /// Searches for the train as travellers do. Takes its last class, which is the cheapest.
    ///
    /// # Errors
    /// Where the search fails or does not find the train.
    pub async fn find(
        http: &LoadHttpClient,
        trip: &RailBenchTrip,
        (from, to): (&str, &str),
        date: Date,
    ) -> anyhow::Result<Self> {
        let call = LoadHttpCall::get(path(from, to, date));
        let trips = people::granted(http, 0, &call).await?;
        let mut trips = trips.as_array().context("trips are a list")?.iter();
        let found = trips.find(|candidate| candidate["train"] == trip.train.as_str());
        let found =
            found.with_context(|| format!("{} does not run from {from} to {to}", trip.train))?;
        let cheapest = |classes: &Value| classes.as_array().and_then(|all| all.last().cloned());
        let class = cheapest(&found["classes"]).context("a train has classes")?;
        Ok(Self {
            show: people::text(found, "show")?,
            from: from.to_owned(),
            to: to.to_owned(),
            date,
            class: people::text(&class, "class")?,
        })
    }

    /// Holds a seat. Returns the id of the hold, and the time of the answer.
    ///
    /// # Errors
    /// Where the hold is refused, or no answer comes.
    pub async fn hold(
        &self,
        http: &LoadHttpClient,
        person: usize,
        pass: &str,
        key: &str,
    ) -> anyhow::Result<(String, Instant)> {
        let body =
            json!({"from": self.from, "to": self.to, "best": {"quantity": 1, "class": self.class}});
        let call = LoadHttpCall::post(format!("/v1/shows/{}/holds", self.show), body);
        let answer = http.send(&call.bearer(pass).key(key), person).await;
        let answer = answer.map_err(anyhow::Error::msg)?;
        let answered_at = Instant::now();
        ensure!(
            answer.status == 201,
            "a seat of {} was refused ({}): {}",
            self.show,
            answer.status,
            answer.json()
        );
        Ok((people::text(&answer.json(), "hold")?, answered_at))
    }
}

/// Releases a hold.
///
/// # Errors
/// Where the release is refused, or no answer comes.
pub async fn release_hold(
    http: &LoadHttpClient,
    person: usize,
    pass: &str,
    hold: &str,
) -> anyhow::Result<()> {
    let release = LoadHttpCall::new(Method::DELETE, format!("/v1/holds/{hold}")).bearer(pass);
    let answer = http
        .send(&release, person)
        .await
        .map_err(anyhow::Error::msg)?;
    ensure!(
        answer.is_ok(),
        "{hold} was not given back ({})",
        answer.status
    );
    Ok(())
}

/// Returns the path of the search for trains between two stations on a date.
pub fn path(from: &str, to: &str, date: Date) -> String {
    format!("/v1/rail/trips?from={from}&to={to}&date={date}")
}

//! Reads the shows and trains that a run sells, as visitors see them.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::scenario::Scenario;
use super::stage::SwarmShow;
use crate::http::{LoadHttpCall, LoadHttpClient};

/// The longest time until every node knows of a show.
const KNOWN_WITHIN: Duration = Duration::from_secs(3);

/// Reads everything that is on sale, first the shows and then the trains.
///
/// # Errors
/// If a seat map cannot be read.
pub async fn read_shows(
    http: &LoadHttpClient,
    scenario: &Scenario,
) -> anyhow::Result<Vec<SwarmShow>> {
    let mut shows = Vec::new();
    for show in scenario.onsale.shows() {
        shows.push(read_show(http, &show).await?);
    }
    for train in scenario.onsale.trains() {
        let show = read_show(http, &train.show).await?;
        shows.push(SwarmShow {
            train: Some(train.clone()),
            ..show
        });
    }
    Ok(shows)
}

async fn read_show(http: &LoadHttpClient, show: &str) -> anyhow::Result<SwarmShow> {
    let call = LoadHttpCall::get(format!("/v1/shows/{show}/seatmap"));
    let asked = std::time::Instant::now();
    let map = loop {
        let answer = http.send(&call, 0).await.map_err(anyhow::Error::msg)?;
        // Another node may need a second to learn of a new show, so the call is repeated.
        if answer.is_ok() || asked.elapsed() > KNOWN_WITHIN {
            break answer.json();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let seats = map["seats"].as_array();
    let seats = seats.with_context(|| format!("the seat map of {show} could not be read"))?;
    let label = |seat: &Value| seat["label"].as_str().unwrap_or_default().to_owned();
    let categories = map["categories"].as_array().into_iter().flatten();
    let key = |category: &Value| category["key"].as_str().map(str::to_owned);
    Ok(SwarmShow {
        categories: categories.filter_map(key).collect(),
        id: show.to_owned(),
        labels: seats.iter().map(label).collect(),
        by_label: seats.iter().map(|seat| seat["kind"].is_null()).collect(),
        train: None,
    })
}

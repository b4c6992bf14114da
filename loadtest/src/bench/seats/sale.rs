//! Sells a show out over HTTP. Every party holds its seats, orders and pays. Then waits until all
//! seats are shown as sold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use crate::bench::people;
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::swarm::SwarmSeatSnapshot;

/// The number of seats of a party. Parties are large, because only the number of sold seats matters
/// here.
pub const PARTY: usize = 100;
/// The longest wait after the last payment until all seats are shown as sold.
const SOLD_WITHIN: Duration = Duration::from_secs(300);
/// The time between two reads of the seats.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Sells all seats of a show.
///
/// # Errors
/// Where a call is refused, or seats are left.
pub async fn sell_out(
    http: &LoadHttpClient,
    key: &str,
    show: &str,
    seats_per_show: usize,
) -> anyhow::Result<()> {
    let map = LoadHttpCall::get(format!("/v1/shows/{show}/seatmap"));
    let map = people::granted(http, 0, &map).await?;
    let seats = map["seats"]
        .as_array()
        .context("a seat map without seats")?;
    let labels = seats.iter().map(|seat| people::text(seat, "label"));
    let labels: Arc<[String]> = labels.collect::<anyhow::Result<Vec<_>>>()?.into();
    let parties = seats_per_show.div_ceil(PARTY);
    people::open_room(http, key, &[show], parties).await?;
    let passes: Arc<[String]> = people::passes(http, parties).await?.into();
    let show_of = show.to_owned();
    people::for_everybody(http, parties, move |http, person| {
        let (labels, passes, show) = (Arc::clone(&labels), Arc::clone(&passes), show_of.clone());
        async move {
            let first_seat = person * PARTY;
            let seats = &labels[first_seat..labels.len().min(first_seat + PARTY)];
            buy(&http, person, &passes[person], &show, seats).await
        }
    })
    .await?;
    all_sold(http, show, seats_per_show).await
}

async fn buy(
    http: &LoadHttpClient,
    person: usize,
    pass: &str,
    show: &str,
    seats: &[String],
) -> anyhow::Result<()> {
    let hold = LoadHttpCall::post(format!("/v1/shows/{show}/holds"), json!({ "seats": seats }));
    let hold = hold.bearer(pass).key(&format!("hold-{person}"));
    let hold = people::text(&people::granted(http, person, &hold).await?, "hold")?;
    let buyer = json!({"buyer": {"name": "A party", "email": "party@example.org"}});
    let order = LoadHttpCall::post(format!("/v1/holds/{hold}/order"), buyer);
    let order = order.bearer(pass).key(&format!("order-{person}"));
    let order = people::granted(http, person, &order).await?;
    let payment = people::text(&order["payment"], "payment")?;
    let pay = LoadHttpCall::post(
        format!("/v1/sandbox/payments/{payment}"),
        json!({"outcome": "approve"}),
    );
    people::granted(http, person, &pay).await.map(drop)
}

async fn all_sold(http: &LoadHttpClient, show: &str, seats_per_show: usize) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let read = LoadHttpCall::get(format!("/v1/shows/{show}/seats"));
        let answer = http.send(&read, 0).await.map_err(anyhow::Error::msg)?;
        let seats = SwarmSeatSnapshot::read(&answer.body).context("the seats could not be read")?;
        let sold = seats.counts()[2];
        if sold == seats_per_show {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < SOLD_WITHIN,
            "{sold} of {seats_per_show} seats of {show} are sold"
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

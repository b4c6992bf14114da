//! Buyers who all buy at the same time. Each buyer makes one purchase after another. For each
//! purchase, the buyer acts as a new person, who joins, buys one seat and gets the ticket. No two
//! people choose the same seat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{ROOM, SHOW, address_of};
use crate::bench::people::{granted, text};
use crate::http::{LoadHttpCall, LoadHttpClient};

/// How long the ticket of a paid order may take.
const TICKETED_WITHIN: Duration = Duration::from_secs(15);
/// How often a buyer looks for the ticket.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// How long after the join the person is surely called.
const RELEASED_AFTER: Duration = Duration::from_millis(1_300);

/// Running buyers. They stop when this value is dropped.
pub struct Buyers {
    bought: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    tasks: JoinSet<anyhow::Result<()>>,
}

impl Drop for Buyers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Buyers {
    /// Starts `buyers` buyers. `first` is the number of the first person for whom they buy.
    ///
    /// # Errors
    /// Where the map of the seats cannot be read.
    pub async fn start(http: &LoadHttpClient, buyers: usize, first: usize) -> anyhow::Result<Self> {
        Ok(Self::start_with(http, buyers, first, seats(http).await?))
    }

    /// Starts buyers as [`Self::start`] does, but they begin with the last seats of the map.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_at_the_back(
        http: &LoadHttpClient,
        buyers: usize,
        first: usize,
    ) -> anyhow::Result<Self> {
        let mut seats = seats(http).await?;
        seats.reverse();
        // Earlier buyers, who began at `first`, have used only lower numbers.
        Ok(Self::start_with(http, buyers, first + seats.len(), seats))
    }

    fn start_with(http: &LoadHttpClient, buyers: usize, first: usize, seats: Vec<String>) -> Self {
        let seats: Arc<[String]> = seats.into();
        let (bought, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let next = Arc::new(AtomicUsize::new(first));
        let mut tasks = JoinSet::new();
        for _ in 0..buyers {
            let (http, next, seats) = (http.clone(), Arc::clone(&next), Arc::clone(&seats));
            let (bought, stop) = (Arc::clone(&bought), Arc::clone(&stop));
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let person = next.fetch_add(1, Ordering::Relaxed);
                    let seat = seats.get(person - first).context("all seats are sold")?;
                    buy(&http, person, seat).await?;
                    bought.fetch_add(1, Ordering::Relaxed);
                }
                anyhow::Ok(())
            });
        }
        Self {
            bought,
            stop,
            tasks,
        }
    }

    /// Returns how many seats were bought so far.
    pub fn bought(&self) -> u64 {
        self.bought.load(Ordering::Relaxed)
    }

    /// Lets every buyer finish.
    ///
    /// # Errors
    /// The first error of a buyer.
    pub async fn finish(mut self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(result) = self.tasks.join_next().await {
            result??;
        }
        Ok(())
    }
}

/// Returns the labels of all seats of the map.
async fn seats(http: &LoadHttpClient) -> anyhow::Result<Vec<String>> {
    let map = LoadHttpCall::get(format!("/v1/shows/{SHOW}/seatmap"));
    let map = granted(http, 0, &map).await?;
    let seats = map["seats"].as_array().context("a map without seats")?;
    seats.iter().map(|seat| text(seat, "label")).collect()
}

/// Joins, claims a pass, holds the seat, orders, pays, and reads the ticket.
async fn buy(http: &LoadHttpClient, person: usize, seat: &str) -> anyhow::Result<()> {
    let join = LoadHttpCall::post(format!("/v1/rooms/{ROOM}/places"), json!({}));
    let join = join.forwarded(&address_of(person));
    let place = text(&granted(http, person, &join).await?, "place")?;
    // The room releases visitors once a second.
    sleep(RELEASED_AFTER).await;
    let claim = LoadHttpCall::new(Method::POST, format!("/v1/rooms/{ROOM}/pass"));
    let pass = text(&granted(http, person, &claim.bearer(&place)).await?, "pass")?;
    buy_with_pass(http, person, &pass, json!({"seats": [seat]})).await
}

/// Holds the seats of `wish`, the body of a hold, orders, pays, and reads the ticket.
///
/// # Errors
/// Where a call is refused for good, or the ticket does not come in time.
pub async fn buy_with_pass(
    http: &LoadHttpClient,
    person: usize,
    pass: &str,
    wish: Value,
) -> anyhow::Result<()> {
    let hold = LoadHttpCall::post(format!("/v1/shows/{SHOW}/holds"), wish);
    let hold = hold.bearer(pass).key(&format!("hold-{person}"));
    let hold = text(&granted(http, person, &hold).await?, "hold")?;
    let buyer =
        json!({"buyer": {"name": "A buyer", "email": format!("buyer-{person}@example.org")}});
    let order = LoadHttpCall::post(format!("/v1/holds/{hold}/order"), buyer);
    let order = order.bearer(pass).key(&format!("order-{person}"));
    let order = granted(http, person, &order).await?;
    let payment = text(&order["payment"], "payment")?;
    let approve = json!({"outcome": "approve"});
    let pay = LoadHttpCall::post(format!("/v1/sandbox/payments/{payment}"), approve);
    granted(http, person, &pay).await?;
    let order_call =
        LoadHttpCall::get(format!("/v1/orders/{}", text(&order, "order")?)).bearer(pass);
    let begun = Instant::now();
    loop {
        sleep(LOOK_EVERY).await;
        let order = granted(http, person, &order_call).await?;
        if order["state"] == "ticketed" {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < TICKETED_WITHIN,
            "a paid order has no ticket: {order}"
        );
    }
}

//! Opens two observer sockets for each show. Observers buy nothing. They record the line, the room,
//! the draw and every change of seats for the judge.

use parking_lot::Mutex;
use std::sync::Arc;

use anyhow::bail;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::plan::secret;
use super::socket::{
    SwarmSeatDelta, SwarmSeatSnapshot, SwarmSocket, SwarmSocketCommand, SwarmSocketEvent,
    SwarmSocketOwner,
};
use super::stage::{SwarmContext, round};
use crate::http::LoadHttpCall;

/// The number of sockets that watch each show.
const EACH: usize = 2;
/// The seed of the observers. They need randomness only for their secrets and for the waits before
/// they connect again.
const SEED: u64 = 0x0b5e_77e2;

/// The running observers. They end when this value is dropped.
pub struct Observers {
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Observers {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Starts the observers. Each of them joins the room, in addition to the planned visitors.
///
/// # Errors
/// If an observer cannot join the room.
pub async fn open(stage: &Arc<SwarmContext>) -> anyhow::Result<Observers> {
    let sales = Arc::new(Mutex::new(ObservedSales::of_shows(stage.shows.len())));
    let mut tasks = Vec::new();
    for index in 0..stage.shows.len() * EACH {
        let mut rng =
            ChaCha8Rng::seed_from_u64(SEED + index as u64 + stage.clock.start_ms().to_bits());
        let owner = SwarmSocketOwner {
            number: index,
            observer: true,
            place: join(stage, &secret(&mut rng)).await?,
            address: None,
        };
        let show = index / EACH;
        let socket = SwarmSocket::open(Arc::clone(stage), owner, rng);
        socket.send_command(SwarmSocketCommand::Watch(stage.shows[show].id.clone()));
        let watcher = ShowObserver {
            stage: Arc::clone(stage),
            index,
            show,
            picture: None,
            sales: Arc::clone(&sales),
        };
        tasks.push(tokio::spawn(watcher.watch(socket)));
    }
    Ok(Observers { tasks })
}

async fn join(stage: &SwarmContext, secret: &str) -> anyhow::Result<String> {
    let call = LoadHttpCall::post(stage.room_path("places"), json!({ "secret": secret }));
    for _ in 0..100 {
        match stage.http.send(&call, 0).await {
            Ok(answer) if answer.is_ok() => {
                let place = answer.json()["place"].as_str().map(str::to_owned);
                return place.ok_or_else(|| anyhow::anyhow!("a join was answered without a place"));
            }
            Ok(answer) if matches!(answer.status, 409 | 429 | 503) => {}
            Ok(answer) => bail!(
                "an observer could not join: {} {:?}",
                answer.status,
                answer.code()
            ),
            Err(error) => bail!("an observer could not join: {error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    bail!("the lobby did not open to the observers within 20 s; its opens_at must be near \"+0s\"")
}

struct ShowObserver {
    stage: Arc<SwarmContext>,
    index: usize,
    show: usize,
    picture: Option<SwarmSeatSnapshot>,
    sales: Arc<Mutex<ObservedSales>>,
}

impl ShowObserver {
    async fn watch(mut self, mut socket: SwarmSocket) {
        while let Some(event) = socket.events.recv().await {
            if let SwarmSocketEvent::Seats(frame) = event {
                self.seats(&frame);
            }
        }
    }

    fn seats(&mut self, frame: &[u8]) {
        let at_ms = self.stage.clock.now_ms();
        let show = &self.stage.shows[self.show].id;
        if let Some(snapshot) = SwarmSeatSnapshot::read(frame) {
            self.stage.history.write(
                "snapshot",
                json!({
                    "observer": self.index, "at_ms": round(at_ms), "show": show,
                    "version": snapshot.version.to_string(), "cells": snapshot.cells,
                    "packed": hex::encode(&snapshot.packed),
                }),
            );
            self.picture = Some(snapshot);
        } else if let Some(delta) = SwarmSeatDelta::read(frame) {
            self.stage.history.write(
                "delta",
                json!({
                    "observer": self.index, "at_ms": round(at_ms), "show": show,
                    "from": delta.from.to_string(), "to": delta.to.to_string(), "cells": delta.cells,
                }),
            );
            if let Some(picture) = &mut self.picture {
                for (cell, state) in &delta.cells {
                    picture.set(*cell as usize, *state);
                }
            }
        }
        self.count_sales(at_ms);
    }

    fn count_sales(&self, at_ms: f64) {
        let Some([free, held, sold, _]) = self.picture.as_ref().map(SwarmSeatSnapshot::counts)
        else {
            return;
        };
        let mut sales = self.sales.lock();
        sales.count(self.show, sold, free + held + sold, at_ms);
        let mut seen = self.stage.tally.seen();
        (seen.most_sold_ms, seen.all_sold_ms) = (sales.most_sold_ms, sales.all_sold_ms);
    }
}

/// How many seats of all shows are sold, as observers see it.
struct ObservedSales {
    /// By show, the seats that are sold and all that are for sale; `None` before they were seen.
    shows: Vec<Option<(usize, usize)>>,
    /// Since when 99 of 100 seats are sold.
    most_sold_ms: Option<f64>,
    /// Since when all seats are sold.
    all_sold_ms: Option<f64>,
}

impl ObservedSales {
    fn of_shows(count: usize) -> Self {
        Self {
            shows: vec![None; count],
            most_sold_ms: None,
            all_sold_ms: None,
        }
    }

    /// Notes that `sold` of the `for_sale` seats of a show are sold at `at_ms`. If a seat becomes
    /// free again after everything was sold, the last sale is still to come.
    fn count(&mut self, show: usize, sold: usize, for_sale: usize, at_ms: f64) {
        self.shows[show] = Some((sold, for_sale));
        let known: Option<Vec<(usize, usize)>> = self.shows.iter().copied().collect();
        let Some(known) = known else { return };
        let sold: usize = known.iter().map(|(sold, _)| sold).sum();
        let for_sale: usize = known.iter().map(|(_, for_sale)| for_sale).sum();
        let since = |is_so: bool, since: Option<f64>| is_so.then(|| since.unwrap_or(at_ms));
        self.most_sold_ms = since(sold * 100 >= for_sale * 99, self.most_sold_ms);
        self.all_sold_ms = since(sold == for_sale, self.all_sold_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sales_are_counted_over_all_shows_and_a_seat_that_comes_back_is_still_to_be_sold() {
        let mut sales = ObservedSales::of_shows(2);
        let mut told = |show, sold, at_ms| {
            sales.count(show, sold, 100, at_ms);
            (sales.most_sold_ms, sales.all_sold_ms)
        };
        assert_eq!(told(0, 100, 1.0), (None, None), "one show is not seen yet");
        assert_eq!(told(1, 97, 2.0), (None, None));
        assert_eq!(told(1, 98, 3.0), (Some(3.0), None));
        assert_eq!(told(1, 100, 4.0), (Some(3.0), Some(4.0)));
        assert_eq!(told(0, 99, 5.0), (Some(3.0), None));
        assert_eq!(told(0, 100, 6.0), (Some(3.0), Some(6.0)));
    }
}

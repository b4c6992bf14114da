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
    let sold = Arc::new(Mutex::new(vec![None; stage.shows.len()]));
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
            sold: Arc::clone(&sold),
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
    sold: Arc<Mutex<Vec<Option<f64>>>>,
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
        self.look_for_the_end(at_ms);
    }

    fn look_for_the_end(&self, at_ms: f64) {
        let Some([free, held, _, _]) = self.picture.as_ref().map(SwarmSeatSnapshot::counts) else {
            return;
        };
        let mut sold = self.sold.lock();
        let slot = &mut sold[self.show];
        // If a seat becomes free again after everything was sold, the last sale is still to come.
        *slot = if free + held == 0 {
            slot.or(Some(at_ms))
        } else {
            None
        };
        let all_times: Option<Vec<f64>> = sold.iter().copied().collect();
        let last_ms = all_times.map(|times| times.into_iter().fold(0.0, f64::max));
        self.stage.tally.seen().all_sold_ms = last_ms;
    }
}

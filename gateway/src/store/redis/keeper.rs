//! What a node does for the rooms all the time: reads their lives, reserves numbers ahead of the joins, brings the line
//! into the ledger, and begins a new life where Redis lost one. Every round starts from what is stored, so a round that
//! failed is simply done again by the next, on this node or another.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::RedisStore;
use super::keys::SCRIPTS;
use super::lease::LEASE;
use super::rebuild::Begun;
use crate::ledger::RoomLife;
use crate::store::StoreFailure;

const EVERY: Duration = Duration::from_millis(300);
/// Rooms looked after at once.
const AT_ONCE: usize = 16;
/// At the least so many numbers are reserved ahead,
const AHEAD_MIN: u64 = 1000;
/// and at the most: a lost store leaves the rest of its block void.
const AHEAD_MAX: u64 = 200_000;
/// Numbers are reserved for so many rounds as the last one was.
const ROUNDS_AHEAD: u64 = 8;

/// Looks after the rooms until the store is dropped.
pub async fn run(store: std::sync::Weak<super::Inner>) {
    let mut every = interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let Some(inner) = store.upgrade() else {
            return;
        };
        RedisStore { inner }.round().await;
    }
}

impl RedisStore {
    async fn round(&self) {
        if let Err(error) = self.read_lives().await {
            metrics::counter!("fairgate_room_leases_missed_total").increment(1);
            tracing::warn!(%error, "the rooms' lives could not be read; no number is given until they are");
        }
        let rooms = self.rooms();
        futures_util::stream::iter(rooms)
            .for_each_concurrent(AT_ONCE, |room| async move {
                if let Err(error) = self.tend(&room).await {
                    metrics::counter!("fairgate_room_rounds_failed_total", "room" => room.clone())
                        .increment(1);
                    tracing::warn!(room, %error, "a room's store could not be looked after; the next round tries again");
                }
            })
            .await;
    }

    /// Reads the rooms' lives; from when it was asked, that may be believed for a second.
    pub(super) async fn read_lives(&self) -> Result<(), StoreFailure> {
        let asked = Instant::now();
        let lives = timeout(LEASE, self.ledger().lives())
            .await
            .map_err(|_| StoreFailure::NotReady("the ledger is slow".into()))??;
        self.lease().renew(asked, lives);
        Ok(())
    }

    /// Looks after one room: one node's task at a time.
    pub(super) async fn tend(&self, room: &str) -> Result<(), StoreFailure> {
        let state = self.state(room)?;
        let mut pace = state.tending.lock().await;
        let Some(life) = self.lease().life(room) else {
            return self.revive(room, 0).await;
        };
        let check = self.call(room, &life, &SCRIPTS.check);
        let stands = match self.run(&check).await {
            Err(StoreFailure::NotReady(why)) => {
                // Another node may have begun a life that this one has not read yet.
                self.read_lives().await?;
                let newest = self.lease().life(room).unwrap_or(life);
                if newest.incarnation != life.incarnation {
                    return Ok(());
                }
                tracing::warn!(
                    room,
                    incarnation = life.incarnation,
                    why,
                    "the room store lost the room"
                );
                return self.revive(room, life.incarnation).await;
            }
            answer => answer?,
        };
        let (next, ceiling) = (stands.at(0)?.count()?, stands.at(1)?.count()?);
        let given = next.saturating_sub(pace.next.replace(next).unwrap_or(next));
        let ahead = given
            .saturating_mul(ROUNDS_AHEAD)
            .clamp(AHEAD_MIN, AHEAD_MAX);
        if next.saturating_add(ahead / 2) >= ceiling {
            self.reserve(room, &life, next.saturating_add(ahead))
                .await?;
        }
        drop(pace);
        if stands.at(2)?.count()? > 0 {
            self.copy(room, &life, true).await?;
        }
        Ok(())
    }

    async fn revive(&self, room: &str, from: u64) -> Result<(), StoreFailure> {
        if self.begin(room, from).await? == Begun::Lives {
            // Whoever joins next does not wait for a block.
            if let Some(life) = self.lease().life(room) {
                self.reserve(room, &life, life.first + AHEAD_MIN).await?;
            }
        }
        self.read_lives().await
    }

    /// Reserves numbers in the ledger, and only then lets Redis give them.
    pub(super) async fn reserve(
        &self,
        room: &str,
        life: &RoomLife,
        upto: u64,
    ) -> Result<(), StoreFailure> {
        let reserved = self.ledger().reserve(room, life.incarnation, upto).await?;
        let life =
            reserved.ok_or_else(|| StoreFailure::NotReady("another life has begun".into()))?;
        self.lease().learn(room, life);
        let raise = self.call(room, &life, &SCRIPTS.raise).arg(life.ceiling);
        self.run(&raise).await?;
        Ok(())
    }

    /// Reserves a block at once, because the joins were faster than the rounds.
    pub(super) async fn reserve_now(
        &self,
        room: &str,
        life: &RoomLife,
    ) -> Result<(), StoreFailure> {
        let state = self.state(room)?;
        let _pace = state.tending.lock().await;
        let stands = self.run(&self.call(room, life, &SCRIPTS.check)).await?;
        let (next, ceiling) = (stands.at(0)?.count()?, stands.at(1)?.count()?);
        if next < ceiling {
            return Ok(());
        }
        self.reserve(room, life, next + AHEAD_MIN.max(AHEAD_MAX / 20))
            .await
    }
}

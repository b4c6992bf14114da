//! Reads the lives of all rooms from the ledger. The other parts of the store get the lives of open
//! rooms from here.

use std::sync::Arc;
use std::time::Instant;

use fairgate_base::clock::Clock;
use tokio::time::timeout;

use super::condition::StoreCondition;
use super::lease::{LEASE, LivesLease};
use super::rooms::OpenRooms;
use crate::ledger::{RoomLedger, RoomLife};
use crate::store::StoreFailure;

/// Reads the lives of all rooms and stores them.
pub struct RoomLifeReader {
    ledger: RoomLedger,
    rooms: Arc<OpenRooms>,
    condition: Arc<StoreCondition>,
    clock: Clock,
    lease: LivesLease,
    /// Locked while [`Self::read_again`] reads, so that only one such read runs at a time.
    reading: tokio::sync::Mutex<()>,
}

impl RoomLifeReader {
    pub fn new(
        ledger: RoomLedger,
        rooms: Arc<OpenRooms>,
        condition: Arc<StoreCondition>,
        clock: Clock,
    ) -> Self {
        Self {
            ledger,
            rooms,
            condition,
            clock,
            lease: LivesLease::default(),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the lives as they were last read.
    pub fn lease(&self) -> &LivesLease {
        &self.lease
    }

    /// Returns the life as this node last read it. The life may be out of date, so every script
    /// compares it with the life in Redis.
    pub fn last_known_life(&self, room: &str) -> Result<RoomLife, StoreFailure> {
        self.rooms.refuse_silent(room)?;
        self.lease
            .last_known_life(room)
            .ok_or_else(|| StoreFailure::NotReady("the room has no life yet".into()))
    }

    /// Returns the life in which this node may give numbers now.
    pub fn leased_life(&self, room: &str) -> Result<RoomLife, StoreFailure> {
        self.rooms.refuse_silent(room)?;
        let held = self.lease.leased_life(room, Instant::now());
        held.ok_or_else(|| {
            StoreFailure::NotReady(
                "this node has not read the ledger within the last second".into(),
            )
        })
    }

    /// Reads the lives from the ledger. They are valid for a second after the request was sent.
    pub async fn read(&self) -> Result<(), StoreFailure> {
        let asked_at = Instant::now();
        let lives = timeout(LEASE, self.ledger.lives())
            .await
            .map_err(|_| StoreFailure::NotReady("the ledger is slow".into()))??;
        let lost_rooms = self.lease.renew(asked_at, lives);
        self.condition
            .note_lost_blocks(&lost_rooms, self.clock.now_ms());
        Ok(())
    }

    /// Reads the lives again. Calls at the same time share one read of the ledger.
    pub async fn read_again(&self) -> Result<(), StoreFailure> {
        let since = Instant::now();
        let _reading = self.reading.lock().await;
        if self.lease.asked_after(since) {
            return Ok(());
        }
        self.read().await
    }
}

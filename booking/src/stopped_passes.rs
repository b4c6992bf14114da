//! The passes that were stopped before they expire: their visitors left, their room was closed, or
//! the promoter ended their places. Gateways report these passes. Every booking process keeps them
//! in memory, so that it can check the pass of each call without asking the ledger.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_pass::{LEEWAY_S, LivePass};
use tokio::time::MissedTickBehavior;

use crate::ledger::{Ledger, LedgerError};

/// How often this process reads the passes that were reported to other processes.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// The stopped passes as this process last read them; a cheap handle.
#[derive(Clone)]
pub struct StoppedPasses {
    ledger: Ledger,
    clock: Clock,
    known: Arc<RwLock<KnownStops>>,
}

#[derive(Default)]
struct KnownStops {
    /// The cursor up to which the ledger was read.
    cursor: u64,
    /// The expiry (unix seconds) of each stopped pass, by room and join number.
    rooms: HashMap<String, HashMap<u64, i64>>,
}

impl StoppedPasses {
    /// Reads the stopped passes from the ledger.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn open(ledger: Ledger, clock: Clock) -> Result<Self, LedgerError> {
        let stopped = Self {
            ledger,
            clock,
            known: Arc::default(),
        };
        stopped.refresh().await?;
        Ok(stopped)
    }

    /// Stops passes of a room. Each pass is given as its join number and its expiry (unix seconds).
    /// The passes are in the ledger when this returns, and in the memory of every process soon
    /// after.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept them, or cannot be read.
    pub async fn stop(&self, room: &str, passes: Vec<(u64, i64)>) -> Result<(), LedgerError> {
        self.ledger
            .stop_passes(room, passes, self.accepted_after_s())
            .await?;
        self.refresh().await
    }

    /// Returns whether this pass was stopped.
    #[must_use]
    pub fn contains(&self, pass: &LivePass) -> bool {
        let known = self.known.read();
        let of_room = known.rooms.get(&pass.room);
        of_room.is_some_and(|numbers| numbers.contains_key(&pass.number))
    }

    /// Reads the passes that were stopped since the last reading.
    async fn refresh(&self) -> Result<(), LedgerError> {
        let after = {
            let known = self.known.read();
            known.cursor
        };
        let (cursor, rows) = self.ledger.passes_stopped_after(after).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let accepted_after_s = self.accepted_after_s();
        let mut known = self.known.write();
        for row in rows {
            let numbers = known.rooms.entry(row.room).or_default();
            numbers.insert(row.number, row.expires_s);
        }
        known.cursor = known.cursor.max(cursor);
        // Expired passes are refused anyway.
        for numbers in known.rooms.values_mut() {
            numbers.retain(|_, expires_s| *expires_s > accepted_after_s);
        }
        known.rooms.retain(|_, numbers| !numbers.is_empty());
        Ok(())
    }

    /// Returns the latest expiry (unix seconds) of a pass that is no longer accepted.
    fn accepted_after_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1000) - LEEWAY_S
    }

    /// Keeps reading the passes that were reported to other processes, so that each of them is
    /// refused here within a second.
    pub async fn follow_forever(self) {
        let mut ticks = tokio::time::interval(FOLLOW_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        loop {
            ticks.tick().await;
            match self.refresh().await {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    log_failed_try!(
                        error,
                        "the passes that were stopped could not be read; trying again"
                    );
                }
                Err(_) => {}
            }
        }
    }
}

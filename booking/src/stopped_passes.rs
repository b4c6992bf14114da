//! The passes that open nothing new before they expire: their visitors left, their room was closed,
//! or the promoter ended their places. Gateways report these passes, and from when on each room is
//! over. Every booking process keeps both in memory, so that it can check the pass of each call
//! without asking the ledger.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_pass::{LEEWAY_S, LivePass, VisitEndCause};
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior, timeout};

use crate::ledger::{Ledger, LedgerError, PassStop, RoomEnd};

/// How often this process reads the passes that were reported to other processes.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);
/// After this time without a reading, this process reads again before a pass opens anything new. It
/// may have stood still, or its ledger may be away.
const FRESH_FOR: Duration = Duration::from_millis(1_500);
/// How long such a reading may take.
const READ_MAX: Duration = Duration::from_secs(2);

/// The stopped passes and the ends of rooms as this process last read them; a cheap handle.
#[derive(Clone)]
pub struct StoppedPasses {
    ledger: Ledger,
    clock: Clock,
    known: Arc<RwLock<KnownStops>>,
    /// Locked by a call that reads again because the last reading was long ago.
    reading: Arc<Mutex<()>>,
}

#[derive(Default)]
struct KnownStops {
    /// When the last successful reading began.
    read_at: Option<Instant>,
    /// The cursor up to which the stopped passes were read.
    cursor: u64,
    /// The stopped passes, by room and join number.
    rooms: HashMap<String, HashMap<u64, PassStop>>,
    /// The cursor up to which the ends of rooms were read.
    ends_cursor: u64,
    /// The newest end of each room, by the room's slug.
    ends: HashMap<String, RoomEnd>,
}

impl KnownStops {
    fn is_fresh(&self) -> bool {
        self.read_at.is_some_and(|at| at.elapsed() < FRESH_FOR)
    }

    fn lacks(&self, end: &RoomEnd) -> bool {
        let known = self.ends.get(&end.room);
        known.is_none_or(|known| known.version < end.version)
    }

    /// Takes the end of a room, unless a newer one is known.
    fn take_end(&mut self, end: RoomEnd) {
        if self.lacks(&end) {
            self.ends.insert(end.room.clone(), end);
        }
    }
}

impl StoppedPasses {
    /// Reads the stopped passes and the ends of rooms from the ledger.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn open(ledger: Ledger, clock: Clock) -> Result<Self, LedgerError> {
        let stopped = Self {
            ledger,
            clock,
            known: Arc::default(),
            reading: Arc::default(),
        };
        stopped.refresh().await?;
        Ok(stopped)
    }

    /// Stops passes of a room. The passes are in the ledger when this returns, and in the memory of
    /// every process soon after.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept them, or cannot be read.
    pub async fn stop(&self, room: &str, passes: Vec<PassStop>) -> Result<(), LedgerError> {
        self.ledger
            .stop_passes(room, passes, self.accepted_after_s())
            .await?;
        self.refresh().await
    }

    /// Takes the ends of rooms. An end that is not newer than the known one changes nothing. The
    /// ends apply to every call that this process gets after this returns, and to the calls of
    /// every other process soon after.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept them, or cannot be read.
    pub async fn end_rooms(&self, mut ends: Vec<RoomEnd>) -> Result<(), LedgerError> {
        {
            let known = self.known.read();
            ends.retain(|end| known.lacks(end));
        }
        if ends.is_empty() {
            return Ok(());
        }
        self.ledger.end_rooms(ends).await?;
        self.refresh().await
    }

    /// Returns whether this pass was stopped for good, or its room is over.
    #[must_use]
    pub fn contains(&self, pass: &LivePass) -> bool {
        let is_stopped = self.stop_of(pass).is_some_and(|stop| stop.visit.is_none());
        is_stopped || self.is_over(&pass.room)
    }

    /// Returns why the visit with this pass ended before the pass ran out, if it did.
    #[must_use]
    pub fn visit_end(&self, pass: &LivePass) -> Option<VisitEndCause> {
        let visit = self.stop_of(pass)?.visit?;
        (pass.iat <= visit.issued_s).then_some(visit.cause)
    }

    fn stop_of(&self, pass: &LivePass) -> Option<PassStop> {
        let known = self.known.read();
        known.rooms.get(&pass.room)?.get(&pass.number).copied()
    }

    /// Returns whether a room is over, so that its passes open nothing new. The tolerance for the
    /// clocks of other machines, which an expired pass has, does not apply to this.
    #[must_use]
    pub fn is_over(&self, room: &str) -> bool {
        let known = self.known.read();
        let over_from_ms = known.ends.get(room).and_then(|end| end.over_from_ms);
        over_from_ms.is_some_and(|at_ms| at_ms <= self.clock.now_ms())
    }

    /// Reads again if the last reading was so long ago that stopped passes may be missing.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read, or if this process may no longer write to it.
    pub async fn ensure_fresh(&self) -> Result<(), LedgerError> {
        if self.known.read().is_fresh() {
            return Ok(());
        }
        let reading = async {
            let _one_at_a_time = self.reading.lock().await;
            if self.known.read().is_fresh() {
                return Ok(());
            }
            // A process that stood still may have lost the ledger to another process.
            self.ledger.check().await?;
            self.refresh().await
        };
        timeout(READ_MAX, reading).await.unwrap_or_else(|_| {
            let why = "which passes were stopped could not be read";
            Err(LedgerError::Unavailable(why.to_owned()))
        })
    }

    /// Reads the passes that were stopped and the rooms that ended since the last reading.
    async fn refresh(&self) -> Result<(), LedgerError> {
        let begun = Instant::now();
        let after = {
            let known = self.known.read();
            (known.cursor, known.ends_cursor)
        };
        let read = self.ledger.stops_after(after).await?;
        let accepted_after_s = self.accepted_after_s();
        let mut known = self.known.write();
        known.read_at = known.read_at.max(Some(begun));
        known.ends_cursor = known.ends_cursor.max(read.ends_cursor);
        for end in read.ends {
            known.take_end(end);
        }
        if read.passes.is_empty() {
            return Ok(());
        }
        for row in read.passes {
            let numbers = known.rooms.entry(row.room).or_default();
            numbers.insert(row.pass.number, row.pass);
        }
        known.cursor = known.cursor.max(read.cursor);
        // Expired passes are refused anyway.
        for numbers in known.rooms.values_mut() {
            numbers.retain(|_, stop| stop.expires_s > accepted_after_s);
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

//! Follows the changes that other nodes make to rooms. This node reads the changes and applies
//! them. If another room now covers a show, this node reports it to booking. Only one node at a
//! time changes room documents.

mod changing;
mod ends;
mod http;
mod reading;
mod stopping;
mod unknown_room;

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;

pub use changing::RoomChangeLease;
use ends::ToldRoomEnds;
use unknown_room::UnknownRoomRead;

use crate::ledger::{LedgerError, RoomAuditEntry};
use crate::personal::PersonalEventHub;
use crate::push::hub::RoomSocketHubs;
use crate::room::RoomRegistry;
use crate::upstream::BookingFailure;
use fairgate_base::log_failed_try;
use fairgate_base::retry::BackgroundError;
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_rules::room_document::RoomDocument;

/// After this time without a successful reading, this node's rooms may be out of date, and
/// `/readyz` reports it.
const STALE_AFTER: Duration = Duration::from_secs(3);

/// When the ledger's rooms were last read.
#[derive(Debug)]
struct LastLedgerRead {
    at: Instant,
    is_logged: bool,
}

impl LastLedgerRead {
    fn now() -> Self {
        Self {
            at: Instant::now(),
            is_logged: false,
        }
    }

    fn mark_read(&mut self) {
        *self = Self::now();
    }

    /// Notes a failed reading. Logs it if it is the first after a successful reading.
    fn note_failed_reading(&mut self, error: &LedgerError) {
        if !self.is_logged {
            log_failed_try!(
                error,
                "the changes of other nodes could not be read; the next reading tries again"
            );
        }
        self.is_logged = true;
    }

    /// Returns the time since the last reading, if it is [`STALE_AFTER`] or longer.
    fn stale_for(&self) -> Option<Duration> {
        Some(self.at.elapsed()).filter(|elapsed| *elapsed >= STALE_AFTER)
    }
}

/// Why booking was not told which room covers which shows.
#[derive(Debug, thiserror::Error)]
pub enum CoverageFailure {
    /// The changes of other nodes could not be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Booking did not accept the list.
    #[error(transparent)]
    Booking(#[from] BookingFailure),
}

impl BackgroundError for CoverageFailure {
    fn is_temporary(&self) -> bool {
        match self {
            Self::Ledger(failure) => failure.is_temporary(),
            Self::Booking(failure) => failure.is_temporary(),
        }
    }
}

/// Updates this node's rooms from the ledger; a cheap handle.
#[derive(Clone)]
pub struct RoomFollower {
    inner: Arc<RoomFollowerState>,
}

struct RoomFollowerState {
    rooms: RoomRegistry,
    hubs: RoomSocketHubs,
    personal: PersonalEventHub,
    /// The name under which this node takes leases.
    node: String,
    /// Locked while a room document is changed, so that no two rooms cover one show.
    changing: tokio::sync::Mutex<()>,
    last_reading: Mutex<LastLedgerRead>,
    unknown_room_read: UnknownRoomRead,
    told_ends: ToldRoomEnds,
    /// Whether the newest coverage must still be sent to booking.
    owes_coverage: AtomicBool,
}

impl RoomFollower {
    /// Makes the follower of these rooms. It sends changes to their sockets through `hubs`, and
    /// news for one visitor through `personal`.
    #[must_use]
    pub fn new(rooms: RoomRegistry, hubs: RoomSocketHubs, personal: PersonalEventHub) -> Self {
        Self {
            inner: Arc::new(RoomFollowerState {
                rooms,
                hubs,
                personal,
                node: format!("node-{:032x}", rand::rng().random::<u128>()),
                changing: tokio::sync::Mutex::default(),
                last_reading: Mutex::new(LastLedgerRead::now()),
                unknown_room_read: UnknownRoomRead::default(),
                told_ends: ToldRoomEnds::default(),
                owes_coverage: AtomicBool::new(false),
            }),
        }
    }

    /// Opens every room of the ledger, and creates the built-in room if it is missing.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read or written.
    pub async fn take_up_all(&self) -> Result<(), LedgerError> {
        let rooms = self.rooms();
        if rooms.ledger().room(EVERYDAY).await?.is_none() {
            let row = rooms.fresh_row(EVERYDAY, RoomDocument::everyday());
            let entry = RoomAuditEntry {
                at: rooms.now_ms(),
                role: "fairgate",
                action: "room_created",
                detail: serde_json::json!({"built_in": true}),
            };
            // If several nodes start at once, the ledger takes the row of one node, and all nodes
            // use the secret in that row.
            rooms.ledger().create_room(row, entry).await?;
        }
        self.catch_up().await?;
        // The caller sends booking the coverage of all rooms.
        self.set_owes_coverage(false);
        Ok(())
    }

    /// Returns how long ago this node last read the changes of other nodes, if that is so long ago
    /// that its rooms may be out of date.
    #[must_use]
    pub fn unheard_for(&self) -> Option<Duration> {
        self.inner.last_reading.lock().stale_for()
    }

    /// Notes that booking must be told again which room covers which shows.
    pub(crate) fn owe_coverage(&self) {
        self.set_owes_coverage(true);
    }

    fn rooms(&self) -> &RoomRegistry {
        &self.inner.rooms
    }

    /// Sets whether the newest coverage must still be sent to booking.
    fn set_owes_coverage(&self, owes: bool) {
        self.inner.owes_coverage.store(owes, Ordering::Release);
    }

    fn owes_coverage(&self) -> bool {
        self.inner.owes_coverage.load(Ordering::Acquire)
    }
}

//! All rooms of this node, and the handles that rooms work with.

use parking_lot::RwLock;
use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use fairgate_base::clock::{Clock, rfc3339};
use fairgate_pass::Keyring;
use fairgate_rules::naming::overlap;
use fairgate_rules::phase::{RoomFacts, RoomPhase};
use fairgate_rules::room_document::RoomDocument;
use rand::Rng;
use tokio::sync::{mpsc, watch};

use super::draw_state::DrawState;
use super::socket_peers::SocketPeers;
use super::{Room, RoomTroubles};
use crate::ledger::{DrawSecret, LedgerError, RoomLedger, RoomRow};
use crate::store::RoomStore;
use crate::upstream::health::BookingHealth;
use crate::upstream::{BookingCore, BookingFailure, ShowSummary};

/// The handles that rooms are built with.
pub struct RoomDependencies {
    /// The ledger, which stores everything durable.
    pub ledger: RoomLedger,
    /// The room store, which answers fast.
    pub store: Arc<dyn RoomStore>,
    /// The calls to booking.
    pub core: Arc<dyn BookingCore>,
    /// Signs places, passes and freezes.
    pub keyring: Keyring,
    /// The clock that `now` comes from.
    pub clock: Clock,
    /// How fast and how correctly booking answers, as this node measures it.
    pub health: BookingHealth,
    /// Becomes true when the process drains.
    pub stopping: watch::Receiver<bool>,
    /// The room whose passes guard a shop that is not Fairgate's. This process does not see what
    /// their holders do there.
    pub shop_room: Option<String>,
}

/// Makes the secret of a draw.
#[must_use]
pub fn random_draw_secret() -> DrawSecret {
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    DrawSecret(secret)
}

/// This node knows no room of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no room \"{0}\"")]
pub struct UnknownRoom(pub String);

/// A cheap handle on all rooms of this node.
#[derive(Clone)]
pub struct RoomRegistry {
    inner: Arc<RoomRegistryState>,
}

struct RoomRegistryState {
    dependencies: RoomDependencies,
    rooms: RwLock<BTreeMap<String, Room>>,
    /// Sends opened rooms to the task that runs their loops.
    opened: mpsc::UnboundedSender<Room>,
    troubles: RoomTroubles,
    socket_peers: SocketPeers,
}

impl RoomRegistry {
    /// Makes a registry without rooms. The receiver gets each opened room, so that the caller can
    /// run the room's loop.
    #[must_use]
    pub fn new(dependencies: RoomDependencies) -> (Self, mpsc::UnboundedReceiver<Room>) {
        let (opened, opened_rooms) = mpsc::unbounded_channel();
        let inner = RoomRegistryState {
            dependencies,
            rooms: RwLock::default(),
            opened,
            troubles: RoomTroubles::default(),
            socket_peers: SocketPeers::default(),
        };
        let rooms = Self {
            inner: Arc::new(inner),
        };
        (rooms, opened_rooms)
    }

    /// Makes a row for a room that does not exist yet, with a new draw secret.
    #[must_use]
    pub fn fresh_row(&self, room: &str, document: RoomDocument) -> RoomRow {
        RoomRow {
            room: room.to_owned(),
            document,
            facts: RoomFacts::default(),
            version: 1,
            secret: random_draw_secret(),
            created_at: self.now_ms(),
        }
    }

    /// Opens a stored room on this node and sends it to the task that runs its loop. An open room
    /// stays as it is.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read, or the store cannot open the room.
    pub async fn take_up(&self, row: RoomRow) -> Result<Room, LedgerError> {
        let release = self.ledger().read_release_counter(&row.room).await?;
        self.store().open(&row.room).await?;
        let draw = DrawState::restore(self.ledger(), &row).await?;
        let room = Room::new(row, draw, release);
        let mut rooms = self.inner.rooms.write();
        match rooms.entry(room.id().to_owned()) {
            // The call that created the room and the loop that found it may run this at the same
            // time.
            btree_map::Entry::Occupied(open) => return Ok(open.get().clone()),
            btree_map::Entry::Vacant(free) => free.insert(room.clone()),
        };
        drop(rooms);
        // Sending fails only while the process drains, when no new loop is started.
        let _ = self.inner.opened.send(room.clone());
        Ok(room)
    }

    /// Returns one room.
    ///
    /// # Errors
    /// Fails if this node knows no such room.
    pub fn get(&self, room: &str) -> Result<Room, UnknownRoom> {
        let rooms = self.inner.rooms.read();
        rooms
            .get(room)
            .cloned()
            .ok_or_else(|| UnknownRoom(room.to_owned()))
    }

    /// Returns every room, in the order of their ids.
    #[must_use]
    pub fn all(&self) -> Vec<Room> {
        self.inner.rooms.read().values().cloned().collect()
    }

    /// Returns a number that grows with each new room, and when the document, draw or phase of a
    /// room changes, except by the time alone.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.inner.rooms.read().values().map(Room::edition).sum()
    }

    /// Returns all rooms except the built-in one, each with its show patterns. Closed rooms come
    /// last, because another room may name their shows now, and the first room that names a show
    /// sells it.
    #[must_use]
    pub fn coverage(&self) -> Vec<(String, Vec<String>)> {
        let now = self.now_ms();
        let mut rooms = self.all();
        rooms.sort_by_key(|room| room.phase(now) == RoomPhase::Closed);
        rooms
            .iter()
            .filter(|room| !room.is_everyday())
            .map(|room| (room.id().to_owned(), room.row().document.shows.clone()))
            .collect()
    }

    /// Reads the shows that a room sells. The built-in room sells the walk-ins that no other room
    /// names.
    ///
    /// # Errors
    /// Fails if booking does not answer.
    pub async fn shows_of(&self, room: &Room) -> Result<Vec<ShowSummary>, BookingFailure> {
        if !room.is_everyday() {
            return self.core().shows(&room.row().document.shows).await;
        }
        let mut shows = self.core().shows(&["*".to_owned()]).await?;
        let covered = self.coverage();
        let patterns = || covered.iter().flat_map(|(_, patterns)| patterns);
        shows.retain(|show| {
            show.walk_in && !patterns().any(|pattern| overlap(pattern, show.id.as_str()))
        });
        Ok(shows)
    }

    /// Returns this node's sockets of all rooms by peer.
    #[must_use]
    pub fn socket_peers(&self) -> &SocketPeers {
        &self.inner.socket_peers
    }

    /// Returns the troubles that this node found with its rooms.
    #[must_use]
    pub fn troubles(&self) -> &RoomTroubles {
        &self.inner.troubles
    }

    /// Returns warnings about things that work but need an operator's attention.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.store().warnings();
        warnings.extend(self.troubles().warnings(self.now_ms()));
        for room in self.all() {
            warnings.extend(room.refused_calls().warning(room.id(), self.now_ms()));
            warnings.extend(room.code_turns().warning(room.id(), self.now_ms()));
            if let Some(at) = room.draw_waits_until() {
                let (room, at) = (room.id(), rfc3339(at));
                warnings.push(format!("the draw of the room \"{room}\" waits until {at}: its store lost its data; visitors whose places it lost can show them again until then"));
            }
        }
        warnings
    }

    /// Returns the ledger.
    #[must_use]
    pub fn ledger(&self) -> &RoomLedger {
        &self.inner.dependencies.ledger
    }

    /// Returns the room store.
    #[must_use]
    pub fn store(&self) -> &dyn RoomStore {
        &*self.inner.dependencies.store
    }

    /// Returns the room store for a task that outlives the caller.
    #[must_use]
    pub fn shared_store(&self) -> &Arc<dyn RoomStore> {
        &self.inner.dependencies.store
    }

    /// Returns the calls to booking.
    #[must_use]
    pub fn core(&self) -> &Arc<dyn BookingCore> {
        &self.inner.dependencies.core
    }

    /// Returns whether the passes of a room guard a shop that is not Fairgate's.
    #[must_use]
    pub fn guards_shop(&self, room: &str) -> bool {
        self.inner.dependencies.shop_room.as_deref() == Some(room)
    }

    /// Returns the keys that sign and verify.
    #[must_use]
    pub fn keyring(&self) -> &Keyring {
        &self.inner.dependencies.keyring
    }

    /// Returns the measurements of booking's answers.
    #[must_use]
    pub fn health(&self) -> &BookingHealth {
        &self.inner.dependencies.health
    }

    /// Returns the clock that `now` comes from.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.dependencies.clock
    }

    /// Returns the current time, milliseconds since the epoch.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.inner.dependencies.clock.now_ms()
    }

    /// Returns a receiver that becomes true when the process drains.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.inner.dependencies.stopping.clone()
    }
}

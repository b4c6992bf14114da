//! Every room of this node, and the handles that rooms work with.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::http::Problem;
use fairgate_pass::Keyring;
use rand::{Rng, RngExt};
use tokio::sync::watch;

use super::{Document, EVERYDAY, Facts, Room, Troubles, overlap};
use crate::clockwork::{self, drawing};
use crate::follow::{self, Followed, LookedAt};
use crate::ledger::{Entry, Failure, Ledger, RoomRow, Secret};
use crate::store::RoomStore;
use crate::upstream::health::Health;
use crate::upstream::{Core, ShowCard};

/// What rooms are built from.
pub struct Parts {
    /// The slow and precious half.
    pub ledger: Arc<dyn Ledger>,
    /// The fast half.
    pub store: Arc<dyn RoomStore>,
    /// Booking.
    pub core: Arc<dyn Core>,
    /// Signs places, passes and freezes.
    pub keyring: Keyring,
    /// Where `now` comes from.
    pub clock: Clock,
    /// How well booking answers.
    pub health: Health,
    /// Becomes true when the process drains.
    pub stopping: watch::Receiver<bool>,
}

/// A cheap handle on all rooms.
#[derive(Clone)]
pub struct Rooms {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    rooms: RwLock<BTreeMap<String, Room>>,
    /// Room documents are changed one after the other, so that no two rooms cover one show.
    changing: tokio::sync::Mutex<()>,
    /// What this node takes leases as.
    node: String,
    followed: Mutex<Followed>,
    looked_at: LookedAt,
    /// Booking has not been told of the newest coverage yet.
    owes_coverage: AtomicBool,
    troubles: Troubles,
}

impl Rooms {
    /// Takes up every room of the ledger, makes the built-in one where it is missing, and starts their loops.
    ///
    /// # Errors
    /// Where the ledger cannot be read or written.
    pub async fn start(parts: Parts) -> Result<Self, Failure> {
        let inner = Inner {
            parts,
            rooms: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
            node: format!("node-{:032x}", rand::rng().random::<u128>()),
            followed: Mutex::new(Followed::now()),
            looked_at: LookedAt::default(),
            owes_coverage: AtomicBool::new(false),
            troubles: Troubles::default(),
        };
        let rooms = Self {
            inner: Arc::new(inner),
        };
        if rooms.ledger().room(EVERYDAY).await?.is_none() {
            let row = rooms.fresh_row(EVERYDAY, Document::everyday());
            let entry = Entry {
                at: rooms.now(),
                role: "fairgate",
                action: "room_created",
                detail: serde_json::json!({"built_in": true}),
            };
            // Of several nodes that start at once one makes it, and its secret is the room's.
            rooms.ledger().create_room(row, entry).await?;
        }
        follow::catch_up(&rooms).await?;
        // Whoever starts this tells booking of all rooms at once.
        rooms.owe_coverage(false);
        let stopping = rooms.inner.parts.stopping.clone();
        tokio::spawn(follow::run(rooms.clone(), stopping));
        Ok(rooms)
    }

    /// A row for a room that does not exist yet, with its draw's secret.
    #[must_use]
    pub fn fresh_row(&self, room: &str, document: Document) -> RoomRow {
        let mut secret = [0; 32];
        rand::rng().fill_bytes(&mut secret);
        RoomRow {
            room: room.to_owned(),
            document,
            facts: Facts::default(),
            version: 1,
            secret: Secret(secret),
            created_at: self.now(),
        }
    }

    /// Opens a stored room on this node and starts its loop; a room that is open stays as it is.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn take_up(&self, row: RoomRow) -> Result<Room, Failure> {
        let release = self.ledger().release(&row.room).await?;
        self.store().open(&row.room).await?;
        let draw = drawing::restore(self.ledger(), &row).await?;
        let room = Room::new(row, draw, release);
        let mut rooms = self
            .inner
            .rooms
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        match rooms.entry(room.id().to_owned()) {
            // Whoever made it and whoever saw it made came here at once.
            btree_map::Entry::Occupied(open) => return Ok(open.get().clone()),
            btree_map::Entry::Vacant(free) => free.insert(room.clone()),
        };
        drop(rooms);
        tokio::spawn(clockwork::run(
            self.clone(),
            room.clone(),
            self.inner.parts.stopping.clone(),
        ));
        Ok(room)
    }

    /// One room.
    ///
    /// # Errors
    /// 404 `not_found`.
    pub fn get(&self, room: &str) -> Result<Room, Problem> {
        let rooms = self
            .inner
            .rooms
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        rooms
            .get(room)
            .cloned()
            .ok_or_else(|| Problem::not_found("room", room))
    }

    /// Every room, by id.
    #[must_use]
    pub fn all(&self) -> Vec<Room> {
        self.inner
            .rooms
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// Which room covers which patterns, without the built-in one.
    #[must_use]
    pub fn coverage(&self) -> Vec<(String, Vec<String>)> {
        self.all()
            .iter()
            .filter(|room| !room.is_everyday())
            .map(|room| (room.id().to_owned(), room.row().document.shows.clone()))
            .collect()
    }

    /// The shows a room covers; of the built-in room, what no other names.
    ///
    /// # Errors
    /// Where booking does not answer.
    pub async fn shows_of(&self, room: &Room) -> Result<Vec<ShowCard>, Problem> {
        if !room.is_everyday() {
            return self.core().shows(&room.row().document.shows).await;
        }
        let mut shows = self.core().shows(&["*".to_owned()]).await?;
        let covered = self.coverage();
        let patterns = || covered.iter().flat_map(|(_, patterns)| patterns);
        shows.retain(|card| !patterns().any(|pattern| overlap(pattern, &card.show)));
        Ok(shows)
    }

    pub(crate) async fn changing_here(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.inner.changing.lock().await
    }

    /// What is wrong with rooms.
    #[must_use]
    pub fn troubles(&self) -> &Troubles {
        &self.inner.troubles
    }

    /// What this node takes leases as.
    pub(crate) fn node(&self) -> &str {
        &self.inner.node
    }

    /// Reads a room again, as the ledger has it.
    ///
    /// # Errors
    /// Where the ledger did not answer.
    pub async fn refresh(&self, room: &Room) -> Result<(), Failure> {
        follow::refresh(self, room).await
    }

    /// Tells booking which room covers which shows, as the ledger has it; done while [`Changing`](crate::follow::Changing) is held.
    ///
    /// # Errors
    /// Where the ledger or booking did not answer.
    pub async fn cover(&self) -> Result<(), Problem> {
        follow::cover(self).await
    }

    /// Says whether booking is still to be told of the coverage.
    pub(crate) fn owe_coverage(&self, owes: bool) {
        self.inner.owes_coverage.store(owes, Ordering::Release);
    }

    pub(crate) fn owes_coverage(&self) -> bool {
        self.inner.owes_coverage.load(Ordering::Acquire)
    }

    pub(crate) fn looked_at(&self) -> &LookedAt {
        &self.inner.looked_at
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        self.inner
            .followed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_read(&self) {
        self.followed().read();
    }

    pub(crate) fn note_unread(&self, error: &Failure) {
        self.followed().unread(error);
    }

    /// For how long this node has not heard what the others do, where that is too long.
    #[must_use]
    pub fn unheard_for(&self) -> Option<Duration> {
        self.followed().stale_for()
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &dyn Ledger {
        &*self.inner.parts.ledger
    }

    /// The room store.
    #[must_use]
    pub fn store(&self) -> &dyn RoomStore {
        &*self.inner.parts.store
    }

    /// Booking.
    #[must_use]
    pub fn core(&self) -> &Arc<dyn Core> {
        &self.inner.parts.core
    }

    /// Signs and verifies.
    #[must_use]
    pub fn keyring(&self) -> &Keyring {
        &self.inner.parts.keyring
    }

    /// How well booking answers.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.inner.parts.health
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.inner.parts.clock.now_ms()
    }

    /// Becomes true when the process drains.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.inner.parts.stopping.clone()
    }
}

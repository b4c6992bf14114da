//! The seats of a show as everybody sees them. This module opens a show in the store when somebody
//! first asks for the show, and again if the store lost it. It also carries the seat outbox to the
//! store. Any number of nodes may do this at once. The node that opens a show has a lease in the
//! ledger, and the node that carries the outbox has another.

mod carry;
mod figures;
mod for_line;
mod keep;
mod lease;
mod left;
mod prolong;
pub mod train;

use parking_lot::Mutex as Lock;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rand::RngExt;
use tokio::sync::Mutex;

pub use figures::ShowSeatFigures;
pub use for_line::{CategorySeatsLeft, PriceTier, ShowSeatsLeft};
pub use keep::{compare_forever, reopen_lost_forever};
pub use left::SeatsLeft;
pub use prolong::prolong_forever;

use figures::CountedFigures;

use crate::catalogue::Catalogue;
use crate::ledger::{Ledger, LedgerError};
use crate::store::{InventoryRefusal, InventoryStore, OpeningInventory, VersionedCells};
use fairgate_base::clock::Clock;
use fairgate_model::grid::CellState;
use fairgate_model::grid::picture::{CellChanges, CellPicture};
use fairgate_model::holds::lock_until_ms;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::{Show, plan_version_of};

/// How long the lease of an opening lasts without a renewal, in milliseconds. If the node dies,
/// another node opens the show after this time.
const OPENING_MS: i64 = 5_000;
/// How long a request waits for the node that opens its show.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// How long a request that only reads seats waits for the store to say whether the show is open.
const EDITION_WAIT_MAX: Duration = Duration::from_millis(300);
/// How often a waiting request checks whether the show is open.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a picture of another edition (plan version and prices) is left in place. A node that
/// has not yet read a change of the catalogue must not replace the new edition's picture with a
/// picture of the old edition.
const CATALOGUE_LAG_MAX: Duration = Duration::from_millis(1_500);
/// The most that a node's clock may differ from the ledger's clock, in milliseconds. A node whose
/// clock differs more must not judge the clock of Redis, and opens no shows.
const CLOCK_OFF_MS_MAX: i64 = 5_000;

/// A handle on the seats of all shows.
#[derive(Clone)]
pub struct SeatInventory {
    /// The store of the seats.
    pub store: Arc<dyn InventoryStore>,
    ledger: Ledger,
    clock: Clock,
    /// Names this process in leases.
    owner: Arc<str>,
    shared: Arc<SeatInventoryState>,
}

#[derive(Default)]
struct SeatInventoryState {
    /// Locks that let one task at a time open a show in this process.
    opening: Lock<HashMap<ShowId, Arc<Mutex<()>>>>,
    carrying: Mutex<()>,
    /// When this node first saw that a show's picture has another edition than its catalogue.
    other_edition_since: Lock<HashMap<ShowId, Instant>>,
    /// The last figures of each show, for the line.
    counted: Lock<HashMap<ShowId, CountedFigures>>,
    /// The last counts of seats left in each show, for lists.
    seats_left: Lock<HashMap<ShowId, left::CachedSeatsLeft>>,
    /// Shows about which the store knows decisions that the ledger lacks.
    regressed: Lock<HashSet<ShowId>>,
    /// Shows that this process has compared with the ledger since it started.
    compared: Lock<HashSet<ShowId>>,
}

impl SeatInventory {
    /// Builds the handle. The store may be empty, or may have shows that other nodes opened.
    #[must_use]
    pub fn new(store: Arc<dyn InventoryStore>, ledger: Ledger, clock: Clock) -> Self {
        let owner = hex::encode(rand::rng().random::<[u8; 8]>());
        Self {
            store,
            ledger,
            clock,
            owner: owner.into(),
            shared: Arc::default(),
        }
    }

    /// Makes sure that the show is open in the store.
    ///
    /// # Errors
    /// Returns an error if the ledger or the store does not answer, if the show must not be sold,
    /// or if another node does not open it in time.
    pub async fn ensure_open(&self, show: &Show) -> Result<(), LedgerError> {
        if show.untouched {
            return Err(unavailable("a departure is opened by its first hold"));
        }
        if !self.shared.compared.lock().contains(&show.id) {
            // The ledger may have been restored from an older backup, after another process sold
            // seats. Then the store knows sales that this ledger lacks.
            self.compare_show(&show.id).await?;
        }
        if self.shared.regressed.lock().contains(&show.id) {
            return Err(unavailable(
                "the store knows decisions that the ledger lacks",
            ));
        }
        if self.is_ready(show).await? {
            return Ok(());
        }
        // The opening runs in a task of its own, because a cancelled request must not leave a show
        // half open.
        let (seats, show) = (self.clone(), show.clone());
        let opening = tokio::spawn(async move { seats.open_in_store(&show).await });
        match opening.await {
            Ok(opened) => opened,
            Err(error) => Err(unavailable(&error.to_string())),
        }
    }

    /// Makes sure that the store has a picture of the show. An old picture is enough.
    ///
    /// # Errors
    /// Returns an error as [`Self::ensure_open`] does, if there is no picture at all.
    async fn ensure_seen(&self, show: &Show) -> Result<(), LedgerError> {
        let open = tokio::time::timeout(EDITION_WAIT_MAX, self.store.edition(&show.id)).await;
        if !matches!(open, Ok(Ok(Some(_)))) && self.store.packed(&show.id).await.is_some() {
            // Another task is opening the show again. A request that only reads the seats need not
            // wait for that task.
            return Ok(());
        }
        self.ensure_open(show).await
    }

    /// Returns the whole picture of a show. A departure whose seats nobody has ever held is not
    /// opened for this, because all its seats on sale are free. A cancelled show has no free cells.
    ///
    /// # Errors
    /// Returns an error as [`Self::ensure_open`] does, if there is no picture at all.
    pub async fn current_view(&self, show: &Show) -> Result<Option<VersionedCells>, LedgerError> {
        if show.untouched {
            let (version, states) = (0, show.unsold());
            return Ok(Some(VersionedCells { version, states }));
        }
        self.ensure_seen(show).await?;
        let mut view = self.store.view(&show.id).await;
        let cells = show.grid().cell_count() as usize;
        let has_other_cells = |view: &VersionedCells| view.states.len() != cells;
        if show.run.is_some() && view.as_ref().is_some_and(has_other_cells) {
            let change = "The train has just got other stops".to_owned();
            return Err(LedgerError::Overtaken(change));
        }
        if let Some(view) = view.as_mut().filter(|_| show.is_cancelled()) {
            for state in &mut view.states {
                *state = state.when_cancelled();
            }
        }
        Ok(view)
    }

    /// Returns the picture packed for the wire: version, number of cells, and two bits for each
    /// cell. The picture of a cancelled show is returned unchanged, so that the changes of the
    /// show's feed can be applied to it.
    ///
    /// # Errors
    /// Returns an error as [`SeatInventory::current_view`] does.
    pub async fn packed(&self, show: &Show) -> Result<Option<(u64, u32, Bytes)>, LedgerError> {
        if show.untouched {
            let picture = CellPicture::at_counter(0, 0, show.unsold());
            return Ok(Some((0, show.grid().cell_count(), picture.packed())));
        }
        self.ensure_seen(show).await?;
        Ok(self.store.packed(&show.id).await)
    }

    /// Returns what changed after the version `since`. Returns a gap if the show is not open. A
    /// departure whose seats nobody has ever held is at version 0 and has no changes.
    pub async fn changes_since(&self, show: &Show, since: u64) -> CellChanges {
        match show.untouched {
            true if since == 0 => CellChanges::None,
            true => CellChanges::Gap,
            false => {
                let changes = self.store.changes(&show.id, since).await;
                changes.unwrap_or(CellChanges::Gap)
            }
        }
    }

    /// Returns whether the show is open with a picture that can be used. A picture of another
    /// edition is used until it can be replaced. A picture of other stops is not used.
    async fn is_ready(&self, show: &Show) -> Result<bool, LedgerError> {
        let edition = self.store.edition(&show.id).await;
        let edition = edition.map_err(|refused| unavailable(&refused.to_string()))?;
        if edition == Some(show.edition()) {
            self.shared.other_edition_since.lock().remove(&show.id);
            return Ok(true);
        }
        let Some(pinned) = edition.map(plan_version_of) else {
            return Ok(false);
        };
        // A train pins a larger plan version when it gets other stops. Its earlier picture has
        // other cells, and nothing that is held there can be ordered any more.
        if show.run.is_some() && pinned < show.plan.version {
            return Ok(false);
        }
        let since = *self
            .shared
            .other_edition_since
            .lock()
            .entry(show.id.clone())
            .or_insert_with(Instant::now);
        if self.store.is_shared() && since.elapsed() < CATALOGUE_LAG_MAX {
            if show.run.is_some() && pinned > show.plan.version {
                let change = "The train has just got other stops".to_owned();
                return Err(LedgerError::Overtaken(change));
            }
            return Ok(true);
        }
        // A picture is not replaced while there are baskets that were made on it.
        let counts = self.store.counts(&show.id, 0, i64::MAX).await;
        Ok(counts.is_some_and(|(_, baskets)| baskets.lapsing > 0))
    }

    async fn open_in_store(&self, show: &Show) -> Result<(), LedgerError> {
        let gate = Arc::clone(
            self.shared
                .opening
                .lock()
                .entry(show.id.clone())
                .or_default(),
        );
        let _one_at_a_time = gate.lock().await;
        let lease = format!("rebuild:{}", show.id);
        let waiting_since = Instant::now();
        loop {
            if self.is_ready(show).await? {
                return Ok(());
            }
            if !self.store.is_shared() {
                return self.replace(show).await;
            }
            let replacing = self.replace(show);
            let opened =
                lease::run_under_lease(&self.ledger, &lease, &self.owner, OPENING_MS, replacing)
                    .await?;
            if let Some(opened) = opened {
                return opened;
            }
            if waiting_since.elapsed() > WAIT_MAX {
                return Err(unavailable("another node is opening the show"));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn replace(&self, show: &Show) -> Result<(), LedgerError> {
        let was_open = matches!(self.store.edition(&show.id).await, Ok(Some(_)));
        match self.reopen(show).await? {
            // A basket was made in the meantime. The old picture stays until the basket ends.
            Err(InventoryRefusal::Taken(_)) if was_open => Ok(()),
            Ok(()) => Ok(()),
            Err(refused) => Err(unavailable(&refused.to_string())),
        }
    }

    /// Replaces the store's picture with the ledger's picture.
    ///
    /// # Errors
    /// The inner error is the store's refusal, for example because of baskets. The outer error is
    /// the ledger's, or says why the show must not be opened now.
    pub async fn reopen(&self, show: &Show) -> Result<Result<(), InventoryRefusal>, LedgerError> {
        if self.store.is_shared() {
            let off_ms = self.ledger.now_ms().await? - self.clock.now_ms();
            if off_ms.abs() > CLOCK_OFF_MS_MAX {
                return Err(unavailable("this node's clock differs from the ledger's"));
            }
        }
        let began = Instant::now();
        // The store's cursor is read before the ledger's cursor, so that a row that is delivered
        // between the two reads does not look like a difference. If the store knows decisions that
        // the ledger lacks, the ledger was restored from an older backup. The ledger's picture
        // would then offer sold seats again.
        let seen = self.store.cursor(&show.id).await.unwrap_or(0);
        if seen > self.ledger.seat_cursor(&show.id).await? {
            return Err(unavailable(
                "the store knows decisions that the ledger lacks",
            ));
        }
        let mut opening = self.empty_opening(show).await?;
        let edition = self.store.edition(&show.id).await;
        let is_current =
            |edition: u64| show.run.is_none() || plan_version_of(edition) >= show.plan.version;
        let mut lost = None;
        if !matches!(edition, Ok(Some(edition)) if is_current(edition)) {
            // The show's old life ends before the ledger's picture is read. An order that relies on
            // locks of that life is then either in the picture or refused. The life of an open show
            // ends in `open` below. That call fails if the picture lacks a hold of the store.
            if let Err(refused) = self.store.begin(&show.id, &opening).await {
                return Ok(Err(refused));
            }
            lost = Some(opening.incarnation);
        }
        let picture = self
            .ledger
            .open_show(&show.id, show.plan.version, lost)
            .await?;
        let cursor = picture.cursor;
        (opening.sold, opening.ordered) = (picture.sold, picture.ordered);
        // An order that waits for its payment event to be settled may be past its claim's deadline.
        // The order's lock must still last longer than the opening.
        let least_ms = lock_until_ms(self.clock.now_ms());
        for hold in &mut opening.ordered {
            if hold.lock_until_ms < least_ms {
                hold.lock_until_ms = least_ms;
            }
        }
        opening.cursor = cursor;
        let opened = self.store.open(&show.id, opening).await;
        if opened.is_ok() {
            // Rows that were numbered since the picture was read may have been delivered to the
            // previous life, so they are delivered again.
            self.carry_seat_rows(&show.id, cursor).await?;
            metrics::histogram!("fairgate_show_opening_seconds").record(began.elapsed());
        }
        Ok(opened)
    }

    /// Begins an incarnation of a show in the ledger. Returns the opening without what is sold.
    async fn empty_opening(&self, show: &Show) -> Result<OpeningInventory, LedgerError> {
        let plan_version = show.plan.version;
        Ok(OpeningInventory {
            grid: show.grid(),
            plan_version,
            incarnation: self.ledger.next_incarnation(&show.id, plan_version).await?,
            blocked: show.blocked(),
            sold: Vec::new(),
            ordered: Vec::new(),
            cursor: 0,
            edition: show.edition(),
            ends_older_holds: show.run.is_some(),
        })
    }

    /// Frees all overdue holds in all open shows, and returns how many holds lapsed.
    pub async fn sweep(&self, now_ms: i64) -> usize {
        let mut lapsed = 0;
        loop {
            let swept = self.store.sweep(now_ms, 256).await;
            lapsed += swept.lapsed.len();
            if !swept.more {
                return lapsed;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the seats that baskets and unpaid orders hold, according to the store's picture.
    pub async fn held_seats(&self, catalogue: &Catalogue, id: &ShowId) -> Vec<u32> {
        let (Some(show), Some(view)) = (catalogue.show(id), self.store.view(id).await) else {
            return Vec::new();
        };
        let grid = show.grid();
        (0..grid.cell_count())
            .zip(&view.states)
            .filter(|(_, state)| **state == CellState::Held)
            .map(|(cell, _)| grid.seat_of(cell))
            .collect()
    }

    /// Returns warnings about the seats for an operator.
    pub async fn warnings(&self) -> Vec<String> {
        let mut warnings = self.store.warnings().await;
        // All lost shows share one warning.
        match self.store.lost().await.as_slice() {
            [] => {}
            [show] => warnings.push(format!(
                "The seats of {show} are being read from the ledger again; none can be held until then."
            )),
            shows => warnings.push(format!(
                "The seats of {} shows are being read from the ledger again; none of their seats can be held until then.",
                shows.len()
            )),
        }
        for show in self.shared.regressed.lock().iter() {
            warnings.push(format!(
                "The ledger was set back: it lacks decisions about {show} that the store knows. The show is not sold. Restore the ledger, or compare the show's orders and then empty Redis."
            ));
        }
        warnings
    }
}

fn unavailable(why: &str) -> LedgerError {
    LedgerError::Unavailable(why.to_owned())
}

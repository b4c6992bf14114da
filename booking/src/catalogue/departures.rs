//! Makes shows from departures. A show is made from the timetable when somebody first asks for the
//! departure, and is then cached. It is written into the ledger when somebody first asks to hold
//! one of its seats, or when it is cancelled. From then on the ledger's version is used. The import
//! of another timetable changes that version, or leaves it as it is.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::terms::UNNUMBERED;
use fairgate_model::shows::{Show, prices_of_run};
use fairgate_model::timetables::DepartureOnSale;

use super::Catalogue;
use super::trains::RoomDepartures;
use crate::ledger::StoredShow;

/// The most departures without a ledger row that are kept in memory. When there are this many, all
/// are removed. Each is made again when somebody next asks for it.
const UNTOUCHED_MAX: usize = 4_096;

/// How many departures are read from the ledger at once.
const BATCH_MAX: u32 = 1_000;

/// One train's run on one date, as the timetable has it.
#[derive(Debug, Clone, PartialEq)]
pub struct DepartureShow {
    /// The show's document, as a promoter would have written it. Its venue is the carriages' plan.
    pub document: ShowDocument,
    /// The version of that plan.
    pub plan_version: u32,
    /// The run's stops and fares.
    pub run: Arc<TrainRun>,
    /// The version of the timetable in the ledger; `None` if the ledger has none.
    pub timetable: Option<u32>,
}

/// Where departures come from. The source is in memory, so that a lookup costs next to nothing.
pub trait DepartureSource: Send + Sync + 'static {
    /// Returns the departure of this id, if the timetable has one. Departures after the last date
    /// on sale are not found. Past departures are found as long as the timetable has their dates.
    fn departure(&self, show: &ShowId) -> Option<DepartureShow>;
    /// Calls `each` for every departure that matches the patterns and is on sale at `now_ms`. The
    /// seats of each departure are counted as if nobody had taken one. The call takes a long time
    /// for a large timetable.
    fn on_sale(&self, patterns: &[String], now_ms: i64, each: &mut dyn FnMut(DepartureOnSale));
    /// Returns the plans that the departures of this source use.
    fn stocks(&self) -> Vec<(VenueId, u32)>;
    /// Returns a number that changes whenever the departures may have changed.
    fn version(&self) -> u64;
}

/// The departures that are kept in memory.
#[derive(Default)]
pub(super) struct DepartureCache {
    timetable: Mutex<Option<Arc<dyn DepartureSource>>>,
    untouched_shows: Mutex<TimetableShows>,
    /// The departures that have a row in the ledger.
    touched: Mutex<TouchedDepartures>,
    /// Departures whose stops have changed since this node read them before.
    recut: Mutex<Vec<ShowId>>,
    /// What is on sale, by room, as of the last lookup.
    pub(super) on_sale: Mutex<HashMap<String, Arc<RoomDepartures>>>,
}

/// The shows that were made from one version of the timetable.
#[derive(Default)]
struct TimetableShows {
    version: u64,
    shows: HashMap<ShowId, Arc<Show>>,
}

#[derive(Default)]
struct TouchedDepartures {
    /// The number of the newest ledger row that was read.
    last_read: u64,
    /// The departures, each with the number of its row. A departure that changes gets a new number.
    shows: HashMap<ShowId, (u64, Arc<Show>)>,
}

impl Catalogue {
    /// Sells the departures of this timetable from now on.
    ///
    /// # Errors
    /// Returns an error if the plans of its departures cannot be read.
    pub async fn sell_departures(
        &self,
        timetable: Arc<dyn DepartureSource>,
    ) -> Result<(), LedgerError> {
        *self.shared.departures.timetable.lock() = Some(timetable);
        self.load_carriage_plans().await
    }

    /// Returns the timetable whose departures are sold.
    pub(super) fn timetable(&self) -> Option<Arc<dyn DepartureSource>> {
        self.shared.departures.timetable.lock().clone()
    }

    /// Returns the departure of this id if it has a row in the ledger.
    pub(super) fn touched_departure(&self, id: &ShowId) -> Option<Arc<Show>> {
        let touched = self.shared.departures.touched.lock();
        touched.shows.get(id).map(|(_, show)| Arc::clone(show))
    }

    /// Returns the departure of this id from the ledger, or else from the timetable.
    pub(super) fn departure(&self, id: &ShowId) -> Option<Arc<Show>> {
        if let Some(show) = self.touched_departure(id) {
            return Some(show);
        }
        let departures = &self.shared.departures;
        let timetable = departures.timetable.lock().clone()?;
        let mut untouched_shows = departures.untouched_shows.lock();
        let version = timetable.version();
        if untouched_shows.version != version || untouched_shows.shows.len() >= UNTOUCHED_MAX {
            untouched_shows.shows.clear();
            untouched_shows.version = version;
        }
        if let Some(show) = untouched_shows.shows.get(id) {
            return Some(Arc::clone(show));
        }
        let departure = timetable.departure(id)?;
        let plan = (departure.document.venue.clone(), departure.plan_version);
        let plan = self.shared.plans.read().get(&plan).cloned()?;
        let show = Arc::new(Show {
            id: id.clone(),
            prices: prices_of_run(&departure.run, &plan.map),
            document: departure.document,
            plan,
            run: Some(departure.run),
            untouched: true,
            fate: None,
            terms: UNNUMBERED,
        });
        untouched_shows.shows.insert(id.clone(), Arc::clone(&show));
        Some(show)
    }

    /// Writes the ledger row of a departure that has none yet. Returns the show with its row.
    /// Without a row, nobody can hold seats of the show or cancel it.
    ///
    /// # Errors
    /// Returns an error if the ledger did not store the row, or if the timetable was replaced since
    /// the show was made.
    pub async fn touched(&self, show: &Arc<Show>, now_ms: i64) -> Result<Arc<Show>, LedgerError> {
        if !show.untouched {
            return Ok(Arc::clone(show));
        }
        let departure = self.timetable().and_then(|from| from.departure(&show.id));
        let is_same = |departure: &DepartureShow| {
            Some(&departure.run) == show.run.as_ref() && departure.document == show.document
        };
        let departure = departure.filter(is_same).ok_or_else(|| {
            LedgerError::Overtaken("A new timetable has just been imported".to_owned())
        })?;
        let stored = StoredShow {
            id: show.id.clone(),
            document: departure.document,
            plan_version: departure.plan_version,
            run: Some(departure.run),
            fate: None,
            terms: UNNUMBERED,
        };
        let timetable = departure.timetable;
        let opened = self.ledger.open_departure(stored, timetable, now_ms).await;
        let (number, stored) = opened?;
        self.remember(number, stored).await
    }

    async fn remember(&self, number: u64, stored: StoredShow) -> Result<Arc<Show>, LedgerError> {
        let departures = &self.shared.departures;
        // Another call may have read this row, or a later one, before.
        let known = departures.touched.lock().shows.get(&stored.id).cloned();
        if let Some((known, show)) = known
            && known >= number
        {
            return Ok(show);
        }
        let show = self.resolve_show(stored).await?;
        let mut touched = departures.touched.lock();
        let newest = touched.shows.entry(show.id.clone());
        let newest = newest.or_insert_with(|| (number, Arc::clone(&show)));
        if newest.0 < number {
            if newest.1.plan.version < show.plan.version {
                departures.recut.lock().push(show.id.clone());
            }
            *newest = (number, show);
        }
        Ok(Arc::clone(&newest.1))
    }

    /// Reads the departures that got a ledger row since the last call, whichever node wrote the
    /// row.
    pub(super) async fn follow_departures(&self) -> Result<(), LedgerError> {
        loop {
            let after = self.shared.departures.touched.lock().last_read;
            let rows = self.ledger.departures(after, BATCH_MAX).await?;
            let Some(last_read) = rows.last().map(|(number, _)| *number) else {
                return self.load_carriage_plans().await;
            };
            for (number, stored) in rows {
                self.remember(number, stored).await?;
            }
            let mut touched = self.shared.departures.touched.lock();
            touched.last_read = touched.last_read.max(last_read);
        }
    }

    /// Returns some departures whose stops have changed since this node read them before, and
    /// forgets them. Their seats in the store still have the earlier legs.
    #[must_use]
    pub fn take_recut(&self, most: usize) -> Vec<Arc<Show>> {
        let mut recut = self.shared.departures.recut.lock();
        let first = recut.len().saturating_sub(most);
        let ids = recut.split_off(first);
        drop(recut);
        ids.iter()
            .filter_map(|id| self.touched_departure(id))
            .collect()
    }

    /// Remembers a departure that [`Self::take_recut`] returned, to return it again.
    pub fn put_back_recut(&self, show: &Show) {
        self.shared.departures.recut.lock().push(show.id.clone());
    }

    /// Loads the plans of the timetable's carriages, so that a show can be made without waiting.
    async fn load_carriage_plans(&self) -> Result<(), LedgerError> {
        let timetable = self.shared.departures.timetable.lock().clone();
        let stocks = timetable.map(|timetable| timetable.stocks());
        for (venue, version) in stocks.unwrap_or_default() {
            self.plan(&venue, version).await?;
        }
        Ok(())
    }

    /// Returns the departures that have a row in the ledger.
    #[must_use]
    pub fn departures(&self) -> Vec<Arc<Show>> {
        let touched = self.shared.departures.touched.lock();
        let shows = touched.shows.values();
        shows.map(|(_, show)| Arc::clone(show)).collect()
    }
}

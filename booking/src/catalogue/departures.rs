//! Departures as shows: made of the timetable when they are asked for, kept for a while, and
//! written into the ledger when somebody first holds a seat of them. From then on they are what
//! stands there, whatever the timetable says later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::terms::UNNUMBERED;
use fairgate_model::shows::{Show, prices_of_run};
use fairgate_model::timetables::DepartureOnSale;

use super::trains::RoomDepartures;
use super::{Catalogue, read};
use crate::ledger::StoredShow;

/// Departures that nobody has held anything of are kept so many; one more and they are made anew.
const MADE_MAX: usize = 4_096;

/// Departures read from the ledger in one go.
const BATCH_MAX: u32 = 1_000;

/// One train's run on one date, as the timetable has it.
#[derive(Debug, Clone, PartialEq)]
pub struct DepartureShow {
    /// What a promoter would have written; its venue is the carriages' plan.
    pub document: ShowDocument,
    /// The version of that plan.
    pub plan_version: u32,
    /// Its stops and fares.
    pub run: Arc<TrainRun>,
}

/// Where departures come from: kept in memory, so that asking costs nothing.
pub trait DepartureSource: Send + Sync + 'static {
    /// The departure of this id, where the timetable has one in its window.
    fn departure(&self, show: &ShowId) -> Option<DepartureShow>;
    /// Tells the departures on sale at a moment that some patterns name, one by one, as they are as
    /// long as nobody has taken a seat of them. Looking through a large timetable takes a while.
    fn on_sale(&self, patterns: &[String], now_ms: i64, each: &mut dyn FnMut(DepartureOnSale));
    /// The plans that its departures use.
    fn stocks(&self) -> Vec<(VenueId, u32)>;
    /// Another one whenever its departures may have changed.
    fn version(&self) -> u64;
}

/// What is known of departures.
#[derive(Default)]
pub(super) struct DepartureCache {
    timetable: Mutex<Option<Arc<dyn DepartureSource>>>,
    made: Mutex<TimetableShows>,
    /// Those with a row in the ledger.
    touched: Mutex<TouchedDepartures>,
    /// What is on sale, as last looked through.
    pub(super) on_sale: Mutex<HashMap<String, Arc<RoomDepartures>>>,
}

/// Made of one version of the timetable.
#[derive(Default)]
struct TimetableShows {
    version: u64,
    shows: HashMap<ShowId, Arc<Show>>,
}

#[derive(Default)]
struct TouchedDepartures {
    /// The newest number that was read.
    upto: u64,
    shows: HashMap<ShowId, Arc<Show>>,
}

impl Catalogue {
    /// Sells this timetable's departures from now on.
    ///
    /// # Errors
    /// Where their plans cannot be read.
    pub async fn sell_departures(
        &self,
        timetable: Arc<dyn DepartureSource>,
    ) -> Result<(), LedgerError> {
        *locked(&self.shared.departures.timetable) = Some(timetable);
        self.follow_stocks().await
    }

    /// The timetable whose departures are sold.
    pub(super) fn timetable(&self) -> Option<Arc<dyn DepartureSource>> {
        locked(&self.shared.departures.timetable).clone()
    }

    /// The departure of this id that has its row in the ledger.
    pub(super) fn touched_departure(&self, id: &ShowId) -> Option<Arc<Show>> {
        locked(&self.shared.departures.touched)
            .shows
            .get(id)
            .cloned()
    }

    /// The departure of this id: what the ledger has, or else the timetable.
    pub(super) fn departure(&self, id: &ShowId) -> Option<Arc<Show>> {
        if let Some(show) = self.touched_departure(id) {
            return Some(show);
        }
        let known = &self.shared.departures;
        let timetable = locked(&known.timetable).clone()?;
        let mut made = locked(&known.made);
        let version = timetable.version();
        if made.version != version || made.shows.len() >= MADE_MAX {
            made.shows.clear();
            made.version = version;
        }
        if let Some(show) = made.shows.get(id) {
            return Some(Arc::clone(show));
        }
        let departure = timetable.departure(id)?;
        let plan = (departure.document.venue.clone(), departure.plan_version);
        let plan = read(&self.shared.plans).get(&plan).cloned()?;
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
        made.shows.insert(id.clone(), Arc::clone(&show));
        Some(show)
    }

    /// The show as seats of it may be held: a departure has its row in the ledger then, written now
    /// where nobody came before.
    ///
    /// # Errors
    /// Where the ledger did not take it.
    pub async fn touched(&self, show: &Arc<Show>, now_ms: i64) -> Result<Arc<Show>, LedgerError> {
        if !show.untouched {
            return Ok(Arc::clone(show));
        }
        let stored = StoredShow {
            id: show.id.clone(),
            document: show.document.clone(),
            plan_version: show.plan.version,
            run: show.run.clone(),
            fate: None,
            terms: UNNUMBERED,
        };
        let stored = self.ledger.open_departure(stored, now_ms).await?;
        self.remember(stored).await
    }

    async fn remember(&self, stored: StoredShow) -> Result<Arc<Show>, LedgerError> {
        let known = &self.shared.departures;
        if let Some(show) = locked(&known.touched).shows.get(&stored.id)
            && show.fate == stored.fate
            && show.terms == stored.terms
        {
            return Ok(Arc::clone(show));
        }
        let show = self.resolve_show(stored).await?;
        // Another one may have been quicker; all use the same, until something becomes of it.
        let mut touched = locked(&known.touched);
        let kept = touched.shows.entry(show.id.clone());
        let kept = kept.or_insert_with(|| Arc::clone(&show));
        if kept.fate != show.fate || kept.terms < show.terms {
            *kept = show;
        }
        Ok(Arc::clone(kept))
    }

    /// Takes over the departures that got their rows since the last time, here or at another node.
    pub(super) async fn follow_departures(&self) -> Result<(), LedgerError> {
        loop {
            let after = locked(&self.shared.departures.touched).upto;
            let rows = self.ledger.departures(after, BATCH_MAX).await?;
            let Some(upto) = rows.last().map(|(number, _)| *number) else {
                return self.follow_stocks().await;
            };
            for (_, stored) in rows {
                self.remember(stored).await?;
            }
            let mut touched = locked(&self.shared.departures.touched);
            touched.upto = touched.upto.max(upto);
        }
    }

    /// Has the plans of the timetable's carriages at hand: a show is made without waiting.
    async fn follow_stocks(&self) -> Result<(), LedgerError> {
        let timetable = locked(&self.shared.departures.timetable).clone();
        let stocks = timetable.map(|timetable| timetable.stocks());
        for (venue, version) in stocks.unwrap_or_default() {
            self.plan(&venue, version).await?;
        }
        Ok(())
    }

    /// The departures that somebody has held seats of.
    #[must_use]
    pub fn departures(&self) -> Vec<Arc<Show>> {
        let touched = locked(&self.shared.departures.touched);
        touched.shows.values().cloned().collect()
    }
}

pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each statement behind these locks leaves them whole.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

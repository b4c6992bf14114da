//! A handle on the newest timetable. The timetable is read when a process starts, and again when
//! another process imported a newer one.

use parking_lot::RwLock;
use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::{OrphanSeatRule, ShowDocument, ShowState};
use fairgate_model::timetables::{Departure, DepartureOnSale, Timetable};
use tokio::sync::Mutex;

use crate::catalogue::departures::{self, DepartureSource};
use crate::ledger::{Ledger, LedgerError};

/// A handle on the timetable. It is cheap to clone, and all clones share the same timetable.
#[derive(Clone)]
pub struct Timetables {
    ledger: Ledger,
    clock: Clock,
    current: Arc<RwLock<Option<Arc<CurrentTimetable>>>>,
    /// Locked while a newer timetable is read, so that it is read only once.
    reading: Arc<Mutex<()>>,
}

/// A version of the timetable, and the plans of its kinds of train.
#[derive(Debug)]
pub struct CurrentTimetable {
    /// The timetable's number in the ledger.
    pub version: u32,
    /// The timetable.
    pub timetable: Timetable,
    /// The venue and the plan version of each kind of train, by its index.
    plans: Vec<(VenueId, u32)>,
}

impl Timetables {
    /// Reads the newest timetable of the ledger, if it has one.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn open(ledger: Ledger, clock: Clock) -> Result<Self, LedgerError> {
        let timetables = Self {
            ledger,
            clock,
            current: Arc::default(),
            reading: Arc::default(),
        };
        timetables.refresh_timetable().await?;
        Ok(timetables)
    }

    /// Loads the newest timetable of the ledger if it is newer than the one in memory. Returns
    /// whether a timetable was loaded.
    ///
    /// # Errors
    /// Returns an error if the ledger or its timetable cannot be read. The timetable in memory then
    /// stays.
    pub async fn refresh_timetable(&self) -> Result<bool, LedgerError> {
        let _one = self.reading.lock().await;
        let Some(version) = self.ledger.newest_timetable().await? else {
            return Ok(false);
        };
        if self.current().is_some_and(|known| known.version >= version) {
            return Ok(false);
        }
        let corrupt = |why: &str| LedgerError::Corrupt(format!("timetable {version}: {why}"));
        let stored = self.ledger.timetable(version).await?;
        let stored = stored.ok_or_else(|| corrupt("it is not there"))?;
        let (text, kept) = (stored.text, stored.kept);
        let read = move || {
            let timetable = Timetable::read(&text)?.with_kept_ids(kept);
            timetable.map_err(|error| error.to_string())
        };
        let read = tokio::task::spawn_blocking(read).await;
        let read = read.map_err(|error| corrupt(&error.to_string()))?;
        let timetable = read.map_err(|why| corrupt(&why))?;
        if stored.plans.len() != timetable.stocks.len() {
            return Err(corrupt("it does not have one plan for each kind of train"));
        }
        let current = Arc::new(CurrentTimetable {
            version,
            timetable,
            plans: stored.plans,
        });
        *self.current.write() = Some(current);
        Ok(true)
    }

    /// Returns the newest timetable, if there is one.
    #[must_use]
    pub fn current(&self) -> Option<Arc<CurrentTimetable>> {
        self.current.read().clone()
    }

    /// Makes the departure for a show's id from the newest timetable, and returns it with the
    /// timetable's version. Returns `None` if its date is after the last date on sale. Past
    /// departures are made as far back as the service runs, so that old orders can be read. The
    /// caller checks whether the departure can still be sold.
    #[must_use]
    pub fn departure(&self, id: &ShowId) -> Option<(u32, Departure)> {
        let current = self.current()?;
        let (_, last) = current.timetable.window(self.clock.now_ms());
        let plan = |stock: usize| current.plans.get(stock).cloned();
        let departure = current.timetable.departure_for_show(id, plan);
        let departure = departure.filter(|departure| departure.run.date <= last)?;
        Some((current.version, departure))
    }
}

impl DepartureSource for Timetables {
    fn departure(&self, show: &ShowId) -> Option<departures::DepartureShow> {
        let (version, departure) = self.departure(show)?;
        Some(departures::DepartureShow {
            document: departure_document(&departure),
            plan_version: departure.plan_version,
            run: Arc::new(departure.run),
            timetable: Some(version),
        })
    }

    fn on_sale(&self, patterns: &[String], now_ms: i64, each: &mut dyn FnMut(DepartureOnSale)) {
        if let Some(current) = self.current() {
            current.timetable.on_sale(patterns, now_ms, each);
        }
    }

    fn stocks(&self) -> Vec<(VenueId, u32)> {
        self.current()
            .map_or_else(Vec::new, |current| current.plans.clone())
    }

    fn version(&self) -> u64 {
        self.current()
            .map_or(0, |current| u64::from(current.version))
    }
}

/// Returns the document of a departure in the form that a promoter would write. It has no prices,
/// because they are in the run. It lets holds leave single free seats, which do no harm on a train.
fn departure_document(departure: &Departure) -> ShowDocument {
    let terms = &departure.terms;
    ShowDocument {
        venue: departure.stock.clone(),
        plan: None,
        title: departure.title.clone(),
        starts_at: departure.starts_at,
        state: ShowState::OnSale,
        walk_in: true,
        sells_until: None,
        currency: departure.currency,
        prices: Default::default(),
        hold_s: terms.hold_s,
        grace_s: terms.grace_s,
        claim_grace_s: terms.claim_grace_s,
        pay_s: terms.pay_s,
        extensions: terms.extensions,
        seats_per_visitor: terms.seats_per_visitor,
        seats_per_account: None,
        seats_per_card: None,
        orphans: OrphanSeatRule::Allow,
        refunds: terms.refunds.clone(),
        exchange: terms.exchange,
    }
}

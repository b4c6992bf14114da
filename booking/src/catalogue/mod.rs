//! The catalogue: venues with their versioned plans, shows that are pinned to one plan version
//! each, and the list that says which room covers which show. Data that every request needs is in
//! memory. The ledger is the authority.

pub mod departures;
mod edition;
pub mod listing;
mod newest;
pub mod onsale;
pub mod places;
pub mod put;
pub mod selling;
pub mod trains;

use parking_lot::RwLock;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use fairgate_base::prepared::Prepared;
use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Currency;
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::payments::kind::{ProviderKind, ProviderRules};
use fairgate_model::plans::pinned::{EncodedGeometry, SeatingPlan};
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::shows::closure::SaleClosure;
use fairgate_model::shows::coverage::RoomCoverage;
use fairgate_model::shows::document::check_show_document;
use fairgate_model::shows::terms::{SaleTerms, UNNUMBERED};
use fairgate_model::shows::{Show, prices_of_run};
use fairgate_model::venues::VenueLocation;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::ledger::{Ledger, NewVenuePlan, StoredShow};
use edition::CatalogueEdition;
use listing::ShowListing;

/// The most earlier versions of terms that are kept in memory. When there are this many, all are
/// removed.
const TERMS_MAX: usize = 10_000;

/// A handle on the catalogue.
#[derive(Clone)]
pub struct Catalogue {
    ledger: Ledger,
    shared: Arc<CatalogueState>,
    /// The provider that takes the money, or [`ProviderKind::None`] if payments are not configured.
    provider: ProviderKind,
}

#[derive(Default)]
struct CatalogueState {
    shows: RwLock<HashMap<ShowId, Arc<Show>>>,
    plans: RwLock<HashMap<(VenueId, u32), Arc<SeatingPlan>>>,
    coverage: RwLock<RoomCoverage>,
    departures: departures::DepartureCache,
    /// The locations of the venues that promoters describe.
    venues: RwLock<places::VenueLocations>,
    /// The shows that nobody sells until an on-sale file is written whole.
    withheld: RwLock<BTreeSet<ShowId>>,
    /// The shows that are closed because the ledger went back, if it ever did.
    closure: RwLock<Option<Arc<SaleClosure>>>,
    /// The locations of the halls of the cinema programme.
    halls: RwLock<places::VenueLocations>,
    newest_read: newest::NewestRead,
    /// When the last successful reading of the changes of other nodes began.
    refreshed_at: parking_lot::Mutex<Option<Instant>>,
    /// Earlier versions of terms that were read from the ledger. They never change.
    terms: RwLock<HashMap<(ShowId, u32), Arc<SaleTerms>>>,
    /// `shows`, `coverage`, `withheld`, `closure` and `venues` are at least as new as this version
    /// of the ledger's catalogue. The lock is held while any of these is changed, so that an older
    /// reading never replaces a newer change.
    version: Mutex<u64>,
    /// Grows after each change of `shows`, `coverage`, `venues` or `halls`.
    edition: CatalogueEdition,
    /// The shows as searches need them.
    listing: Prepared<ShowListing>,
    /// The last reading that a call which takes seats has waited for.
    sales_reading: selling::SharedReading,
}

impl Catalogue {
    /// Reads the catalogue from the ledger. A new show is accepted only if `provider` can take its
    /// payments.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn open(ledger: Ledger, provider: ProviderKind) -> Result<Self, LedgerError> {
        let catalogue = Self {
            shared: Arc::default(),
            ledger,
            provider,
        };
        catalogue
            .reload(&mut *catalogue.shared.version.lock().await)
            .await?;
        catalogue.follow_departures().await?;
        Ok(catalogue)
    }

    /// Takes over the changes of other nodes. Reads the new departures and the catalogue's version.
    /// Reads the catalogue only if the version is new, and returns whether it did so.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn refresh_catalogue(&self) -> Result<bool, LedgerError> {
        let began = Instant::now();
        self.follow_departures().await?;
        let has_changed = self.reload_if_changed().await?;
        *self.shared.refreshed_at.lock() = Some(began);
        Ok(has_changed)
    }

    /// Returns the version of the ledger's catalogue that this process has read.
    pub async fn read_version(&self) -> u64 {
        *self.shared.version.lock().await
    }

    /// Reads the catalogue if another node has changed it. Returns whether it was read.
    async fn reload_if_changed(&self) -> Result<bool, LedgerError> {
        let newest = self.ledger.catalogue_version().await?;
        let mut version = self.shared.version.lock().await;
        if newest <= *version {
            return Ok(false);
        }
        self.reload(&mut version).await?;
        Ok(true)
    }

    async fn reload(&self, version: &mut u64) -> Result<(), LedgerError> {
        // The version is read before the data. If something changes between the two readings, the
        // next refresh reads the catalogue again.
        let newest = self.ledger.catalogue_version().await?;
        // The withheld shows are read before and after the rest, and a show of either reading
        // counts. So a show whose apply begins or ends meanwhile is not sold as it was.
        let mut withheld = BTreeSet::from_iter(self.ledger.withheld_shows().await?);
        let closure = self.ledger.sale_closure().await?;
        let closure = closure.filter(|closure| !closure.is_over());
        metrics::gauge!("fairgate_sale_closed_after_restore").set(f64::from(closure.is_some()));
        *self.shared.closure.write() = closure.map(Arc::new);
        let coverage = RoomCoverage::new(self.ledger.coverage().await?);
        let mut shows = HashMap::new();
        for stored in self.ledger.shows().await? {
            let show = self.resolve_show(stored).await?;
            shows.insert(show.id.clone(), show);
        }
        let venues = self.ledger.venue_locations().await?;
        withheld.extend(self.ledger.withheld_shows().await?);
        self.shared
            .withheld
            .write()
            .extend(withheld.iter().cloned());
        *self.shared.coverage.write() = coverage;
        *self.shared.venues.write() = venues.into_iter().collect();
        *self.shared.shows.write() = shows;
        *self.shared.withheld.write() = withheld;
        self.shared.edition.advance();
        *version = newest;
        Ok(())
    }

    /// Builds the show from its stored form. If the same show is in memory, returns that one.
    async fn resolve_show(&self, stored: StoredShow) -> Result<Arc<Show>, LedgerError> {
        let known = self.show(&stored.id).filter(|known| {
            known.document == stored.document
                && known.plan.version == stored.plan_version
                && known.run == stored.run
                && !known.untouched
                && known.fate == stored.fate
                && known.terms == stored.terms
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let plan = self
            .plan(&stored.document.venue, stored.plan_version)
            .await?;
        let prices = match &stored.run {
            Some(run) => prices_of_run(run, &plan.map),
            None => check_show_document(&stored.document, &plan.map, ProviderRules::STORED)
                .map_err(|faults| {
                    LedgerError::Corrupt(format!("show {}: {faults:?}", stored.id))
                })?,
        };
        Ok(Arc::new(Show {
            id: stored.id,
            document: stored.document,
            plan,
            prices,
            run: stored.run,
            untouched: false,
            fate: stored.fate,
            terms: stored.terms,
        }))
    }

    /// Returns the show with this id: a promoter's show or, if there is none, a departure.
    #[must_use]
    pub fn show(&self, id: &ShowId) -> Option<Arc<Show>> {
        let show = self.shared.shows.read().get(id).cloned();
        show.or_else(|| self.departure(id))
    }

    /// Returns the show whose id is this text.
    #[must_use]
    pub fn find_show(&self, id: &str) -> Option<Arc<Show>> {
        self.show(&id.parse().ok()?)
    }

    /// Returns whether any show limits how many seats one card may buy.
    #[must_use]
    pub fn limits_cards(&self) -> bool {
        let shows = self.shared.shows.read();
        let mut shows = shows.values();
        shows.any(|show| show.document.seats_per_card.is_some())
    }

    /// Returns a show as [`Self::show`] does, but returns a departure only if the departure has a
    /// row in the ledger. Every seat of a departure without a row is free, so callers need no show
    /// for it.
    #[must_use]
    pub fn show_with_ledger_row(&self, id: &ShowId) -> Option<Arc<Show>> {
        let show = self.shared.shows.read().get(id).cloned();
        show.or_else(|| self.touched_departure(id))
    }

    /// Returns all shows that promoters have put, by date and then by id.
    #[must_use]
    pub fn shows(&self) -> Vec<Arc<Show>> {
        let mut shows: Vec<_> = self.shared.shows.read().values().cloned().collect();
        shows.sort_by(|a, b| (a.document.starts_at, &a.id).cmp(&(b.document.starts_at, &b.id)));
        shows
    }

    /// Returns the room whose passes belong to a show. It does not always sell the show; see
    /// [`Self::seller_of`].
    #[must_use]
    pub fn room_of(&self, show: &ShowId) -> String {
        self.shared.coverage.read().room_of(show)
    }

    /// Returns the rooms, each with the patterns of the shows that it covers.
    #[must_use]
    pub fn coverage(&self) -> RoomCoverage {
        self.shared.coverage.read().clone()
    }

    /// Replaces the list of rooms and their patterns.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept the list.
    pub async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), LedgerError> {
        let _no_reload = self.shared.version.lock().await;
        self.ledger.put_coverage(coverage.clone()).await?;
        *self.shared.coverage.write() = RoomCoverage::new(coverage);
        self.shared.edition.advance();
        Ok(())
    }

    /// Stores a plan as the venue's next version. If the venue's newest plan is the same, no
    /// version is added. The venue's location is replaced in both cases. Returns the plan's
    /// version.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept the plan.
    pub async fn put_venue(
        &self,
        venue: &VenueId,
        map: &SeatMap,
        location: &VenueLocation,
        now_ms: i64,
    ) -> Result<u32, LedgerError> {
        let plan =
            serde_json::to_string(map).map_err(|error| LedgerError::Corrupt(error.to_string()))?;
        let digest: [u8; 32] = Sha256::digest(&plan).into();
        let plan = NewVenuePlan { plan, digest };
        let _no_reload = self.shared.version.lock().await;
        let version = self
            .ledger
            .put_venue(venue, plan, location.clone(), now_ms)
            .await?;
        let mut venues = self.shared.venues.write();
        if *location == VenueLocation::default() {
            venues.remove(venue);
        } else {
            venues.insert(venue.clone(), location.clone());
        }
        drop(venues);
        self.shared.edition.advance();
        Ok(version)
    }

    /// Returns this version of a show's terms. Holds and orders store the version under which they
    /// were made. Holds and orders that were made before terms had versions get the show's current
    /// terms.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read, or does not know the version.
    pub async fn terms(&self, show: &Show, version: u32) -> Result<Arc<SaleTerms>, LedgerError> {
        if version == show.terms || version == UNNUMBERED {
            return Ok(Arc::new(show.present_terms()));
        }
        let key = (show.id.clone(), version);
        if let Some(terms) = self.shared.terms.read().get(&key) {
            return Ok(Arc::clone(terms));
        }
        let terms = self.ledger.terms(&show.id, version).await?;
        let terms = terms.ok_or_else(|| {
            LedgerError::Corrupt(format!("show {} lacks terms {version}", show.id))
        })?;
        let mut known = self.shared.terms.write();
        if known.len() >= TERMS_MAX {
            known.clear();
        }
        Ok(Arc::clone(known.entry(key).or_insert(Arc::new(terms))))
    }

    /// Returns the terms that apply to an order of a show.
    ///
    /// # Errors
    /// Returns the errors of [`Catalogue::terms`].
    pub async fn order_terms(&self, show: &Show, version: u32) -> Result<OrderTerms, LedgerError> {
        Ok(OrderTerms {
            original: SaleTerms::clone(&*self.terms(show, version).await?),
            present: show.present_terms(),
            run: show.run.clone(),
            fate: show.fate,
        })
    }

    /// Returns what the payment provider can do for sales in this currency.
    #[must_use]
    pub fn rules(&self, currency: Currency) -> ProviderRules {
        self.provider.rules(currency)
    }

    /// Returns a venue's newest plan, or `None` if there is no such venue.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn newest_plan(
        &self,
        venue: &VenueId,
    ) -> Result<Option<Arc<SeatingPlan>>, LedgerError> {
        match self.ledger.newest_plan(venue).await? {
            Some(version) => self.plan(venue, version).await.map(Some),
            None => Ok(None),
        }
    }

    async fn plan(&self, venue: &VenueId, version: u32) -> Result<Arc<SeatingPlan>, LedgerError> {
        let plan = self.find_plan(venue, version).await?;
        plan.ok_or_else(|| LedgerError::Corrupt(format!("venue {venue} lacks plan {version}")))
    }

    /// Returns a version of a venue's plan, or `None` if there is no such version.
    async fn find_plan(
        &self,
        venue: &VenueId,
        version: u32,
    ) -> Result<Option<Arc<SeatingPlan>>, LedgerError> {
        let key = (venue.clone(), version);
        if let Some(plan) = self.shared.plans.read().get(&key) {
            return Ok(Some(Arc::clone(plan)));
        }
        let Some(text) = self.ledger.plan(venue, version).await? else {
            return Ok(None);
        };
        let map: SeatMap = serde_json::from_str(&text)
            .map_err(|error| LedgerError::Corrupt(format!("plan {version} of {venue}: {error}")))?;
        let geometry = geometry(&map).map_err(|error| LedgerError::Corrupt(error.to_string()))?;
        let plan = Arc::new(SeatingPlan {
            version,
            map,
            geometry,
        });
        let mut plans = self.shared.plans.write();
        Ok(Some(Arc::clone(plans.entry(key).or_insert(plan))))
    }
}

fn geometry(map: &SeatMap) -> Result<EncodedGeometry, serde_json::Error> {
    let json = serde_json::to_vec(&map.geometry_json())?;
    let digest = hex::encode(&Sha256::digest(&json)[..12]);
    Ok(EncodedGeometry {
        json: json.into(),
        packed: map.geometry_packed().into(),
        digest,
    })
}

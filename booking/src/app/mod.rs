//! Builds booking from its parts. `payments` builds the parts that move money, `handles` makes the
//! handles for the routes, and `workers` starts the workers.

mod handles;
mod payments;
mod workers;

use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_base::http::keys::RoleKeys;
use fairgate_base::process::search_threads::SearchThreads;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::ids::HoldIdDeriver;
use fairgate_pass::Keyring;
use rand::RngExt;

use crate::catalogue::Catalogue;
use crate::catalogue::departures::DepartureSource;
use crate::cinema::CinemaCatalogue;
use crate::config::PaymentSettings;
use crate::holds::searches::SeatSearches;
use crate::holds::take::HoldDesk;
use crate::idempotency::IdempotencyAnswers;
use crate::internal::finished::FinishedOrders;
use crate::internal::gateway_desk::GatewayDesk;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{Ledger, LedgerError};
use crate::orders::key::OrderKeys;
use crate::pruner::Pruner;
use crate::rail::availability::{Availability, SeatPictureSource};
use crate::rail::timetables::Timetables;
use crate::reconciler::Reconciler;
use crate::reconciler::watch::LockedHoldWatch;
use crate::set_back::keeper::CounterKeeper;
use crate::stopped_passes::StoppedPasses;
use crate::store::InventoryStore;
use crate::store::memory::MemoryStore;
use crate::waitlist::here::SeenVisitors;
use crate::waitlist::serve::Waitlist;
use crate::wake::WorkerNotifier;
use payments::{PaymentWorkers, provider};

/// What booking needs to start, in addition to the store and the ledger.
#[derive(Clone)]
pub struct BookingSetup {
    /// The secret that booking's secrets in the ledger are sealed with.
    pub secret: InstallationSecret,
    /// The keys that sign tickets and verify passes.
    pub keyring: Keyring,
    /// The keys of promoters and doors.
    pub keys: RoleKeys,
    /// The clock that all of booking uses.
    pub clock: Clock,
    /// The payment provider and its settings.
    pub payments: PaymentSettings,
}

/// A handle on booking.
#[derive(Clone)]
pub struct Booking {
    setup: BookingSetup,
    ledger: Ledger,
    gateways: GatewayDesk,
    shows: ShowSources,
    holds: HoldDesk,
    money: PaymentWorkers,
    waitlist: Waitlist,
    order_keys: OrderKeys,
    answers: IdempotencyAnswers,
    watch: LockedHoldWatch,
    stopped: StoppedPasses,
    searches: SearchThreads,
    counter: CounterKeeper,
}

/// The sources of shows, and the data for searches.
#[derive(Clone)]
struct ShowSources {
    catalogue: Catalogue,
    timetables: Timetables,
    availability: Availability,
    cinemas: CinemaCatalogue,
}

/// Booking's own secrets, which the first start makes.
struct BookingSecrets {
    ids: HoldIdDeriver,
    order_keys: OrderKeys,
    sandbox_webhook: [u8; 32],
}

impl BookingSecrets {
    /// Reads the secrets, which the installation's secret opens. Seals what an earlier version
    /// stored plain.
    async fn open(ledger: &Ledger, installation: &InstallationSecret) -> Result<Self, LedgerError> {
        ledger.seal_plain_answers(installation).await?;
        let secret = async |name| {
            let fresh = rand::rng().random();
            ledger.secret(installation, name, fresh).await
        };
        Ok(Self {
            ids: HoldIdDeriver::new(secret("call_ids").await?),
            order_keys: OrderKeys::new(secret("order_keys").await?),
            sandbox_webhook: secret("sandbox_webhook").await?,
        })
    }
}

impl Booking {
    /// Opens booking on a ledger file, with the in-process store.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be opened or read.
    pub async fn open(writer: SqliteDatabase, setup: BookingSetup) -> Result<Self, LedgerError> {
        let ledger = Ledger::open(Installation::File(writer)).await?;
        Self::with_store(Arc::new(MemoryStore::default()), ledger, setup).await
    }

    /// Builds booking on any store and ledger.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn with_store(
        store: Arc<dyn InventoryStore>,
        ledger: Ledger,
        setup: BookingSetup,
    ) -> Result<Self, LedgerError> {
        let seats = SeatInventory::new(store, ledger.clone(), setup.clock.clone());
        let secrets = BookingSecrets::open(&ledger, &setup.secret).await?;
        let providers = provider(&setup, &ledger, secrets.sandbox_webhook)?;
        let shows = ShowSources::open(&ledger, &seats, &setup).await?;
        let catalogue = &shows.catalogue;
        let stopped = StoppedPasses::open(ledger.clone(), setup.clock.clone()).await?;
        let waitlist = Waitlist {
            stopped: stopped.clone(),
            ledger: ledger.clone(),
            catalogue: catalogue.clone(),
            seats: seats.clone(),
            clock: setup.clock.clone(),
            seen_visitors: SeenVisitors::default(),
            notifier: WorkerNotifier::default(),
        };
        let searches = SearchThreads::default();
        let gateways = GatewayDesk {
            threads: searches.clone(),
            catalogue: catalogue.clone(),
            cinemas: shows.cinemas.clone(),
            seats: seats.clone(),
            ledger: ledger.clone(),
            finished: FinishedOrders::default(),
            seen_visitors: waitlist.seen_visitors.clone(),
            clock: setup.clock.clone(),
            ledger_id: hex::encode(ledger.id().await?),
            stopped: stopped.clone(),
            is_counted_in_redis: false,
        };
        let counter = CounterKeeper {
            ledger: ledger.clone(),
            redis: None,
        };
        Ok(Self {
            counter,
            money: PaymentWorkers::new(providers, catalogue, &seats, &ledger, &setup.clock),
            answers: IdempotencyAnswers::new(
                ledger.clone(),
                setup.clock.clone(),
                setup.secret.clone(),
            ),
            holds: HoldDesk {
                catalogue: catalogue.clone(),
                seats,
                ledger: ledger.clone(),
                ids: secrets.ids,
                stopped: stopped.clone(),
                searches: SeatSearches::default(),
            },
            setup,
            ledger,
            gateways,
            shows,
            waitlist,
            order_keys: secrets.order_keys,
            watch: LockedHoldWatch::default(),
            stopped,
            searches,
        })
    }

    /// Keeps the ledger's counter with this keeper, which also knows a counter in Redis.
    #[must_use]
    pub fn with_counter_keeper(mut self, counter: CounterKeeper) -> Self {
        self.gateways.is_counted_in_redis = counter.redis.is_some();
        self.counter = counter;
        self
    }

    /// Sells the departures of this timetable from now on. Departures that have a row in the ledger
    /// stay as they are.
    ///
    /// # Errors
    /// Returns an error if the plans of the timetable's carriages cannot be read.
    pub async fn sell_departures(
        &self,
        timetable: Arc<dyn DepartureSource>,
    ) -> Result<(), LedgerError> {
        self.shows.catalogue.sell_departures(timetable).await
    }

    /// Returns the desk that answers the questions of gateways.
    #[must_use]
    pub fn gateways(&self) -> &GatewayDesk {
        &self.gateways
    }

    /// Returns a reconciler for this store and ledger.
    #[must_use]
    pub fn reconciler(&self) -> Reconciler {
        Reconciler {
            ledger: self.ledger.clone(),
            catalogue: self.shows.catalogue.clone(),
            seats: Some(self.holds.seats.clone()),
            inbox: self.money.inbox.clone(),
            clock: self.setup.clock.clone(),
            notifiers: self.money.notifiers.clone(),
            watch: self.watch.clone(),
        }
    }

    /// Returns the worker that deletes old rows of this ledger.
    #[must_use]
    pub fn pruner(&self) -> Pruner {
        Pruner::new(self.ledger.clone(), self.setup.clock.clone())
    }
}

impl ShowSources {
    async fn open(
        ledger: &Ledger,
        seats: &SeatInventory,
        setup: &BookingSetup,
    ) -> Result<Self, LedgerError> {
        let catalogue = Catalogue::open(ledger.clone(), setup.payments.provider_kind()).await?;
        let timetables = Timetables::open(ledger.clone(), setup.clock.clone()).await?;
        catalogue
            .sell_departures(Arc::new(timetables.clone()))
            .await?;
        let pictures = Arc::new(SeatPictureSource {
            store: Arc::clone(&seats.store),
            ledger: ledger.clone(),
        });
        Ok(Self {
            availability: Availability::new(catalogue.clone(), pictures, setup.clock.clone()),
            cinemas: CinemaCatalogue::open(ledger.clone(), catalogue.clone()).await?,
            catalogue,
            timetables,
        })
    }
}

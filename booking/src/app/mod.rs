//! Builds booking from its parts (those that move money in `payments`), starts its workers
//! (`workers`), and answers the questions of gateways (`telling`).

mod payments;
mod telling;
mod workers;

use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::ids::HoldIdDeriver;
use fairgate_pass::Keyring;
use rand::RngExt;

use crate::catalogue::Catalogue;
use crate::cinema::CinemaCatalogue;
use crate::config::PaymentSettings;
use crate::door::RoleKeys;
use crate::idempotency::IdempotencyAnswers;
use crate::inventory::seats::SeatInventory;
use crate::ledger::sql::SqlLedger;
use crate::ledger::{Ledger, LedgerError};
use crate::orders::key::OrderKeys;
use crate::orders::late::LateMoneyWorker;
use crate::orders::refund::mass::MassRefundWorker;
use crate::payments::effects::PaymentEffectWorker;
use crate::payments::refunding::RefundWorker;
use crate::payments::sandbox::SandboxProvider;
use crate::payments::webhook::PaymentEventInbox;
use crate::pruner::Pruner;
use crate::rail::availability::{Availability, SeatPictureSource};
use crate::rail::timetables::Timetables;
use crate::reconciler::Reconciler;
use crate::reconciler::watch::LockedHoldWatch;
use crate::store::InventoryStore;
use crate::store::memory::MemoryStore;
use crate::waitlist::here::SeenVisitors;
use crate::waitlist::serve::Waitlist;
use crate::wake::{LedgerNotifiers, WorkerNotifier};

use payments::{PaymentWorkers, provider};

pub use telling::{BookingCondition, BookingPulse, ShowSummary};

/// What booking needs to start, besides store and ledger.
#[derive(Clone)]
pub struct BookingSetup {
    /// The keys that sign tickets and verify passes.
    pub keyring: Keyring,
    /// The keys of promoters and doors.
    pub keys: RoleKeys,
    /// The clock that all of booking goes by.
    pub clock: Clock,
    /// The payment provider and its settings.
    pub payments: PaymentSettings,
}

/// A handle on booking.
#[derive(Clone)]
pub struct Booking {
    pub(crate) catalogue: Catalogue,
    pub(crate) timetables: Timetables,
    pub(crate) availability: Availability,
    pub(crate) cinemas: CinemaCatalogue,
    pub(crate) seats: SeatInventory,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) setup: BookingSetup,
    pub(crate) order_keys: OrderKeys,
    pub(crate) answers: IdempotencyAnswers,
    pub(crate) inbox: Option<PaymentEventInbox>,
    pub(crate) sandbox: Option<SandboxProvider>,
    pub(crate) effects: Option<PaymentEffectWorker>,
    pub(crate) late: LateMoneyWorker,
    pub(crate) waitlist: Waitlist,
    pub(crate) refunding: Option<RefundWorker>,
    pub(crate) mass: MassRefundWorker,
    pub(crate) bells: LedgerNotifiers,
    pub(crate) watch: LockedHoldWatch,
    pub(crate) ids: HoldIdDeriver,
    pub(crate) ledger_id: [u8; 32],
}

impl Booking {
    /// Opens booking over a ledger file, with the in-process store.
    ///
    /// # Errors
    /// Returns an error where the ledger cannot be opened or read.
    pub async fn open(writer: SqliteDatabase, setup: BookingSetup) -> Result<Self, LedgerError> {
        let ledger: Arc<dyn Ledger> = Arc::new(SqlLedger::open(Installation::File(writer)).await?);
        Self::with_store(Arc::new(MemoryStore::default()), ledger, setup).await
    }

    /// Builds booking over any store and ledger.
    ///
    /// # Errors
    /// Returns an error where the ledger cannot be read.
    pub async fn with_store(
        store: Arc<dyn InventoryStore>,
        ledger: Arc<dyn Ledger>,
        setup: BookingSetup,
    ) -> Result<Self, LedgerError> {
        let seats = SeatInventory::new(store, Arc::clone(&ledger), setup.clock.clone());
        let ids = HoldIdDeriver::new(kept_secret(&*ledger, "call_ids").await?);
        let order_keys = OrderKeys::new(kept_secret(&*ledger, "order_keys").await?);
        let sandbox_secret = kept_secret(&*ledger, "sandbox_webhook").await?;
        let (sandbox, provider) = provider(&setup, &ledger, sandbox_secret)?;
        let catalogue =
            Catalogue::open(Arc::clone(&ledger), setup.payments.provider_kind()).await?;
        let timetables = Timetables::open(Arc::clone(&ledger), setup.clock.clone()).await?;
        catalogue
            .sell_departures(Arc::new(timetables.clone()))
            .await?;
        let pictures = Arc::new(SeatPictureSource {
            store: Arc::clone(&seats.store),
            ledger: Arc::clone(&ledger),
        });
        let availability = Availability::new(catalogue.clone(), pictures, setup.clock.clone());
        let cinemas = CinemaCatalogue::open(Arc::clone(&ledger), catalogue.clone()).await?;
        let ledger_id = ledger.id().await?;
        let money = PaymentWorkers::new(provider, &catalogue, &seats, &ledger, &setup.clock);
        let waitlist = Waitlist {
            ledger: Arc::clone(&ledger),
            catalogue: catalogue.clone(),
            seats: seats.clone(),
            clock: setup.clock.clone(),
            here: SeenVisitors::default(),
            bell: WorkerNotifier::default(),
        };
        Ok(Self {
            answers: IdempotencyAnswers::new(Arc::clone(&ledger), setup.clock.clone()),
            catalogue,
            timetables,
            availability,
            cinemas,
            seats,
            ledger,
            setup,
            order_keys,
            inbox: money.inbox,
            sandbox,
            effects: money.effects,
            late: money.late,
            waitlist,
            refunding: money.refunding,
            mass: money.mass,
            bells: money.bells,
            watch: LockedHoldWatch::default(),
            ids,
            ledger_id,
        })
    }

    /// Returns the ledger's id, in hex.
    #[must_use]
    pub fn ledger_id(&self) -> String {
        hex::encode(self.ledger_id)
    }

    /// Returns a reconciler over the same store and ledger.
    #[must_use]
    pub fn reconciler(&self) -> Reconciler {
        Reconciler {
            ledger: Arc::clone(&self.ledger),
            catalogue: self.catalogue.clone(),
            seats: Some(self.seats.clone()),
            inbox: self.inbox.clone(),
            clock: self.setup.clock.clone(),
            bells: self.bells.clone(),
            watch: self.watch.clone(),
        }
    }

    /// Returns the worker that deletes old rows of the same ledger.
    #[must_use]
    pub fn pruner(&self) -> Pruner {
        Pruner::new(Arc::clone(&self.ledger), self.setup.clock.clone())
    }
}

/// The ledger's secret of a name; a new one where it has none yet.
async fn kept_secret(ledger: &dyn Ledger, name: &'static str) -> Result<[u8; 32], LedgerError> {
    let fresh = rand::rng().random();
    ledger.secret(name, fresh).await
}

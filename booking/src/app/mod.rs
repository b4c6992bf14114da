//! Builds booking out of its parts, starts its workers (`workers`), and tells gateways what they
//! ask (`telling`).

mod telling;
mod workers;

use std::sync::Arc;

use fairgate_databases::{Installation, Writer};
use fairgate_pass::Keyring;
use rand::RngExt;

use crate::catalogue::Catalogue;
use crate::cinema::Cinemas;
use crate::config::Payments;
use crate::door::RoleKeys;
use crate::idempotency::Answers;
use crate::inventory::seats::Seats;
use crate::ledger::sql::SqlLedger;
use crate::ledger::{Ledger, LedgerError};
use crate::orders::key::OrderKeys;
use crate::orders::late::LateMoney;
use crate::orders::refund::mass::MassRefund;
use crate::payments::Provider;
use crate::payments::effects::Effects;
use crate::payments::refunding::Refunding;
use crate::payments::sandbox::Sandbox;
use crate::payments::stripe::Stripe;
use crate::payments::webhook::Inbox;
use crate::pruner::Pruner;
use crate::rail::availability::{Availability, Pictures};
use crate::rail::timetables::Timetables;
use crate::reconciler::Reconciler;
use crate::reconciler::watch::Watch;
use crate::store::InventoryStore;
use crate::store::memory::MemoryStore;
use crate::waitlist::here::Here;
use crate::waitlist::serve::Waitlist;
use crate::wake::{Bells, Wake};
use fairgate_base::clock::Clock;
use fairgate_model::ids::CallIds;

pub use telling::{Condition, Pulse, ShowInShort};

/// How booking is set up.
#[derive(Clone)]
pub struct Setup {
    /// Signs tickets, verifies passes.
    pub keyring: Keyring,
    /// Role keys.
    pub keys: RoleKeys,
    /// The time.
    pub clock: Clock,
    /// Who takes the money.
    pub payments: Payments,
}

/// A handle on booking.
#[derive(Clone)]
pub struct Booking {
    pub(crate) catalogue: Catalogue,
    pub(crate) timetables: Timetables,
    pub(crate) availability: Availability,
    pub(crate) cinemas: Cinemas,
    pub(crate) seats: Seats,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) setup: Setup,
    pub(crate) order_keys: OrderKeys,
    pub(crate) answers: Answers,
    pub(crate) inbox: Option<Inbox>,
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) effects: Option<Effects>,
    pub(crate) late: LateMoney,
    pub(crate) waitlist: Waitlist,
    pub(crate) refunding: Option<Refunding>,
    pub(crate) mass: MassRefund,
    pub(crate) bells: Bells,
    pub(crate) watch: Watch,
    pub(crate) ids: CallIds,
    pub(crate) ledger_id: [u8; 32],
}

impl Booking {
    /// Opens booking over a ledger file, with the in-process store.
    ///
    /// # Errors
    /// Where the ledger cannot be opened or read.
    pub async fn open(writer: Writer, setup: Setup) -> Result<Self, LedgerError> {
        let ledger: Arc<dyn Ledger> = Arc::new(SqlLedger::open(Installation::File(writer)).await?);
        Self::with(Arc::new(MemoryStore::default()), ledger, setup).await
    }

    /// Builds booking over any store and ledger.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn with(
        store: Arc<dyn InventoryStore>,
        ledger: Arc<dyn Ledger>,
        setup: Setup,
    ) -> Result<Self, LedgerError> {
        let seats = Seats::new(store, Arc::clone(&ledger), setup.clock.clone());
        let (fresh_keys, fresh_webhook, fresh_ids) = {
            let mut dice = rand::rng();
            (dice.random(), dice.random(), dice.random())
        };
        let ids = CallIds::new(ledger.secret("call_ids", fresh_ids).await?);
        let order_keys = OrderKeys::new(ledger.secret("order_keys", fresh_keys).await?);
        let sandbox_secret = ledger.secret("sandbox_webhook", fresh_webhook).await?;
        let (sandbox, provider) = provider(&setup, &ledger, sandbox_secret)?;
        let catalogue = Catalogue::open(Arc::clone(&ledger), setup.payments.kind()).await?;
        let timetables = Timetables::open(Arc::clone(&ledger), setup.clock.clone()).await?;
        let departures = Arc::new(timetables.clone());
        catalogue.sell_departures(departures).await?;
        let pictures = Arc::new(Pictures {
            store: Arc::clone(&seats.store),
            ledger: Arc::clone(&ledger),
        });
        let availability = Availability::new(catalogue.clone(), pictures, setup.clock.clone());
        let cinemas = Cinemas::open(Arc::clone(&ledger), catalogue.clone()).await?;
        let [seat_bell, event_bell, effect_bell, late_bell, refund_bell] =
            std::array::from_fn(|_| Wake::default());
        let inbox = provider.clone().map(|provider| Inbox {
            ledger: Arc::clone(&ledger),
            provider,
            clock: setup.clock.clone(),
            bell: event_bell,
            seats: seat_bell.clone(),
            effects: effect_bell.clone(),
            late: late_bell.clone(),
            catalogue: catalogue.clone(),
        });
        let bells = Bells {
            seats: seat_bell.clone(),
            effects: effect_bell.clone(),
            refunds: refund_bell.clone(),
        };
        let refunding = provider.clone().map(|provider| Refunding {
            ledger: Arc::clone(&ledger),
            provider,
            clock: setup.clock.clone(),
            bell: refund_bell,
        });
        let mass = MassRefund {
            ledger: Arc::clone(&ledger),
            clock: setup.clock.clone(),
            bell: Wake::default(),
            bells: bells.clone(),
        };
        let effects = provider.map(|provider| Effects {
            ledger: Arc::clone(&ledger),
            provider,
            clock: setup.clock.clone(),
            bell: effect_bell.clone(),
            seats: seat_bell.clone(),
        });
        let ledger_id = ledger.id().await?;
        let late = LateMoney {
            ledger: Arc::clone(&ledger),
            catalogue: catalogue.clone(),
            seats: seats.clone(),
            clock: setup.clock.clone(),
            bell: late_bell,
            outbox: seat_bell,
            effects: effect_bell,
        };
        let waitlist = Waitlist {
            ledger: Arc::clone(&ledger),
            catalogue: catalogue.clone(),
            seats: seats.clone(),
            clock: setup.clock.clone(),
            here: Here::default(),
            bell: Wake::default(),
        };
        let answers = Answers::new(Arc::clone(&ledger), setup.clock.clone());
        Ok(Self {
            catalogue,
            timetables,
            availability,
            cinemas,
            seats,
            ledger,
            setup,
            order_keys,
            answers,
            inbox,
            sandbox,
            effects,
            late,
            waitlist,
            refunding,
            mass,
            bells,
            watch: Watch::default(),
            ids,
            ledger_id,
        })
    }

    /// Which ledger this is, in hex.
    #[must_use]
    pub fn ledger_id(&self) -> String {
        hex::encode(self.ledger_id)
    }

    /// The reconciler over the same parts.
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

    /// The worker that deletes what is old, over the same ledger.
    #[must_use]
    pub fn pruner(&self) -> Pruner {
        Pruner::new(Arc::clone(&self.ledger), self.setup.clock.clone())
    }
}

/// The sandbox, where it is the provider, and the provider, where there is one.
type Takers = (Option<Sandbox>, Option<Arc<dyn Provider>>);

fn provider(
    setup: &Setup,
    ledger: &Arc<dyn Ledger>,
    sandbox_secret: [u8; 32],
) -> Result<Takers, LedgerError> {
    Ok(match &setup.payments {
        Payments::None => (None, None),
        Payments::Sandbox => {
            let sandbox = Sandbox::new(Arc::clone(ledger), sandbox_secret);
            (Some(sandbox.clone()), Some(Arc::new(sandbox)))
        }
        Payments::Stripe(settings) => {
            let stripe = Stripe::new(settings.clone());
            let stripe = stripe.map_err(|error| LedgerError::Unavailable(error.to_string()))?;
            (None, Some(Arc::new(stripe)))
        }
    })
}

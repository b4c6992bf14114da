//! Builds booking out of its parts, starts its workers (`workers`), and tells gateways what they ask (`telling`).

mod telling;
mod workers;

use std::sync::Arc;

use fairgate_databases::{Installation, Writer};
use fairgate_pass::Keyring;
use rand::RngExt;
use utoipa_axum::router::OpenApiRouter;

use crate::catalogue::Catalogue;
use crate::cinema::Cinemas;
use crate::clock::Clock;
use crate::config::Payments;
use crate::door::RoleKeys;
use crate::holds::take::HoldDesk;
use crate::http::catalogue::CatalogueRoutes;
use crate::http::cinema::CinemaRoutes;
use crate::http::fates::FateRoutes;
use crate::http::holds::HoldRoutes;
use crate::http::idempotency::Answers;
use crate::http::orders::OrderRoutes;
use crate::http::payments::PaymentRoutes;
use crate::http::promoter::PromoterRoutes;
use crate::http::rail::RailRoutes;
use crate::http::tickets::TicketRoutes;
use crate::http::visitor::Door;
use crate::http::waitlist::WaitlistRoutes;
use crate::ids::CallIds;
use crate::inventory::seats::Seats;
use crate::ledger::sql::SqlLedger;
use crate::ledger::{Ledger, LedgerError};
use crate::orders::checkout::OrderDesk;
use crate::orders::key::OrderKeys;
use crate::orders::late::LateMoney;
use crate::orders::refund::mass::MassRefund;
use crate::payments::Provider;
use crate::payments::effects::Effects;
use crate::payments::refunding::Refunding;
use crate::payments::sandbox::Sandbox;
use crate::payments::stripe::Stripe;
use crate::payments::webhook::Inbox;
use crate::rail::availability::{Availability, Pictures};
use crate::rail::timetables::Timetables;
use crate::reconciler::watch::Watch;
use crate::reconciler::{Bells, Reconciler};
use crate::retention::prune::Pruner;
use crate::router::{Handles, router};
use crate::store::InventoryStore;
use crate::store::memory::MemoryStore;
use crate::tickets::TicketDesk;
use crate::waitlist::here::Here;
use crate::waitlist::serve::Waitlist;
use crate::wake::Wake;

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
    catalogue: Catalogue,
    timetables: Timetables,
    availability: Availability,
    cinemas: Cinemas,
    seats: Seats,
    ledger: Arc<dyn Ledger>,
    setup: Setup,
    door: Door,
    answers: Answers,
    inbox: Option<Inbox>,
    sandbox: Option<Sandbox>,
    effects: Option<Effects>,
    late: LateMoney,
    waitlist: Waitlist,
    refunding: Option<Refunding>,
    mass: MassRefund,
    bells: Bells,
    watch: Watch,
    ids: CallIds,
    ledger_id: [u8; 32],
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
        let door = Door {
            verifier: setup.keyring.verifier(),
            catalogue: catalogue.clone(),
            order_keys,
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
            door,
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

    /// All routes, with their part of the OpenAPI document.
    #[must_use]
    pub fn router(&self) -> OpenApiRouter {
        let clock = &self.setup.clock;
        let holds = HoldDesk {
            catalogue: self.catalogue.clone(),
            seats: self.seats.clone(),
            ledger: Arc::clone(&self.ledger),
            ids: self.ids.clone(),
        };
        let provider = self.inbox.as_ref().map(|inbox| Arc::clone(&inbox.provider));
        let test = provider.as_ref().is_some_and(|provider| provider.is_test());
        router(Handles {
            catalogue: CatalogueRoutes {
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
                clock: clock.clone(),
            },
            rail: RailRoutes {
                timetables: self.timetables.clone(),
                free: Arc::new(self.availability.clone()),
                clock: clock.clone(),
            },
            cinema: CinemaRoutes {
                cinemas: self.cinemas.clone(),
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
            },
            promoter: PromoterRoutes {
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
            },
            orders: OrderRoutes {
                desk: OrderDesk {
                    holds: holds.clone(),
                    ledger: Arc::clone(&self.ledger),
                    provider,
                },
                door: self.door.clone(),
                answers: self.answers.clone(),
                clock: clock.clone(),
                bells: self.bells.clone(),
            },
            fates: FateRoutes {
                catalogue: self.catalogue.clone(),
                ledger: Arc::clone(&self.ledger),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
                mass: self.mass.bell.clone(),
            },
            holds: HoldRoutes {
                desk: holds,
                door: self.door.clone(),
                answers: self.answers.clone(),
                clock: clock.clone(),
            },
            payments: PaymentRoutes {
                inbox: self.inbox.clone(),
                sandbox: self.sandbox.clone(),
                answers: self.answers.clone(),
            },
            waitlist: WaitlistRoutes {
                waitlist: self.waitlist.clone(),
                door: self.door.clone(),
                answers: self.answers.clone(),
            },
            tickets: TicketRoutes {
                desk: TicketDesk {
                    ledger: Arc::clone(&self.ledger),
                    catalogue: self.catalogue.clone(),
                    keyring: self.setup.keyring.clone(),
                    test,
                },
                door: self.door.clone(),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
            },
        })
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

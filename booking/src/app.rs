//! Builds booking out of its parts and starts its workers.

use std::sync::Arc;
use std::time::Duration;

use fairgate_pass::{Holder, Keyring};
use fairgate_writer::{Database, Writer};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use utoipa_axum::router::OpenApiRouter;

use crate::catalogue::Catalogue;
use crate::catalogue::coverage::matches;
use crate::catalogue::http::CatalogueRoutes;
use crate::catalogue::promoter::PromoterRoutes;
use crate::catalogue::show::Show;
use crate::clock::Clock;
use crate::config::Payments;
use crate::door::{Door, RoleKeys};
use crate::holds::http::HoldRoutes;
use crate::holds::lapse::sweep_forever;
use crate::holds::take::HoldDesk;
use crate::idempotency::Answers;
use crate::ids::ShowId;
use crate::inventory::picture::Changes;
use crate::inventory::seats::{Seats, compare_forever, mend_forever};
use crate::ledger::postgres::PostgresLedger;
use crate::ledger::sqlite::SqliteLedger;
use crate::ledger::{Ledger, LedgerError};
use crate::orders::checkout::OrderDesk;
use crate::orders::expire::expire_forever;
use crate::orders::http::OrderRoutes;
use crate::orders::key::OrderKeys;
use crate::orders::late::LateMoney;
use crate::payments::Provider;
use crate::payments::effects::Effects;
use crate::payments::http::PaymentRoutes;
use crate::payments::sandbox::Sandbox;
use crate::payments::stripe::Stripe;
use crate::payments::webhook::Inbox;
use crate::reconciler::watch::Watch;
use crate::reconciler::{Bells, Reconciler};
use crate::router::{Handles, router};
use crate::store::memory::MemoryStore;
use crate::store::{HoldSignal, InventoryStore};
use crate::tickets::TicketDesk;
use crate::tickets::http::TicketRoutes;
use crate::wake::Wake;

/// How long the outbox worker sleeps when nobody calls it.
const OUTBOX_EVERY: Duration = Duration::from_millis(500);

/// How often old answers are forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(600);

/// How often the catalogue's version is asked for.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// How often what waits for the provider is counted.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// Longer than this, and ledger or store count as not answering. Gateways give up a little later.
const CONDITION_MAX: Duration = Duration::from_millis(800);

/// Held cells that fall within this are told to the line.
const LAPSING_MS: i64 = 5 * 60 * 1_000;
/// Whoever is called now needs about so long to claim and to choose.
const SOON_MS: i64 = 10 * 1_000;

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
    seats: Seats,
    ledger: Arc<dyn Ledger>,
    setup: Setup,
    door: Door,
    answers: Answers,
    inbox: Option<Inbox>,
    sandbox: Option<Sandbox>,
    effects: Option<Effects>,
    late: LateMoney,
    bells: Bells,
    watch: Watch,
    ledger_id: [u8; 32],
}

/// A show in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowInShort {
    /// The slug.
    pub id: ShowId,
    /// The title.
    pub title: String,
    /// When it begins.
    pub starts_at: jiff::Timestamp,
    /// The venue's slug.
    pub venue: String,
    /// ISO 4217.
    pub currency: String,
    /// How many seats it has.
    pub seats: u32,
}

/// How this booking is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// Why nothing can be sold here now.
    pub reasons: Vec<String>,
    /// What works, and should not be left so.
    pub warnings: Vec<String>,
}

/// Shared measurements over some shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Free cells.
    pub free: u64,
    /// Held cells.
    pub held: u64,
    /// Sold cells.
    pub sold: u64,
    /// Held cells whose holds run out within five minutes.
    pub lapsing_5m: u64,
    /// Held cells whose holds run out so soon that they count as free for who is called now.
    pub lapsing_soon: u64,
    /// Holds, those with an order among them.
    pub baskets: u64,
    /// Holds that run out within five minutes.
    pub baskets_5m: u64,
    /// Visitors whose orders were ticketed, behind the cursor asked for.
    pub finished: Vec<(u64, Holder)>,
}

impl Booking {
    /// Opens booking over a ledger file, with the in-process store.
    ///
    /// # Errors
    /// Where the ledger cannot be opened or read.
    pub async fn open(writer: Writer, setup: Setup) -> Result<Self, LedgerError> {
        let ledger: Arc<dyn Ledger> = Arc::new(SqliteLedger::open(writer).await?);
        Self::with(Arc::new(MemoryStore::default()), ledger, setup).await
    }

    /// Opens booking over a PostgreSQL database, which many nodes may share, with the store they share.
    ///
    /// # Errors
    /// Where the ledger cannot be opened or read.
    pub async fn open_shared(
        database: Database,
        store: Arc<dyn InventoryStore>,
        setup: Setup,
    ) -> Result<Self, LedgerError> {
        let ledger: Arc<dyn Ledger> = Arc::new(PostgresLedger::open(database).await?);
        Self::with(store, ledger, setup).await
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
        let (fresh_keys, fresh_webhook) = {
            let mut dice = rand::rng();
            (dice.random(), dice.random())
        };
        let order_keys = OrderKeys::new(ledger.secret("order_keys", fresh_keys).await?);
        let sandbox_secret = ledger.secret("sandbox_webhook", fresh_webhook).await?;
        let (sandbox, provider) = provider(&setup, &ledger, sandbox_secret)?;
        let cards = provider
            .as_ref()
            .is_some_and(|provider| provider.names_cards());
        let catalogue = Catalogue::open(Arc::clone(&ledger), cards).await?;
        let [seat_bell, event_bell, effect_bell, late_bell] =
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
            outbox: seat_bell.clone(),
            effects: effect_bell.clone(),
        };
        let door = Door {
            verifier: setup.keyring.verifier(),
            catalogue: catalogue.clone(),
            order_keys,
        };
        let answers = Answers::new(Arc::clone(&ledger), setup.clock.clone());
        Ok(Self {
            catalogue,
            seats,
            ledger,
            setup,
            door,
            answers,
            inbox,
            sandbox,
            effects,
            late,
            bells: Bells {
                seats: seat_bell,
                effects: effect_bell,
            },
            watch: Watch::default(),
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

    /// All routes, with their part of the OpenAPI document.
    #[must_use]
    pub fn router(&self) -> OpenApiRouter {
        let clock = &self.setup.clock;
        let holds = HoldDesk {
            catalogue: self.catalogue.clone(),
            seats: self.seats.clone(),
        };
        let provider = self.inbox.as_ref().map(|inbox| Arc::clone(&inbox.provider));
        let test = provider.as_ref().is_some_and(|provider| provider.is_test());
        router(Handles {
            catalogue: CatalogueRoutes {
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
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
                seats: self.bells.seats.clone(),
                effects: self.bells.effects.clone(),
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

    /// Starts the workers; they run until the set is dropped.
    #[must_use]
    pub fn start(&self) -> JoinSet<()> {
        let mut workers = JoinSet::new();
        let clock = &self.setup.clock;
        workers.spawn(sweep_forever(self.seats.clone(), clock.clone()));
        workers.spawn(expire_forever(
            Arc::clone(&self.ledger),
            self.bells.seats.clone(),
            clock.clone(),
        ));
        workers.spawn(carry_forever(self.seats.clone(), self.bells.seats.clone()));
        workers.spawn(mend_forever(self.seats.clone(), self.catalogue.clone()));
        workers.spawn(compare_forever(self.seats.clone()));
        workers.spawn(forget_forever(self.answers.clone()));
        workers.spawn(follow_forever(self.catalogue.clone()));
        if let (Some(inbox), Some(effects)) = (self.inbox.clone(), self.effects.clone()) {
            workers.spawn(inbox.settle_forever());
            workers.spawn(effects.carry_out_forever());
            workers.spawn(self.late.clone().settle_forever());
            workers.spawn(count_forever(Arc::clone(&self.ledger)));
        }
        let owner = hex::encode(rand::rng().random::<[u8; 16]>());
        workers.spawn(self.reconciler().reconcile_forever(owner));
        workers.spawn(self.reconciler().watch_forever());
        workers
    }

    /// The shows that some patterns name.
    #[must_use]
    pub fn shows(&self, patterns: &[String]) -> Vec<ShowInShort> {
        let named = |show: &Show| {
            patterns
                .iter()
                .any(|pattern| matches(pattern, show.id.as_str()))
        };
        let in_short = |show: &Arc<Show>| ShowInShort {
            id: show.id.clone(),
            title: show.document.title.clone(),
            starts_at: show.document.starts_at,
            venue: show.document.venue.to_string(),
            currency: show.document.currency.as_str().to_owned(),
            seats: show.plan.map.cell_count(),
        };
        self.catalogue
            .shows()
            .iter()
            .filter(|show| named(show))
            .map(in_short)
            .collect()
    }

    /// The room whose passes open a show.
    #[must_use]
    pub fn room_of(&self, show: &ShowId) -> String {
        self.catalogue.room_of(show)
    }

    /// Which room covers which patterns, as far as this booking has heard.
    #[must_use]
    pub fn coverage(&self) -> Vec<(String, Vec<String>)> {
        self.catalogue.coverage()
    }

    /// How this booking is: whether its ledger answers, and what its store says of itself.
    pub async fn condition(&self) -> Condition {
        let mut condition = Condition::default();
        // Side by side: a gateway that hears nothing of a booking does not ask it for maps either, and those go on.
        let (ledger, seats) = tokio::join!(
            tokio::time::timeout(CONDITION_MAX, self.ledger.now_ms()),
            tokio::time::timeout(CONDITION_MAX, self.seats.warnings()),
        );
        match ledger {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => condition.reasons.push(error.to_string()),
            Err(_) => condition.reasons.push(format!(
                "the ledger did not answer within {} ms",
                CONDITION_MAX.as_millis()
            )),
        }
        condition.warnings.extend(seats.unwrap_or_else(|_| {
            vec!["The store of the seats does not answer; none can be held.".to_owned()]
        }));
        condition
    }

    /// Replaces the list of which room covers which shows.
    ///
    /// # Errors
    /// Where the ledger did not take it.
    pub async fn cover(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), LedgerError> {
        self.catalogue.cover(coverage).await
    }

    /// Shared measurements over some shows; unknown ids count nothing.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn pulse(&self, shows: &[String], finished_after: u64) -> Result<Pulse, LedgerError> {
        let mut pulse = Pulse::default();
        let mut ids = Vec::with_capacity(shows.len());
        for show in shows.iter().filter_map(|show| self.find(show)) {
            self.seats.ensure_seen(&show).await?;
            let (store, now_ms) = (&self.seats.store, self.setup.clock.now_ms());
            if let Some((_, soon)) = store.counts(&show.id, now_ms, SOON_MS).await {
                pulse.lapsing_soon += soon.lapsing_cells;
            }
            if let Some((counts, baskets)) = store.counts(&show.id, now_ms, LAPSING_MS).await {
                pulse.free += counts.free;
                pulse.held += counts.held;
                pulse.sold += counts.sold;
                pulse.lapsing_5m += baskets.lapsing_cells;
                pulse.baskets += baskets.all;
                pulse.baskets_5m += baskets.lapsing;
            }
            ids.push(show.id.clone());
        }
        pulse.finished = self.ledger.finished(finished_after, ids).await?;
        Ok(pulse)
    }

    /// The whole picture of a show: version, cells, two bits a cell.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn snapshot(
        &self,
        show: &str,
    ) -> Result<Option<(u64, u32, bytes::Bytes)>, LedgerError> {
        let Some(show) = self.find(show) else {
            return Ok(None);
        };
        self.seats.ensure_seen(&show).await?;
        Ok(self.seats.store.packed(&show.id).await)
    }

    /// What changed after a version; a show that is not open is a gap.
    pub async fn changes(&self, show: &str, since: u64) -> Changes {
        match self.find(show) {
            Some(show) => self
                .seats
                .store
                .changes(&show.id, since)
                .await
                .unwrap_or(Changes::Gap),
            None => Changes::Gap,
        }
    }

    /// Signals for the sockets of the holds' owners.
    #[must_use]
    pub fn hold_signals(&self) -> tokio::sync::broadcast::Receiver<HoldSignal> {
        self.seats.store.signals()
    }

    fn find(&self, show: &str) -> Option<Arc<Show>> {
        show.parse::<ShowId>()
            .ok()
            .and_then(|id| self.catalogue.show(&id))
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

async fn carry_forever(seats: Seats, bell: Wake) {
    loop {
        match seats.carry_outbox().await {
            Ok(carried) => {
                metrics::counter!("fairgate_seat_rows_delivered_total").increment(carried as u64)
            }
            Err(error) => {
                tracing::warn!(%error, "sold and freed seats could not be read; trying again")
            }
        }
        bell.wait(OUTBOX_EVERY).await;
    }
}

/// What another node changed in the catalogue is sold by here within a second.
async fn follow_forever(catalogue: Catalogue) {
    let mut every = tokio::time::interval(FOLLOW_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if let Err(error) = catalogue.follow().await {
            tracing::warn!(%error, "the catalogue's changes could not be read; trying again");
        }
    }
}

async fn forget_forever(answers: Answers) {
    let mut every = tokio::time::interval(FORGET_EVERY);
    loop {
        every.tick().await;
        if let Err(error) = answers.forget_old().await {
            tracing::warn!(%error, "old answers could not be forgotten; trying again");
        }
    }
}

/// Shows an operator whether stored events and owed captures pile up.
async fn count_forever(ledger: Arc<dyn Ledger>) {
    let mut every = tokio::time::interval(COUNT_EVERY);
    loop {
        every.tick().await;
        match ledger.backlog().await {
            Ok((events, effects)) => {
                metrics::gauge!("fairgate_provider_events_waiting").set(events as f64);
                metrics::gauge!("fairgate_effects_waiting").set(effects as f64);
            }
            Err(error) => tracing::warn!(%error, "what waits could not be counted; trying again"),
        }
    }
}

//! A server in the shape of Stripe, as far as booking and a card form know it: it keeps intents,
//! honours idempotency keys, refuses the currencies and sums that Stripe refuses, signs events and
//! sends them. By its dice it delays, repeats, reorders and drops events, says 429, answers 500
//! after it did what was asked, and leaves calls without an answer. Seeded, so that a run can be
//! told again. axum and reqwest are named only here.

mod calls;
mod events;
mod intent;
mod router;
mod rules;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

pub use intent::StripeIntent;

/// The secret key that calls have to show.
pub const STRIPE_SECRET_KEY: &str = "sk_test_scripted";
/// What events are signed with.
pub const STRIPE_WEBHOOK_SECRET: &str = "whsec_scripted";
/// What a card form shows.
pub const STRIPE_PUBLISHABLE_KEY: &str = "pk_test_scripted";

/// How the server misbehaves. Shares are per cent of calls, or of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StripeFaultSettings {
    /// Every call is refused with 503 before anything is done, and no event is sent until that is
    /// over.
    pub away: bool,
    /// Intents that are not made, because their sum is said to be none that is taken.
    pub sums_pct: u32,
    /// Calls refused with 429 before anything is done.
    pub too_many_pct: u32,
    /// Calls refused with 409 or 429 before anything is done, because another call has the same key
    /// or object.
    pub locked_pct: u32,
    /// Calls that are done and answered with 500.
    pub broken_pct: u32,
    /// Calls that are done and never answered: a proxy gives up on them.
    pub hang_pct: u32,
    /// Events that are never sent.
    pub drop_pct: u32,
    /// Events that are sent twice.
    pub twice_pct: u32,
    /// The longest that an event is on its way, milliseconds: short ones overtake long ones.
    pub delay_ms_max: u64,
}

/// An answer under its idempotency key, and what was asked for it.
struct StripeStoredAnswer {
    asked: String,
    status: u16,
    body: String,
}

struct FakeStripeState {
    intents: HashMap<String, StripeIntent>,
    answers: HashMap<String, StripeStoredAnswer>,
    next: u64,
    dice: StdRng,
    chaos: StripeFaultSettings,
    /// The status that every call is refused with, as if the key were wrong or might not do it.
    keys_refused: Option<u16>,
    /// What becomes of a refund when it is asked for.
    refunds_are: &'static str,
    hooks: Vec<String>,
    keys_missing: u32,
    calls: u64,
}

/// A handle on the running server. It ends with the runtime that it was started in.
#[derive(Clone)]
pub struct FakeStripeServer {
    url: String,
    inner: Arc<Mutex<FakeStripeState>>,
    client: reqwest::Client,
}

impl FakeStripeServer {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// Where there is none.
    pub async fn start(seed: u64) -> anyhow::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("no port for the server in the shape of Stripe")?;
        let server = Self {
            url: format!("http://{}", listener.local_addr()?),
            inner: Arc::new(Mutex::new(FakeStripeState {
                intents: HashMap::new(),
                answers: HashMap::new(),
                next: 0,
                dice: StdRng::seed_from_u64(seed),
                chaos: StripeFaultSettings::default(),
                keys_refused: None,
                refunds_are: "succeeded",
                hooks: Vec::new(),
                keys_missing: 0,
                calls: 0,
            })),
            client: reqwest::Client::new(),
        };
        let router = router::router(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(server)
    }

    fn inner(&self) -> MutexGuard<'_, FakeStripeState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where events go from now on: to one of these after the other until one takes it.
    pub fn send_events_to(&self, urls: Vec<String>) {
        self.inner().hooks = urls;
    }

    /// How it behaves from now on.
    pub fn misbehave(&self, chaos: StripeFaultSettings) {
        self.inner().chaos = chaos;
    }

    /// Whether calls are refused from now on as if their key were wrong (401) or might not do this
    /// (403).
    pub fn refuse_keys(&self, status: Option<u16>) {
        self.inner().keys_refused = status;
    }

    /// What becomes of refunds that are asked for from now on: `succeeded`, `pending` or `failed`.
    pub fn refunds_are(&self, state: &'static str) {
        self.inner().refunds_are = state;
    }

    /// The last refund of a payment ends so, and no event tells of it.
    pub fn end_refund(&self, payment: &str, state: &'static str) {
        let mut inner = self.inner();
        let of_payment = |intent: &&mut StripeIntent| intent.metadata_value("payment") == payment;
        if let Some(intent) = inner.intents.values_mut().find(of_payment) {
            intent.end_refund(state);
        }
    }

    /// The last refund of a payment, which had arrived, comes back, and an event tells of it.
    pub fn refund_fails(&self, payment: &str) {
        self.end_refund(payment, "failed");
        let inner = self.inner();
        let of_payment =
            |(_, intent): &(&String, &StripeIntent)| intent.metadata_value("payment") == payment;
        let id = inner.intents.iter().find(of_payment);
        let id = id.map(|(id, _)| id.clone());
        drop(inner);
        if let Some(id) = id {
            self.send_event("refund.failed", &id);
        }
    }

    /// Takes the money at the counter, without having been asked by the account's owner.
    pub fn capture_unasked(&self, client_secret: &str) {
        let id = id_in(client_secret);
        if let Some(intent) = self.inner().intents.get_mut(id) {
            intent.status = "succeeded";
        }
        self.send_event("payment_intent.succeeded", id);
    }

    /// All intents, by the payment that they were made for.
    #[must_use]
    pub fn intents(&self) -> HashMap<String, Vec<StripeIntent>> {
        let mut by_payment: HashMap<String, Vec<StripeIntent>> = HashMap::new();
        for intent in self.inner().intents.values() {
            by_payment
                .entry(intent.metadata_value("payment").to_owned())
                .or_default()
                .push(intent.clone());
        }
        by_payment
    }

    /// Its books, for a judge: one record an intent, with what was captured and what went back, in
    /// the order of making.
    #[must_use]
    pub fn books(&self) -> Vec<Value> {
        let inner = self.inner();
        let mut intents: Vec<_> = inner.intents.iter().collect();
        intents.sort_by_key(|(_, intent)| intent.made);
        intents
            .into_iter()
            .map(|(id, intent)| intent.booked(id))
            .collect()
    }

    /// How many intents have money of a buyer that is neither captured nor let go.
    #[must_use]
    pub fn undecided(&self) -> usize {
        let inner = self.inner();
        let held = |intent: &&StripeIntent| intent.status == "requires_capture";
        inner.intents.values().filter(held).count()
    }

    /// Calls that change something and came without an idempotency key.
    #[must_use]
    pub fn keys_missing(&self) -> u32 {
        self.inner().keys_missing
    }

    /// How many calls came, but for card forms.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.inner().calls
    }

    /// What a card form does: confirms with a card that is good or not. A client secret is
    /// `ID_secret_x`; none that is known changes nothing. Gives the intent's status afterwards.
    pub fn confirm(&self, client_secret: &str, card: &str, good: bool) -> Option<&'static str> {
        let id = id_in(client_secret);
        let (status, kind) = {
            let mut inner = self.inner();
            let intent = inner.intents.get_mut(id)?;
            (intent.status, intent.confirm(card, good))
        };
        match kind {
            None => Some(status),
            Some(kind) => {
                self.send_event(kind, id);
                self.inner().intents.get(id).map(|intent| intent.status)
            }
        }
    }
}

/// The intent that a client secret is of.
fn id_in(client_secret: &str) -> &str {
    client_secret.split("_secret_").next().unwrap_or("")
}

impl FakeStripeState {
    /// Whether something that happens in so many of a hundred cases happens now.
    fn falls(&mut self, pct: u32) -> bool {
        self.dice.random_range(0..100) < pct
    }
}

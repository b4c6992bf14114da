//! Runs a server that imitates the part of Stripe that booking and a card form use. It stores
//! intents, honours idempotency keys, refuses the currencies and sums that Stripe refuses, and
//! sends signed events. At random it delays, repeats, reorders and drops events, and refuses calls.
//! It also answers some calls with 500 or 502 although their effect happened. The random numbers
//! have a seed, so that a run can be repeated.

mod calls;
mod dashboard;
mod events;
mod intent;
mod lists;
mod router;
mod rules;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

pub use intent::StripeIntent;

/// The secret key that every call must send, except those of card forms.
pub const STRIPE_SECRET_KEY: &str = "sk_test_scripted";
/// The secret with which events are signed.
pub const STRIPE_WEBHOOK_SECRET: &str = "whsec_scripted";
/// The key that a page gives to its card form. This server does not check it.
pub const STRIPE_PUBLISHABLE_KEY: &str = "pk_test_scripted";

/// How the server misbehaves. Each share is a percentage of calls or of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StripeFaultSettings {
    /// Whether every call is refused with 503 before anything is done. During this time, no events
    /// are sent.
    pub away: bool,
    /// The share of new intents that are refused because of their sum.
    pub sums_pct: u32,
    /// The share of calls that are refused with 429 before anything is done.
    pub too_many_pct: u32,
    /// The share of calls that are refused with 409 or 429 before anything is done, as if another
    /// call had the same key or object.
    pub locked_pct: u32,
    /// The share of calls whose effect happens, but whose answer is 500.
    pub broken_pct: u32,
    /// The share of calls whose effect happens, but whose answer is an empty 502, as from a proxy
    /// whose server does not answer.
    pub hang_pct: u32,
    /// The share of events whose first copy is not sent.
    pub drop_pct: u32,
    /// The share of events with a second copy. The second copy is sent even if the first copy is
    /// not.
    pub twice_pct: u32,
    /// The longest delay of an event, in milliseconds. An event with a short delay overtakes one
    /// with a long delay.
    pub delay_ms_max: u64,
}

/// An answer that is stored under its idempotency key, with the request.
struct StripeStoredAnswer {
    parameters: String,
    status: u16,
    body: String,
}

struct FakeStripeState {
    intents: HashMap<String, StripeIntent>,
    answers: HashMap<String, StripeStoredAnswer>,
    next: u64,
    dice: StdRng,
    chaos: StripeFaultSettings,
    /// The status with which every call is refused, as if its key were wrong or had no right to
    /// make the call.
    keys_refused: Option<u16>,
    /// The state of new refunds.
    refunds_are: &'static str,
    hooks: Vec<String>,
    /// All events so far, oldest first, also those that were never sent.
    events: Vec<Value>,
    keys_missing: u32,
    calls: u64,
}

/// A handle to the running server. The server ends with the runtime in which it was started.
#[derive(Clone)]
pub struct FakeStripeServer {
    url: String,
    inner: Arc<Mutex<FakeStripeState>>,
    client: reqwest::Client,
}

impl FakeStripeServer {
    /// Starts the server on a free port.
    ///
    /// # Errors
    /// Where no port is free.
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
                events: Vec::new(),
                keys_missing: 0,
                calls: 0,
            })),
            client: reqwest::Client::new(),
        };
        let router = router::router(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(server)
    }

    /// Returns the server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends events to these addresses from now on. Tries one address after the other until one
    /// accepts the event.
    pub fn send_events_to(&self, urls: Vec<String>) {
        self.inner.lock().hooks = urls;
    }

    /// Sets how the server misbehaves from now on.
    pub fn misbehave(&self, chaos: StripeFaultSettings) {
        self.inner.lock().chaos = chaos;
    }

    /// Refuses every call from now on, as if its key were wrong (401) or had no right to make the
    /// call (403). `None` ends this.
    pub fn refuse_keys(&self, status: Option<u16>) {
        self.inner.lock().keys_refused = status;
    }

    /// Sets the state of new refunds: `succeeded`, `pending` or `failed`.
    pub fn refunds_are(&self, state: &'static str) {
        self.inner.lock().refunds_are = state;
    }

    /// Forgets all idempotency keys. Stripe may forget them after a day.
    pub fn forget_keys(&self) {
        self.inner.lock().answers.clear();
    }

    /// Sets the state in which the last refund of a payment ends. Sends no event.
    pub fn end_refund(&self, payment: &str, state: &'static str) {
        let mut inner = self.inner.lock();
        let of_payment = |intent: &&mut StripeIntent| intent.metadata_value("payment") == payment;
        if let Some(intent) = inner.intents.values_mut().find(of_payment) {
            intent.end_refund(state);
        }
    }

    /// Makes the last refund of a payment fail after it had succeeded, and sends an event.
    pub fn refund_fails(&self, payment: &str) {
        self.end_refund(payment, "failed");
        let inner = self.inner.lock();
        let of_payment =
            |(_, intent): &(&String, &StripeIntent)| intent.metadata_value("payment") == payment;
        let id = inner.intents.iter().find(of_payment);
        let id = id.map(|(id, _)| id.clone());
        drop(inner);
        if let Some(id) = id {
            self.send_event("refund.failed", &id);
        }
    }

    /// Captures the money without a call of the account's owner, and sends an event.
    pub fn capture_unasked(&self, client_secret: &str) {
        let id = id_in(client_secret);
        if let Some(intent) = self.inner.lock().intents.get_mut(id) {
            intent.status = "succeeded";
        }
        self.send_event("payment_intent.succeeded", id);
    }

    /// Returns all intents, by the payment for which they were made.
    #[must_use]
    pub fn intents(&self) -> HashMap<String, Vec<StripeIntent>> {
        let mut by_payment: HashMap<String, Vec<StripeIntent>> = HashMap::new();
        for intent in self.inner.lock().intents.values() {
            by_payment
                .entry(intent.metadata_value("payment").to_owned())
                .or_default()
                .push(intent.clone());
        }
        by_payment
    }

    /// Returns the server's books. They have one record for each intent, with its captured and
    /// refunded amounts. The oldest intent comes first.
    #[must_use]
    pub fn books(&self) -> Vec<Value> {
        let inner = self.inner.lock();
        let mut intents: Vec<_> = inner.intents.iter().collect();
        intents.sort_by_key(|(_, intent)| intent.made);
        intents
            .into_iter()
            .map(|(id, intent)| intent.booked(id))
            .collect()
    }

    /// Returns how many intents are authorised, but not yet captured or cancelled.
    #[must_use]
    pub fn undecided(&self) -> usize {
        let inner = self.inner.lock();
        let held = |intent: &&StripeIntent| intent.status == "requires_capture";
        inner.intents.values().filter(held).count()
    }

    /// Returns how many calls that change something came without an idempotency key.
    #[must_use]
    pub fn keys_missing(&self) -> u32 {
        self.inner.lock().keys_missing
    }

    /// Returns how many calls came. The calls of card forms, calls with a wrong key, and readings
    /// of the list of events do not count.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.inner.lock().calls
    }

    /// Confirms an intent as a card form does. The card is good or is declined. A client secret is
    /// `ID_secret_x`. Returns the status of the intent afterwards, or `None` if the intent is
    /// unknown.
    pub fn confirm(&self, client_secret: &str, card: &str, good: bool) -> Option<&'static str> {
        let id = id_in(client_secret);
        let (status, kind) = {
            let mut inner = self.inner.lock();
            let intent = inner.intents.get_mut(id)?;
            (intent.status, intent.confirm(card, good))
        };
        match kind {
            None => Some(status),
            Some(kind) => {
                self.send_event(kind, id);
                self.inner
                    .lock()
                    .intents
                    .get(id)
                    .map(|intent| intent.status)
            }
        }
    }
}

/// Returns the id of the intent that a client secret contains.
fn id_in(client_secret: &str) -> &str {
    client_secret.split("_secret_").next().unwrap_or("")
}

impl FakeStripeState {
    /// Draws whether a fault with a chance of `pct` percent happens now.
    fn fault_happens(&mut self, pct: u32) -> bool {
        self.dice.random_range(0..100) < pct
    }
}

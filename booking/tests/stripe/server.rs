//! A server in the shape of Stripe, as far as booking knows it: it keeps intents, honours idempotency keys, signs and
//! sends events. By its dice it delays, repeats, reorders and drops events, says 429, answers 500 after it did what was
//! asked, and lets calls hang. Seeded, so that a run can be told again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use booking::payments::stripe::event::sign;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

pub const SECRET_KEY: &str = "sk_test_scripted";
pub const WEBHOOK_SECRET: &str = "whsec_scripted";

/// How the server misbehaves, in per cent.
#[derive(Clone, Copy, Default)]
pub struct Chaos {
    /// Calls refused with 429 before anything is done.
    pub too_many_pct: u32,
    /// Calls that are done and answered with 500.
    pub broken_pct: u32,
    /// Calls that are done and never answered in time.
    pub hang_pct: u32,
    /// Events that are never sent.
    pub drop_pct: u32,
    /// Events that are sent twice.
    pub twice_pct: u32,
    /// The longest that an event is on its way: short ones overtake long ones.
    pub delay_ms_max: u64,
}

/// An intent as the server keeps it.
#[derive(Clone)]
pub struct Intent {
    pub status: &'static str,
    pub amount: i64,
    /// As Stripe counts: what is on its way counts as gone, what failed does not.
    pub refunded: i64,
    /// The states of its refunds, each over all of it.
    pub refunds: Vec<&'static str>,
    pub captures: u32,
    currency: String,
    metadata: HashMap<String, String>,
    card: String,
    declined: bool,
}

struct Kept {
    asked: String,
    status: u16,
    body: String,
}

struct Inner {
    intents: HashMap<String, Intent>,
    answers: HashMap<String, Kept>,
    next: u64,
    dice: StdRng,
    chaos: Chaos,
    /// What becomes of a refund when it is asked for.
    refunds_are: &'static str,
    hook: Option<String>,
    keys_missing: u32,
    calls: u64,
}

/// A handle on the running server.
#[derive(Clone)]
pub struct Server {
    pub url: String,
    inner: Arc<Mutex<Inner>>,
    client: reqwest::Client,
}

impl Server {
    /// On a free port.
    pub async fn start(seed: u64) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = Self {
            url: format!("http://{address}"),
            inner: Arc::new(Mutex::new(Inner {
                intents: HashMap::new(),
                answers: HashMap::new(),
                next: 0,
                dice: StdRng::seed_from_u64(seed),
                chaos: Chaos::default(),
                refunds_are: "succeeded",
                hook: None,
                keys_missing: 0,
                calls: 0,
            })),
            client: reqwest::Client::new(),
        };
        let router = Router::new()
            .route("/v1/payment_intents", post(create))
            .route("/v1/payment_intents/{id}", get(read))
            .route("/v1/payment_intents/{id}/{verb}", post(act))
            .route("/v1/refunds", post(refund).get(refunds))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic under the lock")
    }

    /// Where events go.
    pub fn hook(&self, url: String) {
        self.inner().hook = Some(url);
    }

    /// From now on.
    pub fn misbehave(&self, chaos: Chaos) {
        self.inner().chaos = chaos;
    }

    /// What becomes of refunds that are asked for from now on: `succeeded`, `pending` or `failed`.
    pub fn refunds_are(&self, state: &'static str) {
        self.inner().refunds_are = state;
    }

    /// The last refund of a payment ends so.
    pub fn end_refund(&self, payment: &str, state: &'static str) {
        let mut inner = self.inner();
        let mut of_payment = inner.intents.values_mut();
        let is_meant = |intent: &&mut Intent| {
            intent
                .metadata
                .get("payment")
                .is_some_and(|own| own == payment)
        };
        let intent = of_payment.find(is_meant).expect("an intent");
        *intent.refunds.last_mut().expect("a refund") = state;
        intent.count_refunds();
    }

    /// Takes the money at the counter, without having been asked by booking.
    pub fn take(&self, client_secret: &str) {
        let id = client_secret.split("_secret_").next().unwrap_or("");
        {
            let mut inner = self.inner();
            let intent = inner.intents.get_mut(id).expect("an intent of this secret");
            intent.status = "succeeded";
        }
        self.tell("payment_intent.succeeded", id);
    }

    /// All intents, by payment.
    pub fn intents(&self) -> HashMap<String, Vec<Intent>> {
        let mut by_payment: HashMap<String, Vec<Intent>> = HashMap::new();
        for intent in self.inner().intents.values() {
            let payment = intent.metadata.get("payment").cloned().unwrap_or_default();
            by_payment.entry(payment).or_default().push(intent.clone());
        }
        by_payment
    }

    /// Calls that changed something without an idempotency key.
    pub fn keys_missing(&self) -> u32 {
        self.inner().keys_missing
    }

    /// How many calls came.
    pub fn calls(&self) -> u64 {
        self.inner().calls
    }

    /// What the card form does: confirms with a card. A client secret is `ID_secret_x`.
    pub fn confirm(&self, client_secret: &str, card: &str, good: bool) {
        let id = client_secret
            .split("_secret_")
            .next()
            .unwrap_or("")
            .to_owned();
        let kind = {
            let mut inner = self.inner();
            let intent = inner
                .intents
                .get_mut(&id)
                .expect("an intent of this secret");
            if intent.status == "canceled" {
                return;
            }
            card.clone_into(&mut intent.card);
            intent.declined = !good;
            if good {
                intent.status = "requires_capture";
                "payment_intent.amount_capturable_updated"
            } else {
                "payment_intent.payment_failed"
            }
        };
        self.tell(kind, &id);
    }

    /// Sends an event about an intent, as the dice fall.
    pub fn tell(&self, kind: &'static str, id: &str) {
        let (body, hook, delays) = {
            let mut inner = self.inner();
            inner.next += 1;
            let event = format!("evt_{}", inner.next);
            let object = if kind == "charge.refunded" {
                inner.intents[id].charge(id)
            } else {
                inner.intents[id].shown(id, false)
            };
            let chaos = inner.chaos;
            let mut delays = Vec::new();
            if inner.dice.random_range(0..100) >= chaos.drop_pct {
                delays.push(inner.dice.random_range(0..=chaos.delay_ms_max));
            }
            if inner.dice.random_range(0..100) < chaos.twice_pct {
                delays.push(inner.dice.random_range(0..=chaos.delay_ms_max));
            }
            let body = json!({ "id": event, "type": kind, "data": { "object": object } });
            (body.to_string(), inner.hook.clone(), delays)
        };
        let Some(hook) = hook else { return };
        for delay_ms in delays {
            let (client, hook, body) = (self.client.clone(), hook.clone(), body.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                let now_s = jiff::Timestamp::now().as_second();
                let signature = sign(WEBHOOK_SECRET, body.as_bytes(), now_s);
                // As Stripe does: what was not answered with 200 is sent again, here soon and a few times.
                for _ in 0..5 {
                    let sent = client.post(&hook).header("stripe-signature", &signature);
                    let answer = sent.body(body.clone()).send().await;
                    if answer.is_ok_and(|answer| answer.status().is_success()) {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            });
        }
    }

    /// One call that changes something: the dice, the idempotency key, and then `act`, once.
    async fn once(
        &self,
        headers: &HeaderMap,
        asked: String,
        act: impl FnOnce(&mut Inner) -> (u16, Value, Option<(&'static str, String)>),
    ) -> Response {
        if headers
            .get("authorization")
            .and_then(|value| value.to_str().ok())
            != Some(&format!("Bearer {SECRET_KEY}"))
        {
            return error(401, "", "no such key");
        }
        let (answer, told, hangs) = {
            let mut inner = self.inner();
            inner.calls += 1;
            let key = headers
                .get("idempotency-key")
                .and_then(|value| value.to_str().ok());
            let Some(key) = key.map(str::to_owned) else {
                inner.keys_missing += 1;
                return error(400, "", "this server wants a key");
            };
            let chaos = inner.chaos;
            if inner.dice.random_range(0..100) < chaos.too_many_pct {
                return error(429, "rate_limit", "too many");
            }
            let hangs = inner.dice.random_range(0..100) < chaos.hang_pct;
            let broken = inner.dice.random_range(0..100) < chaos.broken_pct;
            let known = inner
                .answers
                .get(&key)
                .map(|kept| (kept.asked == asked, kept.status, kept.body.clone()));
            match known {
                Some((false, ..)) => return error(400, "idempotency_error", "another body"),
                Some((true, status, body)) => ((status, body), None, hangs),
                None => {
                    let (status, body, told) = act(&mut inner);
                    // An answer is kept under its key, even a broken one.
                    let (status, body) = if broken {
                        (500, json!({ "error": { "message": "broken" } }).to_string())
                    } else {
                        (status, body.to_string())
                    };
                    let kept = Kept {
                        asked,
                        status,
                        body: body.clone(),
                    };
                    inner.answers.insert(key, kept);
                    ((status, body), told, hangs)
                }
            }
        };
        if let Some((kind, id)) = told {
            self.tell(kind, &id);
        }
        if hangs {
            // The caller's patience is ten seconds: the connection ends without an answer, as when a proxy gives up.
            return (StatusCode::BAD_GATEWAY, "").into_response();
        }
        let status = StatusCode::from_u16(answer.0).expect("a status");
        (status, answer.1).into_response()
    }
}

impl Intent {
    fn count_refunds(&mut self) {
        let gone = self.refunds.iter().any(|state| *state != "failed");
        self.refunded = if gone { self.amount } else { 0 };
    }

    fn charge(&self, id: &str) -> Value {
        json!({
            "id": format!("ch_{id}"), "payment_intent": id, "amount": self.amount, "amount_refunded": self.refunded,
            "currency": self.currency, "metadata": self.metadata,
            "payment_method_details": { "card": { "fingerprint": self.card } },
        })
    }

    fn shown(&self, id: &str, expanded: bool) -> Value {
        let capturable = if self.status == "requires_capture" {
            self.amount
        } else {
            0
        };
        let received = if self.status == "succeeded" {
            self.amount
        } else {
            0
        };
        let mut intent = json!({
            "id": id, "object": "payment_intent", "status": self.status, "amount": self.amount,
            "amount_capturable": capturable, "amount_received": received, "currency": self.currency,
            "metadata": self.metadata, "client_secret": format!("{id}_secret_x"),
            "latest_charge": format!("ch_{id}"),
            "last_payment_error": self.declined.then(|| json!({ "code": "card_declined" })),
        });
        if expanded {
            intent["latest_charge"] = self.charge(id);
        }
        intent
    }
}

fn error(status: u16, code: &str, message: &str) -> Response {
    let body = json!({ "error": { "code": code, "message": message } }).to_string();
    (StatusCode::from_u16(status).expect("a status"), body).into_response()
}

fn state_error(intent: &Intent) -> (u16, Value, Option<(&'static str, String)>) {
    let message = format!("the intent is {}", intent.status);
    let body =
        json!({ "error": { "code": "payment_intent_unexpected_state", "message": message } });
    (400, body, None)
}

fn fields(body: &Bytes) -> HashMap<String, String> {
    let text = String::from_utf8_lossy(body).into_owned();
    let unescaped = |text: &str| {
        let mut out = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            if byte == b'%' {
                let hex: Vec<u8> = bytes.by_ref().take(2).collect();
                let hex = String::from_utf8(hex).expect("hex");
                out.push(u8::from_str_radix(&hex, 16).expect("hex"));
            } else {
                out.push(byte);
            }
        }
        String::from_utf8(out).expect("text")
    };
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (unescaped(name), unescaped(value)))
        .collect()
}

async fn create(State(server): State<Server>, headers: HeaderMap, body: Bytes) -> Response {
    let asked = fields(&body);
    let told = String::from_utf8_lossy(&body).into_owned();
    let make = |inner: &mut Inner| {
        let text = |name: &str| asked.get(name).cloned().unwrap_or_default();
        assert_eq!(text("capture_method"), "manual");
        inner.next += 1;
        let id = format!("pi_{}", inner.next);
        let metadata =
            ["payment", "order"].map(|name| (name.to_owned(), text(&format!("metadata[{name}]"))));
        let intent = Intent {
            status: "requires_payment_method",
            amount: text("amount").parse().expect("a whole number"),
            refunded: 0,
            refunds: Vec::new(),
            captures: 0,
            currency: text("currency"),
            metadata: metadata.into(),
            card: String::new(),
            declined: false,
        };
        let shown = intent.shown(&id, false);
        inner.intents.insert(id, intent);
        (200, shown, None)
    };
    server.once(&headers, told, make).await
}

async fn read(State(server): State<Server>, Path(id): Path<String>, uri: Uri) -> Response {
    let mut inner = server.inner();
    inner.calls += 1;
    let chaos = inner.chaos;
    if inner.dice.random_range(0..100) < chaos.too_many_pct {
        return error(429, "rate_limit", "too many");
    }
    let expanded = uri
        .query()
        .is_some_and(|query| query.contains("latest_charge"));
    match inner.intents.get(&id) {
        Some(intent) => intent.shown(&id, expanded).to_string().into_response(),
        None => error(404, "resource_missing", "no such intent"),
    }
}

async fn act(
    State(server): State<Server>,
    Path((id, verb)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let asked = format!("{id} {verb}");
    let act = |inner: &mut Inner| {
        let Some(intent) = inner.intents.get_mut(&id) else {
            return (
                404,
                json!({ "error": { "code": "resource_missing" } }),
                None,
            );
        };
        let kind = match (verb.as_str(), intent.status) {
            ("capture", "requires_capture") => {
                intent.status = "succeeded";
                intent.captures += 1;
                "payment_intent.succeeded"
            }
            ("cancel", "requires_capture" | "requires_payment_method") => {
                intent.status = "canceled";
                "payment_intent.canceled"
            }
            _ => return state_error(intent),
        };
        (200, intent.shown(&id, false), Some((kind, id.clone())))
    };
    server.once(&headers, asked, act).await
}

async fn refund(State(server): State<Server>, headers: HeaderMap, body: Bytes) -> Response {
    let id = fields(&body).remove("payment_intent").unwrap_or_default();
    let act = |inner: &mut Inner| {
        let state = inner.refunds_are;
        let Some(intent) = inner.intents.get_mut(&id) else {
            return (
                404,
                json!({ "error": { "code": "resource_missing" } }),
                None,
            );
        };
        if intent.status != "succeeded" || intent.refunded > 0 {
            let body = json!({ "error": { "code": "charge_already_refunded", "message": "nothing is left" } });
            return (400, body, None);
        }
        intent.refunds.push(state);
        intent.count_refunds();
        let body = json!({ "id": format!("re_{id}"), "status": state });
        (200, body, Some(("charge.refunded", id.clone())))
    };
    server.once(&headers, format!("refund {id}"), act).await
}

async fn refunds(State(server): State<Server>, uri: Uri) -> Response {
    let mut inner = server.inner();
    inner.calls += 1;
    let query = fields(&Bytes::from(uri.query().unwrap_or("").to_owned()));
    let Some(intent) = inner.intents.get(&query["payment_intent"]) else {
        return error(404, "resource_missing", "no such intent");
    };
    let shown = |state: &&'static str| json!({ "status": state, "amount": intent.amount, "currency": intent.currency });
    let list: Vec<Value> = intent.refunds.iter().map(shown).collect();
    json!({ "object": "list", "data": list })
        .to_string()
        .into_response()
}

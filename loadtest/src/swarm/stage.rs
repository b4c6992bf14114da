//! What all visitors of a run share: where to call, what is for sale, and where everything told is
//! written down.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rand::{Rng, RngExt};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::clock::SwarmClock;
use super::figures::SwarmTally;
use super::history::HistoryWriter;
use super::scenario::{Scenario, ScenarioTrain};
use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// How long a visitor tries to get one answer out of a server that comes and goes.
const PATIENCE_MS: f64 = 90_000.0;

/// So many of the newest holds are remembered, for those who try others'.
const GIVEN_KEPT: usize = 20;

/// The run is over: whoever waits goes home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunFinished;

/// Why a call has no answer for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnansweredCall {
    /// The run is over.
    Over,
    /// Patience ran out.
    Lost(String),
}

/// One show as visitors know it.
#[derive(Debug, Clone)]
pub struct SwarmShow {
    /// The slug.
    pub id: String,
    /// Labels, by seat index.
    pub labels: Vec<String>,
    /// Whether a label can be asked for: standing places are asked for by area.
    pub by_label: Vec<bool>,
    /// Where it is a train: its stops and its class.
    pub train: Option<ScenarioTrain>,
}

impl SwarmShow {
    /// What a party asks for that takes the best: on a train from one stop to another.
    pub fn best(&self, quantity: usize, rng: &mut impl Rng) -> Value {
        let Some(train) = &self.train else {
            return json!({"best": {"quantity": quantity}});
        };
        let from = rng.random_range(0..train.stops.len() - 1);
        let to = rng.random_range(from + 1..train.stops.len());
        json!({
            "best": {"quantity": quantity, "class": train.class},
            "from": train.stops[from], "to": train.stops[to],
        })
    }

    /// The legs of a stretch that a body asks for; none where it is no train's.
    pub fn legs(&self, body: &Value) -> Option<Vec<usize>> {
        let train = self.train.as_ref()?;
        let stop = |name: &str| {
            let code = body[name].as_str()?;
            train.stops.iter().position(|stop| *stop == code)
        };
        Some((stop("from")?..stop("to")?).collect())
    }
}

/// An order that somebody paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmPaidOrder {
    /// The buyer.
    pub who: usize,
    /// The order.
    pub order: String,
    /// Its key.
    pub key: String,
}

/// Shared by all visitors.
pub struct SwarmContext {
    /// What is played.
    pub scenario: Scenario,
    /// The time.
    pub clock: SwarmClock,
    /// The wire.
    pub http: LoadHttpClient,
    /// Where card forms send their cards; none where the sandbox is paid by its button.
    pub provider: Option<LoadHttpClient>,
    /// What was told.
    pub history: HistoryWriter,
    /// What is counted.
    pub tally: SwarmTally,
    /// What is sold.
    pub shows: Vec<SwarmShow>,
    /// What the door shows when it scans.
    pub door_key: String,
    /// Holds that visitors were given, the newest last.
    given: Mutex<VecDeque<(usize, String)>>,
    /// Until when baskets and orders that were left behind may take to lapse, ms since the epoch.
    lapses_ms: Mutex<f64>,
    /// Orders that were paid, and whose buyers have not seen how that ended.
    paid: Mutex<Vec<SwarmPaidOrder>>,
    /// Shows that the promoter cancelled, or is about to.
    cancelled: Mutex<Vec<String>>,
    /// Set when the run is over.
    over: AtomicBool,
    bell: Notify,
}

impl SwarmContext {
    /// A stage before anybody came.
    pub fn new(
        scenario: Scenario,
        clock: SwarmClock,
        (http, provider): (LoadHttpClient, Option<LoadHttpClient>),
        history: HistoryWriter,
        tally: SwarmTally,
        shows: Vec<SwarmShow>,
        door_key: String,
    ) -> Arc<Self> {
        Arc::new(Self {
            scenario,
            clock,
            http,
            provider,
            history,
            tally,
            shows,
            door_key,
            given: Mutex::default(),
            lapses_ms: Mutex::new(0.0),
            paid: Mutex::default(),
            cancelled: Mutex::default(),
            over: AtomicBool::new(false),
            bell: Notify::new(),
        })
    }

    /// The path of something in the room.
    pub fn room_path(&self, what: &str) -> String {
        format!("/v1/rooms/{}/{what}", self.scenario.onsale.room())
    }

    /// Notes that a visitor leaves something behind that ends by itself at `at_ms`.
    pub fn left_behind(&self, at_ms: f64) {
        let mut lapses = self
            .lapses_ms
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *lapses = lapses.max(at_ms);
    }

    /// Notes that a visitor was given a hold.
    pub fn note_given_hold(&self, who: usize, hold: &str) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.len() == GIVEN_KEPT {
            given.pop_front();
        }
        given.push_back((who, hold.to_owned()));
    }

    /// Holds that others than this visitor were given lately.
    pub fn holds_of_others(&self, who: usize) -> Vec<String> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let others = given.iter().filter(|(owner, _)| *owner != who);
        others.map(|(_, hold)| hold.clone()).collect()
    }

    /// Notes that an order may have been paid.
    pub fn note_paid_order(&self, paid: SwarmPaidOrder) {
        let mut all = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(paid);
    }

    /// Notes that the buyer has seen how it ended.
    pub fn seen_through(&self, order: &str) {
        let mut all = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|paid| paid.order != order);
    }

    /// Orders whose buyers went before they had seen how it ended.
    pub fn not_seen_through(&self) -> Vec<SwarmPaidOrder> {
        let all = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    /// Notes that a show is being cancelled.
    pub fn cancel(&self, show: &str) {
        let mut all = self
            .cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(show.to_owned());
    }

    /// Whether one of the room's shows was cancelled, or may have been.
    pub fn is_cancelled(&self, show: usize) -> bool {
        let all = self
            .cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.contains(&self.shows[show].id)
    }

    /// When the last thing left behind has ended by itself.
    pub fn lapses_ms(&self) -> f64 {
        *self
            .lapses_ms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run for whoever waits.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.bell.notify_waiters();
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Returns when the run is over.
    pub async fn wait_until_over(&self) {
        loop {
            let bell = self.bell.notified();
            if self.is_over() {
                return;
            }
            bell.await;
        }
    }

    /// Waits until a time in milliseconds since the epoch, or the end.
    ///
    /// # Errors
    /// [`RunFinished`].
    pub async fn until(&self, at_ms: f64) -> Result<(), RunFinished> {
        if self.is_over() {
            return Err(RunFinished);
        }
        let at = self.clock.instant(at_ms).into();
        tokio::select! {
            () = tokio::time::sleep_until(at) => Ok(()),
            () = self.wait_until_over() => Err(RunFinished),
        }
    }

    /// Makes a call at `intended_ms` until there is an answer that is final: a dead connection, a
    /// timeout and a "come again" are tried again, with the same `Idempotency-Key`. Every try is
    /// written down; `more` gives the fields of its operation.
    ///
    /// # Errors
    /// Where the run or patience ended first.
    pub async fn call(
        &self,
        who: usize,
        op: &'static str,
        call: &LoadHttpCall,
        intended_ms: f64,
        rng: &mut impl Rng,
        more: impl Fn(Option<&LoadHttpAnswer>) -> Map<String, Value>,
    ) -> Result<LoadHttpAnswer, UnansweredCall> {
        let mut intended_ms = intended_ms;
        let give_up_ms = intended_ms + PATIENCE_MS;
        let mut breath_s = 0.1;
        loop {
            self.until(intended_ms)
                .await
                .map_err(|RunFinished| UnansweredCall::Over)?;
            let sent_ms = self.clock.now_ms();
            // A form is the provider's.
            let http = self.provider.as_ref().filter(|_| call.form.is_some());
            let answer = http.unwrap_or(&self.http).send(call, who).await;
            let done_ms = self.clock.now_ms();
            self.write_call(
                who,
                op,
                call,
                [intended_ms, sent_ms, done_ms],
                &answer,
                &more,
            );
            let code = answer.as_ref().ok().and_then(LoadHttpAnswer::code);
            self.tally.called(
                op,
                intended_ms,
                sent_ms,
                done_ms,
                answer.as_ref().map(|answer| answer.status).ok(),
                code.as_deref(),
            );
            let wait_s = match &answer {
                Ok(answer) if is_put_off(answer, code.as_deref()) => {
                    let asked = answer.retry_after_s.unwrap_or(breath_s);
                    asked + rng.random::<f64>() * asked.clamp(0.2, 2.0)
                }
                Ok(answer) => return Ok(answer.clone()),
                Err(_) => breath_s * (0.5 + rng.random::<f64>()),
            };
            if done_ms + wait_s * 1e3 > give_up_ms {
                let why = match answer {
                    Ok(answer) => format!("{op} was put off with {} to the end", answer.status),
                    Err(error) => format!("{op} had no answer to the end: {error}"),
                };
                return Err(UnansweredCall::Lost(why));
            }
            breath_s = (breath_s * 2.0_f64).min(2.0);
            intended_ms = done_ms + wait_s * 1e3;
        }
    }

    fn write_call(
        &self,
        who: usize,
        op: &str,
        call: &LoadHttpCall,
        [intended_ms, sent_ms, done_ms]: [f64; 3],
        answer: &Result<LoadHttpAnswer, String>,
        more: impl Fn(Option<&LoadHttpAnswer>) -> Map<String, Value>,
    ) {
        let answered = answer.as_ref().ok();
        let mut record = json!({
            "visitor": who, "op": op,
            "intended_ms": round(intended_ms), "sent_ms": round(sent_ms), "done_ms": round(done_ms),
            "status": answered.map(|answer| answer.status),
            "code": answered.and_then(LoadHttpAnswer::code),
            "error": answer.as_ref().err(),
            "key": call.key, "body": call.key.as_ref().map(|_| call.digest()),
        });
        if let Value::Object(fields) = &mut record {
            fields.extend(more(answered));
        }
        self.history.write("call", record);
    }
}

/// Tenths of a millisecond: a history is long enough without sixteen digits.
pub fn round(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

fn is_put_off(answer: &LoadHttpAnswer, code: Option<&str>) -> bool {
    // A waiting room at booking's door is no overload: it says that the pass is missing.
    let no_pass = code == Some("waiting_room");
    (matches!(answer.status, 429 | 502 | 503 | 504) && !no_pass)
        || code == Some("idempotency_in_flight")
}

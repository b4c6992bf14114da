//! Holds what all visitors of a run share: the gateways, the shows on sale, and the history that
//! records every call.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::clock::SwarmClock;
use super::figures::{CrowdProgress, SwarmTally};
use super::history::HistoryWriter;
use super::scenario::{Scenario, ScenarioTrain};
use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient, SourceNetwork};

/// How long a visitor repeats a call that gets no final answer, in milliseconds.
const PATIENCE_MS: f64 = 90_000.0;

/// How many of the newest holds are remembered. Some visitors try to order one of them although it
/// belongs to another visitor.
const NEWEST_HOLDS_MAX: usize = 20;

/// The error of a wait that ends because the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunFinished;

/// Why a call never got a final answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnansweredCall {
    /// The run is over.
    Over,
    /// The visitor's patience ran out. The text describes the last try.
    Lost(String),
}

/// One show as visitors know it.
#[derive(Debug, Clone)]
pub struct SwarmShow {
    /// The slug.
    pub id: String,
    /// The labels by seat index.
    pub labels: Vec<String>,
    /// The keys of the categories.
    pub categories: Vec<String>,
    /// For each seat, whether a visitor can ask for it by its label. This is false for standing
    /// room, which visitors ask for by area.
    pub by_label: Vec<bool>,
    /// The stops and the class, if the show is a train.
    pub train: Option<ScenarioTrain>,
}

impl SwarmShow {
    /// Returns the fields with which a party asks for the best seats. For a train, draws the two
    /// stops at random.
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

    /// Returns the body of the call with which a party joins the waitlist.
    pub fn waitlist_wish(&self, quantity: usize, rng: &mut impl Rng) -> Value {
        let mut wish = self.best(quantity, rng);
        let seats = wish["best"].take();
        let Value::Object(seats) = seats else {
            return json!({"quantity": quantity});
        };
        let stretch = wish.as_object_mut().into_iter().flatten();
        let stretch = stretch.filter(|(name, _)| *name != "best");
        let stretch = stretch.map(|(name, value)| (name.clone(), value.take()));
        seats.into_iter().chain(stretch).collect()
    }

    /// Returns the legs of the stretch that a body asks for, or `None` if the show is not a train
    /// or the body names no stretch.
    pub fn legs(&self, body: &Value) -> Option<Vec<usize>> {
        let train = self.train.as_ref()?;
        let stop = |name: &str| {
            let code = body[name].as_str()?;
            train.stops.iter().position(|stop| *stop == code)
        };
        Some((stop("from")?..stop("to")?).collect())
    }
}

/// An order that its buyer paid, or tried to pay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwarmPaidOrder {
    /// The number of the buyer.
    pub who: usize,
    /// The id of the order.
    pub order: String,
    /// The key with which the order can be read.
    pub key: String,
}

/// The HTTP clients of a run.
pub struct SwarmClients {
    /// The client for calls to the gateways.
    pub gateways: LoadHttpClient,
    /// The client for card forms; `None` if the sandbox is paid by its button.
    pub provider: Option<LoadHttpClient>,
}

impl SwarmClients {
    /// Makes the clients. If `from` is given, calls to gateways come from the addresses of that
    /// network.
    pub fn new(urls: &[String], from: Option<SourceNetwork>, provider: Option<&str>) -> Self {
        Self {
            gateways: match from {
                Some(network) => LoadHttpClient::calling_from(urls, network),
                None => LoadHttpClient::new(urls),
            },
            provider: provider.map(|url| LoadHttpClient::new(&[url.to_owned()])),
        }
    }
}

/// What all visitors of a run share.
pub struct SwarmContext {
    /// The scenario that is played.
    pub scenario: Scenario,
    /// The run's clock.
    pub clock: SwarmClock,
    /// The client for calls to the gateways.
    pub http: LoadHttpClient,
    /// The client for card forms; `None` if the sandbox is paid by its button.
    pub provider: Option<LoadHttpClient>,
    /// The history, which records every call.
    pub history: HistoryWriter,
    /// The tally of the run's measurements.
    pub tally: SwarmTally,
    /// The shows that are sold.
    pub shows: Vec<SwarmShow>,
    /// The keys of the staff whom the run imitates.
    pub keys: StaffKeys,
    /// The newest holds, with the newest one last. Each has the visitor's number and the id of the
    /// hold.
    newest_holds: Mutex<VecDeque<(usize, String)>>,
    /// The time at which the last abandoned basket or order lapses, in milliseconds since the
    /// epoch; 0 if there is none.
    lapses_ms: Mutex<f64>,
    /// The orders that may have been paid, and whose final state has not been seen yet.
    paid: Mutex<Vec<SwarmPaidOrder>>,
    /// The shows that the promoter cancelled or is about to cancel.
    cancelled: Mutex<Vec<String>>,
    /// The last progress that each worker process reported.
    workers: Mutex<Vec<CrowdProgress>>,
    /// Set when the run is over.
    over: AtomicBool,
    over_notify: Notify,
}

/// The keys of the staff whom a run imitates.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct StaffKeys {
    /// Scans tickets.
    pub door: String,
    /// Ends places.
    pub promoter: String,
}

impl SwarmContext {
    /// Makes the context of a run before its first visitor joins.
    pub fn new(
        scenario: Scenario,
        clock: SwarmClock,
        clients: SwarmClients,
        history: HistoryWriter,
        tally: SwarmTally,
        shows: Vec<SwarmShow>,
        keys: StaffKeys,
    ) -> Arc<Self> {
        Arc::new(Self {
            scenario,
            clock,
            http: clients.gateways,
            provider: clients.provider,
            history,
            tally,
            shows,
            keys,
            newest_holds: Mutex::default(),
            lapses_ms: Mutex::new(0.0),
            paid: Mutex::default(),
            cancelled: Mutex::default(),
            workers: Mutex::default(),
            over: AtomicBool::new(false),
            over_notify: Notify::new(),
        })
    }

    /// Returns a path within the room.
    pub fn room_path(&self, what: &str) -> String {
        format!("/v1/rooms/{}/{what}", self.scenario.onsale.room())
    }

    /// Notes that a visitor abandoned a basket or an order, which lapses at `at_ms`.
    pub fn note_abandoned(&self, at_ms: f64) {
        let mut lapses = self.lapses_ms.lock();
        *lapses = lapses.max(at_ms);
    }

    /// Notes a visitor's new hold.
    pub fn note_given_hold(&self, visitor: usize, hold: &str) {
        let mut newest_holds = self.newest_holds.lock();
        if newest_holds.len() == NEWEST_HOLDS_MAX {
            newest_holds.pop_front();
        }
        newest_holds.push_back((visitor, hold.to_owned()));
    }

    /// Returns the newest holds of all visitors except this one.
    pub fn holds_of_others(&self, visitor: usize) -> Vec<String> {
        let newest_holds = self.newest_holds.lock();
        let foreign = newest_holds.iter().filter(|(owner, _)| *owner != visitor);
        foreign.map(|(_, hold)| hold.clone()).collect()
    }

    /// Notes that an order may have been paid.
    pub fn note_paid_order(&self, paid: SwarmPaidOrder) {
        let mut paid_orders = self.paid.lock();
        paid_orders.push(paid);
    }

    /// Notes that the final state of the order has been seen.
    pub fn note_final_state(&self, order: &str) {
        let mut paid_orders = self.paid.lock();
        paid_orders.retain(|paid| paid.order != order);
    }

    /// Returns the orders that may have been paid, and whose final state has not been seen.
    pub fn unsettled_orders(&self) -> Vec<SwarmPaidOrder> {
        let paid_orders = self.paid.lock();
        paid_orders.clone()
    }

    /// Notes that the promoter cancelled a show or is about to cancel it.
    pub fn cancel(&self, show: &str) {
        let mut cancelled_shows = self.cancelled.lock();
        cancelled_shows.push(show.to_owned());
    }

    /// Returns whether the show with this index was cancelled, or may have been.
    pub fn is_cancelled(&self, show: usize) -> bool {
        let cancelled_shows = self.cancelled.lock();
        cancelled_shows.contains(&self.shows[show].id)
    }

    /// Returns the time at which the last abandoned basket or order lapses, in milliseconds since
    /// the epoch; 0 if there is none.
    pub fn lapses_ms(&self) -> f64 {
        *self.lapses_ms.lock()
    }

    /// Returns the progress of this process's visitors.
    pub fn progress(&self) -> CrowdProgress {
        self.tally.progress(self.clock.now_ms())
    }

    /// Notes the progress of a worker process.
    pub fn note_worker(&self, index: usize, progress: CrowdProgress) {
        let mut reports = self.workers.lock();
        if reports.len() <= index {
            reports.resize(index + 1, CrowdProgress::default());
        }
        reports[index] = progress;
    }

    /// Returns the progress of the worker processes. The list is empty after
    /// [`Self::forget_workers`].
    pub fn workers_progress(&self) -> Vec<CrowdProgress> {
        let reports = self.workers.lock();
        reports.clone()
    }

    /// Forgets the progress of the worker processes. The tally gets their measurements instead.
    pub fn forget_workers(&self) {
        let mut reports = self.workers.lock();
        reports.clear();
    }

    /// Ends the run, and wakes the visitors that wait.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.over_notify.notify_waiters();
    }

    /// Returns whether the run is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Waits until the run is over.
    pub async fn wait_until_over(&self) {
        loop {
            let run_end = self.over_notify.notified();
            if self.is_over() {
                return;
            }
            run_end.await;
        }
    }

    /// Waits until a time in milliseconds since the epoch.
    ///
    /// # Errors
    /// [`RunFinished`] if the run ends first.
    pub async fn until(&self, at_ms: f64) -> Result<(), RunFinished> {
        if self.is_over() {
            return Err(RunFinished);
        }
        let instant = self.clock.instant(at_ms).into();
        tokio::select! {
            () = tokio::time::sleep_until(instant) => Ok(()),
            () = self.wait_until_over() => Err(RunFinished),
        }
    }

    /// Makes a call at `intended_ms`, and repeats it with the same `Idempotency-Key` until it gets
    /// a final answer. A broken connection, a timeout, and an answer that asks the visitor to try
    /// later are not final. The history records every try. `record_fields` returns the fields that
    /// only this operation has in its record.
    ///
    /// # Errors
    /// If the run ended or the visitor's patience ran out first.
    pub async fn call(
        &self,
        visitor: usize,
        op: &'static str,
        call: &LoadHttpCall,
        intended_ms: f64,
        rng: &mut impl Rng,
        record_fields: impl Fn(Option<&LoadHttpAnswer>) -> Map<String, Value>,
    ) -> Result<LoadHttpAnswer, UnansweredCall> {
        let mut intended_ms = intended_ms;
        let give_up_ms = intended_ms + PATIENCE_MS;
        let mut backoff_s = 0.1;
        loop {
            self.until(intended_ms)
                .await
                .map_err(|RunFinished| UnansweredCall::Over)?;
            let sent_ms = self.clock.now_ms();
            // Only calls to the provider carry a form.
            let http = self.provider.as_ref().filter(|_| call.form.is_some());
            let answer = http.unwrap_or(&self.http).send(call, visitor).await;
            let done_ms = self.clock.now_ms();
            self.write_call(
                visitor,
                op,
                call,
                [intended_ms, sent_ms, done_ms],
                &answer,
                &record_fields,
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
                    let retry_s = answer.retry_after_s.unwrap_or(backoff_s);
                    retry_s + rng.random::<f64>() * retry_s.clamp(0.2, 2.0)
                }
                Ok(answer) => return Ok(answer.clone()),
                Err(_) => backoff_s * (0.5 + rng.random::<f64>()),
            };
            if done_ms + wait_s * 1e3 > give_up_ms {
                let why = match answer {
                    Ok(answer) => format!(
                        "{op} was still put off with {} when patience ran out",
                        answer.status
                    ),
                    Err(error) => {
                        format!("{op} still had no answer when patience ran out: {error}")
                    }
                };
                return Err(UnansweredCall::Lost(why));
            }
            backoff_s = (backoff_s * 2.0_f64).min(2.0);
            intended_ms = done_ms + wait_s * 1e3;
        }
    }

    fn write_call(
        &self,
        visitor: usize,
        op: &str,
        call: &LoadHttpCall,
        [intended_ms, sent_ms, done_ms]: [f64; 3],
        answer: &Result<LoadHttpAnswer, String>,
        record_fields: impl Fn(Option<&LoadHttpAnswer>) -> Map<String, Value>,
    ) {
        let response = answer.as_ref().ok();
        let mut record = json!({
            "visitor": visitor, "op": op,
            "intended_ms": round(intended_ms), "sent_ms": round(sent_ms), "done_ms": round(done_ms),
            "status": response.map(|answer| answer.status),
            "code": response.and_then(LoadHttpAnswer::code),
            "error": answer.as_ref().err(),
            "key": call.key, "body": call.key.as_ref().map(|_| call.digest()),
        });
        if let Value::Object(fields) = &mut record {
            fields.extend(record_fields(response));
        }
        self.history.write("call", record);
    }
}

/// Rounds to tenths of a millisecond, which keeps the history short.
pub fn round(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

fn is_put_off(answer: &LoadHttpAnswer, code: Option<&str>) -> bool {
    // With the code `waiting_room`, booking says that the pass is missing. That is a final answer.
    let no_pass = code == Some("waiting_room");
    (matches!(answer.status, 429 | 502 | 503 | 504) && !no_pass)
        || code == Some("idempotency_in_flight")
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn the_wish_of_a_traveller_names_class_and_stretch_and_that_of_others_only_the_seats() {
        let mut show = SwarmShow {
            id: "night".to_owned(),
            labels: Vec::new(),
            categories: Vec::new(),
            by_label: Vec::new(),
            train: None,
        };
        let mut rng = StdRng::seed_from_u64(1);
        assert_eq!(show.waitlist_wish(3, &mut rng), json!({"quantity": 3}));
        show.train = Some(ScenarioTrain {
            show: "t1-2031-01-10".to_owned(),
            departures: "t1-*",
            stops: &["A", "B"],
            class: "second",
        });
        assert_eq!(
            show.waitlist_wish(2, &mut rng),
            json!({"quantity": 2, "class": "second", "from": "A", "to": "B"})
        );
    }
}

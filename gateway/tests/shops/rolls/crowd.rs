//! Visitors who behave as the lobby's page does in a browser. Each has one place and one live
//! socket. While there is no socket, the visitor asks for the place from time to time, and tries
//! the socket again after the time that the server asked for, or after random waits that grow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_servers::actors::{TestAnswer, text, until, until_within};
use futures_util::StreamExt;
use parking_lot::Mutex;
use rand::RngExt;
use reqwest::Method;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::record::{CallLog, VisitorRecord};
use crate::proxy_visitor::{ProxyVisitor, ROOM, SALE, VisitorSocket};

/// How long a visitor waits for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// After how many seconds the page polls again if a poll failed.
const POLL_AFTER_FAILURE_S: f64 = 15.0;
/// How many visitors join at a time.
const AT_A_TIME: usize = 25;
/// The number of the first passer-by. Visitors with sockets have lower numbers.
const FIRST_PASSER_BY: u16 = 5_000;

/// All visitors.
pub struct Crowd {
    pub calls: CallLog,
    pub records: Vec<Arc<Mutex<VisitorRecord>>>,
    tasks: JoinSet<()>,
    passers_by: Arc<Mutex<PassersBy>>,
}

/// How many joins of passers-by were answered, and how many were not.
#[derive(Debug, Default, Clone, Copy)]
pub struct PassersBy {
    pub joined: u64,
    pub unanswered: u64,
}

/// A visitor with a place.
struct Waiting {
    visitor: ProxyVisitor,
    place: String,
    number: Value,
    calls: CallLog,
    record: Arc<Mutex<VisitorRecord>>,
}

impl Crowd {
    /// Lets visitors join, and waits until each has a socket.
    pub async fn enter(port: u16, visitors: u16) -> Self {
        let mut crowd = Self {
            calls: CallLog::default(),
            records: Vec::new(),
            tasks: JoinSet::new(),
            passers_by: Arc::default(),
        };
        let joins = futures_util::stream::iter(0..visitors).map(async |n| {
            let visitor = ProxyVisitor::new(port, n);
            let joined = visitor.join().await.is(201);
            Waiting {
                visitor,
                place: text(&joined, "place"),
                number: joined["number"].clone(),
                calls: crowd.calls.clone(),
                record: Arc::default(),
            }
        });
        let waiting: Vec<Waiting> = joins.buffer_unordered(AT_A_TIME).collect().await;
        for visitor in waiting {
            crowd.records.push(Arc::clone(&visitor.record));
            crowd.tasks.spawn(follow(Arc::new(visitor)));
        }
        until("every visitor has a socket", async || crowd.have_sockets()).await;
        crowd
    }

    fn have_sockets(&self) -> Option<()> {
        let has_socket = |record: &Arc<Mutex<VisitorRecord>>| record.lock().has_socket;
        self.records.iter().all(has_socket).then_some(())
    }

    /// Waits until every visitor has a socket again.
    pub async fn until_back(&self, within: Duration) {
        until_within("all are back", within, async || self.have_sockets()).await;
    }

    /// Lets people without sockets join and look at the room all the time.
    pub fn let_pass_by(&mut self, port: u16, people: u16) {
        for n in 0..people {
            let (calls, passers_by) = (self.calls.clone(), Arc::clone(&self.passers_by));
            let client = ProxyVisitor::new(port, FIRST_PASSER_BY + n);
            self.tasks.spawn(pass_by(client, calls, passers_by));
        }
    }

    /// Ends all visitors. Returns how the joins of passers-by ended.
    ///
    /// # Panics
    /// Where a visitor has panicked.
    pub async fn leave(&mut self) -> PassersBy {
        self.tasks.abort_all();
        while let Some(ended) = self.tasks.join_next().await {
            let panicked = ended.is_err_and(|error| error.is_panic());
            assert!(!panicked, "a visitor panicked");
        }
        *self.passers_by.lock()
    }
}

/// Joins as a new person again and again, and looks at the room and at the place.
async fn pass_by(client: ProxyVisitor, calls: CallLog, passers_by: Arc<Mutex<PassersBy>>) {
    loop {
        pause(0.1..0.3).await;
        // Until the answer comes, nobody knows whether there is a place.
        passers_by.lock().unanswered += 1;
        let joined = calls.ask(client.join_request(), ANSWER_MAX).await;
        let place = joined.as_ref().filter(|answer| answer.status == 201);
        if joined.is_some() {
            passers_by.lock().unanswered -= 1;
        }
        let Some(place) = place.map(|answer| text(&answer.json(), "place")) else {
            continue;
        };
        passers_by.lock().joined += 1;
        for path in [ROOM.to_owned(), format!("{ROOM}/place")] {
            pause(0.1..0.3).await;
            let call = client.request(Method::GET, SALE, &path).bearer_auth(&place);
            calls.ask(call, ANSWER_MAX).await;
        }
    }
}

/// Keeps a socket open. Polls from the loss of the socket on until there is one again.
async fn follow(visitor: Arc<Waiting>) {
    let mut failures = 0;
    let mut polling = JoinSet::new();
    loop {
        let opened = timeout(ANSWER_MAX, visitor.visitor.open_socket(&visitor.place)).await;
        let asked_for = match opened {
            Ok(Ok(socket)) => {
                polling.abort_all();
                visitor.record.lock().note_opened(Instant::now());
                let closed = visitor.listen(socket, &mut failures).await;
                visitor.record.lock().note_lost(Instant::now());
                polling.spawn(Waiting::poll(Arc::clone(&visitor)));
                closed.and_then(|frame| close_wait_s(&frame))
            }
            Ok(Err(_)) | Err(_) => None,
        };
        let wait_s = asked_for.unwrap_or_else(|| back_off_s(failures));
        failures += 1;
        sleep(Duration::from_secs_f64(wait_s)).await;
    }
}

impl Waiting {
    /// Reads the frames until the socket ends. Returns the close frame, if one came.
    async fn listen(&self, mut socket: VisitorSocket, failures: &mut u32) -> Option<CloseFrame> {
        while let Some(Ok(message)) = socket.next().await {
            match message {
                Message::Close(frame) => return frame,
                Message::Text(text) => {
                    *failures = 0;
                    self.record.lock().note_answered(Instant::now());
                    let frame: Value = serde_json::from_str(&text).expect("JSON");
                    if frame["type"] == "place" {
                        self.check_number(&frame);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Asks for the place again and again.
    async fn poll(self: Arc<Self>) {
        let mut wait_s = rand::rng().random_range(1.0..3.0);
        loop {
            sleep(Duration::from_secs_f64(wait_s)).await;
            wait_s = self.ask_for_place().await * rand::rng().random_range(0.9..1.1);
        }
    }

    /// Asks for the place. Returns in how many seconds the page asks again.
    async fn ask_for_place(&self) -> f64 {
        self.record.lock().note_asked(Instant::now());
        let call = self
            .visitor
            .request(Method::GET, SALE, &format!("{ROOM}/place"));
        let answer = self
            .calls
            .ask(call.bearer_auth(&self.place), ANSWER_MAX)
            .await;
        let Some(answer) = answer else {
            return POLL_AFTER_FAILURE_S;
        };
        self.record.lock().note_answered(Instant::now());
        self.check_answer(&answer);
        answer.json()["refresh_s"]
            .as_f64()
            .unwrap_or(POLL_AFTER_FAILURE_S)
    }

    fn check_answer(&self, answer: &TestAnswer) {
        if answer.status == 200 {
            self.check_number(&answer.json());
        } else {
            self.record.lock().other_numbers.push(answer.text());
        }
    }

    fn check_number(&self, told: &Value) {
        if told["number"] != self.number {
            self.record.lock().other_numbers.push(told.to_string());
        }
    }
}

/// Returns how many seconds a close frame asks the client to wait.
fn close_wait_s(frame: &CloseFrame) -> Option<f64> {
    let reason: Value = serde_json::from_str(&frame.reason).ok()?;
    Some(reason["retry_ms"].as_f64()? / 1e3)
}

/// Returns the wait before the next try, as the pages' `backoffMs`.
fn back_off_s(failures: u32) -> f64 {
    let usual = (1_u32 << failures.min(5)).min(30);
    f64::from(usual) * rand::rng().random_range(0.5..1.5)
}

async fn pause(seconds: std::ops::Range<f64>) {
    let seconds = rand::rng().random_range(seconds);
    sleep(Duration::from_secs_f64(seconds)).await;
}

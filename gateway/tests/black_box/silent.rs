//! Opens eight hundred sockets at one server, and half of them never read. The silent sockets must
//! not make the memory grow, and must not slow the others. The load test has more of them. A second
//! server, which has only sockets that read, runs at the same time, so that both servers are
//! measured in the same seconds.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::harness::{Promoter, Server, Visitor};

const GOOD: usize = 400;
const SILENT: usize = 400;
/// The number of sockets that are opened at the same time.
const OPENING: usize = 50;
/// The mean time between two messages of a room. Each message has about a kilobyte.
const SPEAK_EVERY: Duration = Duration::from_millis(250);
/// In this time, the server sends a silent socket as much as a client may leave unread.
const FILLING: Duration = Duration::from_secs(15);
/// The two servers are compared in rounds of this length. The median round counts, because in a
/// single round other work of the machine may slow one server down.
const ROUND: Duration = Duration::from_secs(4);
/// The number of rounds before the memory is read first, and again after that.
const ROUNDS: usize = 2;
/// The waits beside silent sockets may be this many times as long as without them. A visitor who
/// had to wait for a silent socket would wait for seconds. The load test measures the exact figure.
/// Here the machine may do something else as well.
const SLOWER: f64 = 2.0;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// When each of a room's messages was sent, and how long each visitor who reads waited for it.
#[derive(Default)]
struct Heard {
    sent: Mutex<Vec<Instant>>,
    /// Each wait, with the message's number.
    waits: Mutex<Vec<(usize, Duration)>>,
}

/// A server with one room, and the waits of its visitors who read.
struct TestServer {
    server: Server,
    heard: Arc<Heard>,
}

async fn open(server: &Server) -> Socket {
    let visitor = Visitor::joined(server, "sale").await;
    let mut request = server
        .socket_at("/v1/rooms/sale/live")
        .into_client_request()
        .expect("a request");
    let place = format!("fairgate.v1, place.{}", visitor.place);
    request
        .headers_mut()
        .insert("sec-websocket-protocol", place.parse().expect("a header"));
    connect_async(request).await.expect("the socket opens").0
}

async fn open_many(server: &Server, count: usize) -> Vec<Socket> {
    let mut sockets = Vec::with_capacity(count);
    while sockets.len() < count {
        let opening: FuturesUnordered<_> = (0..OPENING).map(|_| open(server)).collect();
        sockets.extend(opening.collect::<Vec<_>>().await);
    }
    sockets
}

/// Reads everything, and records the wait for each message of the room. A frame about something
/// else may repeat the message, and then no wait is recorded.
async fn listen(mut socket: Socket, heard: Arc<Heard>) {
    let mut newest = None;
    while let Some(Ok(message)) = socket.next().await {
        let now = Instant::now();
        let Message::Text(text) = message else {
            continue;
        };
        let number = text
            .split_once("#")
            .and_then(|(_, rest)| rest.split_once("#"))
            .and_then(|(number, _)| number.parse::<usize>().ok());
        if let Some(number) = number
            && newest < Some(number)
        {
            newest = Some(number);
            let sent = heard.sent.lock()[number];
            let wait = now.saturating_duration_since(sent);
            heard.waits.lock().push((number, wait));
        }
    }
}

impl TestServer {
    async fn open() -> Self {
        let server = Server::start().await;
        let promoter = Promoter::of(&server);
        promoter.on_sale("10x10", json!({}), json!({})).await;
        let heard = Arc::new(Heard::default());
        for socket in open_many(&server, GOOD).await {
            tokio::spawn(listen(socket, Arc::clone(&heard)));
        }
        Self { server, heard }
    }

    async fn speak(&self) {
        let number = {
            let mut sent = self.heard.sent.lock();
            sent.push(Instant::now());
            sent.len() - 1
        };
        let message = format!("#{number}# {}", "x".repeat(900));
        Promoter::of(&self.server)
            .patch("rooms/sale", &json!({ "message": message }))
            .await
            .is(200);
    }

    fn spoken(&self) -> usize {
        self.heard.sent.lock().len()
    }

    /// Returns the median and the 99th percentile of the waits for the messages of a round in
    /// milliseconds, and the number of waits.
    fn waits(&self, numbers: &Round) -> (f64, f64, usize) {
        let all = self.heard.waits.lock();
        let mut waits: Vec<_> = all
            .iter()
            .filter(|(number, _)| numbers.contains(number))
            .map(|(_, wait)| wait.as_secs_f64() * 1000.0)
            .collect();
        waits.sort_unstable_by(f64::total_cmp);
        let at = |percent: usize| waits[(waits.len() - 1) * percent / 100];
        (at(50), at(99), waits.len())
    }
}

/// The numbers of the messages of one round.
type Round = std::ops::Range<usize>;

/// Sends messages to the rooms of both servers in turn for this long, so that other work of the
/// machine affects both. Returns the numbers of the messages, which are the same in both rooms.
async fn speak(halls: [&TestServer; 2], long: Duration) -> Round {
    let (first, begun) = (halls[0].spoken(), Instant::now());
    let mut beat = tokio::time::interval(SPEAK_EVERY / 2);
    while begun.elapsed() < long {
        // The order changes, so that neither server is always second.
        for at in [0, 1, 1, 0] {
            beat.tick().await;
            halls[at].speak().await;
        }
    }
    first..halls[0].spoken()
}

/// Returns the median. For an even number of values, this is the higher of the two in the middle.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_that_never_read_slow_no_other_and_memory_does_not_grow() {
    let (alone, beside) = (TestServer::open().await, TestServer::open().await);
    let halls = [&alone, &beside];
    speak(halls, Duration::from_secs(3)).await;
    let silent = open_many(&beside.server, SILENT).await;

    speak(halls, FILLING).await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(speak(halls, ROUND).await);
    }
    let filled = beside.server.resident_kib();
    let mut highest = filled;
    for _ in 0..ROUNDS {
        rounds.push(speak(halls, ROUND).await);
        highest = highest.max(beside.server.resident_kib());
    }

    eprintln!(
        "FIGURE resident when the silent sockets are full {filled} KiB, at most {highest} KiB afterwards"
    );
    let (mut slower_p50, mut slower_p99) = (Vec::new(), Vec::new());
    for round in &rounds {
        let (without, with) = (alone.waits(round), beside.waits(round));
        eprintln!(
            "FIGURE frames to {GOOD} good visitors: p50 {:.1} ms, p99 {:.1} ms; beside {SILENT} who never read: p50 {:.1} ms, p99 {:.1} ms",
            without.0, without.1, with.0, with.1
        );
        let all = round.len() * GOOD;
        assert_eq!(with.2, all, "every visitor who reads got every message");
        slower_p50.push(with.0 / without.0);
        slower_p99.push(with.1 / without.1);
    }
    // If the server kept the messages of the last eight seconds for each silent socket, it would
    // need 13 MB more.
    assert!(
        highest * 100 <= filled * 105,
        "{filled} KiB grew to {highest} KiB"
    );
    for ratios in [slower_p50, slower_p99] {
        let middle = middle(ratios.clone());
        assert!(middle <= SLOWER, "{middle:.2} times as slow: {ratios:.2?}");
    }
    drop(silent);
}

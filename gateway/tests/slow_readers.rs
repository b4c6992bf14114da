//! Tests clients that do not read. The gateway sends them a bounded number of bytes, and they stop
//! nobody else. When they read again, they get the present state.

mod support;

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use support::{Gateway, PROMOTER, Socket};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// A client that reads only when the test calls [`Sleeper::read_until`], with a small receive
/// buffer.
struct Sleeper {
    stream: WebSocketStream<TcpStream>,
}

/// The frames that arrived in one reading.
struct Heard {
    texts: Vec<Value>,
    seats: Vec<Vec<u8>>,
    bytes: usize,
}

/// A delta of a show with few seats. Each of its cells takes one byte.
#[derive(Debug)]
struct SmallDelta {
    from: u8,
    to: u8,
    /// Each changed seat, with its new state.
    seats: Vec<(u8, u8)>,
}

impl SmallDelta {
    /// Returns `None` if the frame is not a delta.
    fn read(frame: &[u8]) -> Option<Self> {
        let mut seat = 0;
        let read_cell = |cell: &u8| {
            seat += cell >> 2;
            (seat, cell & 3)
        };
        (frame[0] == 2).then(|| Self {
            from: frame[1],
            to: frame[9],
            seats: frame[17..].iter().map(read_cell).collect(),
        })
    }
}

impl Heard {
    fn deltas(&self) -> Vec<SmallDelta> {
        let seats = self.seats.iter();
        seats.filter_map(|frame| SmallDelta::read(frame)).collect()
    }
}

impl Sleeper {
    async fn open(gateway: &Gateway, room: &str, place: &str) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small window");
        let stream = socket.connect(gateway.address).await.expect("a connection");
        let mut request = format!("ws://{}/v1/rooms/{room}/live", gateway.address)
            .into_client_request()
            .expect("an address");
        request.headers_mut().insert(
            "sec-websocket-protocol",
            format!("fairgate.v1, place.{place}")
                .parse()
                .expect("a header"),
        );
        let (stream, _) = tokio_tungstenite::client_async(request, stream)
            .await
            .expect("a socket");
        Self { stream }
    }

    async fn say(&mut self, text: &str) {
        futures_util::SinkExt::send(&mut self.stream, Message::text(text))
            .await
            .expect("it is sent");
    }

    /// Reads until a text frame satisfies `done`.
    async fn read_until(&mut self, done: impl Fn(&Value) -> bool) -> Heard {
        let last_text_satisfies = |heard: &Heard| heard.texts.last().is_some_and(&done);
        self.read_until_heard(last_text_satisfies).await
    }

    /// Reads until what was heard satisfies `done`.
    async fn read_until_heard(&mut self, done: impl Fn(&Heard) -> bool) -> Heard {
        let mut heard = Heard {
            texts: Vec::new(),
            seats: Vec::new(),
            bytes: 0,
        };
        let reading = async {
            while let Some(message) = self.stream.next().await {
                match message.expect("a whole frame") {
                    Message::Text(text) => {
                        heard.bytes += text.len();
                        heard.texts.push(serde_json::from_str(&text).expect("JSON"));
                    }
                    Message::Binary(bytes) => {
                        heard.bytes += bytes.len();
                        heard.seats.push(bytes.to_vec());
                    }
                    _ => continue,
                }
                if done(&heard) {
                    return;
                }
            }
            panic!("the socket was closed");
        };
        tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .expect("the frame comes in time");
        heard
    }
}

/// Opens a room with one visitor who reads and one who does not.
async fn room() -> (tempfile::TempDir, Gateway, Socket, Sleeper) {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let (awake, _) = gateway.newcomer("demo").await;
    let (asleep, _) = gateway.newcomer("demo").await;
    let awake = gateway.socket("demo", &awake).await.expect("a socket");
    let asleep = Sleeper::open(&gateway, "demo", &asleep).await;
    (data, gateway, awake, asleep)
}

/// Sends this many messages to the room. Waits until each message has arrived at the socket that is
/// read.
async fn shout(gateway: &Gateway, awake: &mut Socket, times: usize) {
    for time in 0..times {
        let message = format!("{time} {}", "x".repeat(450));
        say(gateway, &message).await;
        while awake.frame("room").await["message"] != message.as_str() {}
    }
}

async fn say(gateway: &Gateway, message: &str) {
    let patch = json!({ "message": message });
    let answer = gateway
        .call(
            "PATCH",
            "/v1/promoter/rooms/demo",
            Some(PROMOTER),
            Some(patch),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_client_that_does_not_read_gets_a_bounded_number_of_bytes_and_then_the_present_state() {
    let (_data, gateway, mut awake, mut asleep) = room().await;
    // Each frame has about a kilobyte, so this is more than three times what a client may leave
    // unread.
    shout(&gateway, &mut awake, 220).await;
    say(&gateway, "The end.").await;
    let heard = asleep
        .read_until(|frame| frame["type"] == "room" && frame["message"] == "The end.")
        .await;
    assert!(heard.bytes < 80_000, "{} bytes were sent", heard.bytes);
    let rooms: Vec<_> = heard
        .texts
        .iter()
        .filter(|frame| frame["type"] == "room")
        .collect();
    let last_but_one = rooms[rooms.len() - 2]["message"]
        .as_str()
        .expect("a message");
    let missed_from: usize = last_but_one
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a numbered message");
    assert!(
        missed_from < 100,
        "message {missed_from} was sent to a client that does not read"
    );
    let after = asleep.read_until(|frame| frame["type"] == "line").await;
    assert_eq!(
        after.texts[0]["type"], "place",
        "the present state: room, place, line"
    );
    say(&gateway, "And on.").await;
    asleep
        .read_until(|frame| frame["message"] == "And on.")
        .await;
}

#[tokio::test]
async fn a_client_that_did_not_read_gets_all_missed_seat_changes_in_one_or_two_deltas() {
    let (_data, gateway, mut awake, mut asleep) = room().await;
    for socket in ["awake", "asleep"] {
        let watch = r#"{"type":"watch","show":"demo-1"}"#;
        match socket {
            "awake" => {
                awake.say(watch).await;
                assert_eq!(awake.binary().await[0], 1);
            }
            _ => asleep.say(watch).await,
        }
    }
    shout(&gateway, &mut awake, 100).await;
    for seat in 0..4 {
        gateway.core.set_seat(seat, 1);
        let delta = awake.binary().await;
        assert_eq!(
            (delta[0], delta[1], delta[9]),
            (2, seat as u8, seat as u8 + 1)
        );
    }
    say(&gateway, "The end.").await;
    let first = asleep
        .read_until(|frame| frame["message"] == "The end.")
        .await;
    gateway.core.set_seat(7, 2);
    let leads_to_the_fifth_change =
        |heard: &Heard| heard.deltas().iter().any(|delta| delta.to == 5);
    let rest = asleep.read_until_heard(leads_to_the_fifth_change).await;
    let deltas: Vec<_> = first.deltas().into_iter().chain(rest.deltas()).collect();
    assert!(deltas.len() <= 2, "{deltas:?}");
    assert_eq!(
        (deltas[0].from, deltas[0].to >= 4),
        (0, true),
        "the first delta leads from the client's version at least to the fourth change"
    );
    let connected = deltas.windows(2).all(|pair| pair[0].to == pair[1].from);
    assert!(connected, "{deltas:?}");
    let seats: Vec<_> = deltas.iter().flat_map(|delta| delta.seats.iter()).collect();
    assert_eq!(seats, [&(0, 1), &(1, 1), &(2, 1), &(3, 1), &(7, 2)]);
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_neither_frames_to_others_nor_the_drain() {
    let (_data, mut gateway, mut awake, asleep) = room().await;
    let begun = std::time::Instant::now();
    shout(&gateway, &mut awake, 100).await;
    let alone = begun.elapsed();
    eprintln!(
        "FIGURE a hundred frames beside a sleeper: {} ms",
        alone.as_millis()
    );
    gateway.begin_stop();
    assert_eq!(u16::from(awake.closed().await.code), 1012);
    gateway.stop().await;
    drop(asleep);
}

#[tokio::test]
async fn beyond_the_limit_a_socket_is_refused_with_a_time_to_come_back_and_polling_still_works() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_with(data.path(), &[("sockets", "2")]).await;
    gateway.open_room("demo", json!({})).await;
    let (place, _) = gateway.newcomer("demo").await;
    let first = gateway.socket("demo", &place).await.expect("a socket");
    let _second = gateway.socket("demo", &place).await.expect("a socket");
    let upgrade = gateway
        .client
        .get(gateway.url("/v1/rooms/demo/live"))
        .bearer_auth(&place)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let refused = Gateway::read(upgrade).await;
    assert_eq!(refused.refusal(), (503, "too_many_sockets".to_owned()));
    let retry_s: u64 = refused.headers["retry-after"]
        .to_str()
        .expect("text")
        .parse()
        .expect("seconds");
    assert!((15..45).contains(&retry_s));
    assert_eq!(gateway.place("demo", &place).await["number"], 0);
    drop(first);
    let again = async {
        while let Err(status) = gateway.socket("demo", &place).await {
            assert_eq!(status, 503, "only the limit refuses it");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), again)
        .await
        .expect("a socket opens after another was closed");
}

//! Tests the live socket with a client that is not a browser.

mod support;

use fairgate_model::holds::HoldSignalState;
use fairgate_servers::actors::call;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use support::bare::CELLS;
use support::{Gateway, PROMOTER, Socket, TestShop};

async fn with_socket() -> (tempfile::TempDir, Gateway, String, Socket) {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let (place, _) = gateway.newcomer("demo").await;
    let socket = gateway.socket("demo", &place).await.expect("a socket");
    (data, gateway, place, socket)
}

#[tokio::test]
async fn a_socket_reports_every_step_from_the_lobby_to_the_turn() {
    let (_data, gateway, place, mut socket) = with_socket().await;
    assert_eq!(
        socket.echoed.as_deref(),
        Some("fairgate.v1"),
        "the place is not echoed"
    );
    assert_eq!(socket.frame("room").await["phase"], "prequeue");
    let own = socket.frame("place").await;
    assert_eq!(
        (&own["number"], &own["rank"], &own["ahead"]),
        (&json!(0), &Value::Null, &Value::Null)
    );
    gateway.by_hand("demo", "draw").await;
    let frozen = socket.frame("draw").await;
    assert_eq!(
        (&frozen["n"], frozen["root"].is_string(), &frozen["secret"]),
        (&json!(1), true, &Value::Null),
        "the root is published before the secret"
    );
    let drawn = socket.frame("draw").await;
    assert_eq!(
        (&drawn["root"], drawn["secret"].is_string()),
        (&frozen["root"], true)
    );
    assert_eq!(socket.frame("place").await["rank"], 0);
    let turn = socket.frame("turn").await;
    assert!(turn["claim_before"].is_string(), "{turn}");
    let pass = gateway
        .call("POST", "/v1/rooms/demo/pass", Some(&place), None)
        .await;
    assert_eq!(pass.status, 201);
    let line = socket.frame("line").await;
    for field in ["released", "per_s", "waiting", "seats", "at"] {
        assert!(!line[field].is_null(), "{field} in {line}");
    }
}

#[tokio::test]
async fn a_message_a_pause_and_the_closing_reach_the_socket() {
    let (_data, gateway, _, mut socket) = with_socket().await;
    socket.frame("room").await;
    let patch = json!({"message": "Doors at seven.", "paused": true});
    gateway
        .call(
            "PATCH",
            "/v1/promoter/rooms/demo",
            Some(PROMOTER),
            Some(patch),
        )
        .await;
    let room = loop {
        let room = socket.frame("room").await;
        if room["message"] != "" {
            break room;
        }
    };
    assert_eq!(
        (&room["message"], &room["paused"]),
        (&json!("Doors at seven."), &json!(true))
    );
    gateway.by_hand("demo", "close").await;
    assert_eq!(socket.frame("closed").await["reason"], "closed");
}

#[tokio::test]
async fn watching_a_show_gives_a_snapshot_and_then_deltas() {
    let (_data, gateway, _, mut socket) = with_socket().await;
    gateway.core.set_seat(2, 2);
    socket.say(r#"{"type":"watch","show":"demo-1"}"#).await;
    let snapshot = socket.binary().await;
    assert_eq!(
        hex::encode(&snapshot),
        format!("010100000000000000{CELLS:02x}0000002000")
    );
    gateway.core.set_seat(0, 1);
    assert_eq!(
        hex::encode(socket.binary().await),
        "020100000000000000020000000000000001"
    );
    socket.say(r#"{"type":"resync"}"#).await;
    assert_eq!(socket.binary().await[..2], [1, 2]);
    socket.say(r#"{"type":"unwatch"}"#).await;
}

#[tokio::test]
async fn signals_of_a_hold_reach_its_visitors_socket() {
    let (_data, gateway, _, mut other) = with_socket().await;
    let secret = [9; 32];
    let place = gateway
        .join("demo", json!({"secret": hex::encode(secret)}))
        .await
        .json()["place"]
        .clone();
    let mut own = gateway
        .socket("demo", place.as_str().expect("a place"))
        .await
        .expect("a socket");
    own.frame("line").await;
    gateway.core.signal(gateway::upstream::HoldSignal {
        holder: fairgate_pass::Holder::of_secret(&secret),
        hold: "hold_x".into(),
        state: HoldSignalState::Lapsed,
        expires_at_ms: 0,
        seats: Vec::new(),
    });
    let hold = own.frame("hold").await;
    assert_eq!(
        hold,
        json!({"type": "hold", "hold": "hold_x", "state": "lapsed", "expires_at": "1970-01-01T00:00:00Z"})
    );
    let offer = "hold_night-1_00112233445566778899aabbccddeeff";
    gateway.core.signal(gateway::upstream::HoldSignal {
        holder: fairgate_pass::Holder::of_secret(&secret),
        hold: offer.into(),
        state: HoldSignalState::Offered,
        expires_at_ms: 0,
        seats: vec!["A-1".into(), "A-2".into()],
    });
    assert_eq!(
        own.frame("offer").await,
        json!({"type": "offer", "show": "night-1", "hold": offer, "seats": ["A-1", "A-2"], "expires_at": "1970-01-01T00:00:00Z"})
    );
    other.say(r#"{"type":"watch","show":"demo-1"}"#).await;
    other.binary().await;
}

#[tokio::test]
async fn booking_learns_which_waitlisted_visitors_have_a_socket() {
    let (_data, gateway, _, _other) = with_socket().await;
    let [here, away] = [[9; 32], [8; 32]];
    let join = json!({"secret": hex::encode(here)});
    let place = gateway.join("demo", join).await.json()["place"].clone();
    let place = place.as_str().expect("a place");
    let _own = gateway.socket("demo", place).await.expect("a socket");
    let [here, away] = [here, away].map(|secret| fairgate_pass::Holder::of_secret(&secret));
    gateway.core.wait(vec![away, here]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while gateway.core.here().is_empty() {
        assert!(
            std::time::Instant::now() < deadline,
            "booking was not told who has a socket"
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(gateway.core.here().iter().all(|told| *told == here));
}

#[tokio::test]
async fn an_unknown_or_oversized_message_or_a_flood_closes_the_socket_with_1008() {
    let bad = [
        Message::text("hello"),
        Message::text(r#"{"type":"shout"}"#),
        Message::text(r#"{"type":"watch","show":"nowhere"}"#),
        Message::binary(vec![1, 2, 3]),
        Message::text(" ".repeat(5000)),
    ];
    let (_data, gateway, place, _) = with_socket().await;
    for message in bad {
        let mut socket = gateway.socket("demo", &place).await.expect("a socket");
        let shown = format!("{message:?}").chars().take(40).collect::<String>();
        socket.send(message).await;
        assert_eq!(u16::from(socket.closed().await.code), 1008, "{shown}");
    }
    let mut flood = gateway.socket("demo", &place).await.expect("a socket");
    for _ in 0..40 {
        flood.say(r#"{"type":"unwatch"}"#).await;
    }
    assert_eq!(u16::from(flood.closed().await.code), 1008);
}

fn raw_frame(kind: Data, payload: &'static [u8], is_last: bool) -> Frame {
    Frame::message(payload, OpCode::Data(kind), is_last)
}

#[tokio::test]
async fn a_broken_frame_bad_utf8_and_endless_fragments_close_with_their_own_codes() {
    let (_data, gateway, place, _) = with_socket().await;
    let mut reserved = raw_frame(Data::Text, b"x", true);
    reserved.header_mut().rsv1 = true;
    let bad_text = raw_frame(Data::Text, b"\xff", true);
    let mut endless = vec![raw_frame(Data::Text, b"", false)];
    endless.extend((0..3_000).map(|_| raw_frame(Data::Continue, b"", false)));
    for (frames, code) in [
        (vec![reserved], 1002),
        (vec![bad_text], 1007),
        (endless, 1008),
    ] {
        let mut socket = gateway.socket("demo", &place).await.expect("a socket");
        for frame in frames {
            socket.send(Message::Frame(frame)).await;
        }
        assert_eq!(u16::from(socket.closed().await.code), code);
    }
}

#[tokio::test]
async fn a_clients_close_is_answered_with_its_code() {
    let (_data, gateway, place, mut socket) = with_socket().await;
    socket.frame("line").await;
    let mut other = gateway.socket("demo", &place).await.expect("a socket");
    for (socket, code) in [(&mut socket, 1000), (&mut other, 4001)] {
        let close = CloseFrame {
            code: code.into(),
            reason: "bye".into(),
        };
        socket.send(Message::Close(Some(close.clone()))).await;
        assert_eq!(socket.closed().await, close);
    }
}

#[tokio::test]
async fn a_ninth_socket_of_a_place_closes_the_oldest() {
    let (_data, gateway, place, mut oldest) = with_socket().await;
    oldest.frame("line").await;
    let mut newer = Vec::new();
    for _ in 0..8 {
        let mut socket = gateway.socket("demo", &place).await.expect("a socket");
        socket.frame("line").await;
        newer.push(socket);
    }
    let close = oldest.closed().await;
    assert_eq!(u16::from(close.code), 1008);
    assert!(close.reason.contains("too many live connections"));
    for mut socket in newer {
        socket.frame("line").await;
    }
}

#[tokio::test]
async fn no_socket_opens_without_a_place_or_for_a_foreign_page() {
    let (_data, gateway, place, _) = with_socket().await;
    let request = || {
        format!("ws://{}/v1/rooms/demo/live", gateway.address)
            .into_client_request()
            .expect("an address")
    };
    assert_eq!(Gateway::connect(request()).await.err(), Some(401));
    let with = |origin: String| {
        let mut request = request();
        request
            .headers_mut()
            .insert("origin", origin.parse().expect("a header"));
        request.headers_mut().insert(
            "cookie",
            format!("fairgate_place_demo={place}")
                .parse()
                .expect("a header"),
        );
        request
    };
    assert_eq!(
        Gateway::connect(with("https://evil.example".into()))
            .await
            .err(),
        Some(403)
    );
    let own = Gateway::connect(with(format!("http://{}", gateway.address)))
        .await
        .expect("a browser on our own page");
    assert_eq!(own.echoed, None);
}

#[tokio::test]
async fn a_drain_closes_the_socket_with_a_time_to_come_back() {
    let (_data, mut gateway, _, mut socket) = with_socket().await;
    socket.frame("line").await;
    gateway.begin_stop();
    let close = socket.closed().await;
    let reason: Value = serde_json::from_str(&close.reason).expect("JSON");
    assert_eq!(u16::from(close.code), 1012);
    assert!((500..5000).contains(&reason["retry_ms"].as_u64().expect("a time")));
    gateway.stop().await;
}

#[tokio::test]
async fn a_socket_gets_each_new_phase_once() {
    let (_data, gateway, _, mut socket) = with_socket().await;
    socket.frame("line").await;
    gateway.by_hand("demo", "draw").await;
    let drawn = socket.texts(5).await;
    let rooms = |frames: &[Value], phase: &str| {
        frames
            .iter()
            .filter(|frame| frame["type"] == "room" && frame["phase"] == phase)
            .count()
    };
    assert_eq!(rooms(&drawn, "selling"), 1, "{drawn:?}");
    gateway.by_hand("demo", "close").await;
    let closed = socket.texts(3).await;
    assert_eq!(rooms(&closed, "closed"), 1, "{closed:?}");
    let ends = closed.iter().filter(|frame| frame["type"] == "closed");
    assert_eq!(ends.count(), 1, "{closed:?}");
}

#[tokio::test]
async fn leaving_a_place_closes_its_socket_and_no_other() {
    let (_data, gateway, place, mut socket) = with_socket().await;
    let (other, _) = gateway.newcomer("demo").await;
    let mut other = gateway.socket("demo", &other).await.expect("a socket");
    socket.frame("line").await;
    let left = gateway
        .call("DELETE", "/v1/rooms/demo/place", Some(&place), None)
        .await;
    assert_eq!(left.status, 204);
    let close = socket.closed().await;
    assert_eq!(u16::from(close.code), 1000);
    assert!(close.reason.contains("left"), "{}", close.reason);
    other.frame("line").await;
    other.frame("line").await;
}

#[tokio::test]
async fn a_visitor_far_back_gets_the_turn_and_the_sold_out_frame_within_two_seconds() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    // At this pace the second visitor waits a thousand seconds, so its socket gets a `line` frame
    // only every fifty seconds.
    gateway.open_room("demo", json!({"per_s": 0.001})).await;
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let (place, _) = gateway.newcomer("demo").await;
        sockets.push(gateway.socket("demo", &place).await.expect("a socket"));
    }
    gateway.by_hand("demo", "draw").await;
    let mut last = loop {
        let mut socket = sockets.pop().expect("one of them is the last");
        while socket.frame("draw").await["secret"].is_null() {}
        if socket.frame("place").await["rank"] == 1 {
            break socket;
        }
    };
    let patch = json!({"per_s": 1000});
    let begun = std::time::Instant::now();
    gateway
        .call(
            "PATCH",
            "/v1/promoter/rooms/demo",
            Some(PROMOTER),
            Some(patch),
        )
        .await;
    last.frame("turn").await;
    let called = begun.elapsed();
    gateway.core.set_pulse(0, 0, 8);
    let begun = std::time::Instant::now();
    assert_eq!(last.frame("closed").await["reason"], "sold_out");
    let told = begun.elapsed();
    eprintln!("FIGURE far back: turn after {called:.1?}, sold out after {told:.1?}");
    assert!(
        called.as_secs() < 2 && told.as_secs() < 2,
        "{called:?} {told:?}"
    );
}

#[tokio::test]
async fn a_visitor_over_the_limit_of_sockets_keeps_the_place_and_is_called_all_the_same() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_with(data.path(), &[("sockets", "1")]).await;
    gateway.open_room("demo", json!({})).await;
    let (first, _) = gateway.newcomer("demo").await;
    let (over, number) = gateway.newcomer("demo").await;
    let held = gateway.socket("demo", &first).await.expect("a socket");
    let upgrade = call("GET", "/v1/rooms/demo/live")
        .by(&over)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let refused = gateway.ask(upgrade).await;
    let wait_s: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((15..45).contains(&wait_s), "{wait_s}");
    refused.problem(503, "too_many_sockets");
    assert_eq!(gateway.place("demo", &over).await["refresh_s"], 5);
    gateway.by_hand("demo", "draw").await;
    let called = gateway.until_called("demo", &over).await;
    assert_eq!(called["number"], number);
    let pass = gateway.call("POST", "/v1/rooms/demo/pass", Some(&over), None);
    assert_eq!(pass.await.status, 201);
    drop(held);
}

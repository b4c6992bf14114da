//! Tests the messages that close a socket, and the requests that get no socket.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message as Ws;

use crate::harness::{Live, Picture, Promoter, Server, Visitor};

#[tokio::test(flavor = "multi_thread")]
async fn any_message_but_the_three_known_ones_closes_the_socket_with_1008() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let long = format!("{{\"type\":\"watch\",\"show\":\"{}\"}}", "n".repeat(5_000));
    let rows = [
        ("no JSON", Ws::text("hello")),
        ("an unknown type", Ws::text(r#"{"type":"buy"}"#)),
        ("no type", Ws::text("{}")),
        (
            "an unknown field",
            Ws::text(r#"{"type":"unwatch","now":true}"#),
        ),
        (
            "a show that is a number",
            Ws::text(r#"{"type":"watch","show":7}"#),
        ),
        ("a binary frame", Ws::binary(vec![1, 2, 3])),
        ("a frame over 4 KiB", Ws::text(long)),
        ("a binary frame over 4 KiB", Ws::binary(vec![0; 5_000])),
    ];
    for (name, frame) in rows {
        let mut socket = Live::open(&ana).await;
        socket.text("place").await;
        socket.send(frame).await;
        let (code, reason) = socket.closed().await;
        assert_eq!(code, 1008, "{name}: {reason}");
    }
    assert_eq!(
        ana.look().await["state"],
        "waiting",
        "the place is still valid"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_closes_its_own_socket_with_1008_and_no_other() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let (ana, ben) = (
        Visitor::joined(&server, "sale").await,
        Visitor::joined(&server, "sale").await,
    );
    let (mut flood, mut quiet) = (Live::open(&ana).await, Live::open(&ben).await);
    for _ in 0..500 {
        flood.say(&json!({"type": "unwatch"})).await;
    }
    assert_eq!(flood.closed().await.0, 1008);
    quiet.say(&json!({"type": "watch", "show": "night"})).await;
    assert_eq!(Picture::of(&quiet.seats().await).cells.len(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_socket_opens_without_a_place_or_for_another_sites_page() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let refused =
        async |headers: &[(&'static str, &str)]| match Live::open_with(&ana, headers).await {
            Ok(_) => 101,
            Err(status) => status.as_u16(),
        };
    let bearer = format!("Bearer {}", ana.place);
    let cookie = format!("fairgate_place_sale={}", ana.place);
    assert_eq!(refused(&[]).await, 401);
    assert_eq!(
        refused(&[("sec-websocket-protocol", "fairgate.v1, place.rubbish")]).await,
        401
    );
    assert_eq!(
        refused(&[("cookie", &cookie), ("origin", "https://evil.example")]).await,
        403
    );
    assert_eq!(
        refused(&[("cookie", &cookie), ("origin", &server.url)]).await,
        101
    );
    assert_eq!(refused(&[("authorization", &bearer)]).await, 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_a_show_that_the_room_does_not_cover_closes_the_socket() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let ana = Visitor::joined(&server, "sale").await;
    let mut socket = Live::open(&ana).await;
    socket
        .say(&json!({"type": "watch", "show": "nowhere"}))
        .await;
    assert_eq!(socket.closed().await.0, 1008);
}

//! Tests what proxies can see of a gateway that starts or was asked to end.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::config::SettingSources;
use fairgate_servers::actors::until;
use fairgate_servers::free_port;
use gateway::app::GatewayApp;
use gateway::config::GatewayConfig;
use gateway::upstream::BookingCore;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Bare, Gateway};

/// A socket that is not closed within this time stays open.
const STAYS_OPEN: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_was_asked_to_end_serves_on_for_its_notice_and_opens_no_socket() {
    let data = tempfile::tempdir().expect("a folder");
    let settings = [("drain_notice_s", "600")];
    let mut gateway = Gateway::start_with(data.path(), &settings).await;
    gateway.open_room("demo", json!({})).await;
    let (place, number) = gateway.newcomer("demo").await;
    let mut socket = gateway.socket("demo", &place).await.expect("a socket");
    socket.frame("line").await;

    gateway.begin_stop();
    until("it is no longer ready", async || {
        (gateway.get("/readyz").await.status == 503).then_some(())
    })
    .await;
    let page = gateway.get("/r/demo").await;
    assert_eq!((page.status, page.header("connection")), (200, "close"));
    assert_eq!(gateway.place("demo", &place).await["number"], number);
    assert_eq!(gateway.newcomer("demo").await.1, number + 1);
    assert_eq!(gateway.socket("demo", &place).await.err(), Some(503));
    let closed = timeout(STAYS_OPEN, socket.closed()).await;
    assert!(closed.is_err(), "the open socket was closed: {closed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_gateway_behind_a_proxy_gives_notice_by_itself() {
    for (hops, is_open_after_the_signal) in [("0", false), ("1", true)] {
        let data = tempfile::tempdir().expect("a folder");
        let settings = [("trusted_hops", hops)];
        let mut gateway = Gateway::start_with(data.path(), &settings).await;
        gateway.open_room("demo", json!({})).await;
        let (place, _) = gateway.newcomer("demo").await;
        let mut socket = gateway.socket("demo", &place).await.expect("a socket");
        gateway.begin_stop();
        let closed = timeout(STAYS_OPEN, socket.closed()).await;
        assert_eq!(closed.is_err(), is_open_after_the_signal, "{hops} hops");
        // After the notice it ends in every case.
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_still_starting_refuses_connections() {
    let data = tempfile::tempdir().expect("a folder");
    let address = format!("127.0.0.1:{}", free_port().expect("a free port"));
    let flags = [
        ("listen", address.clone()),
        ("data", data.path().display().to_string()),
    ];
    let config = GatewayConfig::resolve(&SettingSources {
        flags: flags.into(),
        ..SettingSources::default()
    });
    let config = config.expect("good settings");
    let app = GatewayApp::build(&config, async |_| {
        let connected = TcpStream::connect(&address).await;
        assert!(connected.is_err(), "nobody would answer on it");
        Ok(Arc::new(Bare::default()) as Arc<dyn BookingCore>)
    });
    let _app = app.await.expect("it builds");
    TcpStream::connect(&address).await.expect("it listens");
}

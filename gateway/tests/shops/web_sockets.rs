//! Tests the WebSockets of a guarded shop: who may open one, and when it ends.

use std::time::Duration;

use fairgate_servers::actors::PATIENCE;
use futures_util::{SinkExt, StreamExt};
use reqwest::{RequestBuilder, Upgraded};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::foreign_shop::ForeignShop;
use crate::passes::{ClaimedPass, new_pass, open_room};
use crate::reverse_proxy::guarded;
use crate::support::{Gateway, PROMOTER};

type ShopSocket = WebSocketStream<Upgraded>;

/// How long a WebSocket may stay open after its pass was stopped. A stopped pass opens nothing new
/// after two seconds. The rest of the time is for a slow machine.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A gateway that guards a shop with the room `demo`.
struct GuardedShop {
    gateway: Gateway,
    shop: ForeignShop,
    _data: TempDir,
}

impl GuardedShop {
    async fn start(settings: &[(&'static str, &str)]) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let (shop, _) = ForeignShop::start().await;
        let (gateway, _) = guarded(&data, &shop.url, settings).await;
        Self {
            gateway,
            shop,
            _data: data,
        }
    }

    async fn with_room() -> Self {
        let site = Self::start(&[]).await;
        open_room(&site.gateway, "demo").await;
        site
    }

    /// Builds a request to switch to another protocol.
    fn switch(&self, path: &str, protocol: &str, pass: Option<&ClaimedPass>) -> RequestBuilder {
        let address = self.gateway.guard.expect("it guards a shop");
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
        let request = client
            .build()
            .expect("a client")
            .get(format!("http://{address}{path}"))
            .header("host", "shop.example")
            .header("connection", "keep-alive, Upgrade")
            .header("upgrade", protocol)
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")
            .header("x-fairgate-rank", "77");
        match pass {
            Some(pass) => request.header("cookie", format!("session=7; {}", pass.cookie)),
            None => request,
        }
    }

    /// Opens a WebSocket, and checks that it carries messages both ways.
    async fn open(&self, pass: Option<&ClaimedPass>) -> ShopSocket {
        let opened = self.switch("/socket", "websocket", pass).send().await;
        let opened = opened.expect("an answer");
        assert_eq!(opened.status(), 101);
        let stream = opened.upgrade().await.expect("an upgrade");
        let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
        for message in [Message::text("a seat?"), Message::binary(vec![7; 100_000])] {
            socket.send(message.clone()).await.expect("it is sent");
            let heard = timeout(PATIENCE, socket.next()).await.expect("in time");
            assert_eq!(heard.expect("not ended").expect("a message"), message);
        }
        socket
    }
}

async fn until_ended(mut socket: ShopSocket, why: &str) {
    let ended = timeout(ENDS_WITHIN, async {
        while let Some(Ok(_)) = socket.next().await {}
    });
    ended.await.unwrap_or_else(|_| panic!("still open: {why}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_opens_web_sockets_of_the_shop_and_without_one_nothing_reaches_it() {
    let site = GuardedShop::with_room().await;
    let refused = site.switch("/socket", "websocket", None).send().await;
    assert_eq!(refused.expect("an answer").status(), 429);
    assert!(site.shop.take_seen().is_empty());

    let pass = new_pass(&site.gateway, "demo").await;
    let _open = site.open(Some(&pass)).await;
    let seen = site.shop.take_seen();
    assert_eq!(seen[0].header("cookie"), "session=7");
    assert_eq!(seen[0].header("host"), "shop.example");
    assert_eq!(seen[0].header("x-fairgate-rank"), "0");
    assert_eq!(seen[0].header("x-fairgate-room"), "demo");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_protocol_is_forwarded_and_the_shops_refusal_is_passed_on() {
    let site = GuardedShop::with_room().await;
    let pass = new_pass(&site.gateway, "demo").await;
    for protocol in ["h2c", "TLS/1.0", "websocket2"] {
        let answer = site.switch("/socket", protocol, Some(&pass)).send().await;
        assert_ne!(answer.expect("an answer").status(), 101, "{protocol}");
        let seen = site.shop.take_seen();
        assert_eq!(seen[0].header("upgrade"), "", "{protocol}");
        assert_eq!(seen[0].header("connection"), "", "{protocol}");
    }
    let long = site.switch("/socket", "websocket", Some(&pass));
    let answer = long.body("a body").send().await.expect("an answer");
    assert_ne!(answer.status(), 101, "it has a body");
    assert_eq!(site.shop.take_seen()[0].header("upgrade"), "");
    let page = site.switch("/", "websocket", Some(&pass)).send().await;
    let page = page.expect("an answer");
    assert_eq!(page.status(), 200);
    let text = page.text().await.expect("a body");
    assert_eq!(text, "welcome to the shop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_socket_ends_when_its_place_is_left_revoked_or_closed_with_the_room() {
    let site = GuardedShop::with_room().await;
    let (place, _) = site.gateway.newcomer("demo").await;
    let call = async |method, path: &str, by, body| {
        let path = format!("/v1/{path}");
        site.gateway.call(method, &path, Some(by), body).await
    };
    site.gateway.until_called("demo", &place).await;
    let claimed = call("POST", "rooms/demo/pass", &place, None).await;
    claimed.is(201);
    let left = ClaimedPass {
        jwt: String::new(),
        cookie: crate::passes::cookie_of(&claimed),
    };
    let passes = [left, new_pass(&site.gateway, "demo").await];
    let [leaves, revoked] = [
        site.open(Some(&passes[0])).await,
        site.open(Some(&passes[1])).await,
    ];
    call("DELETE", "rooms/demo/place", &place, None)
        .await
        .is(204);
    until_ended(leaves, "the visitor left").await;

    let all = json!({"all": true, "reason": "a mistake"});
    let answer = call("POST", "promoter/rooms/demo/revoke", PROMOTER, Some(all)).await;
    answer.is(200);
    until_ended(revoked, "the place was revoked").await;

    let last = new_pass(&site.gateway, "demo").await;
    let closed = site.open(Some(&last)).await;
    let answer = call("POST", "promoter/rooms/demo/close", PROMOTER, None).await;
    answer.is(200);
    until_ended(closed, "the room was closed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_let_through_without_a_pass_needs_one_when_the_line_is_well() {
    let site = GuardedShop::start(&[("guard_fail", "open")]).await;
    let open = site.open(None).await;
    open_room(&site.gateway, "demo").await;
    until_ended(open, "the room is there").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_web_sockets_end_when_the_gateway_drains() {
    let mut site = GuardedShop::with_room().await;
    let pass = new_pass(&site.gateway, "demo").await;
    let open = site.open(Some(&pass)).await;
    timeout(Duration::from_secs(30), site.gateway.stop())
        .await
        .expect("it ends");
    until_ended(open, "the gateway drained").await;
}

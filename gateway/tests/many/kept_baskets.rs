//! Tests that no basket lapses early because of what happens to the system: a rolling restart, a
//! dead proxy, a lost Redis. In each test, one visitor closes its page in the end. Its basket
//! lapses, so the system ends baskets, and all others are still there.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fairgate_servers::actors::{TestShop, text, until};
use fairgate_servers::must_skip;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::support::{Gateway, Socket};
use super::{House, selling_to};

/// Sockets that close this far apart do not close for the same reason.
const APART: Duration = Duration::from_millis(2_500);
/// How long the proxy is dead. It is longer than the room's `away_s`.
const DEAD_FOR: Duration = Duration::from_secs(12);
/// The seats of the visitors, in their order.
const SEATS: [&str; 5] = ["A-1", "A-2", "A-3", "A-4", "A-5"];

/// A visitor's place and pass.
type Admitted = (String, String);

async fn open(gateway: &Gateway, who: &Admitted) -> Socket {
    let mut socket = gateway.socket("demo", &who.0).await.expect("it opens");
    socket.frame("room").await;
    socket
}

async fn passed(what: &str, time: Duration) {
    let begun = Instant::now();
    until(what, async || (begun.elapsed() >= time).then_some(())).await;
}

/// Gives each visitor a basket, and returns the paths of the baskets.
async fn hold_all(gateway: &Gateway, visitors: &[Admitted]) -> Vec<String> {
    let mut paths = Vec::new();
    for (who, seat) in visitors.iter().zip(SEATS) {
        let hold = gateway.hold(&who.1, &[seat]).await;
        paths.push(format!("/v1/holds/{}", text(&hold, "hold")));
    }
    paths
}

/// Waits until the basket of the last visitor has lapsed, who closed its page. Checks that the
/// baskets of all others are still there.
async fn only_the_last_one_lapses(gateway: &Gateway, visitors: &[Admitted], paths: &[String]) {
    let last = visitors.len() - 1;
    let is_held = |seats: &Value, at: usize| seats["unavailable"].get(SEATS[at]).is_some();
    // Nobody with a basket calls before that, because a call shows that its visitor is there.
    let seats = until(
        "the basket of the visitor who closed the page lapses",
        async || {
            let seats = gateway.seats("night-1").await;
            (!is_held(&seats, last)).then_some(seats)
        },
    )
    .await;
    for (at, (who, path)) in visitors.iter().zip(paths).enumerate() {
        let is_kept = at < last;
        assert_eq!(is_held(&seats, at), is_kept, "visitor {at}: {seats}");
        let read = gateway.call("GET", path, Some(&who.1), None).await;
        let status = if is_kept { 200 } else { 410 };
        assert_eq!(read.status, status, "visitor {at}: {}", read.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_basket_lapses_early_after_a_rolling_restart_of_two_gateways() {
    if must_skip("baskets over a rolling restart") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (mut one, mut other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let visitors = selling_to(&one, &other, 5).await;
    let [closes, at_one, at_other, comes_back, last] = &visitors[..] else {
        panic!("five visitors");
    };
    let of_closes = open(&one, closes).await;
    let of_one = (open(&one, at_one).await, open(&one, comes_back).await);
    let _of_other = open(&other, at_other).await;
    let paths = hold_all(&other, &visitors).await;
    // This visitor is known to be gone, and the gateway that knows it restarts before the time is
    // over.
    drop(of_closes);
    passed("the gateway has judged the closed socket", 2 * APART).await;
    one.stop().await;
    drop(of_one);
    one = house.whole_gateway(&data).await;
    let _back = open(&one, comes_back).await;
    other.stop().await;
    other = house.whole_gateway(&data).await;
    let of_last = open(&other, last).await;
    let _stays = open(&other, comes_back).await;
    passed("the sockets close apart", APART).await;
    drop(of_last);
    only_the_last_one_lapses(&one, &visitors, &paths).await;
}

/// A proxy in front of a gateway. When it is dropped, all its connections end.
struct DyingProxy {
    address: SocketAddr,
    _connections: JoinSet<()>,
}

impl DyingProxy {
    /// Listens at an address, and forwards every connection to the gateways in turn.
    async fn start(listen: SocketAddr, gateways: [SocketAddr; 2]) -> Self {
        let listener = TcpListener::bind(listen).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut forwarded = JoinSet::new();
            for gateway in gateways.into_iter().cycle() {
                let (mut near, _) = listener.accept().await.expect("a connection");
                forwarded.spawn(async move {
                    let mut far = TcpStream::connect(gateway).await.expect("it listens");
                    // The connection ends with either side.
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        Self {
            address,
            _connections: connections,
        }
    }

    async fn open(&self, who: &Admitted) -> Socket {
        let address = format!("ws://{}/v1/rooms/demo/live", self.address);
        let mut request = address.into_client_request().expect("an address");
        let protocols = format!("fairgate.v1, place.{}", who.0);
        let protocols = protocols.parse().expect("a header");
        let headers = request.headers_mut();
        headers.insert("sec-websocket-protocol", protocols);
        headers.insert("x-forwarded-for", "192.0.2.77".parse().expect("a header"));
        let mut socket = Gateway::connect(request).await.expect("it opens");
        socket.frame("room").await;
        socket
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_basket_lapses_early_while_a_proxy_in_front_of_two_gateways_is_dead() {
    if must_skip("baskets behind a dead proxy") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let visitors = selling_to(&one, &other, 5).await;
    let gateways = [one.address, other.address];
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let proxy = DyingProxy::start(any_port, gateways).await;
    let address = proxy.address;
    let mut sockets = Vec::new();
    for who in &visitors {
        sockets.push(proxy.open(who).await);
    }
    let paths = hold_all(&other, &visitors).await;
    drop(proxy);
    passed("the proxy was dead", DEAD_FOR).await;
    let proxy = DyingProxy::start(address, gateways).await;
    // Of five visitors, three never come back. The last one comes back and closes its page.
    let [.., comes_back, last] = &visitors[..] else {
        panic!("five visitors");
    };
    let _back = (proxy.open(comes_back).await, proxy.open(comes_back).await);
    let of_last = proxy.open(last).await;
    passed("the sockets close apart", APART).await;
    drop(of_last);
    only_the_last_one_lapses(&one, &visitors, &paths).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_basket_lapses_early_after_redis_came_back_empty() {
    if must_skip("baskets after a lost Redis") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let visitors = selling_to(&one, &other, 5).await;
    let [closes, at_one, at_other, _program, last] = &visitors[..] else {
        panic!("five visitors");
    };
    let of_closes = open(&one, closes).await;
    let _stay = (open(&one, at_one).await, open(&other, at_other).await);
    let of_last = open(&one, last).await;
    hold_all(&other, &visitors).await;
    // This visitor is known to be gone, and goes on without a socket.
    drop(of_closes);
    passed("the gateway has judged the closed socket", 2 * APART).await;
    house.redis.kill(0);
    house.redis.start(0).await.expect("it starts");
    // Places are read from the ledger meanwhile. This call is taken only by the room's new store.
    let checkout = "/v1/rooms/demo/place/checkout";
    for gateway in [&one, &other] {
        until("the room's store is back", async || {
            let body = Some(json!({}));
            let answer = gateway.call("POST", checkout, Some(&last.0), body).await;
            (answer.status == 204).then_some(())
        })
        .await;
    }
    // A loss forgets baskets. The visitors make new ones.
    let mut paths = Vec::new();
    for (who, seat) in visitors.iter().zip(SEATS) {
        let wish = json!({ "seats": [seat] });
        let hold = until("a basket after the loss", async || {
            let answer = other.try_hold(&who.1, "night-1", &wish).await;
            (answer.status == 201).then(|| answer.json())
        });
        let hold = hold.await;
        paths.push(format!("/v1/holds/{}", text(&hold, "hold")));
    }
    drop(of_last);
    only_the_last_one_lapses(&one, &visitors, &paths).await;
}

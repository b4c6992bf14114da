//! Tests the samples in gateway/proxies with the real programs. The second gateway of each sample
//! is dead. A thousand visitors on a thousand networks join through each program and open their
//! sockets, and a foreign shop is guarded.

use std::time::Duration;

use fairgate_servers::actors::{PATIENCE, TestAnswer, text, until, until_within};
use fairgate_servers::{FrontProxy, FrontProxyKind, FrontProxyTargets, free_port};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::foreign_shop::ForeignShop;
use crate::passes::cookie_of;
use crate::proxy_visitor::{ProxyVisitor as Visitor, ROOM, SALE, SHOP, VisitorSocket};
use crate::support::{Gateway, PROMOTER};

/// How many visitors join, each from a network of its own.
const VISITORS: u16 = 1_000;
/// How many of them join at a time.
const AT_A_TIME: usize = 25;

/// How long a stopped pass may still open the shop.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);

/// A gateway and a shop behind one proxy.
struct Site {
    proxy: FrontProxy,
    gateway: Gateway,
    shop: ForeignShop,
    _data: tempfile::TempDir,
}

impl Site {
    async fn behind(kind: FrontProxyKind) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let (shop, _) = ForeignShop::start().await;
        let settings = [
            ("trusted_hops", "1"),
            ("public_url", SHOP),
            ("origins", SALE),
            ("guard_room", "night-one"),
            ("guard_origin", &*shop.url),
            ("guard_listen", "127.0.0.1:0"),
        ];
        let gateway = Gateway::start_with(data.path(), &settings).await;
        let room = json!({
            "method": "open", "draw_at": "2020-01-02T00:00:00Z", "max_inside": 5000,
            "per_network": {"soft": 1, "hard": 2},
        });
        gateway.open_room("night-one", room).await;
        let dead = || ([127, 0, 0, 1], free_port().expect("a free port")).into();
        let targets = FrontProxyTargets {
            gateways: [gateway.address, dead()],
            guards: [gateway.guard.expect("it guards the shop"), dead()],
            shop: shop
                .url
                .trim_start_matches("http://")
                .parse()
                .expect("an address"),
        };
        let proxy = FrontProxy::start(kind, &sample(kind), targets).await;
        Self {
            proxy: proxy.expect("the sample is good"),
            gateway,
            shop,
            _data: data,
        }
    }

    fn visitor(&self, n: u16) -> Visitor {
        Visitor::new(self.proxy.port(), n)
    }

    async fn set_limits(&self, soft: u32, hard: u32) {
        let change = json!({"per_network": {"soft": soft, "hard": hard}});
        let path = "/v1/promoter/rooms/night-one";
        let set = self
            .gateway
            .call("PATCH", path, Some(PROMOTER), Some(change));
        set.await.is(200);
    }
}

/// Returns the sample for this proxy.
pub fn sample(kind: FrontProxyKind) -> String {
    let file = match kind {
        FrontProxyKind::Nginx => "nginx.conf",
        FrontProxyKind::HaProxy => "haproxy.cfg",
        FrontProxyKind::Caddy => "Caddyfile",
        FrontProxyKind::Envoy => "envoy.yaml",
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("proxies");
    std::fs::read_to_string(folder.join(file)).expect("the sample")
}

/// Waits until the proxy knows which gateway is dead. Caddy 2.6 answers 502 to a call with a body
/// that was on its way to a dead gateway.
async fn the_dead_gateway_is_known(site: &Site) {
    let visitor = site.visitor(VISITORS);
    until("the proxy knows which gateway is dead", async || {
        for _ in 0..10 {
            let call = visitor.request(Method::POST, SALE, "/v1/rooms/nowhere/places");
            let answer = visitor.ask(call.json(&json!({}))).await;
            if answer.status >= 500 {
                return None;
            }
        }
        Some(())
    })
    .await;
}

async fn a_thousand_join(site: &Site, name: &str) -> Vec<(Visitor, String)> {
    let joins = futures_util::stream::iter(0..VISITORS).map(async |n| {
        let visitor = site.visitor(n);
        // Caddy itself answers without a body while its check of the busy gateway is late. It has
        // sent nothing on then, and a page asks again.
        let joined = until("a gateway answers the join", async || {
            let joined = visitor.join().await;
            (joined.status < 500 || !joined.text().is_empty()).then_some(joined)
        })
        .await;
        if joined.status == 201 {
            Ok((visitor, text(&joined.json(), "place")))
        } else {
            Err(joined)
        }
    });
    let joined: Result<Vec<_>, TestAnswer> = joins.buffer_unordered(AT_A_TIME).try_collect().await;
    let joined =
        joined.unwrap_or_else(|refused| panic!("{name}: {} {}", refused.status, refused.text()));
    eprintln!(
        "FIGURE {} joins from {VISITORS} networks through {name}: 0 refused",
        joined.len()
    );
    // Each network has one free place, so a second join from a network is refused.
    for n in [0, 1, 255, 256, VISITORS - 1] {
        let again = site.visitor(n).join().await;
        again.problem(403, "challenge_failed");
    }
    let room = site.gateway.get(ROOM).await.json();
    assert_eq!(room["joined"], VISITORS, "{name}");
    let ready = site.gateway.ready().await.to_string();
    assert!(!ready.contains("readable address"), "{name}: {ready}");
    joined
}

/// Opens the sockets of these visitors. All of them are open at the same time.
async fn their_sockets_open(site: &Site, visitors: &[(Visitor, String)], name: &str) {
    let opened = futures_util::stream::iter(visitors)
        .map(async |(visitor, place)| visitor.open_socket(place).await);
    let opened: Result<Vec<VisitorSocket>, String> =
        opened.buffer_unordered(AT_A_TIME).try_collect().await;
    let opened = opened.unwrap_or_else(|refused| panic!("{name}: {refused}"));
    let sockets = format!(
        "fairgate_room_sockets{{room=\"night-one\"}} {}",
        opened.len()
    );
    // A socket counts a moment after its upgrade was answered.
    until(&format!("{name}: {sockets}"), async || {
        let metrics = site.gateway.get("/metrics").await.text();
        metrics.contains(&sockets).then_some(())
    })
    .await;
    eprintln!("FIGURE {} sockets at once through {name}", opened.len());
}

async fn a_socket_is_upgraded(visitor: &Visitor, place: &str) {
    let mut socket = visitor.open_socket(place).await.expect("an upgrade");
    let frame = timeout(PATIENCE, socket.next()).await.expect("in time");
    let frame = frame.expect("not ended").expect("a whole frame");
    let frame: Value = serde_json::from_str(frame.to_text().expect("text")).expect("JSON");
    assert_eq!(frame["type"], "room");
}

async fn without_a_pass_nobody_reaches_the_shop(site: &Site, visitor: &Visitor) {
    let told = visitor.ask(visitor.request(Method::GET, SHOP, "/basket?item=1"));
    let told = told.await;
    assert_eq!(told.status, 429, "{}", told.text());
    assert_eq!(told.json()["code"], "waiting_room");
    assert!(!told.header("retry-after").is_empty());
    let page = visitor
        .request(Method::GET, SHOP, "/basket?item=1")
        .header("accept", "text/html,*/*;q=0.8");
    let page = visitor.ask(page).await;
    assert_eq!(page.status, 303, "{}", page.text());
    let lobby = page.header("location").to_owned();
    assert!(
        lobby.contains("/r/night-one?to=") && lobby.contains("basket"),
        "{lobby}"
    );
    // Without a pass, a browser's preflight does not reach the shop either.
    let before_a_call = visitor
        .request(Method::OPTIONS, SHOP, "/basket")
        .header("access-control-request-method", "POST");
    assert_eq!(visitor.ask(before_a_call).await.status, 429);
    let forged = visitor
        .request(Method::GET, SHOP, "/")
        .header("x-fairgate-room", "night-one")
        .header("x-fairgate-rank", "0");
    assert_eq!(visitor.ask(forged).await.status, 429);
    assert_eq!(site.shop.take_seen().len(), 0, "nothing reached the shop");
}

async fn with_a_pass_the_shop_is_open(site: &Site, visitor: &Visitor, place: &str) {
    let lobby = visitor.ask(visitor.request(Method::GET, SHOP, "/r/night-one"));
    assert_eq!(lobby.await.status, 200, "the lobby is on the shop's host");
    site.gateway.until_called("night-one", place).await;
    let claim = visitor.request(Method::POST, SHOP, &format!("{ROOM}/pass"));
    let claimed = visitor.ask(claim.bearer_auth(place)).await;
    claimed.is(201);
    let cookies = format!("session=7; {}; theme=dark", cookie_of(&claimed));
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let asked = visitor
            .request(method.clone(), SHOP, "/basket?item=1&of=%20")
            .header("cookie", &cookies)
            .header("authorization", "Bearer of-the-shop")
            .header("x-fairgate-rank", "77")
            .header("x_fairgate_rank", "77")
            .body(if method == Method::POST {
                "two tickets"
            } else {
                ""
            });
        let answer = visitor.ask(asked).await;
        assert_eq!(answer.text(), "welcome to the shop", "{method}");
        let seen = site.shop.take_seen();
        let [seen] = &*seen else { panic!("{seen:?}") };
        assert_eq!(
            (&seen.method, &*seen.path),
            (&method, "/basket?item=1&of=%20")
        );
        assert_eq!(
            seen.body,
            if method == Method::POST {
                "two tickets"
            } else {
                ""
            }
        );
        assert_eq!(seen.header("host"), "shop.example");
        assert_eq!(seen.header("x-fairgate-room"), "night-one");
        assert_ne!(seen.header("x-fairgate-rank"), "77");
        assert_eq!(seen.header("x_fairgate_rank"), "");
        assert_eq!(seen.header("x-fairgate-visitor").len(), 64);
        assert_eq!(seen.header("authorization"), "Bearer of-the-shop");
        assert_eq!(seen.header("cookie"), "session=7; theme=dark");
        assert_eq!(seen.header("x-forwarded-proto"), "https");
        let told = seen.header("x-forwarded-for");
        assert!(told.ends_with(&visitor.address.to_string()), "{told}");
    }
    let text = visitor
        .request(Method::GET, SHOP, "/")
        .header("cookie", "fgp_x=1; fg_x=2");
    assert_eq!(visitor.ask(text).await.status, 429);
}

/// Joins and claims a pass. Returns the place, and the cookie with the pass.
async fn let_in(site: &Site, visitor: &Visitor) -> (String, String) {
    let place = text(&visitor.join().await.is(201), "place");
    site.gateway.until_called("night-one", &place).await;
    let claim = visitor.request(Method::POST, SHOP, &format!("{ROOM}/pass"));
    let claimed = visitor.ask(claim.bearer_auth(&place)).await;
    claimed.is(201);
    (place, cookie_of(&claimed))
}

/// Waits until this pass no longer opens the shop.
async fn until_stopped(visitor: &Visitor, cookie: &str, why: &str) {
    let stopped = async || {
        let asked = visitor.request(Method::GET, SHOP, "/");
        let answer = visitor.ask(asked.header("cookie", cookie)).await;
        (answer.status == 429).then_some(())
    };
    until_within(why, STOPPED_WITHIN, stopped).await;
}

async fn a_stopped_pass_opens_the_shop_no_more(site: &Site) {
    let visitors = [1, 2, 3].map(|n| site.visitor(VISITORS + n));
    let mut cookies = Vec::new();
    let mut places = Vec::new();
    for visitor in &visitors {
        let (place, cookie) = let_in(site, visitor).await;
        let asked = visitor.request(Method::GET, SHOP, "/");
        let answer = visitor.ask(asked.header("cookie", &cookie)).await;
        assert_eq!(answer.text(), "welcome to the shop");
        places.push(place);
        cookies.push(cookie);
    }
    let [leaves, revoked, stays] = &visitors;
    let leave = leaves.request(Method::DELETE, SHOP, &format!("{ROOM}/place"));
    leaves.ask(leave.bearer_auth(&places[0])).await.is(204);
    until_stopped(leaves, &cookies[0], "the visitor left").await;

    let promoter = async |call: &str, body: Value| {
        let path = format!("/v1/promoter/rooms/night-one/{call}");
        let done = site.gateway.call("POST", &path, Some(PROMOTER), Some(body));
        done.await.is(200);
    };
    let network = revoked.address.to_string();
    promoter("revoke", json!({"network": network, "reason": "a bot"})).await;
    until_stopped(revoked, &cookies[1], "the place was revoked").await;

    let asked = stays.request(Method::GET, SHOP, "/");
    let answer = stays.ask(asked.header("cookie", &cookies[2])).await;
    assert_eq!(answer.text(), "welcome to the shop");
    promoter("close", json!({})).await;
    until_stopped(stays, &cookies[2], "the room was closed").await;
}

async fn the_sample_works(kind: FrontProxyKind) {
    let name = kind.program();
    if kind.must_skip(&format!("the sample for {name}")) {
        return;
    }
    let site = Site::behind(kind).await;
    the_dead_gateway_is_known(&site).await;
    let visitors = a_thousand_join(&site, name).await;
    their_sockets_open(&site, &visitors, name).await;
    drop(visitors);
    let visitor = site.visitor(VISITORS);
    let place = text(&visitor.join().await.is(201), "place");
    a_socket_is_upgraded(&visitor, &place).await;
    site.set_limits(1_000, 2_000).await;
    without_a_pass_nobody_reaches_the_shop(&site, &visitor).await;
    with_a_pass_the_shop_is_open(&site, &visitor, &place).await;
    a_stopped_pass_opens_the_shop_no_more(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_for_nginx_works() {
    the_sample_works(FrontProxyKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_for_haproxy_works() {
    the_sample_works(FrontProxyKind::HaProxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_for_caddy_works() {
    the_sample_works(FrontProxyKind::Caddy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_for_envoy_works() {
    the_sample_works(FrontProxyKind::Envoy).await;
}

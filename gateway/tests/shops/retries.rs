//! Tests which calls the samples of proxies send to a second gateway. A call that a gateway may
//! have carried out must never be carried out a second time.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use fairgate_servers::actors::{TestAnswer, until};
use fairgate_servers::{FrontProxy, FrontProxyKind, FrontProxyTargets};
use parking_lot::Mutex;
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::proxies::sample;
use crate::proxy_visitor::{ProxyVisitor, SALE};

/// How often each method is tried, so that new and reused connections are tried.
const TRIES: usize = 10;

/// How often each path was asked for, at both gateways.
type AskedPaths = Arc<Mutex<HashMap<String, usize>>>;

/// Starts a stand-in for a gateway. It reads the first call of each path, and then closes the
/// connection without an answer, as a process that dies does. Every later call is answered.
async fn fragile_gateway(asked: &AskedPaths) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::clone(asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&asked)));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, asked: AskedPaths) {
    while let Some(path) = next_path(&mut stream).await {
        if path != "/readyz" {
            let mut asked = asked.lock();
            let times = asked.entry(path).or_default();
            *times += 1;
            if *times == 1 {
                return;
            }
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        if stream.write_all(answer).await.is_err() {
            return;
        }
    }
}

/// Reads the head of the next request, and returns its path. The requests have no body.
async fn next_path(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    Some(head.split(' ').nth(1)?.to_owned())
}

async fn no_call_is_carried_out_twice(kind: FrontProxyKind) {
    let name = kind.program();
    if kind.must_skip(&format!("calls sent again by {name}")) {
        return;
    }
    let asked = AskedPaths::default();
    let gateways = [fragile_gateway(&asked).await, fragile_gateway(&asked).await];
    let targets = FrontProxyTargets {
        gateways,
        guards: gateways,
        shop: gateways[0],
    };
    let proxy = FrontProxy::start(kind, &sample(kind), targets).await;
    let proxy = proxy.expect("the sample is good");
    let visitor = ProxyVisitor::new(proxy.port(), 1);
    for n in 0..TRIES {
        for method in [Method::GET, Method::POST, Method::PATCH] {
            let path = format!("/v1/{method}/{n}");
            // Caddy refuses a call by itself while it takes both gateways for dead, which both seem
            // to be after the calls before. Such a call is made again, as the pages do.
            let (times, is_answered) = until("a gateway is asked", async || {
                let request = visitor.request(method.clone(), SALE, &path);
                // HAProxy sometimes closes the connection in place of an answer.
                let answer = TestAnswer::of(request).await;
                let is_answered = answer.is_ok_and(|answer| answer.status == 200);
                let times = asked.lock().get(&path).copied();
                times.map(|times| (times, is_answered))
            })
            .await;
            let expected = if method == Method::GET {
                (2, true)
            } else {
                (1, false)
            };
            assert_eq!((times, is_answered), expected, "{name}: {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_sends_no_call_again_that_would_be_carried_out_twice() {
    no_call_is_carried_out_twice(FrontProxyKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_sends_no_call_again_that_would_be_carried_out_twice() {
    no_call_is_carried_out_twice(FrontProxyKind::HaProxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_sends_no_call_again_that_would_be_carried_out_twice() {
    no_call_is_carried_out_twice(FrontProxyKind::Caddy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_sends_no_call_again_that_would_be_carried_out_twice() {
    no_call_is_carried_out_twice(FrontProxyKind::Envoy).await;
}

//! Tests the edge: what is refused before a body is read, how connections end, and what large
//! answers cost.

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use support::{Gateway, PROMOTER};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

async fn whole_gateway() -> (tempfile::TempDir, Gateway) {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_whole(data.path(), &[]).await;
    (data, gateway)
}

/// Sends the head of a request and none of its body. Returns the answer's status.
async fn status_of_head(address: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it accepts");
    stream.write_all(head.as_bytes()).await.expect("it is sent");
    let mut answer = vec![0; 64];
    let read = timeout(PATIENCE, stream.read(&mut answer)).await;
    let read = read.expect("an answer before the body").expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// Returns method and path of every call with a JSON body, with made-up ids.
fn calls_with_json(document: &Value) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let id = |part: &str| {
            part.starts_with('{')
                .then_some("x-1")
                .unwrap_or(part)
                .to_owned()
        };
        let path: Vec<_> = path.split('/').map(id).collect();
        for (method, operation) in methods.as_object().expect("methods") {
            if operation["requestBody"]["content"]["application/json"].is_object() {
                calls.push((method.to_uppercase(), path.join("/")));
            }
        }
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn every_json_call_refuses_another_type_and_an_overlong_body_unread() {
    let (_data, gateway) = whole_gateway().await;
    let calls = calls_with_json(&gateway.get("/openapi.json").await.json());
    assert!(calls.len() >= 15, "{calls:?}");
    for (method, path) in calls {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {PROMOTER}\r\n",
            gateway.address
        );
        for (rest, expected) in [
            (
                "content-type: text/plain\r\ncontent-length: 9\r\n\r\n",
                "415",
            ),
            ("content-length: 99999999\r\n\r\n", "413"),
        ] {
            let status = status_of_head(gateway.address, &format!("{head}{rest}")).await;
            assert_eq!(status, expected, "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoters_key_is_checked_before_the_body_is_read() {
    let (_data, gateway) = whole_gateway().await;
    for (method, path) in [
        ("PUT", "/v1/promoter/rooms/demo"),
        ("PATCH", "/v1/promoter/rooms/demo"),
        ("PUT", "/v1/promoter/rooms/demo/codes"),
        ("PUT", "/v1/promoter/venues/hall"),
        ("PUT", "/v1/promoter/shows/night"),
        ("POST", "/v1/promoter/shows/night/postpone"),
        ("PUT", "/v1/promoter/cinema"),
    ] {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: text/plain\r\ncontent-length: 60000000\r\n\r\n",
            gateway.address
        );
        let status = status_of_head(gateway.address, &head).await;
        assert_eq!(status, "401", "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_a_long_body_gets_the_refusal() {
    let (_data, gateway) = whole_gateway().await;
    let body = vec![b'a'; 20 << 20];
    let refused = gateway
        .client
        .put(format!(
            "http://{}/v1/promoter/rooms/demo/codes",
            gateway.address
        ))
        .body(body)
        .send();
    let refused = refused.await.expect("the answer is read");
    assert_eq!(refused.status().as_u16(), 401);
}

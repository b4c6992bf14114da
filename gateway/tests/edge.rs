//! Tests what all calls have in common: which of them are refused before their body is read, and
//! how large answers are compressed and tagged.

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use support::{Gateway, PROMOTER, TestAnswer};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Scans tickets.
const DOOR: &str = "door-key-of-the-tests";

async fn whole_gateway() -> (tempfile::TempDir, Gateway) {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_whole(data.path(), &[("door_key", DOOR)]).await;
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
        let id = |part: &str| if part.starts_with('{') { "x-1" } else { part }.to_owned();
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
    let (place, _) = gateway.newcomer("everyday").await;
    gateway.until_called("everyday", &place).await;
    let path = "/v1/rooms/everyday/pass";
    let pass = gateway.call("POST", path, Some(&place), None).await;
    let pass = pass.json()["pass"].as_str().expect("a pass").to_owned();
    for (method, path) in calls {
        let bearer = if path.starts_with("/v1/promoter/") {
            PROMOTER
        } else if path.ends_with("/scan") {
            DOOR
        } else {
            &pass
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {bearer}\r\n",
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
        ("PUT", "/v1/promoter/rooms/demo/networks"),
        ("POST", "/v1/promoter/rooms/demo/revoke"),
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

/// Sends a GET with these headers. The client does not decompress the answer.
async fn fetch(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> TestAnswer {
    let request = gateway.client.get(gateway.url(path));
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    Gateway::read(request).await
}

async fn put(gateway: &Gateway, what: &str, document: Value) {
    let path = format!("/v1/promoter/{what}");
    let stored = gateway.call("PUT", &path, Some(PROMOTER), Some(document));
    let stored = stored.await;
    assert!(matches!(stored.status, 200 | 201), "{}", stored.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_map_is_sent_compressed_under_a_tag_of_its_own() {
    let (_data, gateway) = whole_gateway().await;
    put(&gateway, "venues/hall", json!({"plan": "grid:100x200"})).await;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z",
        "currency": "EUR", "prices": {"cat1": 1000},
    });
    put(&gateway, "shows/night", show).await;
    let path = "/v1/shows/night/seatmap";
    let packed = ("accept", "application/vnd.fairgate.seatmap");
    for (accept, bytes_max) in [(packed, 30_000), (("accept", "application/json"), 300_000)] {
        let plain = fetch(&gateway, path, &[accept]).await;
        assert_eq!(plain.header("content-encoding"), "");
        let zipped = fetch(&gateway, path, &[accept, ("accept-encoding", "gzip, br")]).await;
        assert_eq!(zipped.header("content-encoding"), "gzip");
        assert!(zipped.header("cache-control").starts_with("public"));
        let vary: Vec<_> = zipped.headers.get_all("vary").iter().collect();
        assert_eq!(vary, ["accept", "accept-encoding"]);
        eprintln!(
            "FIGURE a map of 20,000 seats, {}: {} bytes, {} as gzip",
            accept.1,
            plain.body.len(),
            zipped.body.len()
        );
        assert!(zipped.body.len() <= bytes_max, "{}", zipped.body.len());
        let etag = zipped.header("etag").to_owned();
        assert_eq!(etag.replace("-gz", ""), plain.header("etag"));
        let known = [
            accept,
            ("accept-encoding", "gzip"),
            ("if-none-match", &etag),
        ];
        let unchanged = fetch(&gateway, path, &known).await;
        assert_eq!((unchanged.status, unchanged.header("etag")), (304, &*etag));
        let other = [accept, ("if-none-match", "\"other\"")];
        assert_eq!(fetch(&gateway, path, &other).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leaves_have_a_tag_and_are_not_compressed() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    for _ in 0..3 {
        gateway.newcomer("demo").await;
    }
    gateway.by_hand("demo", "draw").await;
    gateway.until_drawn("demo").await;
    let path = "/v1/rooms/demo/draw/leaves";
    let leaves = fetch(&gateway, path, &[("accept-encoding", "gzip")]).await;
    assert_eq!((leaves.status, leaves.body.len()), (200, 96));
    assert_eq!(leaves.header("content-encoding"), "");
    assert_eq!(leaves.header("content-length"), "96");
    let etag = leaves.header("etag").to_owned();
    let known = [("if-none-match", &*etag), ("accept-encoding", "gzip")];
    assert_eq!(fetch(&gateway, path, &known).await.status, 304);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_head_has_the_headers_of_a_get() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    // These answers have no tag. An answer with a tag is compressed only for a GET.
    for path in ["/r/everyday", "/no/such/page"] {
        let ask = async |method: reqwest::Method| {
            let request = gateway.client.request(method, gateway.url(path));
            Gateway::read(request.header("accept-encoding", "gzip")).await
        };
        let (head, get) = (
            ask(reqwest::Method::HEAD).await,
            ask(reqwest::Method::GET).await,
        );
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for name in [
            "content-type",
            "content-encoding",
            "vary",
            "etag",
            "cache-control",
        ] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
}

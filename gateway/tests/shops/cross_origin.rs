//! Tests calls by pages on other origins. Pages on listed origins may make every call and read the
//! answers. Other pages can change nothing and read nothing.

use fairgate_servers::actors::{TestAnswer, TestCall, TestShop, call, post, text};
use serde_json::json;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::passes::cookie_of;
use crate::support::{Gateway, PROMOTER};

const LISTED: &str = "https://app.example";
const FOREIGN: [&str; 4] = [
    "https://evil.example",
    "https://app.example.evil.example",
    "http://app.example",
    "null",
];

/// Starts a gateway with booking inside. Its room has no line, and sells the seats of a hall.
async fn gateway(data: &tempfile::TempDir) -> Gateway {
    let settings = [("origins", LISTED), ("public_url", "https://sale.example")];
    let gateway = Gateway::start_whole(data.path(), &settings).await;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2031-06-01T20:00:00+02:00",
        "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900},
    });
    for (path, body) in [
        ("venues/hall", json!({"plan": "grid:4x8"})),
        ("shows/night-1", show),
    ] {
        let path = format!("/v1/promoter/{path}");
        let put = gateway.call("PUT", &path, Some(PROMOTER), Some(body)).await;
        assert!([200, 201].contains(&put.status), "{}", put.text());
    }
    let sale = json!({"shows": ["night-1"], "method": "open", "draw_at": "2020-01-02T00:00:00Z"});
    gateway.open_room("demo", sale).await;
    gateway
}

fn from_page(call: TestCall, origin: &str) -> TestCall {
    call.header("origin", origin)
        .header("sec-fetch-site", "cross-site")
}

fn preflight(path: &str, method: &str) -> TestCall {
    call("OPTIONS", path)
        .header("access-control-request-method", method)
        .header(
            "access-control-request-headers",
            "authorization, idempotency-key",
        )
}

/// Checks that a page on the listed origin may read the answer to a call with cookies.
#[track_caller]
fn readable(answer: &TestAnswer) {
    assert_eq!(answer.header("access-control-allow-origin"), LISTED);
    assert_eq!(answer.header("access-control-allow-credentials"), "true");
    assert!(varies(answer), "{:?}", answer.headers);
}

fn varies(answer: &TestAnswer) -> bool {
    let lines = answer.headers.get_all("vary").iter();
    let mut names = lines.filter_map(|line| line.to_str().ok());
    names.any(|line| line.to_ascii_lowercase().contains("origin"))
}

/// Checks that the answer allows no page of another origin to read it.
#[track_caller]
fn silent(answer: &TestAnswer) {
    let told = answer.headers.keys();
    let mut told = told.filter(|name| name.as_str().starts_with("access-control-"));
    assert_eq!(told.next(), None, "{}", answer.asked);
    assert!(varies(answer), "{:?}", answer.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_on_a_listed_origin_joins_claims_holds_and_reads() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = gateway(&data).await;
    let joined = post("/v1/rooms/demo/places", &json!({}));
    let joined = gateway.ask(from_page(joined, LISTED)).await;
    let place = text(&joined.is(201), "place");
    readable(&joined);
    let place_cookie = cookie_of(&joined);
    gateway.until_called("demo", &place).await;

    let claim = || from_page(call("POST", "/v1/rooms/demo/pass"), LISTED);
    let claimed = gateway.ask(claim().header("cookie", &place_cookie)).await;
    let pass = text(&claimed.is(201), "pass");
    readable(&claimed);
    let pass_cookie = cookie_of(&claimed);
    readable(&gateway.ask(claim().by(&place)).await);

    let wish = json!({"best": {"quantity": 1}});
    let hold = || from_page(post("/v1/shows/night-1/holds", &wish), LISTED);
    let held = gateway.ask(hold().header("cookie", &pass_cookie)).await;
    held.is(201);
    readable(&held);
    let held = gateway.ask(hold().by(&pass)).await;
    assert!([200, 201].contains(&held.status), "{}", held.text());

    let read = gateway
        .ask(from_page(call("GET", "/v1/shows/night-1/seatmap"), LISTED))
        .await;
    read.is(200);
    readable(&read);
    let exposed = read.header("access-control-expose-headers");
    for name in ["etag", "retry-after", "x-fairgate-problem", "x-request-id"] {
        assert!(exposed.contains(name), "{name} in {exposed}");
    }
    let refused = gateway.ask(hold()).await;
    refused.problem(429, "waiting_room");
    readable(&refused);
    readable(
        &gateway
            .ask(from_page(call("GET", "/v1/nothing"), LISTED))
            .await,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_may_ask_before_each_call() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = gateway(&data).await;
    for (path, method) in [
        ("/v1/rooms/demo/places", "POST"),
        ("/v1/rooms/demo/place", "DELETE"),
        ("/v1/shows/night-1/holds", "POST"),
        ("/v1/holds/hold_night-1_00ff", "PATCH"),
    ] {
        let told = gateway
            .ask(from_page(preflight(path, method), LISTED))
            .await;
        assert_eq!(told.status, 200, "{path}");
        readable(&told);
        let methods = told.header("access-control-allow-methods");
        assert!(methods.contains(method), "{method} in {methods}");
        let headers = told.header("access-control-allow-headers");
        for name in [
            "authorization",
            "content-type",
            "idempotency-key",
            "order-key",
        ] {
            assert!(headers.contains(name), "{name} in {headers}");
        }
        assert_eq!(told.header("access-control-max-age"), "600");
        for origin in FOREIGN {
            let refused = gateway
                .ask(from_page(preflight(path, method), origin))
                .await;
            assert_eq!(refused.status, 405, "{path} from {origin}");
            silent(&refused);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_origins_are_told_nothing_and_change_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = gateway(&data).await;
    for origin in FOREIGN {
        let join = from_page(post("/v1/rooms/demo/places", &json!({})), origin);
        let refused = gateway.ask(join).await;
        refused.problem(403, "origin_refused");
        silent(&refused);
        let read = gateway
            .ask(from_page(call("GET", "/v1/rooms/demo"), origin))
            .await;
        read.is(200);
        silent(&read);
    }
    assert_eq!(gateway.get("/v1/rooms/demo").await.json()["joined"], 0);
    // A shared cache must not give this answer to a page on a listed origin.
    silent(&gateway.get("/v1/rooms/demo").await);
    // The HTML pages are for people. No script of another origin may read them.
    silent(&gateway.ask(from_page(call("GET", "/r/demo"), LISTED)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_listed_origins_open_sockets() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = gateway(&data).await;
    let (place, _) = gateway.newcomer("demo").await;
    let open = async |origin: &str| {
        let url = format!("ws://{}/v1/rooms/demo/live", gateway.address);
        let mut request = url.into_client_request().expect("an address");
        let protocols = format!("fairgate.v1, place.{place}");
        for (name, value) in [("origin", origin), ("sec-websocket-protocol", &protocols)] {
            request
                .headers_mut()
                .insert(name, value.parse().expect("a header"));
        }
        Gateway::connect(request).await
    };
    let mut socket = open(LISTED).await.expect("a socket");
    assert_eq!(socket.frame("room").await["room"], "demo");
    for origin in FOREIGN {
        assert_eq!(open(origin).await.err(), Some(403), "{origin}");
    }
}

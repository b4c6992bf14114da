//! Tests the pages as a browser without scripts uses them, and that every problem code in the
//! pages' texts and scripts can be sent.

mod support;

use std::fs;
use std::path::Path;

use fairgate_base::http::ProblemCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use support::Gateway;

/// The media types that a browser asks for when it opens a page.
const BROWSERS_ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[tokio::test]
async fn the_lobby_works_without_scripts() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({"codes": "none"})).await;
    let client = reqwest::Client::builder()
        .cookie_store(true)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let home = Gateway::read(client.get(gateway.url("/"))).await;
    assert!(
        home.status == 200 && home.text().contains("/r/demo"),
        "{}",
        home.text()
    );
    let lobby = Gateway::read(client.get(gateway.url("/r/demo"))).await;
    assert!(
        lobby.text().contains("action=\"/r/demo/join\""),
        "{}",
        lobby.text()
    );
    let early = Gateway::read(client.post(gateway.url("/r/demo/pass"))).await;
    assert_eq!(early.status, 401, "the lobby says that a place is needed");
    let again = Gateway::read(client.post(gateway.url("/r/demo/join"))).await;
    assert_eq!(again.status, 307, "the browser sends the form again");
    let again = gateway.url(again.header("location"));
    let joined = Gateway::read(client.post(again)).await;
    assert_eq!(
        (joined.status, &joined.headers["location"]),
        (303, &"/r/demo".parse().expect("a header"))
    );
    let lobby = Gateway::read(client.get(gateway.url("/r/demo"))).await;
    assert!(
        lobby.text().contains("action=\"/r/demo/leave\""),
        "{}",
        lobby.text()
    );
    let early = client.post(gateway.url("/r/demo/pass"));
    let not_yet = Gateway::read(early.header("accept", BROWSERS_ACCEPT)).await;
    assert_eq!(not_yet.status, 409);
    assert!(
        not_yet.headers["content-type"]
            .to_str()
            .expect("text")
            .starts_with("text/html")
    );
    gateway.by_hand("demo", "draw").await;
    gateway
        .until("/v1/rooms/demo", None, |room| room["released"] == 1)
        .await;
    let pass = Gateway::read(client.post(gateway.url("/r/demo/pass"))).await;
    assert_eq!(pass.status, 303, "{}", pass.text());
    let left = Gateway::read(client.post(gateway.url("/r/demo/leave"))).await;
    assert_eq!(left.status, 303);
}

#[tokio::test]
async fn a_browser_without_scripts_that_keeps_no_cookies_is_told_so_and_takes_no_place() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    // This client follows redirects as a browser does, and forgets every cookie.
    let client = reqwest::Client::new();
    for _ in 0..3 {
        let press = client.post(gateway.url("/r/demo/join"));
        let press = press.header("accept", BROWSERS_ACCEPT);
        let page = Gateway::read(press).await;
        assert_eq!(page.status, 403, "{}", page.text());
        let text = page.text();
        assert!(text.contains("data-code=\"cookies_blocked\""), "{text}");
        assert!(text.contains("Your browser blocks cookies"), "{text}");
        assert!(text.contains("action=\"/r/demo/join\""), "{text}");
    }
    assert_eq!(gateway.get("/v1/rooms/demo").await.json()["joined"], 0);
    // With cookies, one press takes one place, and every further press finds it.
    let client = reqwest::Client::builder().cookie_store(true).build();
    let client = client.expect("a client");
    for _ in 0..3 {
        let press = client.post(gateway.url("/r/demo/join"));
        let page = Gateway::read(press.header("accept", BROWSERS_ACCEPT)).await;
        assert!(page.text().contains("action=\"/r/demo/leave\""));
    }
    assert_eq!(gateway.get("/v1/rooms/demo").await.json()["joined"], 1);
    // Another site's form is refused, whether the browser keeps cookies or not.
    let foreign = reqwest::Client::new().post(gateway.url("/r/demo/join"));
    let foreign = Gateway::read(foreign.header("origin", "https://elsewhere.example")).await;
    foreign.problem(403, "origin_refused");
}

#[tokio::test]
async fn a_form_to_leave_that_is_sent_twice_leaves_once_and_shows_the_lobby_again() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({"codes": "none"})).await;
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let join = client.post(gateway.url("/r/demo/join"));
    let joined = Gateway::read(join.header("cookie", "fgc_ok=1")).await;
    let cookie = joined.headers["set-cookie"].to_str().expect("text");
    let cookie = cookie.split(';').next().expect("a cookie");
    for _ in 0..2 {
        let leave = client.post(gateway.url("/r/demo/leave"));
        let left = Gateway::read(leave.header("cookie", cookie)).await;
        assert_eq!(left.status, 303, "{}", left.text());
    }
}

#[tokio::test]
async fn unknown_paths_get_a_404_page_and_assets_can_be_revalidated() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let page = gateway.client.get(gateway.url("/no/such/page"));
    let page = Gateway::read(page.header("accept", BROWSERS_ACCEPT)).await;
    assert_eq!(page.status, 404);
    assert!(
        page.headers["content-type"]
            .to_str()
            .expect("text")
            .starts_with("text/html")
    );
    assert_eq!(gateway.get("/r/nowhere").await.status, 404);
    assert_eq!(gateway.get("/s/nowhere").await.status, 404);
    for path in ["/checkout/hold_x", "/o/order_x", "/t/ticket_x"] {
        assert_eq!(gateway.get(path).await.status, 200, "{path}");
    }
    let style = gateway.get("/assets/style/base.css").await;
    assert_eq!(
        (style.status, &style.headers["cache-control"]),
        (200, &"no-cache".parse().expect("a header"))
    );
    let known = gateway
        .client
        .get(gateway.url("/assets/style/base.css"))
        .header("if-none-match", style.headers["etag"].clone());
    assert_eq!(Gateway::read(known).await.status, 304);
    assert_eq!(gateway.get("/assets/../Cargo.toml").await.status, 404);
    // The files that a page loads later fit only pages of the same build.
    let part = "/assets/page/lobby/lobby-draw-check.js";
    assert_eq!(gateway.get(part).await.status, 404);
    let other = format!("{part}?v=0123456789abcdef");
    assert_eq!(gateway.get(&other).await.status, 404);
    let own = format!("{part}?v={}", waitroom_ui::version());
    assert_eq!(gateway.get(&own).await.status, 200);
}

#[tokio::test]
async fn programs_get_problems_where_browsers_get_pages_about_them() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    for (method, path, status, code) in [
        ("GET", "/no/such/page", 404, "not_found"),
        ("GET", "/r/nowhere", 404, "not_found"),
        ("GET", "/s/nowhere", 404, "not_found"),
        ("POST", "/r/demo/pass", 401, "place_required"),
        ("DELETE", "/r/demo", 405, "method_not_allowed"),
    ] {
        for accept in ["application/json", "*/*"] {
            let request = gateway
                .client
                .request(method.parse().expect("a method"), gateway.url(path));
            let told = Gateway::read(request.header("accept", accept)).await;
            told.problem(status, code);
            assert_eq!(told.header("vary"), "accept", "{path}");
            assert_eq!(told.header("x-fairgate-problem"), code, "{path}");
        }
    }
}

/// Words for which the pages have texts, but which are not problem codes. Some are kinds of failure
/// that the pages name themselves. Others are reasons inside a problem.
const WORDED_BESIDE_CODES: &[&str] = &[
    "capacity",
    "capacity_sold",
    "cleared",
    "codes_paused",
    "held_elsewhere",
    "hold_released",
    "idle",
    "invalid",
    "lapses",
    "move",
    "no_block",
    "offline",
    "overload",
    "seats_free",
    "server",
    "solving",
    "unknown",
    "wishes_gone",
];

fn is_known_to_the_pages(word: &str) -> bool {
    let mut codes = ProblemCode::ALL.iter().map(|code| code.as_str());
    WORDED_BESIDE_CODES.contains(&word) || codes.any(|code| code == word)
}

#[test]
fn every_problem_that_the_pages_have_words_for_can_be_sent() {
    let texts = waitroom_ui::language_texts("en");
    let problems = texts["problems"].as_object().expect("an object");
    let unknown: Vec<_> = problems
        .keys()
        .filter(|word| !is_known_to_the_pages(word))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for word in WORDED_BESIDE_CODES {
        assert!(problems.contains_key(*word), "{word}");
        assert!(
            !ProblemCode::ALL.iter().any(|code| code.as_str() == *word),
            "{word}"
        );
    }
}

#[test]
fn every_code_that_a_script_compares_with_can_be_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../waitroom-ui/script");
    let mut compared = 0;
    for entry in fs::read_dir(folder).expect("the scripts") {
        let path = entry.expect("a readable entry").path();
        let source = fs::read_to_string(&path).expect("UTF-8");
        for part in source.split("code === \"").skip(1) {
            let code = part.split('"').next().unwrap_or_default();
            assert!(is_known_to_the_pages(code), "{}: {code}", path.display());
            compared += 1;
        }
    }
    assert!(
        compared > 10,
        "only {compared} were found: the scan is broken"
    );
}

#[tokio::test]
async fn a_request_names_exactly_one_host() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a.example\r\n", "200"),
        (
            "GET /healthz HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n",
            "400",
        ),
        ("GET /healthz HTTP/1.0\r\n", "200"),
    ] {
        let mut stream = TcpStream::connect(gateway.address)
            .await
            .expect("it connects");
        let request = format!("{head}Connection: close\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert_eq!(answer.split(' ').nth(1), Some(status), "{head}: {answer}");
    }
}

#[tokio::test]
async fn pages_behind_https_say_so_and_name_their_own_socket() {
    let data = tempfile::tempdir().expect("a folder");
    let settings = [("public_url", "https://sale.example")];
    let gateway = Gateway::start_with(data.path(), &settings).await;
    let page = gateway.get("/").await;
    let header = |name| page.headers[name].to_str().expect("text").to_owned();
    assert_eq!(header("strict-transport-security"), "max-age=31536000");
    let policy = header("content-security-policy");
    for part in [
        "base-uri 'none'",
        "form-action 'self'",
        "connect-src 'self' wss://sale.example",
    ] {
        assert!(policy.contains(part), "{part} in {policy}");
    }
    let plain = Gateway::start(tempfile::tempdir().expect("a folder").path()).await;
    let page = plain.get("/").await;
    assert!(!page.headers.contains_key("strict-transport-security"));
    let policy = page.headers["content-security-policy"].to_str();
    let own = format!("ws://{}", plain.address);
    assert!(policy.expect("text").contains(&own));
}

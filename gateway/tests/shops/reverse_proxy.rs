//! Tests the guard of a shop that is not Fairgate's: who reaches the shop, and what it gets.

use std::time::Duration;

use fairgate_servers::actors::{PATIENCE, TestCall, TestClient, TestShop, call, until};
use fairgate_servers::{PostgresServer, must_skip};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::foreign_shop::ForeignShop;
use crate::passes::{ClaimedPass, new_pass, open_room};
use crate::support::Gateway;

const LOBBY: &str = "http://127.0.0.1:8080/r/demo";
const PAGE: &str = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";

/// Starts a gateway that guards the shop at `origin` with the room `demo`.
pub async fn guarded(
    data: &TempDir,
    origin: &str,
    more: &[(&'static str, &str)],
) -> (Gateway, TestClient) {
    let mut settings = vec![
        ("public_url", "http://127.0.0.1:8080"),
        ("guard_url", "http://127.0.0.1:8081"),
        ("guard_room", "demo"),
        ("guard_origin", origin),
        ("guard_listen", "127.0.0.1:0"),
    ];
    settings.extend_from_slice(more);
    let gateway = Gateway::start_with(data.path(), &settings).await;
    let address = gateway.guard.expect("it guards a shop");
    let visitor = TestClient::of_address(&format!("http://{address}"));
    (gateway, visitor)
}

fn with_pass(call: TestCall, pass: &ClaimedPass) -> TestCall {
    call.header("cookie", &pass.cookie)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_pass_browsers_go_to_the_lobby_and_programs_are_told_to_wait() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, _) = ForeignShop::start().await;
    let (gateway, visitor) = guarded(&data, &shop.url, &[]).await;
    open_room(&gateway, "demo").await;
    open_room(&gateway, "other").await;
    for (method, path, lobby) in [
        ("GET", "/", LOBBY.to_owned()),
        (
            "GET",
            "/basket?item=1",
            format!("{LOBBY}?to=%2Fbasket%3Fitem%3D1"),
        ),
        ("POST", "/basket", LOBBY.to_owned()),
    ] {
        let told = visitor.ask(call(method, path).header("accept", PAGE)).await;
        assert_eq!((told.status, told.header("location")), (303, &*lobby));
        assert_eq!(told.header("cache-control"), "no-store");
        let told = visitor.ask(call(method, path)).await;
        let problem = told.problem(429, "waiting_room");
        assert_eq!(problem["room_url"], LOBBY);
        assert_eq!(problem["room"], "demo");
        assert_eq!(told.header("retry-after"), "1");
    }
    let other = new_pass(&gateway, "other").await;
    let refused = visitor.ask(call("GET", "/").by(&other.jwt)).await;
    refused.problem(429, "waiting_room");
    let (place, _) = gateway.newcomer("demo").await;
    let refused = visitor.ask(call("GET", "/").by(&place)).await;
    refused.problem(429, "waiting_room");
    assert_eq!(shop.take_seen().len(), 0, "nothing reached the shop");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_pass_every_request_reaches_the_shop_as_it_was_sent() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, _) = ForeignShop::start().await;
    let (gateway, visitor) = guarded(&data, &shop.url, &[]).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT"] {
        for path in ["/", "/a%20b/c;d?e=%2F&f", "//evil.example/"] {
            let body = if method == "GET" { "" } else { "a body" };
            let asked = with_pass(call(method, path).raw(body), &pass)
                .header("host", "shop.example")
                .header("origin", "https://evil.example")
                .header("x-fairgate-rank", "-1")
                .header("x-forwarded-for", "9.9.9.9");
            let answer = visitor.ask(asked).await;
            assert_eq!(answer.text(), "welcome to the shop");
            assert_eq!(answer.header("set-cookie"), "session=1");
            assert_eq!(answer.header("cache-control"), "private");
            let seen = shop.take_seen();
            let [seen] = &*seen else { panic!("{seen:?}") };
            assert_eq!((seen.method.as_str(), &*seen.path), (method, path));
            assert_eq!(seen.body, body);
            assert_eq!(seen.header("host"), "shop.example");
            assert_eq!(seen.header("x-forwarded-host"), "shop.example");
            assert_eq!(seen.header("x-forwarded-proto"), "http");
            assert_eq!(seen.header("x-forwarded-for"), "127.0.0.1");
            assert_eq!(seen.header("x-fairgate-room"), "demo");
            assert_eq!(seen.header("x-fairgate-rank"), "0");
            assert_eq!(seen.header("x-fairgate-visitor").len(), 64);
            assert_eq!(seen.header("cookie"), "");
        }
    }
    let head = visitor.ask(with_pass(call("HEAD", "/"), &pass)).await;
    assert_eq!((head.status, head.header("content-length")), (200, "19"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shop_gets_its_own_credentials_and_never_fairgates() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, _) = ForeignShop::start().await;
    let hops = [("trusted_hops", "1")];
    let (gateway, visitor) = guarded(&data, &shop.url, &hops).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    let cookies = format!("session=7; {}; theme=dark", pass.cookie);
    let own = call("GET", "/")
        .header("cookie", &cookies)
        .header("authorization", "Bearer of-the-shop")
        .header("x-forwarded-for", "9.9.9.9, 192.0.2.7");
    visitor.ask(own).await.is(200);
    visitor.ask(call("GET", "/").by(&pass.jwt)).await.is(200);
    let seen = shop.take_seen();
    assert_eq!(seen[0].header("cookie"), "session=7; theme=dark");
    assert_eq!(seen[0].header("authorization"), "Bearer of-the-shop");
    assert_eq!(seen[0].header("x-forwarded-for"), "192.0.2.7");
    assert_eq!(seen[1].header("authorization"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_streamed_both_ways() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, mut arrived) = ForeignShop::start().await;
    let (gateway, _) = guarded(&data, &shop.url, &[]).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    let address = gateway.guard.expect("it guards a shop");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = |path: &str, more: &str| {
        let cookie = &pass.cookie;
        format!("POST {path} HTTP/1.1\r\nhost: shop.example\r\ncookie: {cookie}\r\n{more}\r\n\r\n")
    };
    let upload = head("/upload", "content-length: 10");
    stream.write_all(upload.as_bytes()).await.expect("sent");
    for part in ["first", "again"] {
        stream.write_all(part.as_bytes()).await.expect("sent");
        let size = timeout(PATIENCE, arrived.recv()).await.expect("in time");
        assert_eq!(size, Some(5), "it arrives before the rest is sent");
    }
    assert!(
        read_until(&mut stream, "welcome to the shop")
            .await
            .starts_with("HTTP/1.1 200")
    );
    let seen = shop.take_seen();
    assert_eq!(seen[0].header("content-length"), "10");
    assert_eq!(seen[0].header("transfer-encoding"), "");

    let mirror = head("/mirror", "transfer-encoding: chunked");
    stream.write_all(mirror.as_bytes()).await.expect("sent");
    for part in ["first", "again"] {
        let chunk = format!("5\r\n{part}\r\n");
        stream.write_all(chunk.as_bytes()).await.expect("sent");
        // The shop's answer to this part comes before the request is complete.
        read_until(&mut stream, part).await;
    }
    stream.write_all(b"0\r\n\r\n").await.expect("sent");
    read_until(&mut stream, "0\r\n\r\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tunnel_leads_past_the_guard() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, _) = ForeignShop::start().await;
    let (gateway, _) = guarded(&data, &shop.url, &[]).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    let address = gateway.guard.expect("it guards a shop");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let asked = format!(
        "CONNECT shop.example:80 HTTP/1.1\r\nhost: shop.example\r\ncookie: {}\r\n\r\n",
        pass.cookie
    );
    stream.write_all(asked.as_bytes()).await.expect("sent");
    let told = read_until(&mut stream, "\r\n\r\n").await;
    assert!(told.starts_with("HTTP/1.1 405"), "{told}");
    assert!(shop.take_seen().is_empty());
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut heard = Vec::new();
    let mut part = [0; 1024];
    loop {
        let read = timeout(PATIENCE, stream.read(&mut part)).await;
        let read = read.expect("in time").expect("an answer");
        assert_ne!(read, 0, "it ended: {}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&heard);
        if text.contains(end) {
            return text.into_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_there_is_no_such_room_the_setting_decides() {
    let (shop, _) = ForeignShop::start().await;
    for setting in ["open", "closed"] {
        let data = tempfile::tempdir().expect("a folder");
        let (gateway, visitor) = guarded(&data, &shop.url, &[("guard_fail", setting)]).await;
        let asked = || call("GET", "/").header("x-fairgate-rank", "0");
        let answer = visitor.ask(asked()).await;
        if setting == "open" {
            answer.is(200);
            let seen = shop.take_seen();
            assert_eq!(seen[0].header("x-fairgate-rank"), "", "it has no pass");
        } else {
            answer.problem(503, "line_unavailable");
            assert_eq!(answer.header("retry-after"), "60");
            let page = visitor.ask(asked().header("accept", PAGE)).await;
            assert_eq!(
                (page.status, page.media()),
                (503, "text/html; charset=utf-8")
            );
        }
        open_room(&gateway, "demo").await;
        visitor.ask(asked()).await.problem(429, "waiting_room");
        assert!(shop.take_seen().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_ledger_is_silent_a_pass_opens_the_shop_and_without_one_the_setting_decides() {
    if must_skip("a guard whose ledger is silent") {
        return;
    }
    let (shop, _) = ForeignShop::start().await;
    for (setting, status) in [("open", 200), ("closed", 429)] {
        let data = tempfile::tempdir().expect("a folder");
        let database = PostgresServer::start().await.expect("it starts");
        let url = database.url();
        let settings = [("guard_fail", setting), ("database_url", &*url)];
        let (gateway, visitor) = guarded(&data, &shop.url, &settings).await;
        open_room(&gateway, "demo").await;
        let pass = new_pass(&gateway, "demo").await;
        visitor
            .ask(call("GET", "/"))
            .await
            .problem(429, "waiting_room");
        database.pause();
        until("the gateway notices", async || {
            let told = gateway.ready().await.to_string();
            told.contains("ledger took no write").then_some(())
        })
        .await;
        let known = until("what the guard does", async || {
            let answer = visitor.ask(call("GET", "/")).await;
            let is_late = status == 200 && answer.status == 429;
            (!is_late).then_some(answer.status)
        });
        assert_eq!(known.await, status, "{setting}");
        let let_in = visitor.ask(with_pass(call("GET", "/"), &pass)).await;
        assert_eq!(let_in.text(), "welcome to the shop", "{setting}");
        database.resume();
        until("the line is well again", async || {
            let answer = visitor.ask(call("GET", "/")).await;
            (answer.status == 429).then_some(())
        })
        .await;
    }
}

/// Starts a shop that ends each connection after it has read the request. Returns its address, and
/// a receiver that gets a message for each connection.
async fn dying_shop() -> (String, tokio::sync::mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (called, calls) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let _ = called.send(());
        }
    });
    (url, calls)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_is_away_or_dies_is_told_apart_and_no_request_is_sent_twice() {
    let data = tempfile::tempdir().expect("a folder");
    let (url, mut calls) = dying_shop().await;
    let (gateway, visitor) = guarded(&data, &url, &[]).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    for method in ["GET", "POST"] {
        let lost = visitor.ask(with_pass(call(method, "/"), &pass)).await;
        lost.problem(502, "shop_unanswered");
        assert_eq!(lost.header("retry-after"), "5");
        assert!(calls.recv().await.is_some());
        assert!(calls.try_recv().is_err(), "{method} was sent once");
    }
    let page = with_pass(call("GET", "/").header("accept", PAGE), &pass);
    let page = visitor.ask(page).await;
    assert_eq!(
        (page.status, page.media()),
        (502, "text/html; charset=utf-8")
    );

    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let away = format!("http://{}", nobody.local_addr().expect("an address"));
    drop(nobody);
    let data = tempfile::tempdir().expect("a folder");
    let (gateway, visitor) = guarded(&data, &away, &[]).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    let ready = async || gateway.ready().await.to_string();
    for asked in 1..=3 {
        assert!(!ready().await.contains("guarded shop"), "after {asked}");
        let away = visitor.ask(with_pass(call("POST", "/"), &pass)).await;
        away.problem(502, "shop_unreachable");
    }
    let told = ready().await;
    for word in ["the guarded shop did not answer", "FAIRGATE_GUARD_ORIGIN"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lobby_leads_back_to_the_page_of_the_shop_and_nowhere_else() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, _) = ForeignShop::start().await;
    let (gateway, _) = guarded(&data, &shop.url, &[]).await;
    open_room(&gateway, "demo").await;
    open_room(&gateway, "other").await;
    let page = async |path: &str| {
        let page = gateway.get(path).await.text();
        page.replace("&#x2f;", "/")
    };
    let link = |path: &str| format!("href=\"http://127.0.0.1:8081{path}\"");
    let told = page("/r/demo?to=%2Fbasket%3Fitem%3D1").await;
    assert!(told.contains(&link("/basket?item=1")), "{told}");
    assert!(
        told.contains("name=\"to\" value=\"/basket?item=1\""),
        "{told}"
    );
    assert!(page("/r/demo").await.contains(&link("/")));
    for evil in [
        "https://evil.example",
        ".evil.example/",
        "@evil.example",
        "/%5Cevil.example",
    ] {
        let told = page(&format!("/r/demo?to={evil}")).await;
        assert!(told.contains(&link("/")), "{evil}: {told}");
    }
    let other = page("/r/other?to=%2Fbasket").await;
    assert!(
        !other.contains("8081") && !other.contains("name=\"to\""),
        "{other}"
    );

    let form = call("POST", "/r/demo/join")
        .raw("to=%2Fbasket%3Fitem%3D1")
        .header("cookie", "fgc_ok=1")
        .header("content-type", "application/x-www-form-urlencoded");
    let joined = gateway.ask(form).await;
    assert_eq!(joined.header("location"), "/r/demo?to=%2Fbasket%3Fitem%3D1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_drains_with_its_gateway() {
    let data = tempfile::tempdir().expect("a folder");
    let (shop, _) = ForeignShop::start().await;
    let (mut gateway, visitor) = guarded(&data, &shop.url, &[]).await;
    visitor.ask(call("GET", "/")).await;
    timeout(Duration::from_secs(30), gateway.stop())
        .await
        .expect("it ends");
    assert!(visitor.try_ask(call("GET", "/")).await.is_err());
}

//! Tests which baskets lapse early: only those of visitors who closed their page and did not come
//! back. All others last to their deadline.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    Browser, Live, PATIENCE, Promoter, Server, TestAnswer, TestShop, Visitor, until, until_within,
    within,
};

/// The shortest `away_s` that a room can have.
pub const AWAY_S: u64 = 10;
/// Sockets that close this far apart do not close for the same reason.
pub const APART: Duration = Duration::from_millis(2_500);

async fn sale(server: &Server) {
    let room = json!({"method": "fifo", "away_s": AWAY_S});
    let promoter = Promoter::of(server);
    promoter.on_sale("4x10", json!({}), room).await;
    promoter.draw("sale").await;
}

async fn hold(server: &Server, who: &Visitor<'_>, seat: &str) -> String {
    let wish = json!({ "seats": [seat] });
    let held = server.try_hold(who, "night", &wish).await.is(201);
    assert_eq!(held["away_s"], AWAY_S, "the answer tells the rule: {held}");
    held["hold"].as_str().expect("an id").to_owned()
}

/// Returns the status of a read of a hold. Like every call with a pass, the read counts as a sign
/// of its visitor.
async fn status_of(who: &Visitor<'_>, hold: &str) -> u16 {
    let path = format!("/v1/holds/{hold}");
    who.send(Method::GET, &path, &Value::Null).await.status
}

/// Waits until this time has passed since a moment.
pub async fn passed(since: Instant, time: Duration) {
    until_within("the time has passed", time + PATIENCE, async || {
        (since.elapsed() >= time).then_some(())
    })
    .await;
}

/// Opens the socket of a visitor. When its first frame is here, the server counts the socket.
async fn open(who: &Visitor<'_>) -> Live {
    let mut socket = Live::open(who).await;
    socket.text("place").await;
    socket
}

/// Closes sockets, waits until the server has seen it, and then until sockets that close next do
/// not seem to close together with these. Returns when the server had seen it.
async fn closes(server: &Server, sockets: impl IntoIterator<Item = Live>) -> Instant {
    let before = open_sockets(server).await;
    let count = sockets.into_iter().map(drop).count();
    wait_until_closed(server, before - count).await
}

/// Waits until the server counts so many sockets as open, as [`closes`] does.
async fn wait_until_closed(server: &Server, left: usize) -> Instant {
    let seen = async || (open_sockets(server).await <= left).then_some(());
    until("the server has seen that the sockets closed", seen).await;
    let seen_at = Instant::now();
    passed(seen_at, APART).await;
    seen_at
}

/// Returns how many sockets the server counts as open.
async fn open_sockets(server: &Server) -> usize {
    let read = TestAnswer::of(server.http.get(server.at("/metrics"))).await;
    let text = read.expect("an answer").text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("fairgate_sockets "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Lets visitors make a basket and close their page, one after the other, until the basket of one
/// has lapsed. If another socket closes at the same moment, the server cannot know which visitor is
/// gone, so the next one tries it.
pub async fn wait_for_one_to_lapse(server: &Server, seats: [&str; 3]) {
    for seat in seats {
        let mut who = Visitor::joined(server, "sale").await;
        who.claim().await;
        let socket = open(&who).await;
        hold(server, &who, seat).await;
        closes(server, [socket]).await;
        let free = async || is_free(server, seat).await.then_some(());
        if within(Duration::from_secs(AWAY_S + 20), free)
            .await
            .is_some()
        {
            return;
        }
    }
    panic!("no basket has lapsed: {seats:?}");
}

pub async fn is_free(server: &Server, seat: &str) -> bool {
    let read = server.http.get(server.at("/v1/shows/night/seats"));
    let read = TestAnswer::of(read.header("accept", "application/json")).await;
    let seats = read.expect("an answer").is(200);
    seats["unavailable"].get(seat).is_none()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_basket_of_a_visitor_who_closed_the_page_lapses_early() {
    let server = Server::start().await;
    sale(&server).await;
    let mut names = Vec::new();
    for _ in 0..5 {
        let mut who = Visitor::joined(&server, "sale").await;
        who.claim().await;
        names.push(who);
    }
    let [gone, stays, program, buyer, two_tabs] = &names[..] else {
        panic!("five visitors");
    };
    let (mut of_gone, _of_stays, of_buyer) =
        (open(gone).await, open(stays).await, open(buyer).await);
    let (first_tab, _other_tab) = (open(two_tabs).await, open(two_tabs).await);
    // A program that had a socket only before it made its basket.
    closes(&server, [open(program).await]).await;
    let mut holds = Vec::new();
    for (who, seat) in names.iter().zip(["A-1", "A-2", "A-3", "A-4", "A-5"]) {
        holds.push(hold(&server, who, seat).await);
    }
    buyer.post("place/checkout", &Value::Null).await.is(204);
    // The visitors leave one after the other. If they all left together, it would look as if
    // something in front of the server had died.
    for socket in [of_buyer, first_tab] {
        closes(&server, [socket]).await;
    }
    let left_at = Instant::now();
    let left = open_sockets(&server).await - 1;
    of_gone.hang_up().await;
    wait_until_closed(&server, left).await;
    until("the seat of the visitor who left is free", async || {
        is_free(&server, "A-1").await.then_some(())
    })
    .await;
    let after = left_at.elapsed();
    assert!(
        after >= Duration::from_secs(AWAY_S),
        "the basket lapsed after {after:?}"
    );
    assert_eq!(status_of(gone, &holds[0]).await, 410);
    for (at, seat) in (1..5).zip(["A-2", "A-3", "A-4", "A-5"]) {
        assert!(!is_free(&server, seat).await, "{seat} is still held");
        assert_eq!(status_of(&names[at], &holds[at]).await, 200, "{seat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_back_in_time_or_is_cut_off_with_others_keeps_the_basket() {
    let server = Server::start().await;
    sale(&server).await;
    let mut names = Vec::new();
    for _ in 0..6 {
        let mut who = Visitor::joined(&server, "sale").await;
        who.claim().await;
        names.push(who);
    }
    let mut sockets = Vec::new();
    let mut holds = Vec::new();
    for (who, seat) in names.iter().zip(["A-1", "A-2", "A-3", "A-4", "A-5", "A-6"]) {
        sockets.push(open(who).await);
        holds.push(hold(&server, who, seat).await);
    }
    // One visitor leaves for good, and another one comes back.
    for _ in 0..2 {
        closes(&server, [sockets.remove(0)]).await;
    }
    let _back = open(&names[0]).await;
    // The sockets of all others close together, as if a proxy died.
    let cut_at = closes(&server, sockets).await;
    until("the seat of the visitor who left is free", async || {
        is_free(&server, "A-2").await.then_some(())
    })
    .await;
    passed(cut_at, Duration::from_secs(AWAY_S + 10)).await;
    for (at, seat) in [(0, "A-1"), (2, "A-3"), (3, "A-4"), (4, "A-5"), (5, "A-6")] {
        assert!(!is_free(&server, seat).await, "{seat} is still held");
        assert_eq!(status_of(&names[at], &holds[at]).await, 200, "{seat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_says_when_a_basket_lapses_and_the_checkout_keeps_it() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    sale(&server).await;
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    ana.until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    ana.click("#turn").await;
    ana.until::<bool>("document.querySelector('#place').dataset.state === 'admitted'")
        .await;
    ana.go(&server.at("/s/night")).await;
    ana.until::<bool>("window.fairgate?.stateOf('A-1') !== undefined")
        .await;
    ana.click("#best-find").await;
    let said: String = ana
        .until("!document.querySelector('#held').hidden && document.querySelector('#held-away').innerText")
        .await;
    assert!(said.contains("10 s"), "{said}");
    ana.picture("5-seats-held-away").await;
    let seat: String = ana
        .until("document.querySelector('#held-seats li').dataset.seat")
        .await;
    ana.click("#to-checkout").await;
    ana.until::<bool>("document.querySelector('#buyer-form:not([hidden])') !== null")
        .await;
    passed(Instant::now(), APART).await;
    wait_for_one_to_lapse(&server, ["D-1", "D-2", "D-3"]).await;
    assert!(!is_free(&server, &seat).await, "the page is open");
    ana.run("const name = document.querySelector('#buyer-name'); name.value = 'Ana'; name.dispatchEvent(new Event('input', { bubbles: true })); undefined")
        .await;
    ana.until::<bool>("performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/place/checkout'))")
        .await;
    ana.go("about:blank").await;
    passed(Instant::now(), APART).await;
    wait_for_one_to_lapse(&server, ["D-4", "D-5", "D-6"]).await;
    assert!(!is_free(&server, &seat).await, "the basket is in checkout");
    ana.close("Ana").await;
}

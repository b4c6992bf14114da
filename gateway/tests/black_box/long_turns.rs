//! Tells stories of people who take their time in a browser. They lose neither their pass nor their
//! basket before its time. The stories take seconds, in rooms with the shortest times that a room
//! can have. If `FAIRGATE_WHOLE_TURNS` is 1, they take minutes, in rooms with the usual times.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, until};
use crate::left_baskets::{APART, AWAY_S, is_free, passed, wait_for_one_to_lapse};

/// The shortest `pass_idle_s` that a room can have, and the usual one.
const IDLE_S: [u64; 2] = [10, 120];
/// The first field of the checkout is filled in, and the server knows it.
const IN_CHECKOUT: &str =
    "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/place/checkout'))";
/// Counts how often the page asks whether somebody is still there.
const COUNT_QUESTIONS: &str = "(() => {
    let isAsked = false;
    window.questions = 0;
    new MutationObserver(() => {
        const wasAsked = isAsked;
        isAsked = document.querySelector('#still') !== null;
        if (isAsked && !wasAsked) window.questions += 1;
    }).observe(document, { childList: true, subtree: true });
})()";

/// Returns whether the stories have their whole length.
fn is_whole() -> bool {
    std::env::var("FAIRGATE_WHOLE_TURNS").is_ok_and(|set| set == "1")
}

/// Returns the time of the short form or of the whole story, in seconds.
fn of([short, whole]: [u64; 2]) -> u64 {
    if is_whole() { whole } else { short }
}

/// Returns more than twice the time after which a pass ends whose holder does nothing.
fn twice_idle() -> Duration {
    Duration::from_secs(of(IDLE_S) * 21 / 10)
}

/// Returns a pause of somebody who does something once in a while. The question comes later.
fn pause() -> Duration {
    Duration::from_secs(of(IDLE_S) * 2 / 5)
}

/// Tells a figure of a whole story. The short form proves less, and tells none.
fn tell(figure: &str) {
    if is_whole() {
        eprintln!("FIGURE {figure}");
    }
}

/// Puts a show on sale, with a room whose line is drawn.
async fn sale(server: &Server, show: Value, mut room: Value) {
    room["method"] = json!("fifo");
    if !is_whole() {
        room["pass_idle_s"] = json!(of(IDLE_S));
    }
    let promoter = Promoter::of(server);
    promoter.on_sale("4x10", show, room).await;
    promoter.draw("sale").await;
}

/// Takes a visitor from the lobby to the page of the show. Returns until when the pass is valid.
async fn goes_in(who: &Browser, server: &Server) -> String {
    who.run_first(COUNT_QUESTIONS).await;
    who.go(&server.at("/r/sale")).await;
    who.click("#join").await;
    who.until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    who.click("#turn").await;
    who.until::<bool>("document.querySelector('#place').dataset.state === 'admitted'")
        .await;
    who.go(&server.at("/s/night")).await;
    sees_seats(who).await;
    pass_of(who).await
}

async fn sees_seats(who: &Browser) {
    who.until::<bool>("window.fairgate?.stateOf('A-1') !== undefined")
        .await;
}

/// Returns until when the pass that the browser knows is valid. A page forgets a pass that ended.
async fn pass_of(who: &Browser) -> String {
    who.until("JSON.parse(localStorage.getItem('fairgate.room.sale')).pass_until")
        .await
}

/// Returns how often this page has asked whether somebody is still there.
async fn questions_of(who: &Browser) -> u64 {
    let words: String = who.until("String(window.questions)").await;
    words.parse().expect("a number")
}

/// Has the two best seats held, and returns one of them.
async fn holds_seats(who: &Browser) -> String {
    who.click("#best-find").await;
    held_seat(who).await
}

async fn held_seat(who: &Browser) -> String {
    who.until("!document.querySelector('#held').hidden && document.querySelector('#held-seats li').dataset.seat")
        .await
}

/// Goes to the checkout and fills in its first field.
async fn begins_checkout(who: &Browser) {
    who.click("#to-checkout").await;
    fills_in_name(who).await;
}

async fn fills_in_name(who: &Browser) {
    who.until::<bool>("document.querySelector('#buyer-form:not([hidden])') !== null")
        .await;
    who.fill("#buyer-name", "Ana Fan").await;
    who.until::<bool>(IN_CHECKOUT).await;
}

/// Fills in the rest of the checkout, and orders. The page of the order then asks for the money.
async fn orders(who: &Browser) {
    who.fill("#buyer-email", "ana@example.org").await;
    who.click("#pay").await;
    who.until::<bool>(
        "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
    )
    .await;
}

/// Pays the order, and waits for its two tickets.
async fn pays(who: &Browser) {
    who.click("#approve").await;
    who.until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
}

/// Does something again and again, each time after a pause, until this time has passed. Returns how
/// often.
async fn again_and_again(
    lasts: Duration,
    pause: Duration,
    mut act: impl AsyncFnMut(usize),
) -> usize {
    let since = Instant::now();
    let mut acts = 0;
    while since.elapsed() < lasts {
        passed(Instant::now(), pause).await;
        act(acts).await;
        acts += 1;
    }
    acts
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_reads_the_list_of_seats_by_keyboard_keeps_the_turn() {
    let (Some(by_keys), Some(by_reader)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::start().await;
    sale(&server, json!({}), json!({})).await;
    let mut passes = Vec::new();
    for who in [&by_keys, &by_reader] {
        passes.push(goes_in(who, &server).await);
        who.click("#seat-list summary").await;
        who.until::<bool>("document.querySelector('#seat-list [data-seat=\"A-1\"]') !== null")
            .await;
    }
    let each = Duration::from_secs(of(IDLE_S)) / 6;
    let keys = again_and_again(twice_idle(), each, async |nth| {
        by_keys.press_key(["Tab", "ArrowDown"][nth % 2]).await;
    });
    // The page does not see the keys of a screen reader, and learns only that the focus moves.
    let moves = again_and_again(twice_idle(), each, async |nth| {
        let seat = format!("#seat-list [data-seat='A-{}']", nth % 10 + 1);
        by_reader.focus_unseen(&seat).await;
    });
    let (keys, moves) = tokio::join!(keys, moves);
    for (who, pass) in [&by_keys, &by_reader].into_iter().zip(passes) {
        who.until::<bool>("document.activeElement.closest('#seat-list') !== null")
            .await;
        assert_eq!(pass_of(who).await, pass, "it is still the first pass");
        holds_seats(who).await;
    }
    tell(&format!(
        "{keys} keys, and {moves} moves of the focus alone, kept two passes for {} s",
        twice_idle().as_secs()
    ));
    by_keys.close("the reader with keys").await;
    by_reader.close("the reader with a screen reader").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_that_is_in_the_app_of_the_bank_comes_back_to_its_order() {
    let (Some(closes), Some(sleeps)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::start().await;
    sale(&server, json!({}), json!({ "away_s": AWAY_S })).await;
    for who in [&closes, &sleeps] {
        goes_in(who, &server).await;
        who.become_phone().await;
        holds_seats(who).await;
        begins_checkout(who).await;
    }
    // One phone stops the page on which it pays. The other one closes its page in the checkout.
    orders(&sleeps).await;
    sleeps
        .run("document.addEventListener('freeze', () => { window.slept = true; }); undefined")
        .await;
    sleeps.fall_asleep().await;
    passed(Instant::now(), APART).await;
    let checkout: String = closes.until("location.href").await;
    closes.go("about:blank").await;
    let left_at = Instant::now();
    passed(left_at, APART).await;
    wait_for_one_to_lapse(&server, ["D-1", "D-2", "D-3"]).await;
    passed(left_at, Duration::from_secs(of([0, 180]))).await;
    let away_s = left_at.elapsed().as_secs();
    assert!(away_s > AWAY_S, "the phones were away for {away_s} s");

    sleeps.wake_up().await;
    sleeps.until::<bool>("window.slept").await;
    pays(&sleeps).await;
    closes.go(&checkout).await;
    fills_in_name(&closes).await;
    orders(&closes).await;
    let order: String = closes.until("location.href").await;
    closes.go("about:blank").await;
    closes.go(&order).await;
    pays(&closes).await;
    tell(&format!(
        "tickets after {away_s} s in another app, away_s {AWAY_S}"
    ));
    closes.close("the phone that closed the page").await;
    // The browser may close the socket of a page that it keeps, and says so.
    let complaints = sleeps.end().await;
    let is_of_sleep = |complaint: &String| complaint.contains("Back-Forward Cache");
    assert!(complaints.iter().all(is_of_sleep), "{complaints:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_scripts_keeps_its_turn_by_reading_and_its_basket_without_a_socket() {
    let Some(reader) = Browser::without_scripts().await else {
        return;
    };
    let server = Server::start().await;
    let hold_s = of([20, 300]);
    let short = json!({"hold_s": hold_s, "grace_s": 1});
    let show = if is_whole() { json!({}) } else { short };
    let away_s = of([AWAY_S, 60]);
    sale(&server, show, json!({ "away_s": away_s })).await;
    reader.go(&server.at("/r/sale")).await;
    reader.press("#join").await;
    until("the turn is on the page", async || {
        reader.press("#check-place").await;
        let has_turn = reader.has("#turn-form:not([hidden])").await;
        has_turn.then_some(())
    })
    .await;
    reader.press("#turn").await;
    reader
        .shows("#go-seats:not([hidden]) a", |text| !text.is_empty())
        .await;
    let reads = again_and_again(twice_idle(), pause(), async |nth| {
        let page = ["/s/night", "/s/night?free=all"][nth % 2];
        reader.go(&server.at(page)).await;
    })
    .await;
    reader.go(&server.at("/s/night")).await;
    reader.enter("#plain-seats", "A-1").await;
    let held_at = Instant::now();
    reader.press("#plain-hold").await;
    reader
        .shows("#plain-seats", |html| html.contains("A-1"))
        .await;
    // Nobody does anything now, and there is no socket that could close.
    passed(held_at, Duration::from_secs(hold_s - 2)).await;
    assert!(!is_free(&server, "A-1").await, "the basket lapsed early");
    until("the basket's time is over", async || {
        is_free(&server, "A-1").await.then_some(())
    })
    .await;
    assert!(held_at.elapsed() >= Duration::from_secs(hold_s));
    tell(&format!(
        "{reads} pages without scripts kept a pass for {} s; its basket lasted {} of {hold_s} s, away_s {away_s}",
        twice_idle().as_secs(),
        held_at.elapsed().as_secs()
    ));
    reader.close("without scripts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_tabs_is_enough_to_keep_the_turn_and_the_basket() {
    let Some(mut ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    sale(&server, json!({}), json!({ "away_s": AWAY_S })).await;
    let pass = goes_in(&ana, &server).await;
    // Nobody does anything in the first tab from here on.
    ana.open_tab(&server.at("/s/night")).await;
    sees_seats(&ana).await;
    again_and_again(twice_idle(), pause(), async |_| ana.press_key("Tab").await).await;
    assert_eq!(pass_of(&ana).await, pass, "it is still the first pass");
    let seat = holds_seats(&ana).await;

    ana.change_tab().await;
    assert_eq!(held_seat(&ana).await, seat, "the first tab has the basket");
    ana.until::<bool>(
        "document.querySelector('#problem').hidden && !document.querySelector('#still')",
    )
    .await;
    // A page that nobody sees does not read its basket again. A browser without a window shows all.
    ana.run("Object.defineProperty(document, 'visibilityState', { value: 'hidden' }); undefined")
        .await;
    ana.change_tab().await;
    ana.close_tab().await;
    let closed_at = Instant::now();
    passed(closed_at, APART).await;
    wait_for_one_to_lapse(&server, ["D-1", "D-2", "D-3"]).await;
    assert!(!is_free(&server, &seat).await, "a tab is open");
    begins_checkout(&ana).await;
    orders(&ana).await;
    pays(&ana).await;
    tell(&format!(
        "a tab in which nobody did anything for {} s bought, {} s after the other one was closed",
        twice_idle().as_secs(),
        closed_at.elapsed().as_secs()
    ));
    ana.close("Ana").await;
}

/// Scrolls, or moves the focus.
async fn looks_around(who: &Browser, nth: usize) {
    match nth % 3 {
        0 => scrolls(who, nth.is_multiple_of(2)).await,
        1 => who.press_key("Tab").await,
        _ => who.press_key("ArrowDown").await,
    }
}

/// Scrolls the page with a finger, down or up.
async fn scrolls(who: &Browser, down: bool) {
    let (from, to) = if down { (600.0, 300.0) } else { (300.0, 600.0) };
    let middle = f64::midpoint(from, to);
    who.touch((20.0, from), &[(20.0, middle), (20.0, to)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_chooses_slowly_has_the_whole_pass_to_do_so() {
    let Some(slow) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    sale(&server, json!({}), json!({"pass_s": 1_200})).await;
    let pass = goes_in(&slow, &server).await;
    slow.become_phone().await;
    let chooses = Duration::from_secs(of([30, 480]));
    let looks = again_and_again(chooses, pause(), async |nth| looks_around(&slow, nth).await).await;
    let questions = questions_of(&slow).await;
    // A longer pause brings the question, which a finger answers that scrolls.
    passed(Instant::now(), Duration::from_secs(of([5, 90]))).await;
    slow.until::<bool>("document.querySelector('#still[open]') !== null")
        .await;
    scrolls(&slow, true).await;
    slow.until::<bool>("document.querySelector('#still') === null")
        .await;
    passed(Instant::now(), pause()).await;
    assert_eq!(pass_of(&slow).await, pass, "it is still the first pass");
    holds_seats(&slow).await;
    begins_checkout(&slow).await;
    orders(&slow).await;
    pays(&slow).await;
    tell(&format!(
        "bought after {} s of choosing with {looks} looks, asked {questions} times, and once more in a longer pause",
        chooses.as_secs()
    ));
    slow.close("the slow chooser").await;
}

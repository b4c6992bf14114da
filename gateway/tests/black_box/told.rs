//! Tests what visitors are told without asking: a lost seat, a sold-out show, the end of the call,
//! more time, and what screen readers announce.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestShop, Visitor, until};

/// Records each announcement, and when an element was shown or changed.
const WATCH: &str = "window.said = []; window.shownAt = {};
    new MutationObserver(() => said.push({ at: performance.now(), text: document.querySelector('#say').textContent })).observe(document.querySelector('#say'), { childList: true, subtree: true });
    for (const id of ['rank', 'message', 'place', 'lost', 'room-closed']) {
        const part = document.getElementById(id);
        if (part) new MutationObserver(() => { shownAt[id] = performance.now(); }).observe(part, { attributes: true, childList: true, subtree: true, characterData: true });
    }
    undefined";

/// Waits until these words were announced. They must have been announced within 2 s of the moment
/// when the page showed the part.
async fn said_soon(browser: &Browser, words: &str, part: &str) {
    let at = format!(
        "(() => {{ const one = said.find(({{ text }}) => text.includes({})); return one && {{ late: one.at - shownAt['{part}'] }}; }})()",
        json!(words)
    );
    let said: Value = browser.until(&at).await;
    let late = said["late"].as_f64().expect("the part was shown");
    assert!(late <= 2_000.0, "“{words}” was announced {late} ms later");
}

fn state(state: &str) -> String {
    format!("document.querySelector('#place').dataset.state === '{state}'")
}

async fn admit(browser: &Browser, server: &Server, promoter: &Promoter<'_>) {
    browser.go(&server.at("/r/sale")).await;
    browser.click("#join").await;
    browser.until::<bool>(&state("waiting_prequeue")).await;
    promoter.draw("sale").await;
    browser.click("#turn").await;
    browser.until::<bool>(&state("admitted")).await;
}

async fn open_seats(browser: &Browser, server: &Server) {
    browser.go(&server.at("/s/night")).await;
    browser
        .until::<bool>("window.fairgate?.stateOf('A-1') !== undefined && document.querySelector('#freshness').dataset.phase === 'selling'")
        .await;
}

/// Holds seats of the night, and returns the hold.
async fn hold(server: &Server, who: &Visitor<'_>, seats: &[&str]) -> Value {
    let wish = json!({ "seats": seats });
    server.try_hold(who, "night", &wish).await.is(201)
}

/// Holds and orders seats of the night, and returns the order.
async fn order(server: &Server, who: &Visitor<'_>, seats: &[&str]) -> Value {
    let held = hold(server, who, seats).await;
    server.checkout(who, &held).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draw_a_message_and_a_pause_are_announced_within_two_seconds() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    // Nobody is called, so that the line can be paused while Ana waits.
    let room = json!({"per_s": 0.001, "max_inside": 1});
    promoter.on_sale("4x10", json!({}), room).await;
    for _ in 0..3 {
        Visitor::joined(&server, "sale").await;
    }
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    ana.until::<bool>(&state("waiting_prequeue")).await;
    ana.until::<bool>("document.querySelector('#live:not([hidden])') !== null")
        .await;
    ana.run(WATCH).await;
    promoter
        .patch(
            "rooms/sale",
            &json!({"message": "The doors open at seven."}),
        )
        .await
        .is(200);
    said_soon(&ana, "The doors open at seven.", "message").await;
    promoter.draw("sale").await;
    said_soon(&ana, "Your rank is", "rank").await;
    promoter
        .patch("rooms/sale", &json!({"paused": true}))
        .await
        .is(200);
    said_soon(&ana, "paused", "place").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chosen_seat_that_somebody_takes_is_told_with_a_suggestion_that_can_be_taken() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    admit(&ana, &server, &promoter).await;
    let ben = Visitor::admitted(&server, "sale").await;
    open_seats(&ana, &server).await;
    ana.click("#seat-list summary").await;
    for seat in ["A-3", "A-4"] {
        ana.click(&format!("#seat-list input[data-seat='{seat}']"))
            .await;
    }
    ana.run(WATCH).await;
    hold(&server, &ben, &["A-3"]).await;
    ana.until::<bool>("!document.querySelector('#lost').hidden")
        .await;
    let told: String = ana
        .until("document.querySelector('#lost-what').textContent")
        .await;
    assert!(told.contains("A-3") && !told.contains("A-4"), "{told}");
    said_soon(&ana, "A-3 has just been taken", "lost").await;
    ana.picture("seats-lost").await;
    let offer: String = ana
        .until("document.querySelector('#lost-take').textContent")
        .await;
    assert!(offer.contains("A-4") && offer.contains("A-5"), "{offer}");
    // Somebody takes a suggested seat, too. Then others are suggested.
    hold(&server, &ben, &["A-5"]).await;
    ana.until::<bool>("!document.querySelector('#lost-take').textContent.includes('A-5')")
        .await;
    ana.click("#lost-take").await;
    ana.until::<bool>("document.querySelectorAll('#held-seats li').length === 2")
        .await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_page_of_a_sold_out_show_says_so_with_and_without_scripts() {
    let (Some(ana), Some(plain)) = (Browser::open().await, Browser::without_scripts().await) else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("1x2", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ben = Visitor::admitted(&server, "sale").await;
    ana.go(&server.at("/s/night")).await;
    ana.until::<bool>("window.fairgate?.stateOf('A-1') !== undefined")
        .await;
    let told = "!document.querySelector('#sold-out').hidden";
    ana.until::<bool>("document.querySelector('#sold-out').hidden")
        .await;
    let order = order(&server, &ben, &["A-1", "A-2"]).await;
    server.pay(&order, "approve").await.is(200);
    server.order_in(&order, "ticketed").await;
    ana.until::<bool>(told).await;
    ana.until::<bool>("document.querySelector('#pick').hidden && document.querySelector('#say').textContent.includes('This show is sold out.')")
        .await;
    ana.picture("seats-sold-out").await;
    until("the page without scripts says so", async || {
        let page = server.get("/s/night").await.text();
        let shown = page.split_once("id=\"sold-out\"")?.1.split_once('>')?.0;
        // A form that finds nothing is not offered.
        (!shown.contains("hidden") && !page.contains("id=\"plain-form\"")).then_some(())
    })
    .await;
    plain.go(&server.at("/s/night")).await;
    plain.picture("seats-sold-out-plain").await;
    ana.close("Ana").await;
    plain.close("a browser without scripts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_time_of_a_call_the_lobby_says_that_it_is_still_the_visitors_turn() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"claim_s": 6});
    promoter.on_sale("4x10", json!({}), room).await;
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    ana.until::<bool>(&state("waiting_prequeue")).await;
    promoter.draw("sale").await;
    ana.until::<bool>(&state("called")).await;
    let left: String = ana
        .until("document.querySelector('#claim-clock').textContent")
        .await;
    assert!(left.contains("within 0:0"), "{left}");
    ana.until::<bool>(&state("called_late")).await;
    ana.until::<bool>("document.querySelector('#claim-before').hidden")
        .await;
    ana.picture("lobby-called-late").await;
    // A page that is opened later says the same, and the turn is still the visitor's.
    ana.go(&server.at("/r/sale")).await;
    ana.until::<bool>(&state("called_late")).await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_time_is_offered_in_the_last_two_minutes_only() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let show = json!({"hold_s": 126, "extensions": 1});
    promoter.on_sale("4x10", show, json!({})).await;
    ana.become_phone().await;
    admit(&ana, &server, &promoter).await;
    open_seats(&ana, &server).await;
    ana.click("#best-find").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    let visibility = "getComputedStyle(document.querySelector('#extend')).visibility";
    let first: String = ana.until(visibility).await;
    assert_eq!(first, "hidden", "more than two minutes are left");
    ana.until::<bool>(&format!("{visibility} === 'visible'"))
        .await;
    let spot: (f64, f64) = ana
        .until("(() => { const button = document.querySelector('#extend'); button.scrollIntoView({ block: 'center', behavior: 'instant' }); const { x, y, width, height } = button.getBoundingClientRect(); return [x + width / 2, y + height / 2]; })()")
        .await;
    ana.click_at(spot).await;
    ana.until::<bool>(&format!("{visibility} === 'hidden'"))
        .await;
    // A second press on the same spot hits no button, because no other has moved there.
    let (x, y) = spot;
    ana.until::<bool>(&format!(
        "document.elementFromPoint({x}, {y}).closest('.held') && !document.elementFromPoint({x}, {y}).closest('button, a')"
    ))
    .await;
    let clock: String = ana
        .until("document.querySelector('#held-clock').textContent")
        .await;
    assert!(clock.contains("2:0"), "{clock}");
    ana.picture("seats-more-time-taken").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_and_the_end_of_the_room_are_told_to_those_who_choose_seats() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    admit(&ana, &server, &promoter).await;
    open_seats(&ana, &server).await;
    ana.run(WATCH).await;
    let news = json!({"message": "The doors open at seven.", "paused": true});
    promoter.patch("rooms/sale", &news).await.is(200);
    said_soon(&ana, "The doors open at seven.", "message").await;
    // A pause stops those who are not in yet. Who is in goes on choosing.
    ana.until::<bool>(
        "!document.querySelector('#message').hidden && !document.querySelector('#pick').hidden",
    )
    .await;
    promoter.post("rooms/sale/close").await.is(200);
    let closed = Instant::now();
    ana.until::<bool>(
        "!document.querySelector('#room-closed').hidden && document.querySelector('#pick').hidden",
    )
    .await;
    assert!(closed.elapsed().as_secs() < 3, "{:?}", closed.elapsed());
    said_soon(&ana, "This on-sale is over", "room-closed").await;
    ana.picture("seats-room-closed").await;
    // A page that is opened later says the same.
    ana.go(&server.at("/s/night")).await;
    ana.until::<bool>("window.fairgate && !document.querySelector('#room-closed').hidden && document.querySelector('#pick').hidden")
        .await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_of_a_room_that_closes_is_ordered_and_paid() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    admit(&ana, &server, &promoter).await;
    open_seats(&ana, &server).await;
    ana.click("#best-find").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    promoter.post("rooms/sale/close").await.is(200);
    ana.until::<bool>(
        "!document.querySelector('#room-closed').hidden && !document.querySelector('#held').hidden",
    )
    .await;
    ana.click("#to-checkout").await;
    ana.until::<bool>("document.querySelector('#total').textContent !== ''")
        .await;
    ana.fill("#buyer-name", "Ana Fan").await;
    ana.fill("#buyer-email", "ana@example.org").await;
    ana.click("#pay").await;
    ana.until::<bool>(
        "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
    )
    .await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_who_may_go_in_is_told_that_no_seats_are_left() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("1x2", json!({}), json!({})).await;
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    ana.until::<bool>(&state("waiting_prequeue")).await;
    promoter.draw("sale").await;
    ana.until::<bool>(&state("called")).await;
    let ben = Visitor::admitted(&server, "sale").await;
    let order = order(&server, &ben, &["A-1", "A-2"]).await;
    server.pay(&order, "approve").await.is(200);
    promoter.phase("sale", "sold_out").await;
    ana.until::<bool>("!document.querySelector('#baskets').hidden && document.querySelector('#baskets').textContent.startsWith('No seats are left')")
        .await;
    ana.until::<bool>(
        "document.querySelector('#say').textContent.includes('No seats are left at the moment')",
    )
    .await;
    ana.picture("lobby-called-sold-out").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_time_is_offered_in_the_checkout_too() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let show = json!({"hold_s": 100, "extensions": 1});
    promoter.on_sale("4x10", show, json!({})).await;
    admit(&ana, &server, &promoter).await;
    open_seats(&ana, &server).await;
    ana.click("#best-find").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    ana.click("#to-checkout").await;
    ana.until::<bool>(
        "getComputedStyle(document.querySelector('#extend')).visibility === 'visible'",
    )
    .await;
    ana.until::<bool>("!document.querySelector('#basket').hidden && /1:[0-2]/.test(document.querySelector('#clock').textContent)")
        .await;
    ana.click("#extend").await;
    // The button keeps its space, so that no other button moves into it.
    ana.until::<bool>("getComputedStyle(document.querySelector('#extend')).visibility === 'hidden' && !document.querySelector('#extend').hidden && /1:[34]/.test(document.querySelector('#clock').textContent)")
        .await;
    ana.picture("15-checkout-more-time").await;
    ana.close("Ana").await;
}

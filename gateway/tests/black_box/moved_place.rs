//! Tests in two browsers that a place that a code brought to another device is whole there: the
//! turn, the pass, the basket and the order. The first device says that there is another one.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};

fn state(state: &str) -> String {
    format!("document.querySelector('#place').dataset.state === '{state}'")
}

/// Makes a link in the lobby of one browser, and uses it in another one.
async fn move_place(from: &Browser, to: &Browser) {
    from.click("#move-box summary").await;
    from.click("#move-make").await;
    let link: String = from
        .until("document.querySelector('#move-link').value")
        .await;
    to.go(&link).await;
    to.click("#move-use").await;
    to.until::<bool>("location.hash === ''").await;
    from.until::<bool>("!document.querySelector('#moved-away').hidden")
        .await;
}

/// Joins and waits for the place.
async fn join(browser: &Browser, server: &Server) {
    browser.go(&server.at("/r/sale")).await;
    browser.click("#join").await;
    browser.until::<bool>(&state("waiting_prequeue")).await;
}

/// Goes from the lobby to the seats and holds the two best ones.
async fn hold_two(browser: &Browser) {
    open_seats(browser).await;
    browser.click("#best-find").await;
    browser
        .until::<bool>("!document.querySelector('#held').hidden")
        .await;
}

/// Orders what is held.
async fn order(browser: &Browser) {
    browser.click("#to-checkout").await;
    browser
        .until::<bool>("document.querySelector('#total').textContent !== ''")
        .await;
    browser.fill("#buyer-name", "Ana Fan").await;
    browser.fill("#buyer-email", "ana@example.org").await;
    browser.click("#pay").await;
    browser
        .until::<bool>(
            "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
        )
        .await;
}

/// Orders what is held and pays for it.
async fn buy(browser: &Browser) {
    order(browser).await;
    browser.click("#approve").await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
}

/// Opens the page of the seats from the lobby.
async fn open_seats(browser: &Browser) {
    browser.click("#go-seats a").await;
    browser
        .until::<bool>("window.fairgate?.stateOf('A-1') !== undefined")
        .await;
}

/// Whether the page shows a basket of two seats.
const HOLDS_TWO: &str = "!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length === 2";

/// How soon an open page knows what the other device did.
const KNOWN_WITHIN: Duration = Duration::from_secs(8);

/// Waits until an expression is true in the page of the other device, which must be soon.
async fn known_soon(browser: &Browser, expression: &str) {
    let done = Instant::now();
    browser.until::<bool>(expression).await;
    assert!(done.elapsed() < KNOWN_WITHIN, "{:?}", done.elapsed());
}

async fn two_browsers() -> Option<(Browser, Browser)> {
    Some((Browser::open().await?, Browser::open().await?))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_moves_before_the_turn_goes_on_where_the_pass_was_not_claimed() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    move_place(&ana, &phone).await;
    ana.picture("lobby-moved-away").await;
    promoter.draw("sale").await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    phone.until::<bool>(&state("admitted")).await;
    hold_two(&phone).await;
    // The first device finds the basket of the second one.
    ana.click("#go-seats a").await;
    ana.until::<bool>("!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length === 2")
        .await;
    buy(&phone).await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_moves_at_the_turn_goes_on_on_both_devices() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    promoter.draw("sale").await;
    ana.until::<bool>(&state("called")).await;
    move_place(&ana, &phone).await;
    phone.click("#turn").await;
    phone.until::<bool>(&state("admitted")).await;
    ana.until::<bool>(&state("admitted")).await;
    // The first device chooses seats with the pass that the second one claimed.
    hold_two(&ana).await;
    phone.click("#go-seats a").await;
    phone
        .until::<bool>("!document.querySelector('#held').hidden")
        .await;
    phone.picture("seats-held-on-another-device").await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_moves_with_a_basket_is_bought_there_and_the_first_device_finds_the_order() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    promoter.draw("sale").await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    hold_two(&ana).await;
    ana.go(&server.at("/r/sale")).await;
    move_place(&ana, &phone).await;
    phone.until::<bool>(&state("admitted")).await;
    phone
        .until::<bool>(
            "document.querySelectorAll('#own-list a[href^=\"/checkout/\"]').length === 1",
        )
        .await;
    phone.picture("lobby-moved-with-a-basket").await;
    phone.click("#go-seats a").await;
    phone
        .until::<bool>("!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length === 2")
        .await;
    buy(&phone).await;
    // The first device is told, and opens the order and its tickets.
    ana.go(&server.at("/r/sale")).await;
    ana.click("#own-list a[href^=\"/o/\"]").await;
    ana.until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_moves_with_an_order_opens_the_order_there() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    promoter.draw("sale").await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    hold_two(&ana).await;
    order(&ana).await;
    ana.go(&server.at("/r/sale")).await;
    move_place(&ana, &phone).await;
    // The phone pays for the order of the first device, and gets the tickets.
    phone.click("#own-list a[href^=\"/o/\"]").await;
    phone.click("#approve").await;
    phone
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

/// Puts a place that is in on two devices.
async fn both_in(ana: &Browser, phone: &Browser, server: &Server) {
    let promoter = Promoter::of(server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(ana, server).await;
    move_place(ana, phone).await;
    promoter.draw("sale").await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    phone.until::<bool>(&state("admitted")).await;
}

/// Opens the lobby until it says that the order is complete. The room learns this at its next tick.
async fn lobby_after_order(browser: &Browser, server: &Server) {
    for _ in 0..100 {
        browser.go(&server.at("/r/sale")).await;
        let state: String = browser
            .until("document.querySelector('#place').dataset.state")
            .await;
        if state == "done" {
            return;
        }
    }
    panic!("the lobby never says that the order is complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_order_comes_to_another_device_by_way_of_the_lobby_that_its_page_names() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    promoter.draw("sale").await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    hold_two(&ana).await;
    buy(&ana).await;
    ana.until::<bool>("!document.querySelector('#bring-along').hidden && document.querySelector('#print-tickets').hidden")
        .await;
    // The order's address alone opens nothing on the phone.
    let order: String = ana.until("location.href").await;
    phone.go(&order).await;
    phone
        .until::<bool>("document.querySelector('#problem').dataset.code === 'order_key_required'")
        .await;
    ana.click("#to-lobby").await;
    ana.until::<bool>("location.pathname === '/r/sale'").await;
    lobby_after_order(&ana, &server).await;
    move_place(&ana, &phone).await;
    phone.click("#own-list a[href^=\"/o/\"]").await;
    phone
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    // The phone offers the same.
    phone.click("#to-lobby").await;
    phone
        .until::<bool>("document.querySelector('#place').dataset.state === 'done' && !document.querySelector('#move-box').hidden")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_seats_page_follows_the_basket_of_the_other_device() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    both_in(&ana, &phone, &server).await;
    open_seats(&phone).await;
    // The phone has chosen seats, which Ana's basket may take.
    phone.click("#seat-list summary").await;
    phone.click("#seat-list input[data-seat='A-5']").await;
    hold_two(&ana).await;
    known_soon(&phone, HOLDS_TWO).await;
    let said: String = phone
        .until("document.querySelector('#say').textContent")
        .await;
    assert!(!said.contains("taken by somebody else"), "{said}");
    phone
        .until::<bool>("document.querySelector('#say').textContent.includes('You already hold 2 seats') && document.querySelector('#pick').hidden")
        .await;
    phone.picture("seats-basket-appeared").await;
    phone.click("#release").await;
    known_soon(&ana, "document.querySelector('#held').hidden && document.querySelector('#problem').dataset.code === 'hold_released'").await;
    ana.until::<bool>("!document.querySelector('#pick').hidden")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_place_has_one_basket_even_if_the_second_device_asks_at_once() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    both_in(&ana, &phone, &server).await;
    open_seats(&phone).await;
    // The phone's page does not ask by itself, as right before the next time that it asks.
    phone
        .run("Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' }); undefined")
        .await;
    hold_two(&ana).await;
    phone.click("#best-find").await;
    phone
        .until::<bool>(&format!(
            "{HOLDS_TWO} && document.querySelector('#problem').dataset.code === 'held_elsewhere'"
        ))
        .await;
    let counts: String = phone
        .until("document.querySelector('#counts').textContent.includes('2 in baskets') && document.querySelector('#counts').textContent")
        .await;
    assert!(counts.contains("38 free"), "{counts}");
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seats_page_without_the_pass_gets_it_and_shows_the_basket_of_the_other_device() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    promoter.draw("sale").await;
    ana.until::<bool>(&state("called")).await;
    move_place(&ana, &phone).await;
    // An open lobby would fetch the pass that the other device claims.
    phone.go(&server.at("/")).await;
    ana.click("#turn").await;
    ana.until::<bool>(&state("admitted")).await;
    hold_two(&ana).await;
    phone.go(&server.at("/s/night")).await;
    known_soon(
        &phone,
        &format!("{HOLDS_TWO} && document.querySelector('#pick').hidden"),
    )
    .await;
    phone
        .until::<bool>("document.querySelector('#counts').textContent.includes('2 in baskets')")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_pages_say_that_the_basket_of_the_place_has_become_an_order() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    both_in(&ana, &phone, &server).await;
    open_seats(&phone).await;
    hold_two(&ana).await;
    known_soon(&phone, HOLDS_TWO).await;
    order(&ana).await;
    let told = "document.querySelector('#held').hidden && document.querySelector('#ordered').textContent.includes('are in your order') && document.querySelector('#ordered a').pathname.startsWith('/o/')";
    known_soon(&phone, told).await;
    let said: String = phone
        .until("document.querySelector('#say').textContent")
        .await;
    assert!(
        said.contains("are in your order") && !said.contains("You already hold"),
        "{said}"
    );
    phone.picture("seats-ordered-on-another-device").await;
    // The buyer's own device says the same when it comes back to the seats.
    ana.go(&server.at("/s/night")).await;
    ana.until::<bool>(told).await;
    phone.click("#ordered a").await;
    phone.click("#approve").await;
    phone
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_seats_page_says_that_the_other_device_gave_the_place_up() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    both_in(&ana, &phone, &server).await;
    open_seats(&ana).await;
    ana.until::<bool>("document.querySelector('#freshness').dataset.phase === 'selling'")
        .await;
    phone.click("#leave-box summary").await;
    phone.click("#leave").await;
    known_soon(&ana, "document.querySelector('#problem').dataset.code === 'pass_stopped' && document.querySelector('#problem a').pathname === '/r/sale' && document.querySelector('#pick').hidden")
        .await;
    ana.picture("seats-place-given-up").await;
    // The console notes that the socket of a place that has ended is refused.
    ana.end().await;
    phone.close("the phone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_was_given_up_on_one_device_is_not_offered_again_on_the_other() {
    let Some((ana, phone)) = two_browsers().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join(&ana, &server).await;
    move_place(&ana, &phone).await;
    // An open lobby would learn of the end by its socket.
    ana.go(&server.at("/")).await;
    phone.click("#leave-box summary").await;
    phone.click("#leave").await;
    phone.until::<bool>(&state("join_prequeue")).await;
    ana.go(&server.at("/r/sale")).await;
    ana.until::<bool>("document.querySelector('#problem').dataset.code === 'place_left'")
        .await;
    let join: String = ana
        .until("document.querySelector('#join').textContent.trim()")
        .await;
    assert_eq!(join, "Join");
    ana.picture("lobby-given-up-elsewhere").await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

//! Tests in two browsers that a place that a code brought to another device is whole there: the
//! turn, the pass, the basket and the order. The first device says that there is another one.

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
    browser.click("#go-seats a").await;
    browser
        .until::<bool>("window.fairgate?.stateOf('A-1') !== undefined")
        .await;
    browser.click("#best-find").await;
    browser
        .until::<bool>("!document.querySelector('#held').hidden")
        .await;
}

/// Orders what is held and pays for it.
async fn buy(browser: &Browser) {
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
    browser.click("#approve").await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
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

//! Checks a fan's pages for people whose system forces its own colours and stops motion, and for
//! people who need large text.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};

/// Returns what a person cannot see in forced colours: buttons without an edge, and chips whose
/// shape has no edge and the colour of the page.
const UNSEEN: &str = "[
    ...[...document.querySelectorAll('.button')].filter((one) => one.checkVisibility() && parseFloat(getComputedStyle(one).borderTopWidth) === 0),
    ...[...document.querySelectorAll('.chip .shape')].filter((one) => one.checkVisibility() && getComputedStyle(one).borderTopWidth === '0px'
        && getComputedStyle(one).backgroundColor === getComputedStyle(document.body).backgroundColor),
].map((one) => one.outerHTML).join('\\n') || 'nothing'";

/// Returns what still moves although the reader wants no motion.
const MOVING: &str = "document.getAnimations().filter((one) => one.playState === 'running').map((one) => one.effect.target.outerHTML).join('\\n') || 'nothing'";

/// Records whether the countdown is still above the turn's button when this button appears. If it
/// is, the button moves up later.
const WATCH_TURN: &str = "new MutationObserver(() => {
    if (!document.querySelector('#turn-form').hidden) window.aboveTurn ??= document.querySelector('#countdown').hidden ? 'nothing' : 'the countdown';
}).observe(document.querySelector('#turn-form'), { attributes: true }); undefined";

async fn check(browser: &Browser, page: &str) {
    browser.fits_with_large_text(page).await;
    browser.force_colours().await;
    for (what, expression) in [("not seen", UNSEEN), ("moving", MOVING)] {
        let found: String = browser.until(expression).await;
        assert_eq!(found, "nothing", "{page}: {what}");
    }
    browser.picture(&format!("forced-{page}")).await;
    browser.prefer_dark(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_can_be_read_with_large_text_and_in_forced_colours() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("10x20", json!({}), json!({})).await;
    for (name, path) in [("home", "/"), ("lobby", "/r/sale"), ("cinema", "/cinema")] {
        fan.go(&server.at(path)).await;
        check(&fan, name).await;
    }
    fan.go(&server.at("/r/sale")).await;
    fan.click("#join").await;
    fan.until::<bool>("document.querySelector('#wish:not([hidden])') !== null")
        .await;
    check(&fan, "lobby-joined").await;
    fan.run(WATCH_TURN).await;
    promoter.draw("sale").await;
    let above: String = fan.until("window.aboveTurn").await;
    assert_eq!(above, "nothing", "the button of the turn moves up later");
    for (form, button) in [("#turn-form", "#turn"), ("#go-seats", "#go-seats a")] {
        fan.until::<bool>(&format!("!document.querySelector('{form}').hidden"))
            .await;
        fan.click(button).await;
    }
    fan.until::<bool>("document.querySelector('#map').dataset.version !== undefined")
        .await;
    check(&fan, "seats").await;
    fan.click("#best-find").await;
    fan.click("#to-checkout").await;
    fan.until::<bool>("document.querySelector('#total').textContent !== ''")
        .await;
    check(&fan, "checkout").await;
    fan.fill("#buyer-name", "Ana Fan").await;
    fan.fill("#buyer-email", "ana@example.org").await;
    fan.click("#pay").await;
    fan.until::<bool>("!document.querySelector('#sandbox').hidden")
        .await;
    check(&fan, "order").await;
    fan.click("#approve").await;
    fan.click(".ticket-link").await;
    fan.until::<bool>("document.querySelector('#qr svg') !== null")
        .await;
    check(&fan, "ticket").await;
    fan.close("the fan").await;
}

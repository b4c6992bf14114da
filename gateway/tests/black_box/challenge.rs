//! Tests how a browser joins a room that asks everybody for a small task, or for the check of a
//! provider, before it gives a place.

use fairgate_servers::{CHALLENGE_SECRET, CHALLENGE_SITE_KEY, FakeChallengeServer};
use serde_json::json;

use crate::harness::{Browser, LedgerBlockage, Promoter, Server, until_level};

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_solves_the_task_of_a_room_and_joins() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"challenge": "pow"});
    promoter.on_sale("4x10", json!({}), room).await;
    browser.go(&server.at("/r/sale")).await;
    browser.press("#join").await;
    browser.shows("#number", |text| text == "0").await;
    browser.picture("1-lobby-after-a-task").await;
    promoter.draw("sale").await;
    browser.press("#turn").await;
    browser
        .shows("#go-seats:not([hidden]) a", |text| !text.is_empty())
        .await;
    browser.close("a task").await;
}

/// Opens the lobby of a room that asks everybody for the check of a provider, and presses the
/// button to join. Returns once the page shows the check.
async fn lobby_with_check(browser: &Browser) -> (FakeChallengeServer, Server) {
    let provider = FakeChallengeServer::start().await.expect("a port");
    let server = Server::with(&[
        ("FAIRGATE_TURNSTILE_SITE_KEY", CHALLENGE_SITE_KEY),
        ("FAIRGATE_TURNSTILE_SECRET", CHALLENGE_SECRET),
        ("FAIRGATE_TURNSTILE_URL", provider.url()),
    ])
    .await;
    let promoter = Promoter::of(&server);
    let room = json!({"challenge": "turnstile"});
    promoter.on_sale("4x10", json!({}), room).await;
    browser.go(&server.at("/r/sale")).await;
    browser.press("#join").await;
    browser
        .shows("#check-title", |text| text.contains("One quick check"))
        .await;
    (provider, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_passes_the_check_of_a_room_and_joins() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let (_provider, _server) = lobby_with_check(&browser).await;
    browser.picture("1-lobby-check").await;
    browser.press("#scripted-check").await;
    browser.shows("#number", |text| text == "0").await;
    let left: bool = browser
        .until("document.querySelector('#check') === null")
        .await;
    assert!(left, "the check is gone");
    browser.close("a check").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_was_passed_in_a_rush_is_passed_only_once() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let (_provider, server) = lobby_with_check(&browser).await;
    let blockage = LedgerBlockage::of(&server);
    until_level(&server, 3).await;
    browser.press("#scripted-check").await;
    browser
        .shows("#problem", |html| {
            html.contains("Lots of people are joining")
        })
        .await;
    drop(blockage);
    browser.shows("#number", |text| text == "0").await;
    browser.close("a check in a rush").await;
}

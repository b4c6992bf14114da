//! Tests a browser that runs no scripts: the lobby still takes the visitor from joining to the
//! seats, by forms alone.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server, Visitor, until};

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_a_visitor_can_join_check_the_place_and_take_the_turn() {
    let Some(browser) = Browser::without_scripts().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    browser.go(&server.at("/r/sale")).await;
    browser.press("#join").await;
    browser.shows("#number", |text| text == "0").await;
    browser.picture("1-lobby-without-scripts").await;
    promoter.draw("sale").await;
    until("the turn is on the page", async || {
        browser.press("#check-place").await;
        browser.has("#turn-form:not([hidden])").await.then_some(())
    })
    .await;
    browser.press("#turn").await;
    browser
        .shows("#go-seats:not([hidden]) a", |text| !text.is_empty())
        .await;
    browser.picture("2-lobby-admitted-without-scripts").await;
    let next = Visitor::joined(&server, "sale").await.number;
    assert_eq!(next, 1, "the visitor joined only once");
    browser.close("without scripts").await;
}

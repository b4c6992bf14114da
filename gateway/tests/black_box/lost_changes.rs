//! Puts an older ledger back from before a promoter's changes: new prices, and a cancelled show.
//! The payment provider knows of orders at these prices, and why refunds were made.

use serde_json::json;

use crate::card_form::selling_by_card;
use crate::harness::{DOOR_KEY, Promoter, TestShop, Visitor, post, show, text, until};
use crate::set_back::{buy_by_card, put_back, reopen, said};

#[tokio::test(flavor = "multi_thread")]
async fn orders_at_prices_that_the_older_ledger_lacks_come_back_once_these_are_applied_again() {
    let night = json!({"title": "Night one"});
    let (stripe, server) = selling_by_card(night.clone()).await;
    let promoter = Promoter::of(&server);
    let ana = Visitor::admitted(&server, "sale").await;
    let mut dearer = show("hall", night);
    dearer["prices"]["cat1"] = json!(12_000);
    let mut bought = json!(null);
    put_back(&server, async || {
        promoter.put("shows/night", &dearer).await.is(200);
        bought = buy_by_card(&stripe, &server, &ana, "A-1").await;
    })
    .await;

    let told = said(&reopen(&server, "night"));
    assert!(told.contains("apply your files again"), "{told}");
    let listed = promoter.get("attention").await.is(200);
    assert_eq!(listed[0]["code"], "unknown_money");
    assert_eq!(listed[0]["amount"]["amount"], 12_000);
    promoter.put("shows/night", &dearer).await.is(200);
    let told = said(&reopen(&server, "night"));
    assert!(told.contains("sells again. 1 order came back"), "{told}");
    assert_eq!(promoter.get("attention").await.is(200), json!([]));
    let back = server.order_in(&bought, "ticketed").await;
    let ticket = text(&back["tickets"][0], "ticket");
    let scan = post(&format!("/v1/tickets/{ticket}/scan"), &json!({})).by(DOOR_KEY);
    server.ask(scan).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_that_was_cancelled_meanwhile_is_not_reopened_before_it_is_cancelled_again() {
    let (stripe, server) = selling_by_card(json!({"title": "Night one"})).await;
    let promoter = Promoter::of(&server);
    let ana = Visitor::admitted(&server, "sale").await;
    let bought = buy_by_card(&stripe, &server, &ana, "A-1").await;
    let cancel = async || {
        let cancelled = promoter.post_json("shows/night/cancel", &json!({})).await;
        cancelled.is(200);
        let is_back = |order: &serde_json::Value| order["refunds"][0]["state"] == "done";
        server.order_once(&bought, is_back).await;
    };
    put_back(&server, &cancel).await;

    let told = said(&reopen(&server, "night"));
    assert!(told.contains("Cancel them again"), "{told}");
    let order = server.order_in(&bought, "refunded").await;
    assert_eq!(order["refunds"][0]["reason"], "show_cancelled");
    cancel().await;
    until(
        "it sells again, but a cancelled show has nothing to sell",
        async || {
            let told = said(&reopen(&server, "night"));
            told.contains("sells again").then_some(())
        },
    )
    .await;
    let wish = json!({"seats": ["A-2"]});
    let held = server.try_hold(&ana, "night", &wish).await;
    held.problem(409, "show_cancelled");
}

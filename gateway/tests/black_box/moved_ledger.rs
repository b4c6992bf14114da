//! Moves or replaces the ledger's file, and removes the counter's file, while a server sells. No
//! money may be taken that the next start does not know.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Promoter, Server, TestShop, Visitor, in_seconds, post, text, until};
use crate::set_back::refused_start;

/// Puts a show on sale in a room without a line, and lets a visitor order a seat of it.
async fn ordered<'a>(server: &'a Server) -> (Visitor<'a>, Value) {
    let promoter = Promoter::of(server);
    let room = json!({"title": "Night one", "method": "open", "draw_at": in_seconds(-30)});
    promoter.on_sale("6x10", json!({}), room).await;
    promoter.selling("sale").await;
    let visitor = Visitor::admitted(server, "sale").await;
    let asked = json!({"seats": ["A-1"]});
    let held = server.try_hold(&visitor, "night", &asked).await.is(201);
    let ordered = server.checkout(&visitor, &held).await;
    (visitor, ordered)
}

fn assert_told_why_it_ended(server: &Server) {
    let log = server.read_log();
    for words in [
        "was moved, replaced, removed or overwritten",
        "was not changed",
        "gateway restore",
    ] {
        assert!(log.contains(words), "{words} is not in: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_ledger_is_moved_takes_no_money_ends_and_goes_on_once_it_is_back() {
    let server = Server::start().await;
    let (_ana, order) = ordered(&server).await;
    let ledger = server.data().join("ledger.db");
    let aside = server.folder().join("aside.db");
    std::fs::rename(&ledger, &aside).expect("moved");
    let payment = text(&order["payment"], "payment");
    let path = format!("/v1/sandbox/payments/{payment}");
    let approve = post(&path, &json!({"outcome": "approve"}));
    // A process that has ended already takes no money either.
    if let Ok(answer) = server.client().try_ask(approve.clone()).await {
        assert_eq!(answer.status, 503, "{}", answer.text());
    }
    server.lost().await;
    assert_told_why_it_ended(&server);
    let told = refused_start(&server.data());
    assert!(told.contains("is missing"), "{told}");
    std::fs::rename(&aside, &ledger).expect("moved back");
    server.restart().await;
    assert_eq!(server.read(&order).await["state"], "pending");
    server.ask(approve).await.is(200);
    server.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_ledger_is_replaced_ends_and_does_not_change_the_other_file() {
    let server = Server::start().await;
    ordered(&server).await;
    let ledger = server.data().join("ledger.db");
    let other = server.folder().join("other.db");
    std::fs::write(&other, "another file").expect("written");
    std::fs::rename(&other, &ledger).expect("replaced");
    server.lost().await;
    assert_told_why_it_ended(&server);
    let found = std::fs::read_to_string(&ledger).expect("readable");
    assert_eq!(found, "another file");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_that_is_written_over_the_ledger_of_a_running_server_sells_nothing() {
    let server = Server::start().await;
    ordered(&server).await;
    server.terminate();
    server.ended().await;
    let ledger = server.data().join("ledger.db");
    let older = std::fs::read(&ledger).expect("readable");
    server.restart().await;
    let ana = Visitor::admitted(&server, "sale").await;
    let asked = json!({"seats": ["B-1"]});
    let held = server.try_hold(&ana, "night", &asked).await.is(201);
    let order = server.checkout(&ana, &held).await;
    server.pay(&order, "approve").await.is(200);
    server.order_in(&order, "ticketed").await;
    // A write that begins and ends within one commit of the server is taken for its own.
    let mut has_ended = false;
    while !has_ended {
        std::fs::write(&ledger, &older).expect("overwritten");
        let ended = tokio::time::timeout(Duration::from_secs(5), server.lost());
        has_ended = ended.await.is_ok();
    }
    assert_told_why_it_ended(&server);
    server.restart().await;
    let warnings = server.ready_as_operator().await.is(200)["warnings"].to_string();
    assert!(warnings.contains("went back"), "{warnings}");
    let refused = server.try_hold(&ana, "night", &asked).await;
    assert_eq!(refused.is(503)["code"], "sale_closed_after_restore");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_is_removed_while_the_server_sells_is_written_again() {
    let server = Server::start().await;
    let (ana, order) = ordered(&server).await;
    let counter = server.data().join("counter");
    std::fs::remove_file(&counter).expect("removed");
    server.pay(&order, "approve").await.is(200);
    until("the counter is there again", async || {
        counter.exists().then_some(())
    })
    .await;
    server.kill();
    server.restart().await;
    let warnings = server.ready_as_operator().await.is(200)["warnings"].to_string();
    assert!(!warnings.contains("went back"), "{warnings}");
    let asked = json!({"seats": ["A-4"]});
    server.try_hold(&ana, "night", &asked).await.is(201);
}

//! Tests that an overloaded server refuses new joins and new holds, but no step of a visit that has
//! begun. Refused visitors who come back at the given time get what they asked for.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{
    LedgerBlockage, Live, Promoter, Server, TestAnswer, TestShop, Visitor, until_level,
    until_within,
};

fn back_in(answer: &TestAnswer) -> Duration {
    let told = answer.header("retry-after").parse().expect("whole seconds");
    assert_eq!(answer.json()["retry_after_s"], told);
    Duration::from_secs(told)
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_refuses_joins_and_holds_but_not_begun_visits_and_its_retry_times_are_right() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("10x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    let mut bob = Visitor::joined(&server, "sale").await;
    let mut cem = Visitor::joined(&server, "sale").await;
    promoter.draw("sale").await;
    ana.claim().await;
    bob.claim().await;
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1"]}))
        .await
        .is(201);

    let blockage = LedgerBlockage::of(&server);
    until_level(&server, 3).await;
    drop(blockage);

    let newcomer = Visitor::new(&server, "sale");
    let join = newcomer
        .post_once("places", &json!({"secret": newcomer.secret}))
        .await;
    join.problem(429, "too_many_joins");
    let told = Instant::now();
    let asked = json!({"seats": ["B-1"]});
    let hold = bob
        .send_once(reqwest::Method::POST, "/v1/shows/night/holds", &asked)
        .await;
    hold.problem(503, "busy");

    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
    cem.claim().await;
    cem.post("places", &json!({"secret": cem.secret}))
        .await
        .is(200);
    Live::open(&cem).await.text("room").await;
    assert_eq!(server.get("/v1/shows/night/seats").await.status, 200);

    let (join_back, hold_back) = (back_in(&join), back_in(&hold));
    until_within("the hold is taken", hold_back, async || {
        let hold = bob
            .send_once(reqwest::Method::POST, "/v1/shows/night/holds", &asked)
            .await;
        (hold.status == 201).then_some(())
    })
    .await;
    until_within("the join is taken", join_back, async || {
        let join = newcomer
            .post_once("places", &json!({"secret": newcomer.secret}))
            .await;
        (join.status == 201).then_some(())
    })
    .await;
    assert!(told.elapsed() < join_back, "{join_back:?}");
    until_level(&server, 0).await;
}

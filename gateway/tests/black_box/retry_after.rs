//! Tests that the `retry-after` of a refused hold is the visitor's real wait.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Promoter, Server, TestAnswer, TestShop, Visitor, in_seconds};

/// Asks for a seat without a pass. If `place` is given, sends it as the place cookie. Returns the
/// seconds in `retry-after`.
async fn retry_after_s(server: &Server, place: Option<&str>) -> u64 {
    let mut request = server
        .http
        .request(Method::POST, server.at("/v1/shows/night/holds"))
        .json(&json!({"seats": ["A-1"]}));
    if let Some(place) = place {
        request = request.header("cookie", format!("fairgate_place_sale={place}"));
    }
    let answer = TestAnswer::of(request).await.expect("an answer");
    answer.problem(429, "waiting_room");
    answer.header("retry-after").parse().expect("whole seconds")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_without_a_pass_gets_the_real_wait_in_retry_after() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"draw_at": in_seconds(600), "per_s": 0.5});
    promoter.on_sale("10x10", json!({}), room).await;
    let before = retry_after_s(&server, None).await;
    assert!(
        (580..=601).contains(&before),
        "retry-after before the draw is {before} s"
    );

    let mut visitors = Vec::new();
    for _ in 0..30 {
        visitors.push(Visitor::joined(&server, "sale").await);
    }
    promoter.draw("sale").await;
    let mut ranked = Vec::new();
    for visitor in visitors {
        ranked.push((visitor.rank().await, visitor));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let (_, last) = ranked.last().expect("thirty");
    let wait = last.look().await["wait"]["p50_s"]
        .as_f64()
        .expect("a known wait");
    let told = retry_after_s(&server, Some(&last.place)).await as f64;
    assert!((told - wait).abs() <= 4.0, "told {told} s, waits {wait} s");
    let newcomer = retry_after_s(&server, None).await as f64;
    assert!(
        newcomer >= wait - 4.0,
        "a newcomer is told {newcomer} s, but the last in line waits {wait} s"
    );

    let (_, mut first) = ranked.swap_remove(0);
    first.claim().await;
    assert_eq!(
        retry_after_s(&server, Some(&first.place)).await,
        1,
        "a visitor who has claimed a pass can come back at once"
    );
    server
        .try_hold(&first, "night", &json!({"seats": ["A-1"]}))
        .await
        .is(201);
}

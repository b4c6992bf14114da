//! Tests from which place on a network has to do work, and after how many places it gets no more.

use serde_json::json;

use crate::actors::{behind_a_proxy, challenge, join, send, solution, solved_join};
use crate::support::PROMOTER;

#[tokio::test(flavor = "multi_thread")]
async fn from_the_soft_limit_on_a_place_costs_work_that_counts_once() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({})).await;
    let address = "192.0.2.7";
    for _ in 0..3 {
        assert_eq!(challenge(&gateway, address, "").await.status, 204);
        assert_eq!(join(&gateway, address, &json!({})).await.status, 201);
    }
    let refused = join(&gateway, address, &json!({})).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
    assert_eq!(challenge(&gateway, address, "").await.status, 422);
    let neighbour = join(&gateway, "192.0.2.8", &json!({})).await;
    assert_eq!(neighbour.status, 201, "another address is not harmed");

    let paid = solved_join(&gateway, address, 1).await;
    let mut stolen = paid.clone();
    stolen["secret"] = hex::encode([2; 32]).into();
    let stolen = join(&gateway, address, &stolen).await;
    assert_eq!(stolen.refusal(), (403, "challenge_failed".into()));
    let given = join(&gateway, address, &paid).await;
    assert_eq!(given.status, 201, "{}", given.text());
    let again = join(&gateway, address, &paid).await;
    assert_eq!(again.status, 200, "the same visitor finds the same place");
    let place = given.json()["place"].as_str().expect("a place").to_owned();
    let path = "/v1/rooms/demo/place";
    let left = send(&gateway, address, "DELETE", path, None, Some(&place)).await;
    assert_eq!(left.status, 204);
    let twice = join(&gateway, address, &paid).await;
    assert_eq!(twice.refusal(), (403, "challenge_failed".into()));
    assert!(twice.text().contains("used before"), "{}", twice.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_hard_limit_no_work_gives_a_place_until_the_promoter_raises_it() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({"per_network": {"soft": 1, "hard": 2}})).await;
    let address = "2001:db8::1";
    assert_eq!(join(&gateway, address, &json!({})).await.status, 201);
    let paid = solved_join(&gateway, address, 1).await;
    assert_eq!(join(&gateway, address, &paid).await.status, 201);
    let same_network = "2001:db8::ffff";
    let refused = join(&gateway, same_network, &json!({})).await;
    assert_eq!(refused.refusal(), (403, "network_full".into()));
    let none = challenge(&gateway, same_network, "").await;
    assert_eq!(none.refusal(), (403, "network_full".into()));
    let raised = gateway
        .call(
            "PATCH",
            "/v1/promoter/rooms/demo",
            Some(PROMOTER),
            Some(json!({"per_network": {"soft": 10, "hard": 20}})),
        )
        .await;
    assert_eq!(raised.status, 200, "{}", raised.text());
    let free = join(&gateway, same_network, &json!({})).await;
    assert_eq!(free.status, 201, "{}", free.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_at_once_gets_no_more_than_the_free_places() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({})).await;
    let body = json!({});
    let joins = (0..40).map(|_| join(&gateway, "192.0.2.7", &body));
    let answers = futures_util::future::join_all(joins).await;
    let given = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(given.count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_from_a_crowded_network_costs_work_too() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({})).await;
    let address = "192.0.2.7";
    let mut places = Vec::new();
    for _ in 0..3 {
        let joined = join(&gateway, address, &json!({})).await.json();
        places.push(joined["place"].as_str().expect("a place").to_owned());
    }
    gateway.by_hand("demo", "draw").await;
    let place = &places[0];
    gateway.until_called("demo", place).await;
    let path = "/v1/rooms/demo/pass";
    let refused = send(&gateway, address, "POST", path, None, Some(place)).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
    let path_of_task = "/v1/rooms/demo/challenge";
    let task = send(&gateway, address, "GET", path_of_task, None, Some(place)).await;
    let body = json!({"challenge": solution(&task.json()["altcha"])});
    let claimed = send(&gateway, address, "POST", path, Some(&body), Some(place)).await;
    assert_eq!(claimed.status, 201, "{}", claimed.text());
    let other = send(&gateway, "192.0.2.9", "POST", path, None, Some(&places[1])).await;
    assert_eq!(other.status, 201, "a quiet network claims for nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_with_proof_of_work_asks_everybody() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({"challenge": "pow"})).await;
    let room = gateway.get("/v1/rooms/demo").await.json();
    assert_eq!(room["trust"]["challenge"], "pow");
    let address = "192.0.2.7";
    let refused = join(&gateway, address, &json!({})).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
    let paid = solved_join(&gateway, address, 1).await;
    assert_eq!(join(&gateway, address, &paid).await.status, 201);
}

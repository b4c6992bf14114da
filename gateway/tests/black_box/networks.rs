//! Tests that a crowded IPv6 /40 pays for further places, behind a proxy that names the addresses
//! of its clients.

use serde_json::json;

use crate::harness::{Promoter, Server, TestAnswer};

async fn join_from(server: &Server, address: &str) -> TestAnswer {
    let join = server.http.post(server.at("/v1/rooms/sale/places"));
    let join = join.header("x-forwarded-for", address).json(&json!({}));
    TestAnswer::of(join).await.expect("an answer")
}

/// Returns the status of the answer to the question what somebody must solve to join from this
/// address: 200 if there is a challenge, and 204 if there is none.
async fn challenge_status(server: &Server, address: &str) -> u16 {
    let path = format!("/v1/rooms/sale/challenge?holder={}", "ab".repeat(32));
    let asked = server.http.get(server.at(&path));
    let asked = asked.header("x-forwarded-for", address);
    TestAnswer::of(asked).await.expect("an answer").status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_network_in_a_crowded_slash_40_pays_and_one_elsewhere_does_not() {
    let server = Server::with(&[("FAIRGATE_TRUSTED_HOPS", "1")]).await;
    // One place of a /64 is free, ten of a /48, and a hundred of a /40.
    let room = json!({"per_network": {"soft": 1, "hard": 50}});
    Promoter::of(&server).on_sale("4x10", json!({}), room).await;
    for site in 0..100 {
        let address = format!("2001:db8:{site:x}::1");
        join_from(&server, &address).await.is(201);
    }
    let (crowded, elsewhere) = ("2001:db8:c8::1", "2001:db8:100::1");
    let refused = join_from(&server, crowded).await.refusal();
    assert_eq!(refused, (403, "challenge_failed".to_owned()));
    assert_eq!(challenge_status(&server, crowded).await, 200);
    assert_eq!(challenge_status(&server, elsewhere).await, 204);
    join_from(&server, elsewhere).await.is(201);
}

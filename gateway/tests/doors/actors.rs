//! Acts as visitors of a network, who join, solve challenges and claim.

use altcha::{Challenge, Payload, SolveChallengeOptions, solve_challenge};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fairgate_pass::Holder;
use serde_json::{Value, json};

use crate::support::{Gateway, TestAnswer};

/// Starts a gateway behind one trusted proxy. Its room `demo` gives each network three free places.
pub async fn behind_a_proxy(data: &tempfile::TempDir, changes: Value) -> Gateway {
    let gateway = Gateway::start_with(data.path(), &[("trusted_hops", "1")]).await;
    let mut document = json!({"per_network": {"soft": 3, "hard": 8}});
    for (field, value) in changes.as_object().expect("an object") {
        document[field] = value.clone();
    }
    gateway.open_room("demo", document).await;
    gateway
}

pub async fn send(
    gateway: &Gateway,
    address: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    place: Option<&str>,
) -> TestAnswer {
    let method = method.parse().expect("a method");
    let mut request = gateway
        .client
        .request(method, gateway.url(path))
        .header("x-forwarded-for", address);
    if let Some(body) = body {
        request = request.json(body);
    }
    if let Some(place) = place {
        request = request.bearer_auth(place);
    }
    Gateway::read(request).await
}

pub async fn join(gateway: &Gateway, address: &str, body: &Value) -> TestAnswer {
    let path = "/v1/rooms/demo/places";
    send(gateway, address, "POST", path, Some(body), None).await
}

pub async fn challenge(gateway: &Gateway, address: &str, query: &str) -> TestAnswer {
    let path = format!("/v1/rooms/demo/challenge{query}");
    send(gateway, address, "GET", &path, None, None).await
}

pub fn solution(challenge: &Value) -> String {
    let challenge: Challenge = serde_json::from_value(challenge.clone()).expect("a challenge");
    let solution = solve_challenge(SolveChallengeOptions::new(&challenge))
        .expect("it can be solved")
        .expect("it is solved in time");
    let payload = Payload {
        challenge,
        solution,
    };
    BASE64_STANDARD.encode(serde_json::to_vec(&payload).expect("JSON"))
}

/// Builds the body of a join by a visitor who has solved the challenge.
pub async fn solved_join(gateway: &Gateway, address: &str, of: u8) -> Value {
    let holder = Holder::of_secret(&[of; 32]);
    let given = challenge(gateway, address, &format!("?holder={holder}")).await;
    assert_eq!(given.status, 200, "{}", given.text());
    let given = given.json();
    assert_eq!(given["kind"], "pow");
    json!({"secret": hex::encode([of; 32]), "challenge": solution(&given["altcha"])})
}

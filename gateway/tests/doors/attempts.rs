//! Tests that a network has to pause after wrong codes or wrong keys, each network by itself.

use serde_json::json;

use crate::actors::{behind_a_proxy, join};
use crate::support::{Gateway, PROMOTER, TestAnswer};

/// This many wrong attempts are certain to bring the first pause.
const TRIES: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_guesses_codes_has_to_pause() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({"codes": "required"})).await;
    let codes = gateway
        .client
        .put(gateway.url("/v1/promoter/rooms/demo/codes"))
        .bearer_auth(PROMOTER)
        .header("content-type", "text/plain")
        .body("right-one\nright-two");
    assert_eq!(Gateway::read(codes).await.status, 200);
    let mut paused = None;
    for _ in 0..TRIES {
        let answer = join(&gateway, "192.0.2.7", &json!({"code": "wrong"})).await;
        if answer.status == 429 {
            paused = Some(answer);
            break;
        }
        assert_eq!(answer.refusal(), (403, "code_invalid".into()));
    }
    let paused = paused.expect("a pause");
    assert_eq!(paused.refusal(), (429, "too_many_attempts".into()));
    assert!(paused.json()["retry_after_s"].as_u64() >= Some(1));
    let right = join(&gateway, "192.0.2.7", &json!({"code": "right-one"})).await;
    assert_eq!(right.refusal(), (429, "too_many_attempts".into()));
    let elsewhere = join(&gateway, "192.0.2.8", &json!({"code": "right-one"})).await;
    assert_eq!(elsewhere.status, 201, "{}", elsewhere.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_guesses_keys_has_to_pause() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({})).await;
    let read = async |address: &str, path: &str, name: &str, key: &str| -> TestAnswer {
        let request = gateway
            .client
            .get(gateway.url(path))
            .header("x-forwarded-for", address)
            .header(name, key);
        Gateway::read(request).await
    };
    for (address, path, name) in [
        ("192.0.2.7", "/v1/promoter/rooms/demo", "authorization"),
        ("192.0.2.8", "/rail", "x-api-key"),
    ] {
        // An answer to a caller without a key is no right attempt.
        let bare = read(address, "/readyz", "authorization", "Basic YTpi").await;
        assert_eq!(bare.status, 200, "{}", bare.text());
        let guesses = async || read(address, path, name, "Bearer a-guess").await.status;
        let mut statuses = Vec::new();
        for _ in 0..TRIES {
            statuses.push(guesses().await);
        }
        assert_eq!(statuses[0], 401, "{path}");
        assert_eq!(statuses.last(), Some(&429), "{path}");
        let right = format!("Bearer {PROMOTER}");
        let own = read(address, "/v1/promoter/rooms/demo", "authorization", &right).await;
        // Wrong keys of partners do not hold up the keys of promoters.
        if name == "authorization" {
            assert_eq!(own.refusal(), (429, "too_many_attempts".into()));
        } else {
            assert_eq!(own.status, 200, "{}", own.text());
        }
        // Calls that need no key still work.
        assert_eq!(join(&gateway, address, &json!({})).await.status, 201);
    }
    let right = format!("Bearer {PROMOTER}");
    let path = "/v1/promoter/rooms/demo";
    let elsewhere = read("198.51.100.1", path, "authorization", &right).await;
    assert_eq!(elsewhere.status, 200, "{}", elsewhere.text());
}

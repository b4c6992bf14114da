//! Tests rooms that ask everybody for the check of a provider. A server imitates the provider.

use std::time::Duration;

use fairgate_pass::Holder;
use fairgate_servers::{CHALLENGE_SECRET, CHALLENGE_SITE_KEY, FakeChallengeServer};
use serde_json::{Value, json};

use crate::actors::{challenge, join, send, solution};
use crate::support::{Gateway, PROMOTER, TestAnswer, VIEWER};

/// Starts the provider, and a gateway behind one proxy with a room that asks for its check.
async fn room_with_check(
    data: &tempfile::TempDir,
    kind: &str,
    changes: Value,
) -> (FakeChallengeServer, Gateway) {
    let provider = FakeChallengeServer::start().await.expect("a port");
    let settings = [
        ("trusted_hops", "1"),
        ("turnstile_site_key", CHALLENGE_SITE_KEY),
        ("turnstile_secret", CHALLENGE_SECRET),
        ("turnstile_url", provider.url()),
        ("hcaptcha_site_key", CHALLENGE_SITE_KEY),
        ("hcaptcha_secret", CHALLENGE_SECRET),
        ("hcaptcha_url", provider.url()),
    ];
    let gateway = Gateway::start_with(data.path(), &settings).await;
    let mut document = json!({"challenge": kind});
    for (field, value) in changes.as_object().expect("an object") {
        document[field] = value.clone();
    }
    gateway.open_room("demo", document).await;
    (provider, gateway)
}

/// Returns the check that a visitor with this secret must pass.
async fn check(gateway: &Gateway, address: &str, of: u8) -> Value {
    let holder = Holder::of_secret(&[of; 32]);
    let given = challenge(gateway, address, &format!("?holder={holder}")).await;
    assert_eq!(given.status, 200, "{}", given.text());
    given.json()
}

async fn join_with(gateway: &Gateway, address: &str, of: u8, answer: &str) -> TestAnswer {
    let body = json!({"secret": hex::encode([of; 32]), "challenge": answer});
    join(gateway, address, &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_passes_the_check_and_its_answer_counts_once_for_its_holder() {
    for kind in ["turnstile", "hcaptcha"] {
        let data = tempfile::tempdir().expect("a folder");
        let (provider, gateway) = room_with_check(&data, kind, json!({})).await;
        let refused = join(&gateway, "192.0.2.7", &json!({})).await;
        assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
        let given = check(&gateway, "192.0.2.7", 1).await;
        assert_eq!(
            (&given["kind"], &given["site_key"]),
            (&json!(kind), &json!(CHALLENGE_SITE_KEY))
        );
        let script = given["script"].as_str().expect("an address");
        assert!(script.starts_with(provider.url()), "{script}");
        assert!(given["expires_at"].is_string() && given["altcha"].is_null());

        let rubbish = join_with(&gateway, "192.0.2.7", 1, "not an answer").await;
        assert_eq!(rubbish.refusal(), (403, "challenge_failed".into()));
        assert_eq!(provider.calls(), 0, "rubbish is not sent on");
        let made_up = join_with(&gateway, "192.0.2.7", 1, "made-up").await;
        assert_eq!(made_up.refusal(), (403, "challenge_failed".into()));
        let bound = (kind == "turnstile").then(|| given["cdata"].as_str().expect("text"));
        if bound.is_some() {
            let stolen = provider.pass(bound);
            let stolen = join_with(&gateway, "192.0.2.7", 2, &stolen).await;
            assert_eq!(stolen.refusal(), (403, "challenge_failed".into()));
            assert!(stolen.text().contains("another room"), "{}", stolen.text());
        }
        let answer = provider.pass(bound);
        let joined = join_with(&gateway, "192.0.2.7", 1, &answer).await;
        assert_eq!(joined.status, 201, "{}", joined.text());
        let twice = join_with(&gateway, "192.0.2.7", 3, &answer).await;
        assert_eq!(twice.refusal(), (403, "challenge_failed".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_lets_in_beyond_hard_and_is_asked_again_at_the_claim() {
    let data = tempfile::tempdir().expect("a folder");
    let limits = json!({"per_network": {"soft": 1, "hard": 2}});
    let (provider, gateway) = room_with_check(&data, "turnstile", limits).await;
    let address = "192.0.2.7";
    let mut places = Vec::new();
    for of in 1..=5 {
        let given = check(&gateway, address, of).await;
        let answer = provider.pass(given["cdata"].as_str());
        let joined = join_with(&gateway, address, of, &answer).await;
        assert_eq!(joined.status, 201, "{}", joined.text());
        places.push(joined.json()["place"].as_str().expect("a place").to_owned());
    }
    // A browser without scripts waits instead. This one comes from another address, because a wait
    // does not help beyond the hard limit.
    let form = gateway.client.post(gateway.url("/r/demo/join"));
    let form = form
        .header("accept", "text/html")
        .header("cookie", "fgc_ok=1");
    let page = Gateway::read(form.header("x-forwarded-for", "192.0.2.99")).await;
    assert_eq!(page.status, 403);
    assert!(page.text().contains("name=\"wait\""), "{}", page.text());
    gateway.by_hand("demo", "draw").await;
    gateway.until_called("demo", &places[0]).await;
    let path = "/v1/rooms/demo/pass";
    let refused = send(&gateway, address, "POST", path, None, Some(&places[0])).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
    let task = "/v1/rooms/demo/challenge";
    let task = send(&gateway, address, "GET", task, None, Some(&places[0])).await;
    let task = task.json();
    assert_eq!(task["kind"], "turnstile");
    let body = json!({"challenge": provider.pass(task["cdata"].as_str())});
    let claimed = send(
        &gateway,
        address,
        "POST",
        path,
        Some(&body),
        Some(&places[0]),
    )
    .await;
    assert_eq!(claimed.status, 201, "{}", claimed.text());
    let quiet = send(
        &gateway,
        "198.51.100.1",
        "POST",
        path,
        None,
        Some(&places[1]),
    )
    .await;
    assert_eq!(quiet.status, 201, "a quiet network claims for nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_provider_is_away_work_stands_in_for_its_check() {
    let data = tempfile::tempdir().expect("a folder");
    let limits = json!({"per_network": {"soft": 1, "hard": 2}});
    let (provider, gateway) = room_with_check(&data, "turnstile", limits).await;
    let address = "192.0.2.7";
    let given = check(&gateway, address, 1).await;
    let answer = provider.pass(given["cdata"].as_str());
    provider.set_away(true);
    let away = join_with(&gateway, address, 1, &answer).await;
    assert_eq!(away.refusal(), (403, "challenge_failed".into()));
    assert!(away.text().contains("does not answer"), "{}", away.text());
    let given = check(&gateway, address, 2).await;
    assert_eq!(given["kind"], "turnstile", "one visitor is no outage");
    let answer = provider.pass(given["cdata"].as_str());
    let away = join_with(&gateway, address, 2, &answer).await;
    assert_eq!(away.refusal(), (403, "challenge_failed".into()));
    let ready = gateway.call("GET", "/readyz", Some(VIEWER), None).await;
    assert_eq!(ready.status, 200);
    assert!(
        ready.text().contains("turnstile cannot be asked"),
        "{}",
        ready.text()
    );
    // Without work nobody gets in. With work everybody does, up to the hard limit.
    let nothing = join(&gateway, address, &json!({})).await;
    assert_eq!(nothing.refusal(), (403, "challenge_failed".into()));
    for of in 1..=2 {
        let given = check(&gateway, address, of).await;
        assert_eq!(given["kind"], "pow");
        let worked = join_with(&gateway, address, of, &solution(&given["altcha"])).await;
        assert_eq!(worked.status, 201, "{}", worked.text());
    }
    let full = challenge(&gateway, address, &format!("?holder={}", Holder([9; 32]))).await;
    assert_eq!(full.refusal(), (403, "network_full".into()));
    let elsewhere = check(&gateway, "198.51.100.1", 3).await;
    let kept = solution(&elsewhere["altcha"]);

    provider.set_away(false);
    let holder = Holder::of_secret(&[4; 32]);
    let path = format!("/v1/rooms/demo/challenge?holder={holder}");
    gateway
        .until(&path, None, |given| given["kind"] == "turnstile")
        .await;
    let given = check(&gateway, address, 4).await;
    let joined = join_with(
        &gateway,
        address,
        4,
        &provider.pass(given["cdata"].as_str()),
    )
    .await;
    assert_eq!(joined.status, 201, "beyond hard again: {}", joined.text());
    // A task that was given during the outage still counts.
    let late = join_with(&gateway, "198.51.100.1", 3, &kept).await;
    assert_eq!(late.status, 201, "{}", late.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_is_made_again_and_a_second_failure_gives_work_to_its_visitor_alone() {
    let data = tempfile::tempdir().expect("a folder");
    let (provider, gateway) = room_with_check(&data, "turnstile", json!({})).await;
    let address = "192.0.2.7";
    let answer = async |of| {
        let given = check(&gateway, address, of).await;
        assert_eq!(given["kind"], "turnstile", "visitor {of}");
        provider.pass(given["cdata"].as_str())
    };
    let (first, second) = (answer(1).await, answer(2).await);
    provider.fail_next(1);
    let joined = join_with(&gateway, address, 1, &first).await;
    assert_eq!(joined.status, 201, "{}", joined.text());
    assert_eq!(provider.calls(), 2);

    provider.fail_next(2);
    let refused = join_with(&gateway, address, 2, &second).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
    let ready = gateway.call("GET", "/readyz", Some(VIEWER), None).await;
    assert!(
        !ready.text().contains("turnstile cannot be asked"),
        "{}",
        ready.text()
    );
    let third = answer(3).await;
    let given = check(&gateway, address, 2).await;
    assert_eq!(given["kind"], "pow");
    let worked = join_with(&gateway, address, 2, &solution(&given["altcha"])).await;
    assert_eq!(worked.status, 201, "{}", worked.text());
    let joined = join_with(&gateway, address, 3, &third).await;
    assert_eq!(joined.status, 201, "{}", joined.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_another_setting_does_not_stand_in_for_a_check() {
    let data = tempfile::tempdir().expect("a folder");
    let (_provider, gateway) = room_with_check(&data, "pow", json!({})).await;
    let given = check(&gateway, "192.0.2.7", 1).await;
    let worked = solution(&given["altcha"]);
    let patch = json!({"challenge": "hcaptcha"});
    let path = "/v1/promoter/rooms/demo";
    let patched = gateway
        .call("PATCH", path, Some(PROMOTER), Some(patch))
        .await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    let refused = join_with(&gateway, "192.0.2.7", 1, &worked).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_set_up_is_refused_and_a_wrong_secret_is_told() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let refused = gateway
        .put_room("demo", json!({"challenge": "turnstile"}))
        .await;
    assert_eq!(refused.refusal(), (422, "not_available".into()));
    assert!(
        refused.text().contains("FAIRGATE_TURNSTILE_SITE_KEY"),
        "{}",
        refused.text()
    );
    gateway.open_room("demo", json!({})).await;
    let path = "/v1/promoter/rooms/demo";
    let patch = json!({"challenge": "hcaptcha"});
    let patched = gateway
        .call("PATCH", path, Some(PROMOTER), Some(patch))
        .await;
    assert_eq!(patched.refusal(), (422, "not_available".into()));
    drop(gateway);

    let data = tempfile::tempdir().expect("a folder");
    let provider = FakeChallengeServer::start().await.expect("a port");
    let settings = [
        ("hcaptcha_site_key", CHALLENGE_SITE_KEY),
        ("hcaptcha_secret", "another"),
        ("hcaptcha_url", provider.url()),
    ];
    let gateway = Gateway::start_with(data.path(), &settings).await;
    gateway
        .open_room("demo", json!({"challenge": "hcaptcha"}))
        .await;
    let answer = provider.pass(None);
    let refused = join_with(&gateway, "192.0.2.7", 1, &answer).await;
    assert_eq!(refused.refusal(), (403, "challenge_failed".into()));
    let told = async || {
        gateway
            .call("GET", "/readyz", Some(VIEWER), None)
            .await
            .text()
    };
    let asked = std::time::Instant::now();
    while !told()
        .await
        .contains("refuses the keys (invalid-input-secret)")
    {
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "{}",
            told().await
        );
    }
}

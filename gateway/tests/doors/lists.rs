//! Tests the promoter's lists of networks: those that may not join, and those that need no
//! challenge.

use serde_json::{Value, json};

use crate::actors::{behind_a_proxy, challenge, join, send};
use crate::support::{Gateway, PROMOTER, TestAnswer, VIEWER};

const PATH: &str = "/v1/promoter/rooms/demo/networks";

async fn put(gateway: &Gateway, lists: Value) -> TestAnswer {
    gateway.call("PUT", PATH, Some(PROMOTER), Some(lists)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_network_neither_joins_nor_claims_and_keeps_its_place() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({})).await;
    let address = "192.0.2.7";
    let joined = join(&gateway, address, &json!({"secret": "01".repeat(32)})).await;
    let place = joined.json()["place"].as_str().expect("a place").to_owned();
    gateway.by_hand("demo", "draw").await;
    gateway.until_called("demo", &place).await;

    let lists = json!({"deny": ["192.0.2.0/24"], "exempt": []});
    let put = put(&gateway, lists.clone()).await;
    assert_eq!((put.status, put.json()), (200, lists.clone()));
    let denied = (403, "network_denied".to_owned());
    assert_eq!(join(&gateway, address, &json!({})).await.refusal(), denied);
    assert_eq!(challenge(&gateway, address, "").await.refusal(), denied);
    let pass = "/v1/rooms/demo/pass";
    let claimed = send(&gateway, address, "POST", pass, None, Some(&place)).await;
    assert_eq!(claimed.refusal(), denied);
    // The visitor still sees the place, finds it again, and can claim from another network.
    let path = "/v1/rooms/demo/place";
    let seen = send(&gateway, address, "GET", path, None, Some(&place)).await;
    assert_eq!(seen.status, 200, "{}", seen.text());
    let again = join(&gateway, address, &json!({"secret": "01".repeat(32)})).await;
    assert_eq!(again.status, 200, "{}", again.text());
    let elsewhere = send(&gateway, "198.51.100.1", "POST", pass, None, Some(&place)).await;
    assert_eq!(elsewhere.status, 201, "{}", elsewhere.text());
    // A browser without scripts gets the same refusal, and is offered no wait.
    let form = gateway
        .client
        .post(gateway.url("/r/demo/join"))
        .header("cookie", "fgc_ok=1")
        .header("x-forwarded-for", address);
    let page = Gateway::read(form).await;
    assert_eq!(page.status, 403);
    assert!(
        page.text().contains("closed to your network"),
        "{}",
        page.text()
    );
    assert!(!page.text().contains("name=\"wait\""), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exempt_network_pays_nothing_and_the_narrower_entry_counts() {
    let data = tempfile::tempdir().expect("a folder");
    let changes = json!({"per_network": {"soft": 1, "hard": 2}, "challenge": "pow"});
    let gateway = behind_a_proxy(&data, changes).await;
    let lists = json!({
        "deny": ["203.0.113.0/24", "198.51.100.9"],
        "exempt": ["::ffff:203.0.113.7", "198.51.100.0/24"],
    });
    assert_eq!(put(&gateway, lists).await.status, 200);
    for _ in 0..5 {
        let joined = join(&gateway, "203.0.113.7", &json!({})).await;
        assert_eq!(joined.status, 201, "{}", joined.text());
    }
    assert_eq!(challenge(&gateway, "203.0.113.7", "").await.status, 204);
    assert_eq!(join(&gateway, "198.51.100.8", &json!({})).await.status, 201);
    for denied in ["203.0.113.8", "198.51.100.9"] {
        let refused = join(&gateway, denied, &json!({})).await;
        assert_eq!(
            refused.refusal(),
            (403, "network_denied".into()),
            "{denied}"
        );
    }
    let ordinary = join(&gateway, "192.0.2.1", &json!({})).await;
    assert_eq!(ordinary.refusal(), (403, "challenge_failed".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_kept_over_a_restart_and_audited_and_bad_ones_change_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let mut gateway = behind_a_proxy(&data, json!({})).await;
    let nobody = gateway
        .call("PUT", PATH, Some(VIEWER), Some(json!({})))
        .await;
    assert_eq!(nobody.refusal(), (403, "key_role".into()));
    let first = json!({"deny": ["192.0.2.7/32"], "exempt": []});
    assert_eq!(put(&gateway, first.clone()).await.status, 200);
    let bad = put(
        &gateway,
        json!({"deny": ["192.0.2.9", "here", "10.0.0.1/8"], "exempt": ["2001:db8::1/128"]}),
    )
    .await;
    assert_eq!(bad.refusal(), (422, "invalid_field".into()));
    let told = bad.json()["problems"].clone();
    let fields: Vec<_> = told.as_array().expect("a list").iter().collect();
    let fields: Vec<_> = fields.iter().map(|fault| fault["field"].clone()).collect();
    assert_eq!(json!(fields), json!(["deny[1]", "deny[2]", "exempt[0]"]));
    let unknown = put(&gateway, json!({"allow": []})).await;
    assert_eq!(unknown.status, 422, "{}", unknown.text());
    let kept = gateway.call("GET", PATH, Some(VIEWER), None).await;
    assert_eq!(kept.json(), first);
    // Putting the same lists again writes no second row.
    assert_eq!(put(&gateway, first.clone()).await.status, 200);
    assert_eq!(
        put(&gateway, json!({"exempt": ["10.0.0.0/8"]}))
            .await
            .status,
        200
    );
    gateway.stop().await;

    let gateway = Gateway::start_with(data.path(), &[("trusted_hops", "1")]).await;
    let kept = gateway.call("GET", PATH, Some(PROMOTER), None).await;
    assert_eq!(kept.json(), json!({"deny": [], "exempt": ["10.0.0.0/8"]}));
    let path = "/v1/promoter/rooms/demo/audit";
    let audit = gateway.call("GET", path, Some(VIEWER), None).await.json();
    let rows = audit["rows"].as_array().expect("rows");
    let of_lists = rows
        .iter()
        .filter(|row| row["action"] == "networks_replaced");
    let details: Vec<_> = of_lists.map(|row| (&row["role"], &row["detail"])).collect();
    let promoter = json!("promoter");
    assert_eq!(
        details,
        [
            (&promoter, &json!({"deny": [[], ["192.0.2.7/32"]]})),
            (
                &promoter,
                &json!({"deny": [["192.0.2.7/32"], []], "exempt": [[], ["10.0.0.0/8"]]})
            ),
        ]
    );
    assert_eq!(audit["intact"], true);
}

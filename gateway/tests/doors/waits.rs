//! Waits in place of work, for browsers without scripts.

use serde_json::json;

use crate::actors::behind_a_proxy;
use crate::support::{Gateway, TestAnswer};

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_scripts_waits_in_place_of_work() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({"per_network": {"soft": 0, "hard": 8}})).await;
    let form = async |ticket: &str| {
        let request = gateway
            .client
            .post(gateway.url("/r/demo/join"))
            .header("x-forwarded-for", "192.0.2.7")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("wait={ticket}"));
        Gateway::read(request).await
    };
    let ticket_of = |page: &TestAnswer| {
        let text = page.text();
        let from = text
            .split("name=\"wait\" value=\"")
            .nth(1)
            .expect("a ticket");
        from.split('"').next().expect("its end").to_owned()
    };
    let waits = form("").await;
    assert_eq!(waits.status, 403);
    assert!(waits.text().contains("Wait 15 seconds"), "{}", waits.text());
    let ticket = ticket_of(&waits);
    let early = form(&ticket).await;
    assert_eq!(early.status, 403);
    assert_eq!(ticket_of(&early), ticket, "the same wait goes on");
    let second = form("").await;
    let text = second.text();
    assert!(
        text.contains("Wait 30 seconds") || text.contains("Wait 29 seconds"),
        "the second visitor waits after the first: {text}"
    );
    let forged = form("wait.e30.00").await;
    assert_eq!(forged.status, 403);
}

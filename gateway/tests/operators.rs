//! Tests what operators see, and how much of it everybody else sees.

mod support;

use fairgate_servers::free_port;
use serde_json::json;
use support::{Gateway, VIEWER};

#[tokio::test]
async fn operators_with_a_port_of_their_own_read_everything_there_and_the_public_port_has_no_metrics()
 {
    let data = tempfile::tempdir().expect("a folder");
    let own = format!("127.0.0.1:{}", free_port().expect("a port"));
    let settings = [("ops_listen", &*own), ("payments", "sandbox")];
    let mut gateway = Gateway::start_with(data.path(), &settings).await;
    let read = async |path: &str| {
        let request = gateway.client.get(format!("http://{own}{path}"));
        Gateway::read(request).await
    };
    assert_eq!(read("/healthz").await.text(), "alive\n");
    let ready = read("/readyz").await.is(200);
    assert!(ready["warnings"].to_string().contains("sandbox"), "{ready}");
    assert!(read("/metrics").await.text().contains("fairgate_"));
    read("/v1/rooms").await.problem(404, "not_found");

    gateway.get("/metrics").await.problem(404, "not_found");
    let public = gateway.get("/readyz").await.json();
    assert_eq!(public, json!({"ready": true}));
    let keyed = gateway.call("GET", "/readyz", Some(VIEWER), None).await;
    assert_eq!(keyed.json(), ready);
    gateway.stop().await;
}

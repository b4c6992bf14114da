//! Tests events that are not genuine, and addresses and headers that make no sense.

use booking::payments::sandbox::{
    SIGNATURE_HEADER, SandboxOutcome, SandboxProvider, SignedSandboxEvent,
};
use serde_json::{Value, json};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn events_and_payments_that_are_not_genuine_are_refused() {
    let scene = scene().await;
    let payment = text(&scene.pending["payment"], "payment");
    let body = json!({"event": "e", "kind": "authorised", "payment": payment,
        "amount": scene.pending["payment"]["amount"]});
    let hook = "/v1/payments/sandbox/webhook";
    let now = scene.app.clock.now_ms() / 1_000;
    let signed = |at: i64| {
        let value = format!("t={at},v1={}", "ab".repeat(32));
        post(hook, &body).header("fairgate-sandbox-signature", &value)
    };
    let odd = |value: &str| post(hook, &body).header("fairgate-sandbox-signature", value);
    let genuine = signed_event(&scene, now).await;
    let stale = signed_event(&scene, now - 301).await;
    let ahead = signed_event(&scene, now + 301).await;
    let sent = |event: &SignedSandboxEvent, body: &[u8]| {
        let call = post(hook, &Value::Null).raw(body);
        call.header(SIGNATURE_HEADER, &event.signature)
    };
    let cheaper = String::from_utf8_lossy(&genuine.body).replace("19800", "1");
    assert_ne!(cheaper.as_bytes(), genuine.body);
    let sandbox =
        |payment: &str, body: Value| post(&format!("/v1/sandbox/payments/{payment}"), &body);
    let settled = text(&scene.done["payment"], "payment");
    let never = format!("payment_night-1_{}", "0".repeat(32));
    scene
        .refuses(rows! {
            "no signature": post(hook, &body) => 400 signature_invalid;
            "a wrong signature": signed(now) => 400 signature_invalid;
            "a stale signature": signed(now - 301) => 400 signature_invalid;
            "a genuine event that is too old": sent(&stale, &stale.body) => 400 signature_invalid;
            "a genuine event from the future": sent(&ahead, &ahead.body) => 400 signature_invalid;
            "a genuine event made cheaper": sent(&genuine, cheaper.as_bytes()) => 400 signature_invalid;
            "half a signature": odd("t=1") => 400 signature_invalid;
            "a signature without hex": odd(&format!("t={now},v1=zz")) => 400 signature_invalid;
            "a signature of no time": odd("t=soon,v1=ab") => 400 signature_invalid;
            "an oversized event": post(hook, &Value::Null).raw(vec![b'a'; 70_000]) => 413 body_too_large;
            "an unknown provider": post("/v1/payments/stripe/webhook", &body) => 404 not_found;
            "an unknown payment": sandbox(&never, json!({"outcome": "approve"})) => 404 not_found;
            "an order's id for a payment": sandbox(&text(&scene.pending, "order"), json!({"outcome": "approve"})) => 404 not_found;
            "an unknown outcome": sandbox(&payment, json!({"outcome": "maybe"})) => 422 invalid_field;
            "no outcome": sandbox(&payment, json!({})) => 422 invalid_field;
            "another field": sandbox(&payment, json!({"outcome": "approve", "amount": 1})) => 422 unknown_field;
            "a settled payment declined": sandbox(&settled, json!({"outcome": "decline"})) => 409 payment_settled;
        })
        .await;
    let backlog = scene.app.ledger().await.backlog().await;
    assert_eq!(backlog.expect("readable"), (0, 0), "nothing was stored");
    for _ in 0..2 {
        let again = scene.app.ask(sent(&genuine, &genuine.body)).await;
        again.is(200);
    }
    let done = scene.app.order_in(&scene.pending, "ticketed").await;
    assert_eq!(done["history"].as_array().map(Vec::len), Some(3));
}

/// Returns the event that the sandbox would send for Ana's pending order, signed at `at_s`.
async fn signed_event(scene: &Scene, at_s: i64) -> SignedSandboxEvent {
    let ledger = scene.app.ledger().await;
    let payment = text(&scene.pending["payment"], "payment");
    let payment = ledger.payment(&payment.parse().expect("an id")).await;
    let payment = payment.expect("readable").expect("the payment is stored");
    let secret = ledger.secret(&secret(), "sandbox_webhook", [0; 32]).await;
    let sandbox = SandboxProvider::new(ledger, secret.expect("readable"));
    let event = sandbox
        .choose_outcome(&payment, SandboxOutcome::Approve, at_s)
        .await;
    event.expect("written").expect("not settled yet")
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_and_headers_that_make_no_sense_are_refused() {
    let scene = scene().await;
    let by_ben = |call: TestCall| call.by(&scene.ben);
    let hold = |key: &str| scene.hold(&json!({"seats": ["A-3"]})).keyed(key);
    let order = text(&scene.pending, "order");
    let ticket = text(&scene.done["tickets"][0], "ticket");
    let key = text(&scene.done, "order_key");
    let gone = format!("hold_night-1_{}", "0".repeat(32));
    let gone_show = format!("hold_other_{}", "0".repeat(32));
    let long = "x".repeat(20_000);
    let plan = || json!({"plan": "grid:1x1"});
    scene
        .refuses(rows! {
            "an empty key": hold("") => 400 idempotency_key_invalid;
            "a key of 256": hold(&"k".repeat(256)) => 400 idempotency_key_invalid;
            "a key that is not ASCII": hold("schlüssel") => 400 idempotency_key_invalid;
            "an unknown parameter": get("/v1/shows?colour=red") => 400 invalid_query;
            "a parameter twice": get("/v1/shows?page=1&page=2") => 400 invalid_query;
            "a page that is no number": get("/v1/shows?page=-1") => 422 invalid_field;
            "a page that is not finite": get("/v1/shows?page=inf") => 422 invalid_field;
            "a page beyond all numbers": get("/v1/shows?page=99999999999999999999") => 422 invalid_field;
            "a venue's unknown parameter": put("/v1/promoter/venues/hall?mend=1", &plan()).by(PROMOTER) => 400 invalid_query;
            "an unknown format": put("/v1/promoter/venues/hall?format=x", &plan()).by(PROMOTER) => 422 invalid_field;
            "a venue that is no slug": put("/v1/promoter/venues/The_Hall", &plan()).by(PROMOTER) => 422 invalid_field;
            "a show that is no slug": put("/v1/promoter/shows/-x", &document(json!({}))).by(PROMOTER) => 422 invalid_field;
            "a show in no venue": put("/v1/promoter/shows/x", &document(json!({"venue": "nowhere"}))).by(PROMOTER) => 422 invalid_field;
            "an unknown show": get("/v1/shows/other") => 404 not_found;
            "an unknown show's map": get("/v1/shows/other/seatmap") => 404 not_found;
            "an unknown show's seats": get("/v1/shows/other/seats") => 404 not_found;
            "an unknown show's free seats": get("/v1/shows/other/free") => 404 not_found;
            "a section that is no number": get("/v1/shows/night-1/free?section=A") => 422 invalid_field;
            "a hold on an unknown show": by_ben(post("/v1/shows/other/holds", &json!({}))) => 404 not_found;
            "a very long show": get(&format!("/v1/shows/{long}")) => 404 not_found;
            "a show in another case": get("/v1/shows/NIGHT-1") => 404 not_found;
            "an encoded slash": get("/v1/shows/night-1%2Fseats") => 404 not_found;
            "dots": get("/v1/shows/..%2F..%2Fetc") => 404 not_found;
            "an encoded null": get("/v1/shows/night-1%00") => 404 not_found;
            "bytes that are no text": get("/v1/shows/%ff%fe") => 404 not_found;
            "bytes for a hold": by_ben(get("/v1/holds/%ff")) => 404 not_found;
            "bytes for a ticket": get("/v1/tickets/%ff") => 404 not_found;
            "an order for a hold": by_ben(get(&format!("/v1/holds/{order}"))) => 404 not_found;
            "a hold for an order": by_ben(get(&format!("/v1/orders/{}", scene.bens))) => 404 not_found;
            "a ticket for an order": get(&format!("/v1/orders/{ticket}")).by(&key) => 404 not_found;
            "an order for a ticket": get(&format!("/v1/tickets/{order}")).by(&key) => 404 not_found;
            "an unknown form of a ticket": get(&format!("/v1/tickets/{ticket}.pdf")).by(&key) => 404 not_found;
            "a hold that never was": by_ben(get(&format!("/v1/holds/{gone}"))) => 410 hold_expired;
            "a hold of a show that does not exist": by_ben(get(&format!("/v1/holds/{gone_show}"))) => 410 hold_expired;
            "a hold that never was, ordered": by_ben(post(&format!("/v1/holds/{gone}/order"), &buyer())) => 410 hold_expired;
            "an order that never was": by_ben(get(&format!("/v1/orders/order_night-1_{}", "0".repeat(32)))) => 404 not_found;
            "a scan of nothing": post(&format!("/v1/tickets/ticket_night-1_{}/scan", "0".repeat(32)), &json!({})).by(DOOR) => 404 not_found;
        })
        .await;
}

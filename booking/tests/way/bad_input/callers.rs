//! Tests callers without the right pass or key, and calls that an order or a show does not allow.

use serde_json::json;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn callers_and_calls_that_are_not_allowed_are_refused() {
    let scene = scene().await;
    let foreign = scene.app.visitor_of("other", 2);
    let stale = scene.app.visitor(3);
    let mut tampered = scene.ben.pass.clone().into_bytes();
    let middle = tampered.len() / 2;
    tampered[middle] = if tampered[middle] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).expect("ASCII");
    let stranger = App::new().await.visitor(2);
    let seat = json!({"seats": ["A-3"]});
    let as_ben = |path: String| get(&path).by(&scene.ben);
    let (done, pending) = (text(&scene.done, "order"), text(&scene.pending, "order"));
    let ticket = text(&scene.done["tickets"][0], "ticket");
    let (key, basket) = (text(&scene.done, "order_key"), &scene.basket);
    let signed = scene
        .app
        .ask(get(&format!("/v1/tickets/{ticket}")).by(&key))
        .await;
    let signed = text(&signed.is(200), "signed");
    let wrong_key = {
        let mut key = key.clone();
        let last = if key.pop() == Some('0') { '1' } else { '0' };
        key.push(last);
        key
    };
    let scan = format!("/v1/tickets/{ticket}/scan");
    let venue = || put("/v1/promoter/venues/hall", &json!({"plan": "grid:1x1"}));
    let rows: Vec<Row> = rows! {
        "no pass": post(HOLDS, &seat) => 429 waiting_room;
        "another scheme": post(HOLDS, &seat).header("authorization", "Basic eDp5") => 429 waiting_room;
        "garbage for a pass": post(HOLDS, &seat).by("garbage") => 401 pass_invalid;
        "a very long pass": post(HOLDS, &seat).by(&"a".repeat(9_000)) => 401 pass_invalid;
        "one character changed": post(HOLDS, &seat).by(&tampered) => 401 pass_invalid;
        "another room's pass": post(HOLDS, &seat).by(&foreign) => 401 pass_invalid;
        "another house's pass": post(HOLDS, &seat).by(&stranger) => 401 pass_invalid;
        "a ticket for a pass": post(HOLDS, &seat).by(&signed) => 401 pass_invalid;
        "an order's key for a pass": post(HOLDS, &seat).by(&key) => 401 pass_invalid;
        "the promoter's key for a pass": post(HOLDS, &seat).by(PROMOTER) => 401 pass_invalid;
        "somebody's hold, read": as_ben(format!("/v1/holds/{basket}")) => 403 not_yours;
        "somebody's hold, changed": patch(&format!("/v1/holds/{basket}"), &json!({"add": ["C-3"]})).by(&scene.ben) => 403 not_yours;
        "somebody's hold, given back": delete(&format!("/v1/holds/{basket}")).by(&scene.ben) => 403 not_yours;
        "somebody's hold, extended": post(&format!("/v1/holds/{basket}/extend"), &json!({})).by(&scene.ben) => 403 not_yours;
        "somebody's hold, accepted": post(&format!("/v1/holds/{basket}/accept"), &json!({})).by(&scene.ben) => 403 not_yours;
        "somebody's hold, ordered": post(&format!("/v1/holds/{basket}/order"), &buyer()).by(&scene.ben) => 403 not_yours;
        "a hold without a pass": get(&format!("/v1/holds/{basket}")) => 429 waiting_room;
        "somebody's order, read": as_ben(format!("/v1/orders/{pending}")) => 403 not_yours;
        "somebody's order, cancelled": post(&format!("/v1/orders/{pending}/cancel"), &json!({})).by(&scene.ben) => 403 not_yours;
        "another order's key": get(&format!("/v1/orders/{pending}")).by(&key) => 403 not_yours;
        "another order's key, cancelling": post(&format!("/v1/orders/{pending}/cancel"), &json!({})).by(&key) => 403 not_yours;
        "somebody's order, tried again": post(&format!("/v1/orders/{pending}/try-again"), &json!({})).by(&scene.ben) => 403 not_yours;
        "another order's key, trying again": post(&format!("/v1/orders/{pending}/try-again"), &json!({})).by(&key) => 403 not_yours;
        "another try without any key": post(&format!("/v1/orders/{pending}/try-again"), &json!({})) => 401 order_key_required;
        "a key with one digit changed": get(&format!("/v1/orders/{done}")).by(&wrong_key) => 403 not_yours;
        "an order without any key": get(&format!("/v1/orders/{done}")) => 401 order_key_required;
        "an order with another room's pass": get(&format!("/v1/orders/{done}")).by(&foreign) => 401 pass_invalid;
        "somebody's ticket": as_ben(format!("/v1/tickets/{ticket}")) => 403 not_yours;
        "somebody's ticket as a picture": as_ben(format!("/v1/tickets/{ticket}.svg")) => 403 not_yours;
        "a ticket without a key": get(&format!("/v1/tickets/{ticket}")) => 401 order_key_required;
        "a scan without a key": post(&scan, &json!({})) => 401 key_required;
        "a scan with an order's key": post(&scan, &json!({})).by(&key) => 401 key_invalid;
        "a scan with a viewer's key": post(&scan, &json!({})).by(VIEWER) => 403 key_role;
        "a venue without a key": venue() => 401 key_required;
        "a venue with a door's key": venue().by(DOOR) => 403 key_role;
        "a venue with a viewer's key": venue().by(VIEWER) => 403 key_role;
        "a venue with a pass": venue().by(&scene.ben) => 401 key_invalid;
        "a paid order given up": post(&format!("/v1/orders/{done}/cancel"), &json!({})).by(&key) => 409 not_cancellable;
        "another try to pay a paid order": post(&format!("/v1/orders/{done}/try-again"), &json!({})).by(&key) => 409 not_payable;
        "another try with a field": post(&format!("/v1/orders/{pending}/try-again"), &json!({"card": "visa"})).by(&scene.ana) => 422 unknown_field;
        "a refund": post(&format!("/v1/orders/{done}/refund"), &json!({})).by(&key) => 409 not_refundable;
        "an exchange for nothing": post(&format!("/v1/orders/{done}/exchange"), &json!({})).by(&key) => 422 invalid_field;
        "an exchange of what is not paid": post(&format!("/v1/orders/{pending}/exchange"), &json!({"show": "night-1", "seats": ["D-4"]})).by(&scene.ana) => 409 not_exchangeable;
        "a consent that nobody asked for": post(&format!("/v1/orders/{done}/consent"), &json!({"accept": true})).by(&key) => 409 no_consent_awaited;
        "a consent that says nothing": post(&format!("/v1/orders/{done}/consent"), &json!({})).by(&key) => 422 invalid_field;
        "a waitlist without a pass": post("/v1/shows/night-1/waitlist", &json!({"quantity": 1})) => 429 waiting_room;
        "a train": get("/v1/rail/stations?q=a") => 422 not_available;
        "a lookup by e-mail": post("/v1/orders/lookup", &json!({})) => 422 not_available;
    };
    scene.refuses(rows).await;
    scene.app.clock.advance_ms(605_000);
    let refused = scene.app.ask(post(HOLDS, &seat).by(&stale)).await;
    assert_eq!(faults(&refused, 401, "pass_expired"), Vec::<String>::new());
}

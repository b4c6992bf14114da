//! Tests scans at the door: a scan that names its show lets nobody in with a ticket of another
//! show, and only a door's key scans.

use serde_json::{Value, json};

use crate::harness::*;

fn scan(ticket: &str, body: &Value) -> TestCall {
    post(&format!("/v1/tickets/{ticket}/scan"), body).by(DOOR)
}

/// Buys A-1 for Ana, and returns the ticket.
async fn ticket(app: &App, ana: &Visitor) -> String {
    let order = app.order(ana, &["A-1"]).await;
    app.pay(&order, "approve").await.is(200);
    let ordered = app.order_in(&order, "ticketed").await;
    text(&ordered["tickets"][0], "ticket")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_that_names_another_show_lets_nobody_in_and_leaves_the_ticket_unscanned() {
    let (app, ana, _) = opened().await;
    app.put_show("night-2", json!({})).await;
    let ticket = ticket(&app, &ana).await;
    for other in ["night-2", "no-such-show"] {
        let refused = app.ask(scan(&ticket, &json!({"show": other}))).await;
        let refused = refused.problem(409, "wrong_show");
        assert_eq!(refused["show"], "night-1");
        assert_eq!(refused["seat"], "A-1");
        let detail = text(&refused, "detail");
        assert!(detail.contains("was not scanned"), "{detail}");
    }
    for (body, code) in [
        (json!({"shows": "night-1"}), "unknown_field"),
        (json!({"show": 1}), "invalid_field"),
        (json!({"show": "Night 1"}), "invalid_field"),
        (json!("night-1"), "invalid_field"),
    ] {
        app.ask(scan(&ticket, &body)).await.problem(422, code);
    }
    let own = json!({"show": "night-1"});
    let inside = app.ask(scan(&ticket, &own).keyed("k")).await.is(200);
    assert_eq!(inside["show"], "night-1");
    let again = app.ask(scan(&ticket, &own).keyed("k")).await.is(200);
    assert_eq!(again, inside);
    // A repeated call under the same key is not the first one if it names another show.
    let other = scan(&ticket, &json!({"show": "night-2"})).keyed("k");
    app.ask(other).await.problem(409, "wrong_show");
    let again = app.ask(scan(&ticket, &own)).await;
    again.problem(409, "already_scanned");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_without_a_show_is_compared_with_none_and_never_with_the_clock() {
    let (app, ana, _) = opened().await;
    let ticket = ticket(&app, &ana).await;
    // Months after the show has begun.
    app.clock.advance_ms(300 * 24 * 3_600_000);
    let call = post(&format!("/v1/tickets/{ticket}/scan"), &json!({})).raw("");
    let inside = app.ask(call.by(DOOR)).await.is(200);
    assert_eq!(inside["show"], "night-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_key_of_a_door_scans() {
    let (app, ana, _) = opened().await;
    let ticket = ticket(&app, &ana).await;
    let path = format!("/v1/tickets/{ticket}/scan");
    for other in [PROMOTER, VIEWER] {
        let refused = app.ask(post(&path, &json!({})).by(other)).await;
        refused.problem(403, "key_role");
    }
    let unkeyed = app.ask(post(&path, &json!({}))).await;
    unkeyed.problem(401, "key_required");
    app.ask(scan(&ticket, &json!({}))).await.is(200);
}

//! Tests the whole way from a free seat to the scan of its ticket at the door.

use booking::config::PaymentSettings;
use serde_json::json;

use crate::harness::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_holds_pays_and_is_admitted_once() {
    let (app, ana, _) = opened().await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    assert_eq!(hold["total"], json!({"amount": 19_800, "currency": "EUR"}));
    assert_eq!(hold["next_to_each_other"], true);
    assert_eq!(hold["expires_at"], "2027-01-10T09:05:00Z");
    let seats = app.seats("night-1").await;
    assert_eq!((&seats["free"], &seats["held"]), (&json!(38), &json!(2)));
    assert_eq!(seats["unavailable"], json!({"A-1": "held", "A-2": "held"}));

    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    assert_eq!(order["state"], "pending");
    assert_eq!(order["payment"]["amount"], hold["total"]);
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    let history = done["history"].as_array().expect("a list");
    let reasons: Vec<_> = history.iter().map(|step| text(step, "reason")).collect();
    assert_eq!(
        reasons,
        ["ordered", "payment_authorised", "payment_captured"]
    );
    let seats = until("the sold seats", async || {
        Some(app.seats("night-1").await).filter(|seats| seats["sold"] == 2)
    });
    assert_eq!(
        seats.await["unavailable"],
        json!({"A-1": "sold", "A-2": "sold"})
    );

    let tickets = done["tickets"].as_array().expect("a list");
    assert_eq!(tickets.len(), 2);
    let id = text(&tickets[0], "ticket");
    let key = text(&order, "order_key");
    let ticket = app.ask(get(&format!("/v1/tickets/{id}")).by(&key)).await;
    let ticket = ticket.is(200);
    let claims = app.keyring.verify_ticket(&text(&ticket, "signed"));
    let claims = claims.expect("signed by this installation");
    assert_eq!(
        (claims.ticket.as_str(), claims.seat.as_str(), claims.test),
        (id.as_str(), "A-1", true)
    );
    assert_eq!((claims.show.as_str(), claims.legs), ("night-1", vec![0]));

    let svg = app
        .ask(get(&format!("/v1/tickets/{id}.svg")).by(&key))
        .await;
    svg.is(200);
    assert_eq!(svg.media(), "image/svg+xml");
    assert!(svg.text().contains("<svg"));
    let ics = app
        .ask(get(&format!("/v1/tickets/{id}.ics")).by(&ana))
        .await;
    ics.is(200);
    assert!(ics.media().starts_with("text/calendar"));
    for line in [
        "BEGIN:VCALENDAR",
        "SUMMARY:Night one",
        "DTSTART:20270601T180000Z",
    ] {
        assert!(ics.text().contains(line), "{line} in {}", ics.text());
    }

    let scan = || post(&format!("/v1/tickets/{id}/scan"), &json!({})).by(&DOOR);
    let scanned = app.ask(scan()).await.is(200);
    assert_eq!(
        (&scanned["seat"], &scanned["test"]),
        (&json!("A-1"), &json!(true))
    );
    app.clock.advance_ms(60_000);
    let again = app.ask(scan()).await.problem(409, "already_scanned");
    assert_eq!(again["scanned_at"], scanned["scanned_at"]);
    let finished = app
        .booking
        .gateways()
        .pulse(&pulse_of(ROOM, &["night-1"], 0))
        .await;
    assert_eq!(finished.expect("readable").finished.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_the_sandbox_sold_carries_test_under_every_later_provider() {
    let (mut app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1"]).await;
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    app.payments = PaymentSettings::None;
    let app = app.restarted().await;
    let id = text(&done["tickets"][0], "ticket");
    let key = text(&order, "order_key");
    let ticket = app.ask(get(&format!("/v1/tickets/{id}")).by(&key)).await;
    let ticket = ticket.is(200);
    assert_eq!(ticket["test"], true);
    let claims = app.keyring.verify_ticket(&text(&ticket, "signed"));
    assert!(claims.expect("signed by this installation").test);
    let scan = post(&format!("/v1/tickets/{id}/scan"), &json!({})).by(&DOOR);
    assert_eq!(app.ask(scan).await.is(200)["test"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_orders_and_tickets_and_reports_lost_holds_as_expired() {
    let (app, ana, ben) = opened().await;
    let paid = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&paid, "approve").await.is(200);
    app.order_in(&paid, "ticketed").await;
    let pending = app.order(&ana, &["B-1", "B-2"]).await;
    let lost = text(&app.hold(&ben, &["C-1"]).await, "hold");

    let app = app.restarted().await;
    let gone = app.ask(get(&format!("/v1/holds/{lost}")).by(&ben)).await;
    gone.problem(410, "hold_expired");
    let path = format!("/v1/holds/{lost}/order");
    let gone = app.ask(post(&path, &buyer()).by(&ben)).await;
    gone.problem(410, "hold_expired");
    let seats = app.seats("night-1").await;
    assert_eq!(
        seats["unavailable"],
        json!({"A-1": "sold", "A-2": "sold", "B-1": "held", "B-2": "held"})
    );
    assert_eq!(app.read(&paid).await["state"], "ticketed");
    app.pay(&pending, "approve").await.is(200);
    app.order_in(&pending, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_repeated_after_a_restart_finds_its_order() {
    let (app, ana, _) = opened().await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    let app = app.restarted().await;
    let again = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    for member in ["order", "order_key", "state", "pay_until"] {
        assert_eq!(again[member], order[member], "{member}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_can_be_ordered_and_paid_after_its_pass_has_expired() {
    let (app, ana, _) = opened_with(json!({"hold_s": 1_800})).await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    app.clock.advance_ms(700_000);
    let new = post("/v1/shows/night-1/holds", &json!({"seats": ["B-1"]}));
    app.ask(new.by(&ana)).await.problem(401, "pass_expired");
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_read_between_its_transactions_never_contradicts_itself() {
    let (app, ana, _) = opened_with(json!({"seats_per_visitor": 40})).await;
    for row in ["A", "B", "C", "D"] {
        let seats = [format!("{row}-1"), format!("{row}-2")];
        let order = app.order(&ana, &[&seats[0], &seats[1]]).await;
        app.pay(&order, "approve").await.is(200);
        // The reads are as fast as possible, so that some fall between the transactions.
        for _ in 0..10_000 {
            let read = app.read(&order).await;
            let last = read["history"].as_array().and_then(|steps| steps.last());
            assert_eq!(last.map(|step| &step["state"]), Some(&read["state"]));
            let done = read["state"] == "ticketed";
            assert_eq!(read["payment"]["state"] == "captured", done, "{read:#}");
            assert_eq!(read["tickets"].as_array().map(Vec::len) == Some(2), done);
            if done {
                break;
            }
        }
        app.order_in(&order, "ticketed").await;
    }
}

//! Makes ledger, provider and store differ by hand. One run of the reconciler must find and repair
//! the difference, and the next run must find nothing. If the ledger was set back, a seat that only
//! the store shows as sold is reported but not freed.

use booking::ledger::TAKEN_QUIET_MS;
use booking::reconciler::ReconcilerLine;
use fairgate_model::findings::DriftKind;
use serde_json::json;

use crate::harness::*;

/// After this time, the reconciler no longer treats a payment or a claim as unfinished.
const SETTLED_MS: i64 = 20_000;

async fn pass(app: &App) -> Vec<ReconcilerLine> {
    app.booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable")
}

fn kinds(lines: &[ReconcilerLine]) -> Vec<(DriftKind, &'static str)> {
    lines.iter().map(|line| (line.kind, line.repair)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_without_drift_give_no_finding() {
    let (app, ana, ben) = opened().await;
    let done = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&done, "approve").await.is(200);
    app.order_in(&done, "ticketed").await;
    app.order(&ben, &["B-1", "B-2"]).await;
    app.clock.advance_ms(SETTLED_MS);
    assert_eq!(kinds(&pass(&app).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_event_was_lost_is_read_back() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    // The payment is authorised at the provider, and its event is lost.
    let payment: fairgate_model::ids::PaymentId =
        text(&order["payment"], "payment").parse().expect("an id");
    let ledger = app.ledger().await;
    let moved = ledger.sandbox_move(&payment, &["open"], "authorised");
    assert_eq!(moved.await.expect("written"), "authorised");
    app.clock.advance_ms(SETTLED_MS);
    assert_eq!(
        kinds(&pass(&app).await),
        [(DriftKind::NewsMissed, "repaired")]
    );
    app.order_in(&order, "ticketed").await;
    app.clock.advance_ms(SETTLED_MS);
    assert_eq!(kinds(&pass(&app).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_whose_event_was_lost_is_read_back() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    // Somebody refunds the money at the provider, and the event is lost.
    let payment: fairgate_model::ids::PaymentId =
        text(&order["payment"], "payment").parse().expect("an id");
    let ledger = app.ledger().await;
    let moved = ledger.sandbox_move(&payment, &["captured"], "refunded");
    assert_eq!(moved.await.expect("written"), "refunded");
    app.clock.advance_ms(SETTLED_MS);
    assert_eq!(
        kinds(&pass(&app).await),
        [],
        "captured payments are read back only after a longer time"
    );
    app.clock.advance_ms(TAKEN_QUIET_MS);
    assert_eq!(
        kinds(&pass(&app).await),
        [(DriftKind::NewsMissed, "repaired")]
    );
    app.order_once(&order, |order| order["payment"]["state"] == "refunded")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_the_ledger_no_longer_owes_is_owed_again() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    app.tamper("UPDATE orders SET state = 'confirmed'; UPDATE payments SET state = 'authorised', owes = NULL; \
         DELETE FROM tickets; DELETE FROM effects;").await;
    app.clock.advance_ms(SETTLED_MS);
    let found = pass(&app).await;
    assert!(
        kinds(&found).contains(&(DriftKind::CaptureNotOwed, "repaired")),
        "{found:?}"
    );
    let done = app.order_in(&order, "ticketed").await;
    assert_eq!(done["tickets"].as_array().map(Vec::len), Some(2));
    app.clock.advance_ms(SETTLED_MS);
    assert_eq!(kinds(&pass(&app).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_authorised_for_a_cancelled_order_is_voided_even_if_the_ledger_owes_no_void() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    let cancel = format!("/v1/orders/{}/cancel", text(&order, "order"));
    app.ask(post(&cancel, &json!({})).by(&ana)).await.is(200);
    app.tamper("UPDATE payments SET state = 'authorised';")
        .await;
    app.clock.advance_ms(SETTLED_MS);
    let found = pass(&app).await;
    assert_eq!(
        kinds(&found),
        [(DriftKind::MoneyNotReturned, "repaired")],
        "{found:?}"
    );
    app.order_once(&order, |order| order["payment"]["state"] == "voided")
        .await;
    app.clock.advance_ms(SETTLED_MS);
    assert_eq!(kinds(&pass(&app).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_that_are_missing_are_issued() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let before = app.order_in(&order, "ticketed").await;
    app.tamper("DELETE FROM tickets;").await;
    assert_eq!(
        kinds(&pass(&app).await),
        [(DriftKind::TicketsMissing, "repaired")]
    );
    assert_eq!(
        app.read(&order).await["tickets"],
        before["tickets"],
        "the same tickets as before"
    );
    assert_eq!(kinds(&pass(&app).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_differs_from_the_ledger_is_rebuilt() {
    let (app, ana, ben) = opened().await;
    let sold = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&sold, "approve").await.is(200);
    app.order_in(&sold, "ticketed").await;
    app.order(&ben, &["B-1", "B-2"]).await;
    until("sold seats", async || {
        (app.seats("night-1").await["unavailable"]["A-1"] == "sold").then_some(())
    })
    .await;
    // In the ledger Ana's claims move to row C and Ben's to row D. The store is not changed.
    app.tamper("UPDATE claims SET seat = seat + 20; \
         UPDATE orders SET items = replace(replace(items, '\"seat\":0,', '\"seat\":20,'), '\"seat\":1,', '\"seat\":21,') WHERE state = 'ticketed'; \
         UPDATE orders SET items = replace(replace(items, '\"seat\":10,', '\"seat\":30,'), '\"seat\":11,', '\"seat\":31,') WHERE state = 'pending';").await;
    let mut found = kinds(&pass(&app).await);
    found.sort_unstable();
    let expected = [
        DriftKind::SoldOnlyInLedger,
        DriftKind::SoldOnlyInStore,
        DriftKind::ClaimNotHeld,
    ];
    assert_eq!(
        found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        expected
    );
    assert!(
        found.iter().all(|(_, repair)| *repair == "repaired"),
        "{found:?}"
    );
    let seats = app.seats("night-1").await["unavailable"].clone();
    assert_eq!(
        seats,
        json!({"C-1": "sold", "C-2": "sold", "D-1": "held", "D-2": "held"})
    );
    assert_eq!(kinds(&pass(&app).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_was_set_back_frees_no_sold_seat() {
    let (app, ana, _) = opened().await;
    let sold = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&sold, "approve").await.is(200);
    app.order_in(&sold, "ticketed").await;
    until("sold seats", async || {
        (app.seats("night-1").await["unavailable"]["A-1"] == "sold").then_some(())
    })
    .await;
    // The ledger is now as if it had been restored from a copy made before the sale.
    app.tamper(
        "DELETE FROM claims; UPDATE orders SET state = 'expired'; UPDATE payments SET state = 'voided'; \
         DELETE FROM seat_outbox; UPDATE seat_marks SET numbered = 0, delivered = 0;",
    )
    .await;
    app.clock.advance_ms(SETTLED_MS);
    let found = kinds(&pass(&app).await);
    assert!(
        found.contains(&(DriftKind::SoldOnlyInStore, "failed")),
        "{found:?}"
    );
    assert_eq!(
        app.seats("night-1").await["unavailable"]["A-1"],
        "sold",
        "a ledger that was set back must not free a sold seat"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_keeps_its_deadline_if_the_ledger_refuses_its_order() {
    let (app, ana, ben) = opened().await;
    app.tamper(
        "CREATE TRIGGER away BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'away'); END;",
    )
    .await;
    let mut orders = Vec::new();
    for (who, seat) in [(&ana, "A-1"), (&ben, "B-1")] {
        let hold = text(&app.hold(who, &[seat]).await, "hold");
        let path = format!("/v1/holds/{hold}/order");
        let refused = app.ask(post(&path, &buyer()).by(who)).await;
        refused.problem(503, "ledger_unavailable");
        app.ask(delete(&format!("/v1/holds/{hold}")).by(who))
            .await
            .problem(409, "hold_ordered");
        orders.push((hold, path));
    }
    app.tamper("DROP TRIGGER away;").await;
    // A moment after the ledger accepts orders again, the holds are baskets again. One of them is
    // ordered, and the other lapses at its old deadline.
    until("the holds to be baskets again", async || {
        app.clock.advance_ms(100);
        let path = format!("/v1/holds/{}/extend", orders[0].0);
        let refused = app.ask(post(&path, &json!({})).by(&ana)).await;
        let document: serde_json::Value = serde_json::from_slice(&refused.body).expect("JSON");
        (document["code"] != "hold_ordered").then_some(())
    })
    .await;
    let call = post(&orders[0].1, &buyer()).by(&ana);
    let order = app.ask(call).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    app.clock.advance_ms(305_000);
    until("the other seat to be free", async || {
        let seats = app.seats("night-1").await["unavailable"].clone();
        (seats == json!({"A-1": "sold"})).then_some(())
    })
    .await;
}

//! Tests that paid seats stay locked while the ledger has their claim, even if the payment's event
//! cannot be settled for a long time.

use serde_json::{Value, json};

use crate::harness::*;

/// The trigger that lets events be stored, but keeps them from being settled.
const STUCK: &str = "CREATE TRIGGER stuck BEFORE UPDATE OF settled_at ON provider_events \
     BEGIN SELECT RAISE(ABORT, 'stuck'); END";
const LOOSE: &str = "DROP TRIGGER stuck";
/// Takes the reconciler's lease, so that the reconciler does not run. It would restore lost locks,
/// and so hide their loss from the test.
const NO_RECONCILER: &str = "INSERT INTO leases (name, owner, until) VALUES ('reconciler', 'nobody', 1 << 60) \
     ON CONFLICT (name) DO UPDATE SET owner = 'nobody', until = 1 << 60";
/// A step of the clock that is longer than the life of a basket, and longer than the time from a
/// claim's deadline to the end of its lock.
const STEP_MS: i64 = 310_000;

/// Returns an app, and an order whose payment was reported in time. The event of the payment cannot
/// be settled.
async fn paid_and_stuck() -> (App, Value) {
    let (app, ana, _) = opened().await;
    app.tamper(STUCK).await;
    app.tamper(NO_RECONCILER).await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await;
    (app, order)
}

/// Takes a basket, moves the clock past its end, and waits until the sweep has freed it. By then
/// the sweep has also freed everything that was due earlier.
async fn swept(app: &App, visitor: u16) {
    let call = post("/v1/shows/night-1/holds", &json!({"seats": ["D-1"]}));
    app.ask(call.by(&app.visitor(visitor))).await.is(201);
    app.clock.advance_ms(STEP_MS);
    until("a sweep", async || {
        let seats = app.seats("night-1").await;
        seats["unavailable"].get("D-1").is_none().then_some(())
    })
    .await;
}

async fn until_state(app: &App, state: &str) {
    until(state, async || {
        let seats = app.seats("night-1").await;
        (seats["unavailable"] == json!({"A-1": state, "A-2": state})).then_some(())
    })
    .await;
}

async fn settled(app: &App, order: &Value) {
    app.tamper(LOOSE).await;
    // After this time, the next attempt to settle the event is due.
    app.clock.advance_ms(600_000);
    app.order_in(order, "ticketed").await;
    until_state(app, "sold").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_order_keeps_its_seats_locked_until_its_event_is_settled() {
    let (app, order) = paid_and_stuck().await;
    for round in 10..13 {
        swept(&app, round).await;
        until_state(&app, "held").await;
        let taken = post("/v1/shows/night-1/holds", &json!({"seats": ["A-1"]}));
        let taken = app.ask(taken.by(&app.visitor(round + 10))).await;
        taken.problem(409, "seats_taken");
        assert_eq!(app.read(&order).await["state"], "pending");
    }
    settled(&app, &order).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_order_keeps_its_seats_locked_over_a_restart() {
    let (app, order) = paid_and_stuck().await;
    app.clock.advance_ms(2 * STEP_MS);
    let app = app.restarted().await;
    swept(&app, 10).await;
    until_state(&app, "held").await;
    settled(&app, &order).await;
}

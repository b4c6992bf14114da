//! The steps of a buyer: hold seats, order them, pay, and read the order.

use serde_json::{Value, json};

use super::{TestAnswer, TestCall, TestClient, get, post, until};

/// A shop that sells tickets. The argument `who` is the pass of the buyer. The arguments `hold` and
/// `order` are documents that the shop returned.
#[expect(
    async_fn_in_trait,
    reason = "tests name the types that have it, so that their futures are known"
)]
pub trait TestShop {
    /// Returns the client that sends the calls.
    fn client(&self) -> &TestClient;

    /// Sends a call and reads its answer.
    async fn ask(&self, call: TestCall) -> TestAnswer {
        self.client().ask(call).await
    }

    /// Asks to hold seats of a show, and returns the answer.
    async fn try_hold(
        &self,
        who: &(impl AsRef<str> + ?Sized),
        show: &str,
        wish: &Value,
    ) -> TestAnswer {
        let path = format!("/v1/shows/{show}/holds");
        self.ask(post(&path, wish).by(who)).await
    }

    /// Holds seats of `night-1`, and returns the hold.
    async fn hold(&self, who: &(impl AsRef<str> + ?Sized), seats: &[&str]) -> Value {
        let wish = json!({ "seats": seats });
        self.try_hold(who, "night-1", &wish).await.is(201)
    }

    /// Asks to order the seats of a hold, and returns the answer.
    async fn try_checkout(&self, who: &(impl AsRef<str> + ?Sized), hold: &Value) -> TestAnswer {
        let path = format!("/v1/holds/{}/order", text(hold, "hold"));
        self.ask(post(&path, &buyer()).by(who)).await
    }

    /// Orders the seats of a hold, and returns the order.
    async fn checkout(&self, who: &(impl AsRef<str> + ?Sized), hold: &Value) -> Value {
        self.try_checkout(who, hold).await.is(201)
    }

    /// Holds and orders seats of `night-1`, and returns the order.
    async fn order(&self, who: &(impl AsRef<str> + ?Sized), seats: &[&str]) -> Value {
        let hold = self.hold(who, seats).await;
        self.checkout(who, &hold).await
    }

    /// Presses a button of the payment sandbox, such as `approve`.
    async fn pay(&self, order: &Value, outcome: &str) -> TestAnswer {
        let payment = text(&order["payment"], "payment");
        let path = format!("/v1/sandbox/payments/{payment}");
        self.ask(post(&path, &json!({ "outcome": outcome }))).await
    }

    /// Reads the order with its key.
    async fn read(&self, order: &Value) -> Value {
        let path = format!("/v1/orders/{}", text(order, "order"));
        let call = get(&path).by(&text(order, "order_key"));
        self.ask(call).await.is(200)
    }

    /// Waits until `ready` returns true for the order.
    async fn order_once(&self, order: &Value, ready: impl Fn(&Value) -> bool) -> Value {
        let read = async || Some(self.read(order).await).filter(&ready);
        until("the order's state", read).await
    }

    /// Waits until the order is in this state.
    async fn order_in(&self, order: &Value, state: &str) -> Value {
        let in_state = |order: &Value| order["state"] == state;
        self.order_once(order, in_state).await
    }

    /// Reads the states of the seats of a show as JSON.
    async fn seats(&self, show: &str) -> Value {
        let call = get(&format!("/v1/shows/{show}/seats")).header("accept", "application/json");
        self.ask(call).await.is(200)
    }
}

/// Returns the body of a call that orders seats.
#[must_use]
pub fn buyer() -> Value {
    json!({ "buyer": { "name": "Ana Perez", "email": "ana@example.org" } })
}

/// Returns a text member of a document.
///
/// # Panics
/// Where the document has no such text.
#[must_use]
#[track_caller]
pub fn text(document: &Value, member: &str) -> String {
    let text = document[member].as_str();
    text.unwrap_or_else(|| panic!("no {member} in {document:#}"))
        .to_owned()
}

//! The steps of a buyer: a hold, an order of it, the payment, and reading the order.

use serde_json::{Value, json};

use super::{TestAnswer, TestCall, TestClient, get, post, until};

/// Where tickets are bought. Whoever buys is named by a pass; orders and holds are the documents
/// that they were answered as.
#[expect(
    async_fn_in_trait,
    reason = "tests name the types that have it, so that their futures are known"
)]
pub trait TestShop {
    /// Who sends the calls.
    fn client(&self) -> &TestClient;

    /// Sends a call and reads its answer.
    async fn ask(&self, call: TestCall) -> TestAnswer {
        self.client().ask(call).await
    }

    /// Asks for a hold at a show.
    async fn try_hold(
        &self,
        who: &(impl AsRef<str> + ?Sized),
        show: &str,
        wish: &Value,
    ) -> TestAnswer {
        let path = format!("/v1/shows/{show}/holds");
        self.ask(post(&path, wish).by(who)).await
    }

    /// Holds seats of `night-1`.
    async fn hold(&self, who: &(impl AsRef<str> + ?Sized), seats: &[&str]) -> Value {
        let wish = json!({ "seats": seats });
        self.try_hold(who, "night-1", &wish).await.is(201)
    }

    /// Asks for an order of a hold.
    async fn try_checkout(&self, who: &(impl AsRef<str> + ?Sized), hold: &Value) -> TestAnswer {
        let path = format!("/v1/holds/{}/order", text(hold, "hold"));
        self.ask(post(&path, &buyer()).by(who)).await
    }

    /// Makes a hold an order.
    async fn checkout(&self, who: &(impl AsRef<str> + ?Sized), hold: &Value) -> Value {
        self.try_checkout(who, hold).await.is(201)
    }

    /// Orders seats of `night-1`.
    async fn order(&self, who: &(impl AsRef<str> + ?Sized), seats: &[&str]) -> Value {
        let hold = self.hold(who, seats).await;
        self.checkout(who, &hold).await
    }

    /// Presses a button of the sandbox.
    async fn pay(&self, order: &Value, outcome: &str) -> TestAnswer {
        let payment = text(&order["payment"], "payment");
        let path = format!("/v1/sandbox/payments/{payment}");
        self.ask(post(&path, &json!({ "outcome": outcome }))).await
    }

    /// The order as its key opens it.
    async fn read(&self, order: &Value) -> Value {
        let path = format!("/v1/orders/{}", text(order, "order"));
        let call = get(&path).by(&text(order, "order_key"));
        self.ask(call).await.is(200)
    }

    /// Waits until the order's document is as `ready` wants it.
    async fn order_once(&self, order: &Value, ready: impl Fn(&Value) -> bool) -> Value {
        let read = async || Some(self.read(order).await).filter(&ready);
        until("the order's state", read).await
    }

    /// Waits until the order is in this state.
    async fn order_in(&self, order: &Value, state: &str) -> Value {
        let in_state = |order: &Value| order["state"] == state;
        self.order_once(order, in_state).await
    }

    /// The states of a show's seats as JSON.
    async fn seats(&self, show: &str) -> Value {
        let call = get(&format!("/v1/shows/{show}/seats")).header("accept", "application/json");
        self.ask(call).await.is(200)
    }
}

/// The body of an order.
#[must_use]
pub fn buyer() -> Value {
    json!({ "buyer": { "name": "Ana Perez", "email": "ana@example.org" } })
}

/// A text member of a document.
///
/// # Panics
/// Where it is none.
#[must_use]
#[track_caller]
pub fn text(document: &Value, member: &str) -> String {
    let text = document[member].as_str();
    text.unwrap_or_else(|| panic!("no {member} in {document:#}"))
        .to_owned()
}

//! Tests the server that imitates Stripe: it checks the secret key, and a refund has one id.

use fairgate_servers::{FakeStripeServer, STRIPE_SECRET_KEY};
use serde_json::Value;

/// The account's owner, who calls with this key.
struct Owner<'a> {
    stripe: &'a FakeStripeServer,
    key: &'a str,
}

impl Owner<'_> {
    /// Makes a call, and returns the status and the body.
    async fn call(&self, method: &str, path: &str, form: &str) -> (u16, Value) {
        let method = method.parse().expect("a method");
        let call = reqwest::Client::new()
            .request(method, format!("{}{path}", self.stripe.url()))
            .bearer_auth(self.key)
            .header("idempotency-key", format!("{path} {form}"))
            .body(form.to_owned());
        let answer = call.send().await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.bytes().await.expect("a body");
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    /// Makes a captured payment of 10.00 euros, and returns its intent.
    async fn paid(&self) -> String {
        let form = "amount=1000&currency=eur&capture_method=manual";
        let (_, made) = self.call("POST", "/v1/payment_intents", form).await;
        let intent = made["id"].as_str().expect("an id").to_owned();
        let secret = made["client_secret"].as_str().expect("a secret");
        self.stripe.confirm(secret, "card", true);
        let capture = format!("/v1/payment_intents/{intent}/capture");
        assert_eq!(self.call("POST", &capture, "").await.0, 200);
        intent
    }
}

#[tokio::test]
async fn a_call_with_a_wrong_key_is_refused_even_if_it_only_reads() {
    let stripe = FakeStripeServer::start(1).await.expect("it starts");
    let owner = Owner {
        stripe: &stripe,
        key: STRIPE_SECRET_KEY,
    };
    let stranger = Owner {
        stripe: &stripe,
        key: "sk_test_wrong",
    };
    let intent = owner.paid().await;
    for path in [
        format!("/v1/payment_intents/{intent}"),
        format!("/v1/refunds?payment_intent={intent}"),
    ] {
        assert_eq!(owner.call("GET", &path, "").await.0, 200, "{path}");
        assert_eq!(stranger.call("GET", &path, "").await.0, 401, "{path}");
    }
    let refund = stranger.call("POST", "/v1/refunds", "amount=1").await;
    assert_eq!(refund.0, 401);
}

#[tokio::test]
async fn a_refund_is_listed_under_the_id_that_its_call_returned() {
    let stripe = FakeStripeServer::start(1).await.expect("it starts");
    let owner = Owner {
        stripe: &stripe,
        key: STRIPE_SECRET_KEY,
    };
    let intent = owner.paid().await;
    let mut made = Vec::new();
    for form in ["amount=100", "amount=200"] {
        let form = format!("payment_intent={intent}&{form}");
        let (status, refund) = owner.call("POST", "/v1/refunds", &form).await;
        assert_eq!(status, 200, "{refund}");
        made.insert(0, refund["id"].clone());
    }
    let path = format!("/v1/refunds?payment_intent={intent}");
    let (_, listed) = owner.call("GET", &path, "").await;
    let ids = [0, 1].map(|nth| listed["data"][nth]["id"].clone());
    assert_eq!(made, ids);
}

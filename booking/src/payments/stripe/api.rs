//! The few HTTP calls: forms out, JSON back, an `Idempotency-Key` on everything that changes something.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

use crate::payments::ProviderError;

/// The version of the interface that the fields here are read by.
const VERSION: &str = "2024-06-20";

/// A call without an answer so long has an unknown outcome.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// Longest word of Stripe's that goes into a log.
const TOLD_CHARS_MAX: usize = 200;

/// Why there is no answer to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Unknown outcome, or a state of affairs that passes: no answer, too many calls, a fault on their side or in the keys.
    Later(String),
    /// The bank said no.
    Card(String),
    /// The intent is not in a state for this call.
    State(String),
}

impl From<Fault> for ProviderError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Later(why) => Self::Later(why),
            Fault::Card(why) | Fault::State(why) => Self::Refused(why),
        }
    }
}

/// A pooled client of one account.
#[derive(Clone)]
pub struct Api {
    client: Client,
    base: String,
    secret_key: String,
}

impl Api {
    /// With the account's secret key.
    ///
    /// # Errors
    /// Where the system gives no TLS.
    pub fn new(base: &str, secret_key: &str) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .timeout(ANSWER_WITHIN)
            .connect_timeout(CONNECT_WITHIN)
            // An answer from elsewhere would be given the secret key.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self {
            client,
            base: base.trim_end_matches('/').to_owned(),
            secret_key: secret_key.to_owned(),
        })
    }

    /// Changes something, once for each key.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn post(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        idempotency_key: &str,
    ) -> Result<Value, Fault> {
        let call = self
            .call(Method::POST, path)
            .header("idempotency-key", idempotency_key)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form(fields));
        answer(call).await
    }

    /// Reads something.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn get(&self, path: &str) -> Result<Value, Fault> {
        answer(self.call(Method::GET, path)).await
    }

    fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.secret_key)
            .header("stripe-version", VERSION)
    }
}

async fn answer(call: RequestBuilder) -> Result<Value, Fault> {
    // The address is ours and the key is in a header: the error tells neither.
    let unheard = |error: reqwest::Error| Fault::Later(error.without_url().to_string());
    let response = call.send().await.map_err(unheard)?;
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(unheard)?;
    let document: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if (200..300).contains(&status) {
        return if document.is_object() {
            Ok(document)
        } else {
            Err(Fault::Later("an answer that is no JSON".to_owned()))
        };
    }
    Err(judged(status, &document["error"]))
}

/// Only what Stripe decided about this payment is a refusal. Wrong keys, unknown objects and calls that it does not
/// understand are faults of the set-up, and no reason to take a buyer's seats away.
fn judged(status: u16, error: &Value) -> Fault {
    let text = |field: &str| error[field].as_str().unwrap_or("");
    let told: String = format!("{status} {} {}", text("code"), text("message"))
        .chars()
        .take(TOLD_CHARS_MAX)
        .collect();
    match status {
        402 => Fault::Card(told),
        400 if text("code") == "payment_intent_unexpected_state" => Fault::State(told),
        400 if text("code") == "charge_already_refunded" => Fault::State(told),
        _ => Fault::Later(told),
    }
}

/// `application/x-www-form-urlencoded`.
fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
        .collect();
    pairs.join("&")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_escaped() {
        let fields = [("metadata[payment]", "a b&c=d"), ("x", "é")];
        assert_eq!(
            form(&fields),
            "metadata%5Bpayment%5D=a%20b%26c%3Dd&x=%C3%A9"
        );
    }

    #[test]
    fn only_what_stripe_decided_about_the_payment_is_a_refusal() {
        let check = |status, code: &str| judged(status, &json!({ "code": code, "message": "m" }));
        assert!(matches!(check(402, "card_declined"), Fault::Card(_)));
        assert!(matches!(
            check(400, "payment_intent_unexpected_state"),
            Fault::State(_)
        ));
        for (status, code) in [
            (400, "parameter_unknown"),
            (400, "idempotency_error"),
            (401, ""),
            (403, ""),
            (404, "resource_missing"),
            (409, "idempotency_key_in_use"),
            (429, "rate_limit"),
            (500, ""),
            (503, ""),
        ] {
            assert!(
                matches!(check(status, code), Fault::Later(_)),
                "{status} {code}"
            );
        }
    }
}

//! Makes the few HTTP calls to Stripe. It sends forms and reads JSON, and sends an
//! `Idempotency-Key` with every call that changes something.

use std::time::Duration;

use fairgate_model::payments::ProviderError;
use fairgate_model::payments::limits::PaymentSumError;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

/// The version of Stripe's API whose fields this code reads.
const VERSION: &str = "2024-06-20";

/// How long to wait for an answer. A call without an answer has an unknown outcome.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const CONNECT_WITHIN: Duration = Duration::from_secs(3);

/// How many characters of an error's text from Stripe are kept.
const ERROR_CHARS_MAX: usize = 200;

/// Why a call gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StripeFault {
    /// The outcome is unknown, or the cause may go away: no answer, too many calls, another call on
    /// the same object, a fault at Stripe, or wrong keys that the organiser has to correct. The
    /// call is tried again later.
    Later(String),
    /// The bank refused.
    Card(String),
    /// The intent's state does not allow this call.
    State(String),
    /// Stripe never takes such a sum.
    Sum(PaymentSumError),
    /// Stripe does not understand the call, and a repeated call gets the same answer.
    Call(String),
}

impl From<StripeFault> for ProviderError {
    fn from(fault: StripeFault) -> Self {
        match fault {
            StripeFault::Later(why) => Self::Later(why),
            StripeFault::Card(why) | StripeFault::State(why) | StripeFault::Call(why) => {
                Self::Refused(why)
            }
            StripeFault::Sum(refused) => Self::Sum(refused),
        }
    }
}

/// A client of one account, with pooled connections.
#[derive(Clone)]
pub struct StripeApiClient {
    client: Client,
    base: String,
    secret_key: String,
}

impl StripeApiClient {
    /// Makes a client with the account's secret key.
    ///
    /// # Errors
    /// Returns an error if the system provides no TLS.
    pub fn new(base: &str, secret_key: &str) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .timeout(ANSWER_WITHIN)
            .connect_timeout(CONNECT_WITHIN)
            // A redirect could send the secret key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self {
            client,
            base: base.trim_end_matches('/').to_owned(),
            secret_key: secret_key.to_owned(),
        })
    }

    /// Sends a call that changes something. Stripe carries it out once for each key.
    ///
    /// # Errors
    /// [`StripeFault`].
    pub async fn post(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        idempotency_key: &str,
    ) -> Result<Value, StripeFault> {
        let call = self
            .request_builder(Method::POST, path)
            .header("idempotency-key", idempotency_key)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form_encoded(fields));
        send_request(call).await
    }

    /// Sends a call that only reads.
    ///
    /// # Errors
    /// [`StripeFault`].
    pub async fn get(&self, path: &str) -> Result<Value, StripeFault> {
        send_request(self.request_builder(Method::GET, path)).await
    }

    fn request_builder(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.secret_key)
            .header("stripe-version", VERSION)
    }
}

async fn send_request(call: RequestBuilder) -> Result<Value, StripeFault> {
    // The URL is removed from the error. The key is in a header, so the error does not contain it.
    let outcome_unknown =
        |error: reqwest::Error| StripeFault::Later(error.without_url().to_string());
    let response = call.send().await.map_err(outcome_unknown)?;
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(outcome_unknown)?;
    let document: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if (200..300).contains(&status) {
        return if document.is_object() {
            Ok(document)
        } else {
            Err(StripeFault::Later("the answer is not JSON".to_owned()))
        };
    }
    Err(fault_of_error(status, &document["error"]))
}

/// Turns an error of Stripe into a fault. A decision about this payment becomes a
/// [`StripeFault::Card`], `State` or `Sum`. A call that Stripe does not understand becomes a
/// [`StripeFault::Call`], because a repeated call gets the same answer
/// (<https://docs.stripe.com/error-codes>, <https://docs.stripe.com/error-low-level>). All other
/// errors become a [`StripeFault::Later`]. This includes wrong keys, accounts that are not ready,
/// and unknown objects. The organiser has to correct these, and they are no reason to take a
/// buyer's seats away.
fn fault_of_error(status: u16, error: &Value) -> StripeFault {
    let text = |field: &str| error[field].as_str().unwrap_or("");
    let why: String = format!("{status} {} {}", text("code"), text("message"))
        .chars()
        .take(ERROR_CHARS_MAX)
        .collect();
    let (kind, code) = (text("type"), text("code"));
    match status {
        402 => StripeFault::Card(why),
        400 if STATE_ERROR_CODES.contains(&code) => StripeFault::State(why),
        400 if code == "amount_too_small" => StripeFault::Sum(PaymentSumError::TooSmall),
        400 if code == "amount_too_large" => StripeFault::Sum(PaymentSumError::TooLarge),
        400 if kind == "invalid_request_error" && !SET_UP_ERROR_CODES.contains(&code) => {
            StripeFault::Call(why)
        }
        _ => StripeFault::Later(why),
    }
}

/// Codes of errors whose cause is the state of the intent or of its charge.
const STATE_ERROR_CODES: [&str; 4] = [
    "payment_intent_unexpected_state",
    "charge_already_refunded",
    "charge_already_captured",
    "charge_expired_for_capture",
];

/// Codes of errors whose cause is the account or its keys, not the call.
const SET_UP_ERROR_CODES: [&str; 8] = [
    "account_invalid",
    "api_key_expired",
    "livemode_mismatch",
    "platform_api_key_expired",
    "secret_key_required",
    "testmode_charges_only",
    "tls_version_unsupported",
    "resource_missing",
];

/// Encodes fields as `application/x-www-form-urlencoded`.
fn form_encoded(fields: &[(&str, &str)]) -> String {
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
            form_encoded(&fields),
            "metadata%5Bpayment%5D=a%20b%26c%3Dd&x=%C3%A9"
        );
    }

    fn check(status: u16, kind: &str, code: &str) -> StripeFault {
        fault_of_error(
            status,
            &json!({ "type": kind, "code": code, "message": "m" }),
        )
    }

    #[test]
    fn errors_that_cannot_go_away_are_not_tried_again_later() {
        let asked = |code| check(400, "invalid_request_error", code);
        assert!(matches!(
            check(402, "card_error", "card_declined"),
            StripeFault::Card(_)
        ));
        assert!(matches!(
            asked("payment_intent_unexpected_state"),
            StripeFault::State(_)
        ));
        assert_eq!(
            asked("amount_too_small"),
            StripeFault::Sum(PaymentSumError::TooSmall)
        );
        assert_eq!(
            asked("amount_too_large"),
            StripeFault::Sum(PaymentSumError::TooLarge)
        );
        for code in ["parameter_unknown", "parameter_invalid_integer", ""] {
            assert!(matches!(asked(code), StripeFault::Call(_)), "{code}");
        }
    }

    #[test]
    fn errors_that_may_go_away_are_tried_again_later() {
        for (status, kind, code) in [
            (400, "", ""),
            (400, "idempotency_error", ""),
            (400, "invalid_request_error", "testmode_charges_only"),
            (401, "invalid_request_error", ""),
            (403, "invalid_request_error", ""),
            (404, "invalid_request_error", "resource_missing"),
            (409, "idempotency_error", "idempotency_key_in_use"),
            (424, "api_error", ""),
            (429, "invalid_request_error", "rate_limit"),
            (429, "invalid_request_error", "lock_timeout"),
            (500, "api_error", ""),
            (503, "", ""),
        ] {
            assert!(
                matches!(check(status, kind, code), StripeFault::Later(_)),
                "{status} {kind} {code}"
            );
        }
    }
}

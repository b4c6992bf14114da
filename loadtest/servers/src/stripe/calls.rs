//! Answers two kinds of calls. The account's owner calls with the secret key. A card form calls
//! with the secret of its intent.

use std::collections::{BTreeMap, HashMap};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::intent::{metadata_of, refund_id};
use super::rules::{StripeErrorReply, invalid};
use super::{
    FakeStripeServer, FakeStripeState, STRIPE_SECRET_KEY, StripeIntent, StripeStoredAnswer,
};

/// The test card that is always declined, as at Stripe.
const DECLINED: &str = "pm_card_chargeDeclined";

/// The most refunds on a page of the list. The number is small, so that tests notice a client that
/// reads only the first page. Stripe's own pages have up to 100.
const REFUNDS_A_PAGE: usize = 2;

/// The result of a call: its status, its body, and the event that it causes. The event has its kind
/// and the id of its intent.
type StripeCallResult = (u16, Value, Option<(&'static str, String)>);

/// Serves the script of the card form.
pub(super) async fn form() -> impl IntoResponse {
    let kind = [(header::CONTENT_TYPE, "text/javascript")];
    (kind, include_str!("form.js"))
}

/// Stripe's message for a key that comes again with other parameters.
const OTHER_PARAMETERS: &str =
    "Keys for idempotent requests can only be used with the same parameters";

impl FakeStripeServer {
    /// Handles a call that changes something. Draws the faults and checks the idempotency key. Runs
    /// `act` only if no answer is stored under that key.
    fn idempotent_call(
        &self,
        headers: &HeaderMap,
        parameters: String,
        act: impl FnOnce(&mut FakeStripeState) -> StripeCallResult,
    ) -> Response {
        if let Some(refused) = refusal_of_key(headers) {
            return refused;
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (status, body, told, hangs) = {
            let mut inner = self.inner.lock();
            inner.calls += 1;
            let Some(key) = header("idempotency-key").map(str::to_owned) else {
                inner.keys_missing += 1;
                return error(400, "", "this server wants a key");
            };
            let chaos = inner.chaos;
            if let Some(refused) = inner.refusal() {
                return refused;
            }
            let (hangs, broken) = (
                inner.fault_happens(chaos.hang_pct),
                inner.fault_happens(chaos.broken_pct),
            );
            match inner.answers.get(&key) {
                Some(stored) if stored.parameters != parameters => {
                    return typed(400, "idempotency_error", "", OTHER_PARAMETERS);
                }
                Some(stored) => (stored.status, stored.body.clone(), None, hangs),
                None => {
                    let (status, body, told) = act(&mut inner);
                    if is_misunderstood(&body) {
                        return (status_of(status), body.to_string()).into_response();
                    }
                    // The answer is stored under its key, even if it is an error 500.
                    let (status, body) = if broken {
                        (500, api_error_body().to_string())
                    } else {
                        (status, body.to_string())
                    };
                    let stored = StripeStoredAnswer {
                        parameters,
                        status,
                        body: body.clone(),
                    };
                    inner.answers.insert(key, stored);
                    (status, body, told, hangs)
                }
            }
        };
        if let Some((kind, id)) = told {
            self.send_event(kind, &id);
        }
        if hangs {
            return bad_gateway();
        }
        (status_of(status), body).into_response()
    }
}

/// Returns the refusal of a call that does not send the account's secret key.
pub(super) fn refusal_of_key(headers: &HeaderMap) -> Option<Response> {
    let key = headers.get(header::AUTHORIZATION);
    let is_right = key.is_some_and(|key| *key == format!("Bearer {STRIPE_SECRET_KEY}"));
    (!is_right).then(|| error(401, "", "Invalid API Key provided"))
}

impl FakeStripeState {
    /// Decides whether the call is refused before anything is done, and returns the refusal.
    pub(super) fn refusal(&mut self) -> Option<Response> {
        if self.chaos.away {
            return Some(typed(503, "api_error", "", "away"));
        }
        if let Some(status) = self.keys_refused {
            return Some(error(status, "", "the key may not do this"));
        }
        if self.fault_happens(self.chaos.too_many_pct) {
            return Some(error(429, "rate_limit", "too many"));
        }
        if !self.fault_happens(self.chaos.locked_pct) {
            return None;
        }
        // The refusal says that another call is changing the same object or has the same key.
        let by_object = self.fault_happens(50);
        Some(if by_object {
            error(429, "lock_timeout", "another call is at this object")
        } else {
            let message = "another call with this key is under way";
            typed(409, "idempotency_error", "idempotency_key_in_use", message)
        })
    }
}

/// Returns whether the call was refused because of one of its fields. Such an answer is not stored
/// under the idempotency key.
fn is_misunderstood(answer: &Value) -> bool {
    answer["error"]["param"].is_string()
}

/// Returns the answer of a proxy whose server does not answer. It is a 502 with an empty body.
fn bad_gateway() -> Response {
    (StatusCode::BAD_GATEWAY, "").into_response()
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the body of an error 500. The call still had its effect.
fn api_error_body() -> Value {
    json!({ "error": { "type": "api_error", "message": "something broke" } })
}

fn typed(status: u16, kind: &str, code: &str, message: &str) -> Response {
    let mut error = json!({ "type": kind, "message": message });
    if !code.is_empty() {
        error["code"] = json!(code);
    }
    let body = json!({ "error": error });
    (status_of(status), body.to_string()).into_response()
}

/// Returns the error for a call in which the caller made a mistake.
pub(super) fn error(status: u16, code: &str, message: &str) -> Response {
    typed(status, "invalid_request_error", code, message)
}

fn missing_intent() -> StripeCallResult {
    let (_, body) = invalid("resource_missing", "intent", "no such intent");
    (404, body, None)
}

fn refused_call((status, body): StripeErrorReply) -> StripeCallResult {
    (status, body, None)
}

/// Reads the fields of a form.
pub(super) fn fields(body: &Bytes) -> HashMap<String, String> {
    let text = String::from_utf8_lossy(body);
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (unescaped(name), unescaped(value)))
        .collect()
}

fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = [bytes.next(), bytes.next()].map(Option::unwrap_or_default);
        let value = hex::decode(digits).unwrap_or_default();
        out.extend(value);
    }
    String::from_utf8_lossy(&out).into_owned()
}

pub(super) async fn create(
    State(server): State<FakeStripeServer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form = fields(&body);
    let parameters = String::from_utf8_lossy(&body).into_owned();
    server.idempotent_call(&headers, parameters, |inner| {
        if inner.fault_happens(inner.chaos.sums_pct) {
            let message = "This account takes no such sum.";
            return refused_call(invalid("amount_too_small", "amount", message));
        }
        inner.next += 1;
        let id = format!("pi_{}", inner.next);
        let intent = match StripeIntent::from_fields(inner.next, &form) {
            Ok(intent) => intent,
            Err(refusal) => return refused_call(refusal),
        };
        let shown = intent.intent_json(&id, false);
        inner.intents.insert(id, intent);
        (200, shown, None)
    })
}

pub(super) async fn read(
    State(server): State<FakeStripeServer>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    if let Some(refused) = refusal_of_key(&headers) {
        return refused;
    }
    let mut inner = server.inner.lock();
    inner.calls += 1;
    if let Some(refused) = inner.refusal() {
        return refused;
    }
    let query = uri.query().unwrap_or("");
    let expanded = query.contains("latest_charge");
    match inner.intents.get(&id) {
        Some(intent) => intent
            .intent_json(&id, expanded)
            .to_string()
            .into_response(),
        None => error(404, "resource_missing", "no such intent"),
    }
}

/// Confirms a payment for a card form. The form sends the secret of the intent and a card. If the
/// payment is already authorised or captured, the answer only shows the status of the intent.
pub(super) async fn confirm(
    State(server): State<FakeStripeServer>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    let form = fields(&body);
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    let hangs = {
        let mut inner = server.inner.lock();
        let hang_pct = inner.chaos.hang_pct;
        if let Some(refused) = inner.refusal() {
            return refused;
        }
        inner.fault_happens(hang_pct)
    };
    if field("client_secret") != format!("{id}_secret_x") {
        return error(404, "resource_missing", "no such intent");
    }
    let card = field("payment_method");
    let status = server.confirm(field("client_secret"), card, card != DECLINED);
    if hangs {
        return bad_gateway();
    }
    let mut answer = match status {
        None => error(404, "resource_missing", "no such intent"),
        Some("requires_payment_method") => {
            typed(402, "card_error", "card_declined", "The card was declined")
        }
        Some("canceled") => error(400, "payment_intent_unexpected_state", "it is canceled"),
        Some(status) => json!({ "id": id, "status": status })
            .to_string()
            .into_response(),
    };
    // The form runs in pages of other origins.
    let anywhere = HeaderValue::from_static("*");
    answer
        .headers_mut()
        .insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anywhere);
    answer
}

pub(super) async fn capture_or_cancel(
    State(server): State<FakeStripeServer>,
    Path((id, verb)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let parameters = format!("{id} {verb}");
    server.idempotent_call(&headers, parameters, |inner| {
        let Some(intent) = inner.intents.get_mut(&id) else {
            return missing_intent();
        };
        let kind = match (verb.as_str(), intent.status) {
            ("capture", "requires_capture") => {
                intent.status = "succeeded";
                intent.captures += 1;
                "payment_intent.succeeded"
            }
            ("cancel", "requires_capture" | "requires_payment_method") => {
                intent.status = "canceled";
                "payment_intent.canceled"
            }
            (_, status) => {
                let message = format!("the intent is {status}");
                return refused_call(invalid("payment_intent_unexpected_state", "", &message));
            }
        };
        (
            200,
            intent.intent_json(&id, false),
            Some((kind, id.clone())),
        )
    })
}

pub(super) async fn refund(
    State(server): State<FakeStripeServer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut fields = fields(&body);
    let id = fields.remove("payment_intent").unwrap_or_default();
    let amount = fields
        .get("amount")
        .map(|amount| amount.parse().unwrap_or(0));
    let metadata = metadata_of(&fields);
    let noted = metadata.iter().flatten().collect::<BTreeMap<_, _>>();
    let parameters = format!("refund {id} {amount:?} {noted:?}");
    server.idempotent_call(&headers, parameters, |inner| {
        let state = inner.refunds_are;
        let Some(intent) = inner.intents.get_mut(&id) else {
            return missing_intent();
        };
        let refunded = metadata.and_then(|metadata| intent.refund(state, amount, metadata));
        if let Err(refusal) = refunded {
            return refused_call(refusal);
        }
        let refund = refund_id(&id, intent.refunds.len() - 1);
        let body = json!({ "id": refund, "status": state });
        (200, body, Some(("charge.refunded", id.clone())))
    })
}

/// Returns a page of an intent's refunds, newest first.
pub(super) async fn refunds(
    State(server): State<FakeStripeServer>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    if let Some(refused) = refusal_of_key(&headers) {
        return refused;
    }
    let mut inner = server.inner.lock();
    inner.calls += 1;
    if let Some(refused) = inner.refusal() {
        return refused;
    }
    let query = fields(&Bytes::from(uri.query().unwrap_or("").to_owned()));
    let named = query.get("payment_intent").map_or("", String::as_str);
    let Some(intent) = inner.intents.get(named) else {
        return error(404, "resource_missing", "no such intent");
    };
    let all = 0..intent.refunds.len();
    let mut left = all.map(|nth| intent.refund_json(named, nth)).rev();
    if let Some(after) = query.get("starting_after")
        && !left.any(|refund| refund["id"] == after.as_str())
    {
        return error(404, "resource_missing", "no such refund");
    }
    let page: Vec<Value> = left.by_ref().take(REFUNDS_A_PAGE).collect();
    let has_more = left.next().is_some();
    json!({ "object": "list", "data": page, "has_more": has_more })
        .to_string()
        .into_response()
}

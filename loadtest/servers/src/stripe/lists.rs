//! Answers two lists: the disputes of an intent, and the events of the account.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::FakeStripeServer;
use super::calls::{error, fields, refusal_of_key};

/// The most events on a page. The number is small, so that tests notice a client that reads only
/// one page. Stripe's own pages have up to 100.
const EVENTS_A_PAGE: usize = 3;

fn query_of(uri: &Uri) -> std::collections::HashMap<String, String> {
    fields(&Bytes::from(uri.query().unwrap_or("").to_owned()))
}

/// Returns the disputes of an intent.
pub(super) async fn disputes(
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
    let query = query_of(&uri);
    let named = query.get("payment_intent").map_or("", String::as_str);
    let Some(intent) = inner.intents.get(named) else {
        return error(404, "resource_missing", "no such intent");
    };
    let all = intent.disputes.iter().rev();
    let shown: Vec<Value> = all
        .map(|dispute| dispute.shown(named, &intent.currency))
        .collect();
    list(&shown, false)
}

/// Returns a page of the account's events, newest first. With `ending_before`, these are the events
/// that follow the named one directly.
pub(super) async fn events(
    State(server): State<FakeStripeServer>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    if let Some(refused) = refusal_of_key(&headers) {
        return refused;
    }
    let mut inner = server.inner.lock();
    if let Some(refused) = inner.refusal() {
        return refused;
    }
    let query = query_of(&uri);
    let all = &inner.events;
    let Some(after) = query.get("ending_before") else {
        let page = all.iter().rev().take(EVENTS_A_PAGE);
        let page: Vec<Value> = page.cloned().collect();
        return list(&page, all.len() > page.len());
    };
    let Some(known) = all.iter().position(|event| event["id"] == after.as_str()) else {
        return error(404, "resource_missing", "no such event");
    };
    let newer = &all[known + 1..];
    let page: Vec<Value> = newer.iter().take(EVENTS_A_PAGE).rev().cloned().collect();
    list(&page, newer.len() > page.len())
}

fn list(page: &[Value], has_more: bool) -> Response {
    json!({ "object": "list", "data": page, "has_more": has_more })
        .to_string()
        .into_response()
}

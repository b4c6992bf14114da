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
    list(&shown.iter().collect::<Vec<_>>(), false)
}

/// Returns a page of the account's events, newest first. With `ending_before`, these are the events
/// that follow the named one directly; with `starting_after`, those directly before it.
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
    let since_s = query.get("created[gte]").and_then(|at| at.parse().ok());
    let since_s: u64 = since_s.unwrap_or(0);
    let is_asked = |event: &&Value| event["created"].as_u64() >= Some(since_s);
    let all: Vec<&Value> = inner.events.iter().filter(is_asked).collect();
    let place_of = |id: &String| all.iter().position(|event| event["id"] == id.as_str());
    let (before, after) = (query.get("starting_after"), query.get("ending_before"));
    let (older, newer) = (before.map(place_of), after.map(place_of));
    if older == Some(None) || newer == Some(None) {
        return error(404, "resource_missing", "no such event");
    }
    if let Some(Some(known)) = newer {
        let newer = &all[known + 1..];
        let page = newer.iter().take(EVENTS_A_PAGE).rev();
        return list(
            &page.copied().collect::<Vec<&Value>>(),
            newer.len() > EVENTS_A_PAGE,
        );
    }
    let older = &all[..older.flatten().unwrap_or(all.len())];
    let page = older.iter().rev().take(EVENTS_A_PAGE);
    list(
        &page.copied().collect::<Vec<&Value>>(),
        older.len() > EVENTS_A_PAGE,
    )
}

fn list(page: &[&Value], has_more: bool) -> Response {
    json!({ "object": "list", "data": page, "has_more": has_more })
        .to_string()
        .into_response()
}

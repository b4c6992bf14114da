//! Lists Stripe's events, so that an event whose delivery was lost is found.

use fairgate_model::payments::ProviderError;
use serde_json::Value;

use super::api::StripeFault;
use super::{StripeProvider, is_plain_id};
use crate::payments::ProviderEventPage;

/// The kinds of events that booking reads.
const KINDS: [&str; 12] = [
    "payment_intent.amount_capturable_updated",
    "payment_intent.succeeded",
    "payment_intent.payment_failed",
    "payment_intent.canceled",
    "charge.refunded",
    "charge.refund.updated",
    "refund.updated",
    "refund.failed",
    "charge.dispute.created",
    "charge.dispute.closed",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
];

impl StripeProvider {
    /// Returns the page of events that follow `after` directly, oldest first. Without `after`, and
    /// if Stripe no longer has that event, the page begins with the first event since `since_ms`.
    /// Stripe keeps events for 30 days.
    pub(super) async fn list_events(
        &self,
        after: Option<&str>,
        since_ms: i64,
    ) -> Result<ProviderEventPage, ProviderError> {
        let kinds: String = KINDS
            .iter()
            .map(|kind| format!("&types%5B%5D={kind}"))
            .collect();
        let list = format!("/v1/events?limit=100{kinds}");
        if let Some(after) = after.filter(|after| is_plain_id(after)) {
            match self.api.get(&format!("{list}&ending_before={after}")).await {
                Err(StripeFault::Later(why)) if why.contains("resource_missing") => {}
                page => {
                    let page = page?;
                    let has_newer = page["has_more"].as_bool().unwrap_or(false);
                    return page_of(&page, has_newer).ok_or_else(unreadable);
                }
            }
        }
        let since_s = since_ms.max(0) / 1_000;
        let list = format!("{list}&created%5Bgte%5D={since_s}");
        let mut oldest = self.api.get(&list).await?;
        let mut has_newer = false;
        // Stripe lists the newest events first, so the oldest page is found by going back.
        while let Some(before) = last_id(&oldest).filter(|_| oldest["has_more"] == true) {
            let path = format!("{list}&starting_after={before}");
            let older = self.api.get(&path).await?;
            if last_id(&older).is_none() {
                break;
            }
            (oldest, has_newer) = (older, true);
        }
        page_of(&oldest, has_newer).ok_or_else(unreadable)
    }
}

fn unreadable() -> ProviderError {
    ProviderError::Later("Stripe's list of events cannot be read".to_owned())
}

/// Returns the id of the oldest event of a page.
fn last_id(page: &Value) -> Option<&str> {
    let oldest = page["data"].as_array()?.last()?;
    oldest["id"].as_str().filter(|id| is_plain_id(id))
}

fn page_of(page: &Value, has_newer: bool) -> Option<ProviderEventPage> {
    let data = page["data"].as_array()?;
    let event = |event: &Value| {
        let id = event["id"].as_str().filter(|id| is_plain_id(id))?;
        Some((id.to_owned(), event.to_string().into_bytes()))
    };
    Some(ProviderEventPage {
        events: data.iter().rev().map(event).collect::<Option<_>>()?,
        has_more: has_newer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_is_turned_to_oldest_first() {
        let page = json!({"data": [{"id": "evt_2"}, {"id": "evt_1"}], "has_more": true});
        let read = page_of(&page, true).expect("a page");
        let ids: Vec<&str> = read.events.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!((ids, read.has_more), (vec!["evt_1", "evt_2"], true));
        assert!(page_of(&json!({"data": [{}], "has_more": false}), true).is_none());
    }
}

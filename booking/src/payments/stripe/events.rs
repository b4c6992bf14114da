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
    /// if Stripe no longer has that event, returns the newest page. Stripe keeps events for 30
    /// days.
    pub(super) async fn list_events(
        &self,
        after: Option<&str>,
    ) -> Result<ProviderEventPage, ProviderError> {
        let kinds: String = KINDS
            .iter()
            .map(|kind| format!("&types%5B%5D={kind}"))
            .collect();
        let newest = format!("/v1/events?limit=100{kinds}");
        let after = after.filter(|after| is_plain_id(after));
        let page = match after {
            Some(after) => {
                let path = format!("{newest}&ending_before={after}");
                match self.api.get(&path).await {
                    Err(StripeFault::Later(why)) if why.contains("resource_missing") => {
                        self.api.get(&newest).await?
                    }
                    page => page?,
                }
            }
            None => self.api.get(&newest).await?,
        };
        page_of(&page, after.is_some()).ok_or_else(|| {
            ProviderError::Later("Stripe's list of events cannot be read".to_owned())
        })
    }
}

fn page_of(page: &Value, is_newer: bool) -> Option<ProviderEventPage> {
    let data = page["data"].as_array()?;
    let event = |event: &Value| {
        let id = event["id"].as_str().filter(|id| is_plain_id(id))?;
        Some((id.to_owned(), event.to_string().into_bytes()))
    };
    Some(ProviderEventPage {
        events: data.iter().rev().map(event).collect::<Option<_>>()?,
        has_more: is_newer && page["has_more"].as_bool()?,
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
        // Events before the newest page are older than the place to begin.
        assert!(!page_of(&page, false).expect("a page").has_more);
        assert!(page_of(&json!({"data": [{}], "has_more": false}), true).is_none());
    }
}

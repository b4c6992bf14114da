//! Refunds at Stripe. A refund that Stripe accepted may be pending for days and may still fail. A
//! refund is therefore recorded as done only when Stripe reports that it succeeded. A failed refund
//! is asked for again, under another key.

use std::collections::HashSet;

use fairgate_model::ids::RefundId;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::refund_copy::RefundCopy;
use fairgate_model::payments::returns::DisputeState;
use fairgate_model::payments::stripe_sums::to_stripe;
use fairgate_model::payments::{Payment, ProviderError};
use serde_json::Value;

use super::api::StripeFault;
use super::event::money;
use super::{
    StripeProvider, TRIES_PER_KEY, idempotency_key, is_plain_id, metadata_fields, reference_of,
};

/// How many pages of a list are read. No payment has ten thousand refunds.
const PAGES_MAX: usize = 100;

/// Sums of the refunds of a payment so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StripeRefundTotals {
    /// How much was refunded, in minor units.
    pub(super) succeeded: i64,
    /// Whether a refund is pending.
    pending: bool,
    /// How many refunds failed or were cancelled.
    failed: u32,
}

/// The refunds of the pages that were read so far.
#[derive(Default)]
struct RefundPages {
    refunds: Vec<Value>,
    ids: HashSet<String>,
}

impl RefundPages {
    /// Adds a page. Returns the id of its last refund if more pages follow.
    ///
    /// # Errors
    /// [`StripeFault::Later`] if the page is not a list, if it repeats a refund, if a refund has no
    /// amount or no id that a URL can contain, or if the page is empty although more pages follow.
    fn add_page(&mut self, mut page: Value) -> Result<Option<String>, StripeFault> {
        let unreadable =
            || StripeFault::Later("Stripe's list of refunds cannot be read".to_owned());
        let has_more = page["has_more"].as_bool().ok_or_else(unreadable)?;
        let Value::Array(part) = page["data"].take() else {
            return Err(unreadable());
        };
        let mut last = None;
        for refund in part {
            let id = refund["id"].as_str().filter(|id| is_plain_id(id));
            let id = id.ok_or_else(unreadable)?.to_owned();
            if !self.ids.insert(id.clone()) || money(&refund, "amount").is_none() {
                return Err(unreadable());
            }
            self.refunds.push(refund);
            last = Some(id);
        }
        match (has_more, last) {
            (true, None) => Err(unreadable()),
            (true, last) => Ok(last),
            (false, _) => Ok(None),
        }
    }
}

/// Sums up the refunds at Stripe that belong to our refund with this id.
fn sum_refunds_of(all: &[Value], id: &RefundId) -> StripeRefundTotals {
    let is_of = |refund: &&Value| refund["metadata"]["refund"].as_str() == Some(id.as_str());
    sum_refunds(all.iter().filter(is_of))
}

fn sum_refunds<'a>(refunds: impl IntoIterator<Item = &'a Value>) -> StripeRefundTotals {
    let mut totals = StripeRefundTotals::default();
    for refund in refunds {
        match refund["status"].as_str() {
            Some("succeeded") => {
                totals.succeeded += money(refund, "amount").map_or(0, |money| money.amount);
            }
            Some("failed" | "canceled") => totals.failed += 1,
            _ => totals.pending = true,
        }
    }
    totals
}

impl StripeProvider {
    pub(super) async fn read_refund_totals(
        &self,
        payment: &Payment,
    ) -> Result<StripeRefundTotals, StripeFault> {
        Ok(sum_refunds(&self.list_refunds(payment).await?))
    }

    /// Returns all refunds of a payment. Stripe gives at most a hundred at a time, newest first. If
    /// the list cannot be read completely, returns an error. A refund that is missing in the list
    /// would be made a second time.
    pub(super) async fn list_refunds(&self, payment: &Payment) -> Result<Vec<Value>, StripeFault> {
        let reference = reference_of(payment)?;
        let newest = format!("/v1/refunds?payment_intent={reference}&limit=100");
        let (mut pages, mut path) = (RefundPages::default(), newest.clone());
        for _ in 0..PAGES_MAX {
            match pages.add_page(self.api.get(&path).await?)? {
                Some(last) => path = format!("{newest}&starting_after={last}"),
                None => return Ok(pages.refunds),
            }
        }
        Err(StripeFault::Later(
            "Stripe's list of refunds does not end".to_owned(),
        ))
    }

    /// Refunds a part of the payment. After each failed refund it uses a new key. Stripe stores our
    /// refund's id with its own refund. So a refund whose answer was lost is found again, even if
    /// it had another key.
    pub(super) async fn give_part_back(&self, refund: &OwedRefund) -> Result<(), ProviderError> {
        let (payment, attempt) = (&refund.payment, refund.attempts);
        let earlier = sum_refunds_of(&self.list_refunds(payment).await?, &refund.id);
        if let Some(answer) = result_of_refund(&earlier, refund.amount) {
            return answer;
        }
        let part = payment.amount.currency.with_amount(refund.amount);
        let amount = to_stripe(part).map_err(|error| ProviderError::Refused(error.to_string()))?;
        let amount = amount.to_string();
        let mut fields = vec![
            ("payment_intent", reference_of(payment)?),
            ("amount", amount.as_str()),
            ("metadata[refund]", refund.id.as_str()),
            ("metadata[payment]", payment.id.as_str()),
        ];
        let copy = refund.copy.as_ref().map(RefundCopy::to_metadata);
        let copy = metadata_fields(copy.unwrap_or_default());
        fields.extend(
            copy.iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
        );
        // The sum may have been lowered since an earlier try, and a key is for one sum.
        let key = format!(
            "{}:{}:{}:{}{}",
            refund.id,
            refund.amount,
            earlier.failed,
            attempt / TRIES_PER_KEY,
            after_dispute(payment)
        );
        match self.api.post("/v1/refunds", &fields, &key).await {
            Ok(answer) => result_of_new_refund(&answer),
            Err(StripeFault::State(why) | StripeFault::Call(why)) => {
                let now = sum_refunds_of(&self.list_refunds(payment).await?, &refund.id);
                result_of_refund(&now, refund.amount).unwrap_or(Err(ProviderError::Refused(why)))
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// Refunds what is left of the payment. After each failed refund it uses a new key.
    pub(super) async fn refund_remaining(
        &self,
        payment: &Payment,
        attempt: u32,
    ) -> Result<(), ProviderError> {
        let mut earlier = StripeRefundTotals::default();
        if attempt > 0 {
            earlier = self.read_refund_totals(payment).await?;
            if let Some(answer) = result_of_whole_refund(&earlier, payment) {
                return answer;
            }
        }
        let what = match earlier.failed {
            0 => "refund".to_owned(),
            failed => format!("refund_after_{failed}"),
        };
        // Events about the refund name the payment only if the refund itself does.
        let fields = [
            ("payment_intent", reference_of(payment)?),
            ("metadata[payment]", payment.id.as_str()),
        ];
        let what = format!("{what}{}", after_dispute(payment));
        let key = idempotency_key(payment, &what, attempt);
        match self.api.post("/v1/refunds", &fields, &key).await {
            Ok(refund) => result_of_new_refund(&refund),
            Err(StripeFault::State(why) | StripeFault::Call(why)) => {
                let now = self.read_refund_totals(payment).await?;
                result_of_whole_refund(&now, payment).unwrap_or(Err(ProviderError::Refused(why)))
            }
            Err(fault) => Err(fault.into()),
        }
    }
}

/// Returns what a key has at its end once a dispute was won. Stripe refuses refunds while a dispute
/// is open, and repeats an answer for each call with the same key.
fn after_dispute(payment: &Payment) -> &'static str {
    match payment.dispute {
        Some(DisputeState::Won) => ":won",
        _ => "",
    }
}

/// Returns the result of a refund that was just asked for.
fn result_of_new_refund(refund: &Value) -> Result<(), ProviderError> {
    match refund["status"].as_str() {
        Some("succeeded") => Ok(()),
        Some("failed" | "canceled") => Err(ProviderError::Failed(format!(
            "the refund failed: {}",
            refund["failure_reason"]
        ))),
        _ => Err(ProviderError::Pending(
            "the refund is on its way".to_owned(),
        )),
    }
}

/// Returns the result if the refunds so far decide it. Returns `None` if another refund must be
/// asked for.
fn result_of_whole_refund(
    refunds: &StripeRefundTotals,
    payment: &Payment,
) -> Option<Result<(), ProviderError>> {
    result_of_refund(refunds, payment.amount.amount)
}

/// Returns the result as [`result_of_whole_refund`] does, for a part of the payment.
fn result_of_refund(
    refunds: &StripeRefundTotals,
    amount: i64,
) -> Option<Result<(), ProviderError>> {
    if refunds.succeeded >= amount && refunds.succeeded > 0 {
        return Some(Ok(()));
    }
    let pending = || ProviderError::Pending("a refund is on its way".to_owned());
    refunds.pending.then(|| Err(pending()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_succeeded_refunds_count_as_paid_back() {
        let refund = |status: &str| json!({ "status": status, "amount": 70, "currency": "eur" });
        let all = [
            "succeeded",
            "pending",
            "failed",
            "canceled",
            "requires_action",
        ]
        .map(refund);
        let expected = StripeRefundTotals {
            succeeded: 70,
            pending: true,
            failed: 2,
        };
        assert_eq!(sum_refunds(&all), expected);
        assert_eq!(sum_refunds([]), StripeRefundTotals::default());
    }

    fn page(ids: &[&str], has_more: bool) -> Value {
        let data: Vec<Value> = ids
            .iter()
            .map(|id| json!({ "id": id, "amount": 1, "currency": "eur" }))
            .collect();
        json!({ "object": "list", "data": data, "has_more": has_more })
    }

    #[test]
    fn pages_are_added_until_the_last() {
        let mut pages = RefundPages::default();
        let next = pages.add_page(page(&["re_3", "re_2"], true));
        assert_eq!(next, Ok(Some("re_2".to_owned())));
        assert_eq!(pages.add_page(page(&["re_1"], false)), Ok(None));
        assert_eq!(pages.refunds.len(), 3);
        assert_eq!(RefundPages::default().add_page(page(&[], false)), Ok(None));
    }

    #[test]
    fn a_list_that_cannot_be_read_whole_is_no_list_without_refunds() {
        for bad in [
            json!({}),
            json!({ "data": [], "has_more": null }),
            json!({ "data": {}, "has_more": false }),
            json!({ "data": [{ "amount": 1, "currency": "eur" }], "has_more": false }),
            json!({ "data": [{ "id": "re_0", "status": "succeeded" }], "has_more": false }),
            page(&[], true),
            page(&["re_2", "re_2"], false),
            page(&["re_1"], true),
            page(&["re_2&limit=1"], true),
        ] {
            let mut pages = RefundPages::default();
            pages.add_page(page(&["re_1"], true)).expect("a first page");
            assert!(
                matches!(pages.add_page(bad.clone()), Err(StripeFault::Later(_))),
                "{bad}"
            );
        }
    }
}

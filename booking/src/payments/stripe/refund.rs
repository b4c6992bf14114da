//! Refunds at Stripe. A refund that Stripe accepted may be pending for days and may still fail. So
//! a refund is recorded as done only when Stripe reports that it succeeded. A failed refund is
//! asked for again, under another key.

use fairgate_model::ids::RefundId;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::stripe_sums::to_stripe;
use fairgate_model::payments::{Payment, ProviderError};
use serde_json::Value;

use super::api::StripeFault;
use super::event::money;
use super::{StripeProvider, TRIES_PER_KEY, idempotency_key, reference_of};

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

    /// Returns all refunds of a payment. Stripe gives at most a hundred at a time, newest first.
    async fn list_refunds(&self, payment: &Payment) -> Result<Vec<Value>, StripeFault> {
        let reference = reference_of(payment)?;
        let newest = format!("/v1/refunds?payment_intent={reference}&limit=100");
        let (mut refunds, mut path) = (Vec::new(), newest.clone());
        loop {
            let mut page = self.api.get(&path).await?;
            if let Value::Array(part) = page["data"].take() {
                refunds.extend(part);
            }
            if page["has_more"] != true {
                return Ok(refunds);
            }
            let last: Option<&str> = refunds.last().and_then(|refund| refund["id"].as_str());
            let last = last.ok_or_else(|| StripeFault::Later("a refund has no id".to_owned()))?;
            path = format!("{newest}&starting_after={last}");
        }
    }

    /// Gives back a part of the payment. After each failed refund it uses a new key. Stripe stores
    /// our refund's id, so that a refund whose answer was lost is found again under any key.
    pub(super) async fn give_part_back(&self, refund: &OwedRefund) -> Result<(), ProviderError> {
        let (payment, attempt) = (&refund.payment, refund.attempts);
        let earlier = match attempt {
            0 => StripeRefundTotals::default(),
            _ => sum_refunds_of(&self.list_refunds(payment).await?, &refund.id),
        };
        if let Some(answer) = result_of_refund(&earlier, refund.amount) {
            return answer;
        }
        let part = payment.amount.currency.with_amount(refund.amount);
        let amount = to_stripe(part).map_err(|error| ProviderError::Refused(error.to_string()))?;
        let amount = amount.to_string();
        let fields = [
            ("payment_intent", reference_of(payment)?),
            ("amount", amount.as_str()),
            ("metadata[refund]", refund.id.as_str()),
            ("metadata[payment]", payment.id.as_str()),
        ];
        let key = format!(
            "{}:{}:{}",
            refund.id,
            earlier.failed,
            attempt / TRIES_PER_KEY
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

    /// Gives back what is left of the payment. After each failed refund it uses a new key.
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
        let fields = [("payment_intent", reference_of(payment)?)];
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

/// Returns the result if the refunds so far decide it, or `None` if another refund must be asked
/// for.
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
}

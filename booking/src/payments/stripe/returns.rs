//! Reads from Stripe what went back to a buyer: all refunds of an intent, also those that were made
//! in the dashboard, and its disputes.

use fairgate_model::money::Money;
use fairgate_model::payments::refund_copy::RefundCopy;
use fairgate_model::payments::returns::{
    DisputeState, ProviderReturns, ReturnOrigin, ReturnState, ReturnedSum,
};
use fairgate_model::payments::{Payment, ProviderError};
use serde_json::Value;

use super::event::money;
use super::{StripeProvider, is_plain_id, metadata_of, reference_of};

impl StripeProvider {
    /// Returns what went back of a payment. `charge` is the charge of its intent. Stripe is asked
    /// for the refunds and the disputes only if there are any, here or there.
    pub(super) async fn read_returns(
        &self,
        payment: &Payment,
        charge: &Value,
    ) -> Result<ProviderReturns, ProviderError> {
        let mut returns = ProviderReturns::default();
        let went_back = money(charge, "amount_refunded").is_some_and(|money| money.amount > 0);
        if went_back || payment.refunded > 0 {
            let newest_first = self.list_refunds(payment).await?;
            returns.sums = newest_first.iter().rev().map(refund_sum).collect();
        }
        if charge["disputed"].as_bool() != Some(true) && payment.dispute.is_none() {
            return Ok(returns);
        }
        let mut states = Vec::new();
        for dispute in self.list_disputes(reference_of(payment)?).await? {
            let Some(state) = dispute_state(&dispute) else {
                continue;
            };
            states.push(state);
            // A dispute that was won may be known as lost, if the bank decided once more.
            let moved = match state {
                DisputeState::Open => continue,
                DisputeState::Won => ReturnState::Failed,
                DisputeState::Lost => ReturnState::Done,
            };
            let sum = disputed_sum(&dispute, moved).ok_or_else(unreadable_disputes)?;
            returns.sums.push(sum);
        }
        returns.dispute = DisputeState::of_all(states);
        Ok(returns)
    }

    /// Returns how much of a payment was lost in disputes, in minor units. `charge` is the charge
    /// of its intent.
    pub(super) async fn lost_in_disputes(
        &self,
        reference: &str,
        charge: &Value,
    ) -> Result<i64, ProviderError> {
        if charge["disputed"].as_bool() != Some(true) {
            return Ok(0);
        }
        let disputes = self.list_disputes(reference).await?;
        let lost = disputes
            .iter()
            .filter(|dispute| dispute_state(dispute) == Some(DisputeState::Lost));
        let sums = lost.map(|dispute| disputed_sum(dispute, ReturnState::Done));
        let sums: Option<Vec<ReturnedSum>> = sums.collect();
        let sums = sums.ok_or_else(unreadable_disputes)?;
        Ok(sums.iter().map(|sum| sum.amount).sum())
    }

    async fn list_disputes(&self, reference: &str) -> Result<Vec<Value>, ProviderError> {
        let path = format!("/v1/disputes?payment_intent={reference}&limit=100");
        let mut page = self.api.get(&path).await?;
        match page["data"].take() {
            Value::Array(disputes) => Ok(disputes),
            _ => Err(unreadable_disputes()),
        }
    }
}

fn unreadable_disputes() -> ProviderError {
    ProviderError::Later("Stripe's disputes cannot be read".to_owned())
}

fn refund_sum(refund: &Value) -> ReturnedSum {
    let asked = refund["metadata"]["refund"].as_str();
    let asked = asked.filter(|asked| !asked.is_empty());
    ReturnedSum {
        id: refund["id"].as_str().unwrap_or("").to_owned(),
        amount: money(refund, "amount").map_or(0, |money| money.amount),
        origin: match asked {
            Some(asked) => ReturnOrigin::Asked(asked.to_owned()),
            None => ReturnOrigin::AtProvider,
        },
        state: match refund["status"].as_str() {
            Some("succeeded") => ReturnState::Done,
            Some("failed" | "canceled") => ReturnState::Failed,
            _ => ReturnState::Pending,
        },
        copy: asked.and_then(|_| RefundCopy::read(&metadata_of(refund))),
    }
}

/// Returns where a dispute stands. Stripe's early warnings are no disputes yet: the money stays, so
/// the tickets stay valid (<https://docs.stripe.com/api/disputes/object>).
fn dispute_state(dispute: &Value) -> Option<DisputeState> {
    match dispute["status"].as_str()? {
        "needs_response" | "under_review" => Some(DisputeState::Open),
        "won" | "prevented" => Some(DisputeState::Won),
        "lost" => Some(DisputeState::Lost),
        _ => None,
    }
}

fn disputed_sum(dispute: &Value, state: ReturnState) -> Option<ReturnedSum> {
    let id = dispute["id"].as_str().filter(|id| is_plain_id(id))?;
    Some(ReturnedSum {
        id: id.to_owned(),
        amount: money(dispute, "amount")?.amount,
        origin: ReturnOrigin::Dispute,
        state,
        copy: None,
    })
}

/// Returns what a payment that is captured brought: its whole amount. If somebody captured only a
/// part in the dashboard, the rest counts as given back. Stripe makes a refund for the rest; where
/// no refund is listed for it, one is added here.
pub(super) fn with_uncaptured(
    returns: &mut ProviderReturns,
    payment: &Payment,
    received: Money,
) -> Money {
    let whole = payment.amount;
    if received.currency != whole.currency || received.amount >= whole.amount {
        return received;
    }
    let unasked = returns
        .sums
        .iter()
        .filter(|sum| sum.state == ReturnState::Done && sum.origin == ReturnOrigin::AtProvider);
    let listed: i64 = unasked.map(|sum| sum.amount).sum();
    let missing = whole.amount - received.amount - listed;
    if missing > 0 {
        let rest = ReturnedSum {
            id: format!(
                "{}_not_captured",
                payment.reference.as_deref().unwrap_or("")
            ),
            amount: missing,
            origin: ReturnOrigin::AtProvider,
            state: ReturnState::Done,
            copy: None,
        };
        returns.sums.insert(0, rest);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refund_without_our_mark_was_made_in_the_dashboard() {
        let refund = json!({"id": "re_1", "amount": 70, "currency": "eur", "status": "succeeded", "metadata": {}});
        let sum = refund_sum(&refund);
        assert_eq!((sum.amount, sum.origin), (70, ReturnOrigin::AtProvider));
        let refund = json!({"id": "re_2", "amount": 70, "currency": "eur", "status": "pending",
            "metadata": {"refund": "refund_x"}});
        let sum = refund_sum(&refund);
        assert_eq!(sum.origin, ReturnOrigin::Asked("refund_x".to_owned()));
        assert_eq!(sum.state, ReturnState::Pending);
    }

    #[test]
    fn early_warnings_are_no_disputes() {
        let state = |status: &str| dispute_state(&json!({ "status": status }));
        assert_eq!(state("warning_needs_response"), None);
        assert_eq!(state("needs_response"), Some(DisputeState::Open));
        assert_eq!(state("lost"), Some(DisputeState::Lost));
    }
}

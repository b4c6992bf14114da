//! What an order comes to: what nobody has to take, what a provider takes, and what it never will.

use fairgate_model::money::Money;
use fairgate_model::orders::Order;
use fairgate_model::payments::limits::PaymentSumError;
use fairgate_model::payments::{Payment, PaymentState, ProviderError};

use super::checkout::OrderDesk;
use super::refusal::OrderRefusal;

/// The provider's name in a payment of nothing.
const NO_PROVIDER: &str = "none";

impl OrderDesk {
    /// Whether somebody takes this sum here. For nothing at all nobody is needed.
    ///
    /// # Errors
    /// [`OrderRefusal::Sum`], [`OrderRefusal::PaymentsNotConfigured`].
    pub(super) fn check_sum(&self, sum: Money) -> Result<(), OrderRefusal> {
        if sum.amount == 0 {
            return Ok(());
        }
        let provider = self
            .provider
            .as_ref()
            .ok_or(OrderRefusal::PaymentsNotConfigured)?;
        let limits = provider.kind().limits(sum.currency);
        limits.check_sum(sum).map_err(|why| {
            let limit = match why {
                PaymentSumError::TooSmall => limits.smallest,
                PaymentSumError::TooLarge => limits.largest,
                PaymentSumError::TooFine => limits.step,
            };
            let limit = sum.currency.with_amount(limit);
            OrderRefusal::Sum { sum, why, limit }
        })
    }

    /// The payment of an order, voided from the beginning where there is nothing to pay.
    ///
    /// # Errors
    /// As [`OrderDesk::check_sum`].
    pub(super) fn payment_of(&self, order: &Order) -> Result<Payment, OrderRefusal> {
        let amount = order.currency.with_amount(order.total);
        self.check_sum(amount)?;
        let free = amount.amount == 0;
        let provider = self.provider.as_ref().filter(|_| !free);
        Ok(Payment {
            id: order.payment.clone(),
            order: order.id.clone(),
            provider: provider
                .map_or(NO_PROVIDER, |provider| provider.name())
                .to_owned(),
            amount,
            state: if free {
                PaymentState::Voided
            } else {
                PaymentState::Created
            },
            reference: None,
            client: None,
            refunded: 0,
        })
    }
}

/// The provider refused to prepare the payment of an order, and will refuse it again: the order was
/// ended. `why` is none where that happened at an earlier try.
pub(super) fn payment_refused(order: &Order, why: Option<&ProviderError>) -> OrderRefusal {
    OrderRefusal::PaymentRefused {
        order: order.id.clone(),
        sum: order.currency.with_amount(order.total),
        why: match why {
            Some(ProviderError::Sum(refused)) => Some(*refused),
            _ => None,
        },
    }
}

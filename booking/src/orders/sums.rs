//! Checks the sum of an order. A sum of 0 needs no provider. Any other sum must be within the
//! provider's limits.

use fairgate_model::money::Money;
use fairgate_model::orders::Order;
use fairgate_model::payments::limits::PaymentSumError;
use fairgate_model::payments::{Payment, PaymentState, ProviderError};

use super::checkout::OrderDesk;
use super::refusal::OrderRefusal;

/// The provider's name in the payment of an order that costs nothing.
const NO_PROVIDER: &str = "none";

impl OrderDesk {
    /// Checks that this sum can be paid. A sum of 0 needs no provider.
    ///
    /// # Errors
    /// [`OrderRefusal::Sum`] or [`OrderRefusal::PaymentsNotConfigured`].
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

    /// Builds the payment of an order. A payment of 0 is `Voided` from the beginning.
    ///
    /// # Errors
    /// The errors of [`OrderDesk::check_sum`].
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
            attempt: 0,
            dispute: None,
        })
    }
}

/// Returns the refusal for an order that was ended because the provider will never take its
/// payment. `why` is `None` if an earlier try ended the order.
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

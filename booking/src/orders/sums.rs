//! What an order comes to: what nobody has to take, what a provider takes, and what it never will.

use super::Order;
use super::checkout::{OrderDesk, not_configured};
use crate::http::holds::MoneyView;
use crate::money::Money;
use crate::payments::limits::SumRefused;
use crate::payments::{Payment, PaymentState, ProviderError};
use fairgate_base::http::Problem;

/// The provider's name in a payment of nothing.
const NO_PROVIDER: &str = "none";

impl OrderDesk {
    /// Whether somebody takes this sum here. For nothing at all nobody is needed.
    ///
    /// # Errors
    /// 422 `amount_too_small`, `amount_too_large`, `amount_too_fine`; 503 `payments_not_configured`.
    pub(super) fn check_sum(&self, sum: Money) -> Result<(), Problem> {
        if sum.amount == 0 {
            return Ok(());
        }
        let provider = self.provider.as_ref().ok_or_else(not_configured)?;
        let limits = provider.kind().limits(sum.currency);
        limits.check(sum).map_err(|refused| {
            let (told, limit) = match refused {
                SumRefused::TooSmall => ("takes no less than", limits.smallest),
                SumRefused::TooLarge => ("takes no more at once than", limits.largest),
                SumRefused::TooFine => ("takes only multiples of", limits.step),
            };
            let limit = sum.currency.of(limit);
            let detail = format!(
                "{sum} would have to be paid, and the payment provider {told} {limit}. No order was made, and your seats are as they were. {}",
                advice(refused)
            );
            let (code, title, member) = words(refused);
            Problem::new(422, code, title, detail)
                .with("total", MoneyView(sum))
                .with(member, MoneyView(limit))
        })
    }

    /// The payment of an order, voided from the beginning where there is nothing to pay.
    ///
    /// # Errors
    /// As [`OrderDesk::check_sum`].
    pub(super) fn payment_of(&self, order: &Order) -> Result<Payment, Problem> {
        let amount = order.currency.of(order.total);
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

/// Code, title, and the member that tells the limit.
fn words(refused: SumRefused) -> (&'static str, &'static str, &'static str) {
    match refused {
        SumRefused::TooSmall => (
            "amount_too_small",
            "The sum is too small to be paid",
            "minimum",
        ),
        SumRefused::TooLarge => (
            "amount_too_large",
            "The sum is too large to be paid at once",
            "maximum",
        ),
        SumRefused::TooFine => ("amount_too_fine", "The sum cannot be paid exactly", "step"),
    }
}

fn advice(refused: SumRefused) -> &'static str {
    match refused {
        SumRefused::TooSmall => "Add seats, or tell the promoter.",
        SumRefused::TooLarge => "Give some of the seats back and buy them in another order.",
        SumRefused::TooFine => "Tell the promoter.",
    }
}

/// The provider refused to prepare the payment of an order, and will refuse it again: the order was ended. `why` is none
/// where that happened at an earlier try.
pub(super) fn payment_refused(order: &Order, why: Option<&ProviderError>) -> Problem {
    let sum = order.currency.of(order.total);
    let (code, title, advice) = match why {
        Some(ProviderError::Sum(refused)) => {
            let (code, title, _) = words(*refused);
            (code, title, advice(*refused))
        }
        _ => (
            "payment_refused",
            "The payment is not possible",
            "Tell the promoter, or choose other seats.",
        ),
    };
    let detail = format!(
        "The payment provider does not take this payment of {sum}. Nothing was charged; the order was ended and its seats went back to everybody. {advice}"
    );
    Problem::new(422, code, title, detail)
        .with("order", &order.id)
        .with("total", MoneyView(sum))
}

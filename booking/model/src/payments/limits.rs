//! The sums that a provider takes in one payment. An order with a total of 0 never reaches the
//! provider.

use crate::money::Money;

/// The sums that a provider takes in one payment, in minor units of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentLimits {
    /// The smallest sum.
    pub smallest: i64,
    /// The largest sum.
    pub largest: i64,
    /// Every sum is a multiple of this.
    pub step: i64,
}

/// Why a provider does not take a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaymentSumError {
    /// The sum is below the smallest.
    #[error("too small")]
    TooSmall,
    /// The sum is above the largest.
    #[error("too large")]
    TooLarge,
    /// The sum is not a multiple of the step.
    #[error("not a multiple of the provider's smallest step")]
    TooFine,
}

impl PaymentLimits {
    /// The limits of a provider that takes every sum.
    pub const NONE: Self = Self {
        smallest: 1,
        largest: i64::MAX,
        step: 1,
    };

    /// Checks that a payment may be of this sum.
    ///
    /// # Errors
    /// [`PaymentSumError`], which says what is wrong with the sum.
    pub fn check_sum(self, sum: Money) -> Result<(), PaymentSumError> {
        if sum.amount < self.smallest {
            return Err(PaymentSumError::TooSmall);
        }
        self.check_price(sum.amount)
    }

    /// Checks that a seat may have this price. A price of 0 is allowed. A price below the smallest
    /// sum is allowed, too, because several seats together may reach the smallest sum.
    ///
    /// # Errors
    /// [`PaymentSumError::TooLarge`] or [`PaymentSumError::TooFine`].
    pub fn check_price(self, amount: i64) -> Result<(), PaymentSumError> {
        if amount > self.largest {
            Err(PaymentSumError::TooLarge)
        } else if amount % self.step != 0 {
            Err(PaymentSumError::TooFine)
        } else {
            Ok(())
        }
    }

    /// Explains why nobody could ever pay this price.
    #[must_use]
    pub fn why_not(self, price: Money, refused: PaymentSumError) -> String {
        let money = |amount| price.currency.with_amount(amount);
        match refused {
            PaymentSumError::TooFine => format!(
                "{price} is no multiple of {}, and the payment provider takes nothing else",
                money(self.step)
            ),
            PaymentSumError::TooLarge | PaymentSumError::TooSmall => format!(
                "{price} is more than the {} that the payment provider takes at once",
                money(self.largest)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Currency;

    #[test]
    fn a_sum_is_taken_from_the_smallest_to_the_largest_in_steps() {
        let limits = PaymentLimits {
            smallest: 50,
            largest: 1_000,
            step: 10,
        };
        let check = |amount| limits.check_sum(Currency::EUR.with_amount(amount));
        assert_eq!(check(49), Err(PaymentSumError::TooSmall));
        assert_eq!(check(50), Ok(()));
        assert_eq!(check(55), Err(PaymentSumError::TooFine));
        assert_eq!(check(1_000), Ok(()));
        assert_eq!(check(1_001), Err(PaymentSumError::TooLarge));
    }

    #[test]
    fn a_price_may_be_0_or_below_the_smallest_sum() {
        let limits = PaymentLimits {
            smallest: 50,
            ..PaymentLimits::NONE
        };
        for amount in [0, 1, 49, 50] {
            assert_eq!(limits.check_price(amount), Ok(()), "{amount}");
        }
        assert_eq!(
            PaymentLimits::NONE.check_sum(Currency::EUR.with_amount(1)),
            Ok(()),
            "the sandbox takes a cent"
        );
    }
}

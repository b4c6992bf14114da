//! The sums that a provider takes in one payment. A total of 0 is never asked of it.

use crate::money::Money;

/// The sums that a provider takes in one payment, in minor units of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The smallest sum.
    pub smallest: i64,
    /// The largest sum.
    pub largest: i64,
    /// Every sum is a multiple of this.
    pub step: i64,
}

/// Why a provider does not take a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SumRefused {
    /// Below the smallest.
    #[error("too small")]
    TooSmall,
    /// Above the largest.
    #[error("too large")]
    TooLarge,
    /// No multiple of the step.
    #[error("finer than the provider counts")]
    TooFine,
}

impl Limits {
    /// Of a provider that takes every sum.
    pub const NONE: Self = Self {
        smallest: 1,
        largest: i64::MAX,
        step: 1,
    };

    /// Whether a payment may be of this sum.
    ///
    /// # Errors
    /// [`SumRefused`], by what is wrong with it.
    pub fn check(self, sum: Money) -> Result<(), SumRefused> {
        if sum.amount < self.smallest {
            return Err(SumRefused::TooSmall);
        }
        self.check_price(sum.amount)
    }

    /// Whether something may have this price: small prices add up to sums that may be paid, and
    /// nothing costs nothing.
    ///
    /// # Errors
    /// [`SumRefused::TooLarge`], [`SumRefused::TooFine`].
    pub fn check_price(self, amount: i64) -> Result<(), SumRefused> {
        if amount > self.largest {
            Err(SumRefused::TooLarge)
        } else if amount % self.step != 0 {
            Err(SumRefused::TooFine)
        } else {
            Ok(())
        }
    }

    /// Why nobody could ever pay this price.
    #[must_use]
    pub fn why_not(self, price: Money, refused: SumRefused) -> String {
        let of = |amount| price.currency.of(amount);
        match refused {
            SumRefused::TooFine => format!(
                "{price} is no multiple of {}, and the payment provider takes nothing else",
                of(self.step)
            ),
            SumRefused::TooLarge | SumRefused::TooSmall => format!(
                "{price} is more than the {} that the payment provider takes at once",
                of(self.largest)
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
        let limits = Limits {
            smallest: 50,
            largest: 1_000,
            step: 10,
        };
        let check = |amount| limits.check(Currency::EUR.of(amount));
        assert_eq!(check(49), Err(SumRefused::TooSmall));
        assert_eq!(check(50), Ok(()));
        assert_eq!(check(55), Err(SumRefused::TooFine));
        assert_eq!(check(1_000), Ok(()));
        assert_eq!(check(1_001), Err(SumRefused::TooLarge));
    }

    #[test]
    fn a_price_may_be_below_the_smallest_sum_and_nothing_at_all() {
        let limits = Limits {
            smallest: 50,
            ..Limits::NONE
        };
        for amount in [0, 1, 49, 50] {
            assert_eq!(limits.check_price(amount), Ok(()), "{amount}");
        }
        assert_eq!(
            Limits::NONE.check(Currency::EUR.of(1)),
            Ok(()),
            "the sandbox takes a cent"
        );
    }
}

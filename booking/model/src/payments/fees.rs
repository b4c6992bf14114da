//! Rounds fees in favour of the buyer, to sums that every provider takes. A provider that takes a
//! currency only in steps refuses any other payment or refund for ever.

use crate::money::{Currency, Money};
use crate::payments::stripe_sums;

/// Returns what a fee of `pct` per cent keeps of a price, in minor units. The rest goes back. It is
/// a multiple of the step of its currency if the price is one.
#[must_use]
pub fn fee_of_price(price: Money, pct: u32) -> i64 {
    let Money { amount, currency } = price;
    let kept = i128::from(amount) * i128::from(pct) / 100;
    let kept = i64::try_from(kept).unwrap_or(amount);
    let rest = amount - kept.clamp(0, amount.max(0));
    let rounded_up = rest + (-rest).rem_euclid(step(currency));
    amount - rounded_up.min(amount)
}

/// Returns a fixed fee, rounded down to a multiple of the step of its currency, in minor units. A
/// show may have another fee if its document was stored for a provider without steps.
#[must_use]
pub fn fixed_fee(fee: Money) -> i64 {
    fee.amount - fee.amount.rem_euclid(step(fee.currency))
}

/// Returns the step of a currency: every amount is a multiple of it. The step is the same for all
/// providers, so that a fee does not depend on the provider that took the money.
pub fn step(currency: Currency) -> i64 {
    stripe_sums::limits(currency).step
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn money(code: &str, amount: i64) -> Money {
        Currency::parse(code)
            .expect("a currency")
            .with_amount(amount)
    }

    #[test]
    fn what_a_fee_leaves_of_a_price_is_rounded_up_to_the_step_of_the_currency() {
        let check = |code: &str, price, pct, fee| {
            assert_eq!(fee_of_price(money(code, price), pct), fee, "{code} {price}");
        };
        check("EUR", 101, 33, 33);
        check("KWD", 5_120, 15, 760);
        check("KWD", 5_120, 0, 0);
        check("KWD", 5_120, 100, 5_120);
        check("MGA", 1_200, 10, 100);
        // A provider without steps may have taken a price that is no multiple of the step.
        check("KWD", 5_123, 0, 0);
        check("KWD", 5_123, 15, 763);
        check("KWD", 5_123, 100, 5_123);
    }

    #[test]
    fn a_fixed_fee_is_rounded_down_to_the_step_of_its_currency() {
        assert_eq!(fixed_fee(money("EUR", 305)), 305);
        assert_eq!(fixed_fee(money("KWD", 305)), 300);
        assert_eq!(fixed_fee(money("KWD", 300)), 300);
    }

    proptest! {
        #[test]
        fn a_provider_can_refund_what_a_fee_leaves(steps in 0_i64..100_000, pct in 0_u32..=100) {
            for code in ["EUR", "ISK", "KWD", "MGA", "TND"] {
                let currency = Currency::parse(code).expect("a currency");
                let price = steps * step(currency);
                let fee = fee_of_price(currency.with_amount(price), pct);
                prop_assert!(fee >= 0 && fee * 100 <= price * i64::from(pct));
                prop_assert!(stripe_sums::to_stripe(currency.with_amount(price - fee)).is_ok());
            }
        }
    }
}

//! Converts amounts to and from Stripe's units. Our amounts are minor units of ISO 4217. Stripe's
//! units are the same except in a few currencies. Stripe's page on currencies lists them as
//! zero-decimal and special-case currencies, and also has the smallest and largest charges:
//! <https://docs.stripe.com/currencies>.

use crate::money::{Currency, Money};
use crate::payments::limits::PaymentLimits;

/// Currencies without minor units in ISO 4217 that Stripe takes with two decimals.
const SENT_WITH_TWO: [&str; 2] = ["ISK", "UGX"];

/// Currencies with two decimals in ISO 4217 that Stripe takes without decimals.
const SENT_WITH_NONE: [&str; 1] = ["MGA"];

/// Currencies with three decimals, of which the last must be a zero.
const LAST_MUST_BE_ZERO: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];

/// The smallest charge in a currency, in Stripe's units, if the account is paid out in the same
/// currency. If the account is paid out in another currency, the converted charge must reach the
/// smallest charge of that currency. Only Stripe knows the rate, so Stripe itself refuses a charge
/// that is too small after conversion.
const SMALLEST: [(&str, i64); 24] = [
    ("USD", 50),
    ("AED", 200),
    ("AUD", 50),
    ("BGN", 100),
    ("BRL", 50),
    ("CAD", 50),
    ("CHF", 50),
    ("CZK", 1_500),
    ("DKK", 250),
    ("EUR", 50),
    ("GBP", 30),
    ("HKD", 400),
    ("HUF", 17_500),
    ("INR", 50),
    ("JPY", 50),
    ("MXN", 1_000),
    ("MYR", 200),
    ("NOK", 300),
    ("NZD", 50),
    ("PLN", 200),
    ("RON", 200),
    ("SEK", 300),
    ("SGD", 50),
    ("THB", 1_000),
];

/// The smallest charge in all other currencies, in Stripe's units.
const SMALLEST_ELSEWHERE: i64 = 50;

/// The largest charge by a card, in Stripe's units, in currencies with a limit of their own.
const LARGEST: [(&str, i64); 6] = [
    ("IDR", 999_999_999_999),
    ("INR", 999_999_999),
    ("COP", 9_999_999_999),
    ("HUF", 9_999_999_999),
    ("JPY", 9_999_999_999),
    ("LBP", 99_999_999_999),
];

/// The largest charge by a card in all other currencies, in Stripe's units: eight digits.
const LARGEST_ELSEWHERE: i64 = 99_999_999;

/// Returns the sums that Stripe takes, in our minor units.
#[must_use]
pub fn limits(currency: Currency) -> PaymentLimits {
    let code = currency.as_str();
    let limit = |list: &[(&str, i64)], elsewhere| {
        let listed = list.iter().find(|(listed, _)| *listed == code);
        listed.map_or(elsewhere, |(_, amount)| *amount)
    };
    let smallest = limit(&SMALLEST, SMALLEST_ELSEWHERE);
    let largest = limit(&LARGEST, LARGEST_ELSEWHERE);
    if SENT_WITH_TWO.contains(&code) {
        return PaymentLimits {
            smallest: (smallest + 99) / 100,
            largest: largest / 100,
            step: 1,
        };
    }
    if SENT_WITH_NONE.contains(&code) {
        return PaymentLimits {
            smallest: smallest * 100,
            largest: largest * 100,
            step: 100,
        };
    }
    let step = if LAST_MUST_BE_ZERO.contains(&code) {
        10
    } else {
        1
    };
    PaymentLimits {
        smallest,
        largest: largest - largest % step,
        step,
    }
}

/// An amount that Stripe cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} {1} cannot be charged exactly")]
pub struct StripeSumError(i64, String);

/// Converts our minor units to Stripe's units.
///
/// # Errors
/// [`StripeSumError`] if the amount is not a whole number of Stripe's units, or is too large to
/// convert.
pub fn to_stripe(money: Money) -> Result<i64, StripeSumError> {
    let (amount, code) = (money.amount, money.currency.as_str());
    let not_exact = || StripeSumError(amount, code.to_owned());
    if SENT_WITH_TWO.contains(&code) {
        return amount.checked_mul(100).ok_or_else(not_exact);
    }
    if SENT_WITH_NONE.contains(&code) {
        return (amount % 100 == 0)
            .then_some(amount / 100)
            .ok_or_else(not_exact);
    }
    if LAST_MUST_BE_ZERO.contains(&code) && amount % 10 != 0 {
        return Err(not_exact());
    }
    Ok(amount)
}

/// Converts Stripe's units to our minor units. Stripe writes currency codes in lower case. Returns
/// `None` if the code is not a currency code, or if the amount is not a whole number of our minor
/// units or is too large to convert.
#[must_use]
pub fn from_stripe(amount: i64, code: &str) -> Option<Money> {
    let currency = Currency::parse(&code.to_ascii_uppercase())?;
    let code = currency.as_str();
    let own_amount = if SENT_WITH_TWO.contains(&code) {
        (amount % 100 == 0).then_some(amount / 100)?
    } else if SENT_WITH_NONE.contains(&code) {
        amount.checked_mul(100)?
    } else {
        amount
    };
    Some(currency.with_amount(own_amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, ours: i64, theirs: Option<i64>) {
        let money = Currency::parse(code).expect("a currency").with_amount(ours);
        assert_eq!(to_stripe(money).ok(), theirs, "{code} {ours}");
        if let Some(theirs) = theirs {
            let back = from_stripe(theirs, &code.to_ascii_lowercase());
            assert_eq!(back, Some(money), "{code} {theirs}");
        }
    }

    #[test]
    fn the_limits_are_the_documented_ones_in_our_units() {
        let check = |code: &str, smallest, largest, step| {
            let currency = Currency::parse(code).expect("a currency");
            let expected = PaymentLimits {
                smallest,
                largest,
                step,
            };
            assert_eq!(limits(currency), expected, "{code}");
        };
        check("EUR", 50, 99_999_999, 1);
        check("USD", 50, 99_999_999, 1);
        check("GBP", 30, 99_999_999, 1);
        check("JPY", 50, 9_999_999_999, 1);
        check("HUF", 17_500, 9_999_999_999, 1);
        check("INR", 50, 999_999_999, 1);
        check("KWD", 50, 99_999_990, 10);
        check("ISK", 1, 999_999, 1);
        check("MGA", 5_000, 9_999_999_900, 100);
        check("CNY", 50, 99_999_999, 1);
    }

    #[test]
    fn the_smallest_and_largest_sums_convert_exactly() {
        for code in ["EUR", "JPY", "ISK", "UGX", "MGA", "KWD", "TND"] {
            let currency = Currency::parse(code).expect("a currency");
            let PaymentLimits {
                smallest, largest, ..
            } = limits(currency);
            for amount in [smallest, largest] {
                assert!(
                    to_stripe(currency.with_amount(amount)).is_ok(),
                    "{code} {amount}"
                );
            }
        }
    }

    #[test]
    fn amounts_convert_to_stripes_units_and_back() {
        check("EUR", 12_000, Some(12_000));
        check("JPY", 500, Some(500));
        check("ISK", 500, Some(50_000));
        check("UGX", 7, Some(700));
        check("MGA", 12_300, Some(123));
        check("MGA", 12_301, None);
        check("KWD", 5_120, Some(5_120));
        check("KWD", 5_123, None);
        assert_eq!(from_stripe(550, "isk"), None, "the króna has no minor unit");
        assert_eq!(from_stripe(1, "euro"), None);
    }
}

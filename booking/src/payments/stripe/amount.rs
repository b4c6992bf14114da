//! Amounts as Stripe writes them. Ours are minor units of ISO 4217; Stripe's are the same but for a few currencies,
//! which its documentation of zero-decimal and special-case currencies lists.

use crate::money::{Currency, Money};

/// Without minor units in ISO 4217, yet sent with two decimals.
const SENT_WITH_TWO: [&str; 2] = ["ISK", "UGX"];

/// With two decimals in ISO 4217, yet sent without.
const SENT_WITH_NONE: [&str; 1] = ["MGA"];

/// With three decimals, of which the last must be a zero.
const LAST_MUST_BE_ZERO: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];

/// An amount that Stripe cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} {1} cannot be charged exactly")]
pub struct NotExact(i64, String);

/// Ours to theirs.
///
/// # Errors
/// [`NotExact`] where their unit is coarser than the amount.
pub fn to_stripe(money: Money) -> Result<i64, NotExact> {
    let (amount, code) = (money.amount, money.currency.as_str());
    let not_exact = || NotExact(amount, code.to_owned());
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

/// Theirs to ours; their codes are lower case. `None` where it is no amount of ours.
#[must_use]
pub fn from_stripe(amount: i64, code: &str) -> Option<Money> {
    let currency = Currency::parse(&code.to_ascii_uppercase())?;
    let code = currency.as_str();
    let ours = if SENT_WITH_TWO.contains(&code) {
        (amount % 100 == 0).then_some(amount / 100)?
    } else if SENT_WITH_NONE.contains(&code) {
        amount.checked_mul(100)?
    } else {
        amount
    };
    Some(currency.of(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, ours: i64, theirs: Option<i64>) {
        let money = Currency::parse(code).expect("a currency").of(ours);
        assert_eq!(to_stripe(money).ok(), theirs, "{code} {ours}");
        if let Some(theirs) = theirs {
            let back = from_stripe(theirs, &code.to_ascii_lowercase());
            assert_eq!(back, Some(money), "{code} {theirs}");
        }
    }

    #[test]
    fn amounts_are_sent_as_stripe_counts_them_and_come_back_the_same() {
        check("EUR", 12_000, Some(12_000));
        check("JPY", 500, Some(500));
        check("ISK", 500, Some(50_000));
        check("UGX", 7, Some(700));
        check("MGA", 12_300, Some(123));
        check("MGA", 12_301, None);
        check("KWD", 5_120, Some(5_120));
        check("KWD", 5_123, None);
        assert_eq!(from_stripe(550, "isk"), None, "half a króna is nobody's");
        assert_eq!(from_stripe(1, "euro"), None);
    }
}

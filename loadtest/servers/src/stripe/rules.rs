//! Checks the currency and the amount of a charge. Stripe must know the currency. The amount must
//! be in the right form, not too small and not too large. The rules follow Stripe's documentation
//! (<https://docs.stripe.com/currencies>, <https://docs.stripe.com/error-codes>). They are not
//! shared with booking, so that a mistake in booking is not repeated here.

use serde_json::{Value, json};

/// The currencies in which Stripe can charge.
const CURRENCIES: &str = "usd aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd \
     cad cdf chf clp cny cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gnf gtq gyd hkd hnl htg huf \
     idr ils inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mur mvr \
     mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sek sgd shp \
     sle sos srd std szl thb tjs tnd top try ttd twd tzs uah ugx usd uyu uzs vnd vuv wst xaf xcd xof xpf yer zar zmw";

/// The currencies without decimals. Their amounts are in whole units.
const ZERO_DECIMAL: &str = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf";
/// The currencies without decimals for which Stripe still expects two decimals. Both must be zeros.
const BOTH_ZEROS: &str = "isk ugx";
/// The currencies with three decimals. The last decimal must be a zero.
const THREE_DECIMAL: &str = "bhd jod kwd omr tnd";

/// The smallest charges that Stripe names, each with its currency.
const SMALLEST: &[(&str, i64)] = &[
    ("usd", 50),
    ("aed", 200),
    ("aud", 50),
    ("bgn", 100),
    ("brl", 50),
    ("cad", 50),
    ("chf", 50),
    ("czk", 1_500),
    ("dkk", 250),
    ("eur", 50),
    ("gbp", 30),
    ("hkd", 400),
    ("huf", 17_500),
    ("inr", 50),
    ("jpy", 50),
    ("mxn", 1_000),
    ("myr", 200),
    ("nok", 300),
    ("nzd", 50),
    ("pln", 200),
    ("ron", 200),
    ("sek", 300),
    ("sgd", 50),
    ("thb", 1_000),
];

/// Rough exchange rates of some other currencies. This many of their minor units are worth one euro
/// cent. The account is paid out in euros.
const A_CENT_IS: &[(&str, i64)] = &[
    ("cny", 8),
    ("twd", 35),
    ("zar", 20),
    ("krw", 15),
    ("vnd", 280),
    ("isk", 145),
    ("kwd", 4),
];
/// The smallest charge in these currencies, in euro cents.
const SMALLEST_CENTS: i64 = 50;

/// The number of digits of the largest charge in a currency. For a currency that is not listed, the
/// number is [`DIGITS_ELSEWHERE`].
const DIGITS: &[(&str, u32)] = &[
    ("idr", 12),
    ("inr", 9),
    ("cop", 10),
    ("huf", 10),
    ("jpy", 10),
    ("lbp", 11),
];
const DIGITS_ELSEWHERE: u32 = 8;

/// An error as Stripe writes it: its status and its body.
pub(super) type StripeErrorReply = (u16, Value);

/// Returns the error for a call that Stripe refuses.
pub(super) fn invalid(code: &str, param: &str, message: &str) -> StripeErrorReply {
    let mut error = json!({ "type": "invalid_request_error", "message": message });
    for (field, value) in [("code", code), ("param", param)] {
        if !value.is_empty() {
            error[field] = json!(value);
        }
    }
    (400, json!({ "error": error }))
}

fn list_contains(list: &str, code: &str) -> bool {
    list.split_whitespace().any(|listed| listed == code)
}

fn listed_value(list: &[(&str, i64)], code: &str) -> Option<i64> {
    let found = list.iter().find(|(listed, _)| *listed == code);
    found.map(|(_, value)| *value)
}

/// Reads an amount and its currency from the fields of a form, and checks them.
///
/// # Errors
/// [`StripeErrorReply`] with the code that Stripe uses, where Stripe refuses the charge.
pub(super) fn charge(
    amount: Option<&String>,
    currency: Option<&String>,
) -> Result<(i64, String), StripeErrorReply> {
    let missing = |name: &str| {
        let message = format!("Missing required param: {name}.");
        invalid("parameter_missing", name, &message)
    };
    let currency = currency.ok_or_else(|| missing("currency"))?;
    let amount = amount.ok_or_else(|| missing("amount"))?;
    let amount: i64 = amount.parse().map_err(|_| {
        let message = format!("Invalid integer: {amount}");
        invalid("parameter_invalid_integer", "amount", &message)
    })?;
    if !list_contains(CURRENCIES, currency) {
        let message = format!("Invalid currency: {currency}. Stripe supports: {CURRENCIES}");
        return Err(invalid("", "currency", &message));
    }
    if amount < 1 {
        let message = "This value must be greater than or equal to 1.";
        return Err(invalid("parameter_invalid_integer", "amount", message));
    }
    let whole = match currency.as_str() {
        code if list_contains(BOTH_ZEROS, code) => 100,
        code if list_contains(THREE_DECIMAL, code) => 10,
        _ => 1,
    };
    if amount % whole != 0 {
        let message = format!("Invalid amount: {currency} must be divisible by {whole}.");
        return Err(invalid("", "amount", &message));
    }
    let digits = DIGITS.iter().find(|(code, _)| code == currency);
    let digits = digits.map_or(DIGITS_ELSEWHERE, |(_, digits)| *digits);
    if amount >= 10_i64.pow(digits) {
        let most = worded(10_i64.pow(digits) - 1, currency);
        let message = format!("Amount must be no more than {most}");
        return Err(invalid("amount_too_large", "amount", &message));
    }
    if let Some(smallest) = listed_value(SMALLEST, currency)
        && amount < smallest
    {
        let message = format!("Amount must be at least {}", worded(smallest, currency));
        return Err(invalid("amount_too_small", "amount", &message));
    }
    if let Some(a_cent_is) = listed_value(A_CENT_IS, currency)
        && amount < SMALLEST_CENTS * a_cent_is
    {
        let message = format!(
            "Amount must convert to at least {SMALLEST_CENTS} cents. {} converts to approximately {}.",
            worded(amount, currency),
            worded(amount / a_cent_is, "eur")
        );
        return Err(invalid("amount_too_small", "amount", &message));
    }
    Ok((amount, currency.clone()))
}

fn worded(amount: i64, currency: &str) -> String {
    let decimals = match currency {
        code if list_contains(ZERO_DECIMAL, code) => 0,
        code if list_contains(THREE_DECIMAL, code) => 3,
        _ => 2,
    };
    let unit = 10_i64.pow(decimals);
    match decimals {
        0 => format!("{amount} {currency}"),
        2 => format!("{}.{:02} {currency}", amount / unit, amount % unit),
        _ => format!("{}.{:03} {currency}", amount / unit, amount % unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(amount: &str, currency: &str, expected: Result<i64, &str>) {
        let given = (amount.to_owned(), currency.to_owned());
        let answer = charge(Some(&given.0), Some(&given.1));
        let met = answer
            .map(|(amount, _)| amount)
            .map_err(|(_, body)| body["error"]["code"].as_str().unwrap_or("").to_owned());
        assert_eq!(met, expected.map_err(str::to_owned), "{amount} {currency}");
    }

    #[test]
    fn charges_are_refused_as_stripe_refuses_them() {
        check("50", "eur", Ok(50));
        check("49", "eur", Err("amount_too_small"));
        check("30", "gbp", Ok(30));
        check("29", "gbp", Err("amount_too_small"));
        check("99999999", "usd", Ok(99_999_999));
        check("100000000", "usd", Err("amount_too_large"));
        check("100000000", "jpy", Ok(100_000_000));
        check("49", "jpy", Err("amount_too_small"));
        check("0", "eur", Err("parameter_invalid_integer"));
        check("1.5", "eur", Err("parameter_invalid_integer"));
        check("50", "EUR", Err(""));
        check("50", "xts", Err(""));
        check("5123", "kwd", Err(""));
        check("5120", "kwd", Ok(5_120));
        check("50050", "isk", Err(""));
        check("50000", "isk", Ok(50_000));
        check("399", "cny", Err("amount_too_small"));
        check("400", "cny", Ok(400));
        check("1", "pab", Ok(1));
        let missing = charge(None, Some(&"eur".to_owned()));
        let (status, body) = missing.expect_err("no amount");
        assert_eq!((status, &body["error"]["param"]), (400, &json!("amount")));
    }

    #[test]
    fn a_refusal_names_the_amount_in_the_currencys_own_units() {
        assert_eq!(worded(50, "eur"), "0.50 eur");
        assert_eq!(worded(50, "jpy"), "50 jpy");
        assert_eq!(worded(5_120, "kwd"), "5.120 kwd");
    }
}

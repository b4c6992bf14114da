//! Reads the prices of fares: whole minor units of one currency, never rounded.

use fairgate_model::money::{AMOUNT_MAX, Currency};

use super::super::table::FeedTableLine;

/// The currency of the fares that were read so far. A timetable has one currency.
pub struct FareCurrency {
    known: Option<Currency>,
    /// Who gave the currency, for the faults of fares in another one.
    given_by: String,
    /// The first currency of any fare, which counts if no fare is sold.
    of_any: Option<Currency>,
    /// Whether the currency of any fare could not be read.
    unreadable: bool,
}

impl FareCurrency {
    /// Begins with the currency of the `--rail` file, if it gives one.
    pub fn new(given: Option<Currency>) -> Self {
        Self {
            known: given,
            given_by: "terms.currency of the --rail file is".to_owned(),
            of_any: None,
            unreadable: false,
        }
    }

    /// Returns the currency, or `None` if nobody gave it.
    pub fn known(&self) -> Option<Currency> {
        // Nothing is imported if a currency is unreadable. This keeps that fault from being
        // followed by another one, which would say that there is no currency.
        let unreadable = self.unreadable.then_some(Currency::EUR);
        self.known.or(self.of_any).or(unreadable)
    }

    /// Notes that a file which may give the currency could not be read.
    pub fn set_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Reads the currency in a column. The currency of a fare that is sold must be the same as that
    /// of the others.
    pub fn read(&mut self, line: &FeedTableLine<'_>, column: &str, sold: bool) -> Option<Currency> {
        let currency = line.needed(column).and_then(|code| {
            let listed = Currency::listed(code);
            if listed.is_none() {
                let message =
                    format!("{column} is {code:?}; it is a currency of ISO 4217, such as EUR");
                line.fault("bad_currency", message);
            }
            listed
        });
        self.unreadable |= currency.is_none();
        let currency = currency?;
        self.of_any = self.of_any.or(Some(currency));
        if !sold {
            return Some(currency);
        }
        if self.known.is_none() {
            self.given_by = format!("the price in line {} is in", line.number);
        }
        let first = *self.known.get_or_insert(currency);
        if first != currency {
            let message = format!(
                "{column} is {}, but {} {}: all fares must be in one currency",
                currency.as_str(),
                self.given_by,
                first.as_str()
            );
            line.fault("bad_currency", message);
        }
        Some(currency)
    }
}

/// Reads an amount of a currency. Adds a fault if the text in the column is not such an amount.
pub fn read_amount(
    line: &FeedTableLine<'_>,
    column: &str,
    text: &str,
    currency: Currency,
) -> Option<i64> {
    let amount = minor_units(text, currency);
    if amount.is_none() {
        let example = currency.with_amount(375);
        let message = format!("{column} is {text:?}; it is an amount such as {example}");
        line.fault("bad_number", message);
    }
    amount
}

/// Parses a price such as `3.75` into minor units of a currency, without rounding.
fn minor_units(text: &str, currency: Currency) -> Option<i64> {
    let decimals = currency.decimals();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (minor, rest) = fraction
        .split_at_checked(decimals)
        .unwrap_or((fraction, ""));
    if whole.is_empty()
        || !is_digits(whole)
        || !is_digits(fraction)
        || rest.bytes().any(|b| b != b'0')
    {
        return None;
    }
    let amount: i64 = format!("{whole}{minor:0<decimals$}").parse().ok()?;
    (amount <= AMOUNT_MAX).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_read_without_rounding_or_refused() {
        for (text, code, expected) in [
            ("3.75", "USD", Some(375)),
            ("6", "USD", Some(600)),
            ("0.5", "EUR", Some(50)),
            ("10.500", "EUR", Some(1_050)),
            ("10.505", "EUR", None),
            ("250", "JPY", Some(250)),
            ("250.0", "JPY", Some(250)),
            ("1.234", "KWD", Some(1_234)),
            ("-1", "EUR", None),
            (".5", "EUR", None),
            ("1,5", "EUR", None),
            ("99999999999999", "EUR", None),
        ] {
            let currency = Currency::parse(code).expect("a currency");
            assert_eq!(minor_units(text, currency), expected, "{text} {code}");
        }
    }
}

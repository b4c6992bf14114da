//! Money in whole minor units of one currency, never as a float. Only this module knows which
//! currencies ISO 4217 lists.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The greatest price or total, in minor units. It is far above any seat's price and far below
/// overflow.
pub const AMOUNT_MAX: i64 = 100_000_000_000;

/// The code of a currency: three capital letters. A new document may only name a currency that
/// [`Currency::listed`] accepts. A stored one may name another, because the list changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

/// An amount in minor units of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// Minor units (cents, for the euro).
    pub amount: i64,
    /// The currency.
    pub currency: Currency,
}

impl Currency {
    /// The euro.
    pub const EUR: Self = Self(*b"EUR");

    /// The code of ISO 4217 for no currency. A timetable has it in which nothing is sold, so that
    /// no price can ever be in it.
    pub const NONE: Self = Self(*b"XXX");

    /// Reads a code of three capital letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 3] = text.as_bytes().try_into().ok()?;
        code.iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Self(code))
    }

    /// Reads the code of a currency that ISO 4217 lists with minor units. Metals, units of account
    /// and codes for tests have none.
    #[must_use]
    pub fn listed(code: &str) -> Option<Self> {
        Self::parse(code).filter(|currency| currency.is_listed())
    }

    /// Returns whether ISO 4217 lists the currency with minor units.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.listed_decimals().is_some()
    }

    fn listed_decimals(&self) -> Option<u16> {
        iso_currency::Currency::from_code(self.as_str())?.exponent()
    }

    /// Returns the code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII capitals are ever a currency")
    }

    /// Returns how many decimals an amount of this currency has, by ISO 4217. A currency that is
    /// not listed has two.
    #[must_use]
    pub fn decimals(&self) -> usize {
        self.listed_decimals().map_or(2, usize::from)
    }

    /// Splits minor units into whole units and the digits of the decimals: 1205 cents are `12` and
    /// `"05"`.
    #[must_use]
    pub fn split_units(&self, minor: u64) -> (u64, String) {
        let decimals = self.decimals();
        let unit = 10_u64.pow(u32::try_from(decimals).unwrap_or_default());
        let part = format!("{:0decimals$}", minor % unit);
        (
            minor / unit,
            if decimals == 0 { String::new() } else { part },
        )
    }

    /// Makes an amount of this currency, in minor units.
    #[must_use]
    pub fn with_amount(self, amount: i64) -> Money {
        Money {
            amount,
            currency: self,
        }
    }
}

/// Writes the amount with the currency's decimals and code: `0.40 EUR`, `500 JPY`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.amount < 0 { "-" } else { "" };
        let (whole, part) = self.currency.split_units(self.amount.unsigned_abs());
        let point = if part.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{part} {}", self.currency.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom("a currency is three capital letters, as in \"EUR\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_with_the_currencys_decimals() {
        let check = |code: &str, amount, expected: &str| {
            let currency = Currency::parse(code).expect("a currency");
            assert_eq!(currency.with_amount(amount).to_string(), expected);
        };
        check("EUR", 12_005, "120.05 EUR");
        check("EUR", -40, "-0.40 EUR");
        check("JPY", 500, "500 JPY");
        check("KWD", 5_120, "5.120 KWD");
        check("CLF", 5_120, "0.5120 CLF");
        check("QQQ", 5_120, "51.20 QQQ");
    }

    #[test]
    fn currencies_are_those_of_iso_4217() {
        for code in ["EUR", "CHF", "JPY", "KWD", "XOF", "CNY", "XCG", "UYW"] {
            assert!(Currency::listed(code).is_some(), "{code}");
        }
        for code in ["QQQ", "ABC", "XXX", "XTS", "XAU", "eur", "EU", "EURO", ""] {
            assert_eq!(Currency::listed(code), None, "{code}");
        }
    }
}

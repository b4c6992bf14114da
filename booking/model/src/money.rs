//! Money in whole minor units of one currency, never as a float.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The greatest price or total, in minor units. It is far above any seat's price and far below
/// overflow.
pub const AMOUNT_MAX: i64 = 100_000_000_000;

/// An ISO 4217 code: three capital letters.
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

    /// Reads a code of three capital letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 3] = text.as_bytes().try_into().ok()?;
        code.iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Self(code))
    }

    /// Returns the code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII capitals are ever a currency")
    }

    /// Returns how many decimals an amount of this currency has, by ISO 4217.
    #[must_use]
    pub fn decimals(&self) -> usize {
        match self.as_str() {
            "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF"
            | "UGX" | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
            "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
            _ => 2,
        }
    }

    /// Splits minor units into whole units and the digits of the decimals: 1205 cents are `12` and
    /// `"05"`.
    #[must_use]
    pub fn split_units(&self, minor: u64) -> (u64, String) {
        let decimals = self.decimals();
        let unit = [1, 10, 100, 1_000][decimals];
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
    }
}

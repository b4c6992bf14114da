//! The kinds of payment providers, and what follows from the kind alone.

use std::str::FromStr;

use super::limits::PaymentLimits;
use super::stripe_sums;
use crate::money::Currency;

/// The payment provider of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// There is no provider: only orders that cost nothing can be sold.
    None,
    /// The built-in test provider.
    Sandbox,
    /// Stripe.
    Stripe,
}

impl ProviderKind {
    /// Returns whether the provider tells one card from another.
    #[must_use]
    pub const fn names_cards(self) -> bool {
        matches!(self, Self::Stripe)
    }

    /// Returns the sums that the provider takes in one payment. If there is no provider yet, prices
    /// are not limited.
    #[must_use]
    pub fn limits(self, currency: Currency) -> PaymentLimits {
        match self {
            Self::None | Self::Sandbox => PaymentLimits::NONE,
            Self::Stripe => stripe_sums::limits(currency),
        }
    }

    /// Returns what the provider can do, as far as documents in this currency depend on it.
    #[must_use]
    pub fn rules(self, currency: Currency) -> ProviderRules {
        ProviderRules {
            names_cards: self.names_cards(),
            limits: self.limits(currency),
        }
    }
}

/// What the payment provider of this installation can do, as far as documents depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderRules {
    /// Whether the provider tells one card from another.
    pub names_cards: bool,
    /// The sums that the provider takes in one payment.
    pub limits: PaymentLimits,
}

impl ProviderRules {
    /// The rules for stored documents, which may have been stored under another provider.
    pub const STORED: Self = Self {
        names_cards: true,
        limits: PaymentLimits::NONE,
    };
}

impl FromStr for ProviderKind {
    type Err = &'static str;

    /// Reads the provider's name as `FAIRGATE_PAYMENTS` has it.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Self::None),
            "sandbox" => Ok(Self::Sandbox),
            "stripe" => Ok(Self::Stripe),
            _ => Err("it is one of none, sandbox, stripe"),
        }
    }
}

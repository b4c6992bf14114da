//! Which payment provider an installation has, and what follows from that alone.

use std::str::FromStr;

use super::limits::PaymentLimits;
use super::stripe_sums;
use crate::money::Currency;

/// Whose money it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// Nobody takes any: only what costs nothing is sold.
    None,
    /// The built-in test provider.
    Sandbox,
    /// Stripe.
    Stripe,
}

impl ProviderKind {
    /// Whether it tells one card from another.
    #[must_use]
    pub const fn names_cards(self) -> bool {
        matches!(self, Self::Stripe)
    }

    /// The sums that it takes in one payment. Where nobody takes money yet, every sum may still be
    /// asked for.
    #[must_use]
    pub fn limits(self, currency: Currency) -> PaymentLimits {
        match self {
            Self::None | Self::Sandbox => PaymentLimits::NONE,
            Self::Stripe => stripe_sums::limits(currency),
        }
    }

    /// What it can do, as far as documents in this currency ask for it.
    #[must_use]
    pub fn rules(self, currency: Currency) -> ProviderRules {
        ProviderRules {
            names_cards: self.names_cards(),
            limits: self.limits(currency),
        }
    }
}

/// What the payment provider of this installation can do, as far as documents ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderRules {
    /// Whether it tells one card from another.
    pub names_cards: bool,
    /// The sums that it takes.
    pub limits: PaymentLimits,
}

impl ProviderRules {
    /// For what was stored under whichever provider there was.
    pub const STORED: Self = Self {
        names_cards: true,
        limits: PaymentLimits::NONE,
    };
}

impl FromStr for ProviderKind {
    type Err = &'static str;

    /// As `FAIRGATE_PAYMENTS` names it.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Self::None),
            "sandbox" => Ok(Self::Sandbox),
            "stripe" => Ok(Self::Stripe),
            _ => Err("it is one of none, sandbox, stripe"),
        }
    }
}

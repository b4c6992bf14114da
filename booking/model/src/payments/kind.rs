//! The kinds of payment providers, and what a provider of each kind can do.

use std::str::FromStr;

use super::limits::PaymentLimits;
use super::stripe_sums;
use crate::money::Currency;

/// The payment provider of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// There is no provider. Only orders that cost nothing are accepted.
    None,
    /// The built-in test provider.
    Sandbox,
    /// Stripe.
    Stripe,
}

impl ProviderKind {
    /// The names of the providers for which [`Self::keeps_orders`] is true, as payments have them.
    pub const ORDER_KEEPERS: [&'static str; 1] = ["stripe"];

    /// Returns whether the provider recognises a card that was used before.
    #[must_use]
    pub const fn names_cards(self) -> bool {
        matches!(self, Self::Stripe)
    }

    /// Returns whether the provider keeps copies of the orders that were paid there, so that they
    /// can be restored if the ledger loses them.
    #[must_use]
    pub const fn keeps_orders(self) -> bool {
        match self {
            Self::None | Self::Sandbox => false,
            Self::Stripe => true,
        }
    }

    /// Returns the limits on the sum of one payment. Only Stripe limits it. The sandbox takes every
    /// sum. Without a provider nobody can pay, but documents may still have any price, because a
    /// provider may be chosen later.
    #[must_use]
    pub fn limits(self, currency: Currency) -> PaymentLimits {
        match self {
            Self::None | Self::Sandbox => PaymentLimits::NONE,
            Self::Stripe => stripe_sums::limits(currency),
        }
    }

    /// Returns the rules for documents of shows in this currency.
    #[must_use]
    pub fn rules(self, currency: Currency) -> ProviderRules {
        ProviderRules {
            names_cards: self.names_cards(),
            limits: self.limits(currency),
            only_listed_currencies: true,
        }
    }
}

/// The abilities and limits of a payment provider that restrict what the document of a show may ask
/// for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderRules {
    /// Whether the provider recognises a card that was used before. A limit of seats per card needs
    /// this.
    pub names_cards: bool,
    /// The sums that the provider takes in one payment.
    pub limits: PaymentLimits,
    /// Whether the currency must be one that ISO 4217 lists.
    pub only_listed_currencies: bool,
}

impl ProviderRules {
    /// The rules for documents that are read from the ledger. They allow everything. Such a
    /// document was checked when it was stored, perhaps for another provider. A change of the
    /// provider or of the list of currencies must not make it unreadable.
    pub const STORED: Self = Self {
        names_cards: true,
        limits: PaymentLimits::NONE,
        only_listed_currencies: false,
    };
}

impl FromStr for ProviderKind {
    type Err = &'static str;

    /// Reads the kind from its name in `FAIRGATE_PAYMENTS`.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Self::None),
            "sandbox" => Ok(Self::Sandbox),
            "stripe" => Ok(Self::Stripe),
            _ => Err("must be none, sandbox or stripe"),
        }
    }
}

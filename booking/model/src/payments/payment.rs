//! A payment: its states, what a provider's events say of it, and how it is read back. Pure.

use serde::{Deserialize, Serialize};

use crate::ids::{OrderId, PaymentId};
use crate::money::Money;
use crate::payments::limits::PaymentSumError;

/// Where a payment stands; it only moves forward, as [`PaymentState::may_become`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentState {
    /// Awaited.
    Created,
    /// Refused by the provider; another try may follow.
    Declined,
    /// The money is held for us.
    Authorised,
    /// The money is ours.
    Captured,
    /// The hold on the money was let go.
    Voided,
    /// The money was ours and went back.
    Refunded,
}

impl PaymentState {
    const ALL: [Self; 6] = [
        Self::Created,
        Self::Declined,
        Self::Authorised,
        Self::Captured,
        Self::Voided,
        Self::Refunded,
    ];

    /// The word in answers and in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Declined => "declined",
            Self::Authorised => "authorised",
            Self::Captured => "captured",
            Self::Voided => "voided",
            Self::Refunded => "refunded",
        }
    }

    /// Whether news of `next` is news: everything else is a repetition, or came out of order.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use PaymentState as P;
        match self {
            P::Created => matches!(next, P::Declined | P::Authorised | P::Captured | P::Voided),
            P::Declined => matches!(next, P::Authorised | P::Captured | P::Voided),
            P::Authorised => matches!(next, P::Captured | P::Voided),
            P::Captured => next == P::Refunded,
            P::Voided | P::Refunded => false,
        }
    }

    /// Whether the provider has money of the buyer: held for us, or taken.
    #[must_use]
    pub fn has_money(self) -> bool {
        matches!(self, Self::Authorised | Self::Captured)
    }

    /// Whether the money was ours, and be it that it went back.
    #[must_use]
    pub fn is_taken(self) -> bool {
        matches!(self, Self::Captured | Self::Refunded)
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A payment as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its id.
    pub id: PaymentId,
    /// Its order.
    pub order: OrderId,
    /// The provider's name.
    pub provider: String,
    /// What is asked for.
    pub amount: Money,
    /// Where it stands.
    pub state: PaymentState,
    /// What the provider calls it, once it was made there.
    pub reference: Option<String>,
    /// What the provider's part of the page needs, as the provider gave it.
    pub client: Option<String>,
    /// What is known to have gone back, in minor units.
    pub refunded: i64,
}

/// What a provider's event says, once its signature held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEvent {
    /// The provider's id of the event: stored once.
    pub event: String,
    /// What happened.
    pub kind: ProviderEventKind,
    /// To which payment.
    pub payment: PaymentId,
    /// Over what amount; of a refund, what went back so far.
    pub amount: Money,
    /// What the provider calls the payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The provider's fingerprint of the card, where it tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
}

/// The kinds of provider events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderEventKind {
    /// The money is held for us.
    Authorised,
    /// The money was refused.
    Declined,
    /// The money is ours.
    Captured,
    /// The hold on the money was let go, by us or by the provider.
    Voided,
    /// Money went back.
    Refunded,
}

impl ProviderEventKind {
    /// Whether a buyer's money is there with it.
    #[must_use]
    pub const fn brings_money(self) -> bool {
        matches!(self, Self::Authorised | Self::Captured)
    }
}

/// What a stored body turns out to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedProviderEvent {
    /// Something about a payment.
    Event(ProviderEvent),
    /// Something that is of no concern here.
    Ignored,
    /// Nothing that this version understands.
    Unreadable,
}

/// A payment as the provider has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPayment {
    /// Where it stands there.
    pub state: PaymentState,
    /// What is held or was taken.
    pub amount: Money,
    /// What has gone back, in minor units; not what is only on its way.
    pub refunded: i64,
    /// The fingerprint of the card, where the provider tells one.
    pub card: Option<String>,
}

impl ProviderPayment {
    /// The events that would have told this. Their ids follow from what they say, so that what is
    /// read twice is stored once. A refund is told only of a payment that is known to be captured:
    /// the capture has to be settled before.
    #[must_use]
    pub fn events(&self, payment: &Payment) -> Vec<ProviderEvent> {
        use ProviderEventKind as K;
        let event = |kind, amount: Money, word: &str| ProviderEvent {
            event: format!("read_back_{word}_{}_{}", amount.amount, payment.id),
            kind,
            payment: payment.id.clone(),
            amount,
            reference: payment.reference.clone(),
            card: self.card.clone(),
        };
        let mut events = match self.state {
            PaymentState::Created => Vec::new(),
            PaymentState::Declined => vec![event(K::Declined, payment.amount, "declined")],
            PaymentState::Authorised => vec![event(K::Authorised, self.amount, "authorised")],
            PaymentState::Voided => vec![event(K::Voided, payment.amount, "voided")],
            PaymentState::Captured | PaymentState::Refunded if payment.state.is_taken() => {
                Vec::new()
            }
            PaymentState::Captured | PaymentState::Refunded => {
                vec![event(K::Captured, self.amount, "captured")]
            }
        };
        if payment.state.is_taken() && self.refunded < payment.refunded {
            // What arrived once may come back, and arrive again: each time is news.
            let back = payment.amount.currency.with_amount(self.refunded);
            let word = format!("of_{}_refunded", payment.refunded);
            events.push(event(K::Refunded, back, &word));
        } else if self.refunded > 0 && payment.state.is_taken() {
            let back = payment.amount.currency.with_amount(self.refunded);
            events.push(event(K::Refunded, back, "refunded"));
        }
        events
    }
}

/// A payment that was made at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedPayment {
    /// What the provider calls it.
    pub reference: String,
    /// What its part of the page needs.
    pub client: String,
}

/// Why a call to the provider did not do what it should. Only what can pass is
/// [`ProviderError::Later`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// It may work later, or may even have been done: no answer, or a fault on the provider's side.
    #[error("the provider could not be reached: {0}")]
    Later(String),
    /// The provider has decided against it.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// The provider never takes such a sum. Only the making of a payment ends so.
    #[error("the provider does not take this sum: it is {0}")]
    Sum(PaymentSumError),
    /// The provider has taken it on and is not done: money that goes back takes its time.
    #[error("the provider is not done: {0}")]
    Pending(String),
    /// The provider took it on and could not do it; asked again, it tries anew.
    #[error("the provider could not do it: {0}")]
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::PaymentState as P;

    #[test]
    fn a_payment_only_moves_forward() {
        for from in P::ALL {
            for to in P::ALL {
                // Nothing is news twice, and no two states can each follow the other.
                assert!(
                    !(from.may_become(to) && to.may_become(from)),
                    "{from:?} {to:?}"
                );
            }
        }
        assert!(
            P::Declined.may_become(P::Authorised),
            "another card may be good"
        );
        assert!(
            !P::Captured.may_become(P::Voided),
            "what was taken is given back, not let go"
        );
    }
}

//! A payment: its states, and what a provider's events and answers say about it. The module is
//! pure.

use serde::{Deserialize, Serialize};

use crate::ids::{OrderId, PaymentId};
use crate::money::Money;
use crate::payments::limits::PaymentSumError;
use crate::payments::returns::{DisputeState, ProviderReturns};

/// The state of a payment. A payment only moves forward, as [`PaymentState::may_become`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentState {
    /// Awaited.
    Created,
    /// Refused by the provider. Another try may follow.
    Declined,
    /// The money is held for us.
    Authorised,
    /// The money is ours.
    Captured,
    /// Nothing is taken: the payment was voided before its capture, or there was nothing to pay.
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

    /// Returns the state's word in answers and in the ledger.
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

    /// Returns whether a report of the state `next` changes the payment. If not, the report is a
    /// repetition or came out of order.
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

    /// Returns whether the provider has money of the buyer, held for us or captured.
    #[must_use]
    pub fn has_money(self) -> bool {
        matches!(self, Self::Authorised | Self::Captured)
    }

    /// Returns whether the money was captured, even if it has been returned since.
    #[must_use]
    pub fn is_taken(self) -> bool {
        matches!(self, Self::Captured | Self::Refunded)
    }

    /// Returns the state with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A payment as the ledger stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its id.
    pub id: PaymentId,
    /// Its order.
    pub order: OrderId,
    /// The provider's name.
    pub provider: String,
    /// The amount that the buyer is asked for.
    pub amount: Money,
    /// Its state.
    pub state: PaymentState,
    /// The provider's id of the payment; none until the provider has made the payment.
    pub reference: Option<String>,
    /// The text that the provider's script in the page needs, unchanged from the provider's answer.
    pub client: Option<String>,
    /// The sum that was refunded to the buyer, as far as the ledger knows, in minor units.
    pub refunded: i64,
    /// How many earlier attempts to pay ended, because the payment was cancelled at the provider.
    pub attempt: u32,
    /// Where its disputes stand, as far as the ledger knows; none if there is none.
    pub dispute: Option<DisputeState>,
}

impl Payment {
    /// Returns whether the provider reports a new state of the payment's disputes.
    #[must_use]
    pub fn dispute_changes(&self, read: &ProviderPayment) -> bool {
        let next = read.returns.dispute;
        self.state.is_taken() && next.is_some_and(|next| DisputeState::is_news(self.dispute, next))
    }
}

/// An event about a payment. It was read from a message of the provider, after a check of the
/// message's signature. Or [`ProviderPayment::events`] made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEvent {
    /// The id of the event. Each id is stored once.
    pub event: String,
    /// The kind of event.
    pub kind: ProviderEventKind,
    /// The payment that the event is about.
    pub payment: PaymentId,
    /// The amount of the payment; for a refund, the sum of all refunds so far.
    pub amount: Money,
    /// The provider's id of the payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The provider's fingerprint of the card, if the provider gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// What went back at the provider, and its disputes. It is never stored: the inbox reads it
    /// from the provider when it settles an event of the kind [`ProviderEventKind::Refunded`], or
    /// one of a capture of less than the payment's amount.
    #[serde(skip)]
    pub returns: Option<ProviderReturns>,
}

/// The kinds of provider events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderEventKind {
    /// The money is held for us.
    Authorised,
    /// The provider refused the payment.
    Declined,
    /// The money is ours.
    Captured,
    /// The authorisation was voided, by us or by the provider.
    Voided,
    /// The sum that was returned to the buyer has changed, or a dispute of the payment.
    Refunded,
}

impl ProviderEventKind {
    /// Returns whether the provider has the buyer's money after this event.
    #[must_use]
    pub const fn brings_money(self) -> bool {
        matches!(self, Self::Authorised | Self::Captured)
    }
}

/// The result of reading a stored message of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedProviderEvent {
    /// It is an event about a payment.
    Event(ProviderEvent),
    /// Money of the payment with this id of the provider went back, or the payment is disputed. The
    /// event does not say which payment of ours that is.
    ReturnOf {
        /// The id of the event.
        event: String,
        /// The provider's id of the payment.
        reference: String,
    },
    /// It is an event that does not matter here.
    Ignored,
    /// This version cannot read it.
    Unreadable,
}

impl ParsedProviderEvent {
    /// Returns whether it is an event that tells what went back to the buyer.
    #[must_use]
    pub fn tells_returns(&self) -> bool {
        matches!(self, Self::Event(event) if event.returns.is_some())
    }
}

/// A payment as the provider reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPayment {
    /// Its state at the provider.
    pub state: PaymentState,
    /// The amount that is held or was captured.
    pub amount: Money,
    /// The sum of the finished refunds and of the lost disputes, in minor units. Refunds that are
    /// on their way are not included.
    pub refunded: i64,
    /// The single sums that went back, and the disputes.
    pub returns: ProviderReturns,
    /// The fingerprint of the card, if the provider gives one.
    pub card: Option<String>,
}

impl ProviderPayment {
    /// Returns the events that would have reported this state. `changed_ms` is when the payment was
    /// last changed in the ledger. The ids are made from the content, so that a state that is
    /// read twice is stored once. A refund is reported only if the ledger has the payment as
    /// captured, because the capture has to be settled first.
    #[must_use]
    pub fn events(&self, payment: &Payment, changed_ms: i64) -> Vec<ProviderEvent> {
        use ProviderEventKind as K;
        let event = |kind, amount: Money, id_part: &str| ProviderEvent {
            event: match payment.attempt {
                0 => format!("read_back_{id_part}_{}_{}", amount.amount, payment.id),
                nth => format!("read_back_{id_part}_{}_{}_{nth}", amount.amount, payment.id),
            },
            kind,
            payment: payment.id.clone(),
            amount,
            reference: payment.reference.clone(),
            card: self.card.clone(),
            returns: None,
        };
        let mut events = match self.state {
            PaymentState::Created => Vec::new(),
            // The provider tells the last decline while the next try runs. It is no news then.
            PaymentState::Declined if payment.state == PaymentState::Declined => Vec::new(),
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
        let dispute = self.returns.dispute;
        let is_news = self.refunded > 0 || payment.refunded > 0 || payment.dispute_changes(self);
        if payment.state.is_taken() && is_news {
            // A refund can fail after it was reported, then be made again, and fail again. The id
            // also contains the last change, so that each of these failures has its own event.
            let refunded = payment.amount.currency.with_amount(self.refunded);
            let id_part = match dispute {
                Some(dispute) => format!("since_{changed_ms}_{}_refunded", dispute.as_str()),
                None => format!("since_{changed_ms}_refunded"),
            };
            events.push(event(K::Refunded, refunded, &id_part));
        }
        events
    }
}

/// A payment that was just made at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedPayment {
    /// The provider's id of the payment.
    pub reference: String,
    /// The text that the provider's script in the page needs.
    pub client: String,
}

/// Why a call to the provider did not succeed. [`ProviderError::Later`] is only for failures that
/// may pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// There was no answer, or the provider had a fault. The call may succeed later, or the
    /// provider may even have carried it out already.
    #[error("the provider could not be reached: {0}")]
    Later(String),
    /// The provider refused the call for good.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// The provider never takes this sum. Only the call that makes a payment fails like this.
    #[error("the provider does not take this sum: it is {0}")]
    Sum(PaymentSumError),
    /// The provider has accepted the call but has not finished it, because a refund takes time.
    #[error("the provider is not done: {0}")]
    Pending(String),
    /// The provider accepted the call but could not do it. If the call is repeated, the provider
    /// makes a new attempt.
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
                // No state follows itself, and no two states can each follow the other.
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
            "captured money is refunded, not voided"
        );
    }
}

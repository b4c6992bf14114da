//! Payments: a provider behind a trait, a webhook inbox, and workers that carry out what the ledger decided.

pub mod effects;
pub mod http;
pub mod sandbox;
pub mod webhook;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::ids::{OrderId, PaymentId};
use crate::money::Money;

/// Where a payment stands; it only moves forward.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
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
}

impl PaymentState {
    const ALL: [Self; 5] = [
        Self::Created,
        Self::Declined,
        Self::Authorised,
        Self::Captured,
        Self::Voided,
    ];

    /// The word in answers and in the ledger.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Declined => "declined",
            Self::Authorised => "authorised",
            Self::Captured => "captured",
            Self::Voided => "voided",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
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
    /// Over what amount.
    pub amount: Money,
}

/// The kinds of provider events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderEventKind {
    /// The money is held for us.
    Authorised,
    /// The money was refused.
    Declined,
}

/// Why a call to the provider did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// It may work later: no answer, or a fault on the provider's side.
    #[error("the provider could not be reached: {0}")]
    Later(String),
    /// The provider has decided against it.
    #[error("the provider refused: {0}")]
    Refused(String),
}

/// A payment provider with manual capture. Every call carries the same idempotency key however often it is made.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Its name in paths and in the ledger.
    fn name(&self) -> &'static str;

    /// Whether its money is play money.
    fn is_test(&self) -> bool;

    /// What the buyer's page needs to pay.
    async fn client(&self, payment: &Payment) -> Result<serde_json::Value, ProviderError>;

    /// Takes the authorised money; again is the same.
    async fn capture(&self, payment: &Payment) -> Result<(), ProviderError>;

    /// Lets go of the authorised money; again is the same.
    async fn void(&self, payment: &Payment) -> Result<(), ProviderError>;

    /// Reads an event, after checking its signature over the raw body; `None` where it does not hold.
    fn verify(&self, signature: Option<&str>, body: &[u8], now_s: i64) -> Option<ProviderEvent>;
}

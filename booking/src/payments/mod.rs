//! Payments: a provider behind a trait, a webhook inbox, and workers that carry out what the ledger
//! decided.

mod crew;
pub mod effects;
pub mod refunding;
pub mod sandbox;
pub mod stripe;
pub mod webhook;

use std::time::Duration;

use async_trait::async_trait;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::payments::{
    CreatedPayment, ParsedProviderEvent, Payment, ProviderError, ProviderPayment,
};

/// A payment that nothing was told of for so long is read back, unless the settings say otherwise.
pub const READ_BACK_AFTER: Duration = Duration::from_secs(15);

/// A payment provider with manual capture. Every call that changes something carries an idempotency
/// key that derives from the payment and from what is asked, so that a repeated call is the same
/// call; `attempt` counts the tries before this one.
#[async_trait]
pub trait PaymentProvider: Send + Sync + 'static {
    /// Its name in paths and in the ledger.
    fn name(&self) -> &'static str;

    /// Whether its money is play money.
    fn is_test(&self) -> bool;

    /// Which one it is: cards and sums follow from that.
    fn kind(&self) -> ProviderKind;

    /// The header that carries the signature of its events.
    fn signature_header(&self) -> &'static str;

    /// A payment that it has told nothing of for so long is read back.
    fn read_back_after(&self) -> Duration;

    /// Makes the payment at the provider; again answers with the same. `None` where it needs no
    /// making.
    async fn make(
        &self,
        payment: &Payment,
        attempt: u32,
    ) -> Result<Option<CreatedPayment>, ProviderError>;

    /// What the buyer's page needs to pay; null while the payment was not made yet.
    fn client(&self, payment: &Payment) -> serde_json::Value;

    /// Takes the authorised money; again is the same.
    async fn capture(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError>;

    /// Lets go of the authorised money; again is the same.
    async fn void(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError>;

    /// Gives all the captured money back; again is the same. Done once the provider says that the
    /// money has gone: [`ProviderError::Pending`] until then, [`ProviderError::Failed`] where it
    /// could not be brought back.
    async fn refund(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError>;

    /// Gives a part of the captured money back, known by the refund's id; again is the same.
    /// Answers as [`PaymentProvider::refund`] does.
    async fn refund_part(&self, refund: &OwedRefund) -> Result<(), ProviderError>;

    /// Reads where the payment stands at the provider.
    async fn read_back(&self, payment: &Payment) -> Result<ProviderPayment, ProviderError>;

    /// Checks an event's signature over the raw body and gives its id; `None` where it does not
    /// hold.
    fn verify(&self, signature: Option<&str>, body: &[u8], now_s: i64) -> Option<String>;

    /// Reads a body whose signature held.
    fn read(&self, body: &[u8]) -> ParsedProviderEvent;
}

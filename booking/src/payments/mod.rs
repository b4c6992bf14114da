//! Payments: a trait for payment providers, an inbox for the provider's events, and workers that
//! make the captures, voids and refunds that the ledger decided.

mod completing;
pub mod effects;
mod lent_work;
pub mod refunding;
mod restoring;
pub mod sandbox;
pub mod stripe;
pub mod webhook;

use std::time::Duration;

use async_trait::async_trait;
use fairgate_model::money::Money;
use fairgate_model::orders::order_copy::OrderCopy;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::payments::{
    CreatedPayment, ParsedProviderEvent, Payment, ProviderError, ProviderPayment,
};

/// How long a payment may stay unchanged before its state is read from the provider, unless the
/// settings name another time.
pub const READ_BACK_AFTER: Duration = Duration::from_secs(15);

/// A page of the provider's own list of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderEventPage {
    /// The id and the body of each event, oldest first.
    pub events: Vec<(String, Vec<u8>)>,
    /// Whether more events follow.
    pub has_more: bool,
}

/// A payment provider with manual capture. Every call that changes something has an idempotency
/// key, so that the provider recognises a repeated call. The key is derived from the payment and
/// the kind of call. `attempt` counts the tries before this one.
#[async_trait]
pub trait PaymentProvider: Send + Sync + 'static {
    /// Returns the provider's name in paths and in the ledger.
    fn name(&self) -> &'static str;

    /// Returns whether the provider moves no real money.
    fn is_test(&self) -> bool;

    /// Returns the kind of provider, which decides whether cards are known and which sums are
    /// allowed.
    fn kind(&self) -> ProviderKind;

    /// Returns the name of the header that carries the signature of an event.
    fn signature_header(&self) -> &'static str;

    /// Returns how long a payment may stay unchanged before its state is read from the provider.
    fn read_back_after(&self) -> Duration;

    /// Makes the payment at the provider, with a copy of its order. The call may be repeated. If
    /// earlier tries got no answer, the provider may then have several payments. Only the payment
    /// that is stored first is used.
    /// Returns `None` if the provider needs no such step.
    async fn make(
        &self,
        payment: &Payment,
        copy: &OrderCopy,
        attempt: u32,
    ) -> Result<Option<CreatedPayment>, ProviderError>;

    /// Returns the data that the buyer's page needs to pay. It is null while the payment must still
    /// be made at the provider.
    fn client(&self, payment: &Payment) -> serde_json::Value;

    /// Takes the authorised money. The call may be repeated.
    async fn capture(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError>;

    /// Releases the authorised money. The call may be repeated.
    async fn void(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError>;

    /// Refunds all the captured money that has not been refunded yet. The call may be repeated. It
    /// succeeds once the provider reports that the money was refunded. Before that, it returns
    /// [`ProviderError::Pending`]. It returns [`ProviderError::Failed`] if the money could not be
    /// sent back.
    async fn refund(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError>;

    /// Refunds a part of the captured money. The refund's id identifies this part. The call may be
    /// repeated. It returns the same results as [`PaymentProvider::refund`].
    async fn refund_part(&self, refund: &OwedRefund) -> Result<(), ProviderError>;

    /// Reads the state of the payment at the provider.
    async fn read_back(&self, payment: &Payment) -> Result<ProviderPayment, ProviderError>;

    /// Returns the money that the provider has now under this id of its own: held or captured, less
    /// what went back. Returns `None` if there is none.
    async fn money_of(&self, reference: &str) -> Result<Option<Money>, ProviderError>;

    /// Returns the copy of an order that the provider has under this id of its own. Returns `None`
    /// if there is none that is whole.
    async fn copy_of(&self, reference: &str) -> Result<Option<OrderCopy>, ProviderError>;

    /// Returns a page of the events that follow the event `after`, oldest first, from the
    /// provider's own list. Without `after`, and if the provider no longer has that event, the
    /// page begins with the first event since `since_ms`. A provider without such a list returns no
    /// events.
    async fn events_after(
        &self,
        after: Option<&str>,
        since_ms: i64,
    ) -> Result<ProviderEventPage, ProviderError>;

    /// Checks the signature of an event over the raw body, and returns the event's id. Returns
    /// `None` if the signature is wrong or too old.
    fn verify(&self, signature: Option<&str>, body: &[u8], now_s: i64) -> Option<String>;

    /// Reads the body of an event whose signature was right.
    fn read(&self, body: &[u8]) -> ParsedProviderEvent;
}

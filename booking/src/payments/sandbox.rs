//! The sandbox provider, which moves no real money. Its events are signed, sent to the same inbox
//! and settled by the same worker as those of a real provider.

use std::time::Duration;

use async_trait::async_trait;
use fairgate_model::ids::PaymentId;
use fairgate_model::money::Money;
use fairgate_model::orders::order_copy::OrderCopy;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::orders::transition::PAYMENT_TRIED_AGAIN;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::payments::returns::ProviderReturns;
use fairgate_model::payments::{
    CreatedPayment, ParsedProviderEvent, Payment, PaymentState, ProviderError, ProviderEvent,
    ProviderEventKind, ProviderPayment,
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{PaymentProvider, ProviderEventPage, READ_BACK_AFTER};
use crate::ledger::{Ledger, LedgerError};

/// The header that carries an event's signature: `t=UNIX_SECONDS,v1=HEX` over `t.body`.
pub const SIGNATURE_HEADER: &str = "fairgate-sandbox-signature";

/// How many seconds an event's time may differ from now. If it differs more, the event is refused,
/// because it may be a replay.
const TOLERANCE_S: i64 = 300;

/// The sandbox provider. It stores payments in a table of its own, just as a real provider has its
/// own records.
#[derive(Clone)]
pub struct SandboxProvider {
    ledger: Ledger,
    secret: [u8; 32],
}

/// What a buyer chose in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxOutcome {
    /// The card is good.
    Approve,
    /// The card is refused.
    Decline,
}

/// A signed event that can be sent to the inbox.
pub struct SignedSandboxEvent {
    /// The value of [`SIGNATURE_HEADER`].
    pub signature: String,
    /// The raw body.
    pub body: Vec<u8>,
}

impl SandboxProvider {
    /// Makes the sandbox. `secret` signs its events.
    #[must_use]
    pub fn new(ledger: Ledger, secret: [u8; 32]) -> Self {
        Self { ledger, secret }
    }

    /// Stores the buyer's choice, and returns the signed event that reports the choice. A repeated
    /// choice makes the same event, except that each try to pay can be declined once. Returns
    /// `None` if an earlier choice or event excludes this one.
    ///
    /// # Errors
    /// Returns an error if the ledger did not store the choice.
    pub async fn choose_outcome(
        &self,
        payment: &Payment,
        outcome: SandboxOutcome,
        now_s: i64,
    ) -> Result<Option<SignedSandboxEvent>, LedgerError> {
        let (from, to, kind): (&'static [&'static str], _, _) = match outcome {
            SandboxOutcome::Approve => (
                &["open", "declined", "authorised"],
                "authorised",
                ProviderEventKind::Authorised,
            ),
            SandboxOutcome::Decline => (
                &["open", "declined"],
                "declined",
                ProviderEventKind::Declined,
            ),
        };
        let now = self.ledger.sandbox_move(&payment.id, from, to).await?;
        // An approval may be repeated after the money was captured. Its event is stored only once
        // and changes nothing.
        if now != to && !(to == "authorised" && matches!(now.as_str(), "captured" | "refunded")) {
            return Ok(None);
        }
        let tries = match outcome {
            SandboxOutcome::Approve => 0,
            SandboxOutcome::Decline => self.next_tries(payment).await?,
        };
        let event = ProviderEvent {
            event: match tries {
                0 => format!("sandbox_{to}_{}", payment.id),
                nth => format!("sandbox_{to}_{}_{nth}", payment.id),
            },
            kind,
            payment: payment.id.clone(),
            amount: payment.amount,
            reference: None,
            card: None,
            returns: None,
        };
        let body =
            serde_json::to_vec(&event).map_err(|error| LedgerError::Corrupt(error.to_string()))?;
        Ok(Some(SignedSandboxEvent {
            signature: self.sign(&body, now_s),
            body,
        }))
    }

    /// Returns how many other tries to pay the buyer has begun since a payment was declined.
    async fn next_tries(&self, payment: &Payment) -> Result<usize, LedgerError> {
        let record = self.ledger.order(&payment.order).await?;
        let steps = record.into_iter().flat_map(|record| record.history);
        Ok(steps
            .filter(|step| step.reason == PAYMENT_TRIED_AGAIN)
            .count())
    }

    fn sign(&self, body: &[u8], at_s: i64) -> String {
        format!(
            "t={at_s},v1={}",
            hex::encode(self.sandbox_event_mac(body, at_s))
        )
    }

    fn sandbox_event_mac(&self, body: &[u8], at_s: i64) -> [u8; 32] {
        let mut mac =
            <Hmac<Sha256>>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(at_s.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        mac.finalize().into_bytes().into()
    }

    async fn move_payment(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<(), ProviderError> {
        match self.ledger.sandbox_move(payment, from, to).await {
            Ok(state) if state == to => Ok(()),
            Ok(state) => Err(ProviderError::Refused(format!("the payment is {state}"))),
            Err(error) => Err(ProviderError::Later(error.to_string())),
        }
    }
}

#[async_trait]
impl PaymentProvider for SandboxProvider {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn is_test(&self) -> bool {
        true
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Sandbox
    }

    fn signature_header(&self) -> &'static str {
        SIGNATURE_HEADER
    }

    fn read_back_after(&self) -> Duration {
        READ_BACK_AFTER
    }

    async fn make(
        &self,
        _payment: &Payment,
        _copy: &OrderCopy,
        _attempt: u32,
    ) -> Result<Option<CreatedPayment>, ProviderError> {
        Ok(None)
    }

    fn client(&self, payment: &Payment) -> serde_json::Value {
        serde_json::json!({ "url": format!("/v1/sandbox/payments/{}", payment.id) })
    }

    async fn capture(&self, payment: &Payment, _attempt: u32) -> Result<(), ProviderError> {
        self.move_payment(&payment.id, &["authorised", "captured"], "captured")
            .await
    }

    async fn void(&self, payment: &Payment, _attempt: u32) -> Result<(), ProviderError> {
        self.move_payment(
            &payment.id,
            &["open", "declined", "authorised", "voided"],
            "voided",
        )
        .await
    }

    async fn refund(&self, payment: &Payment, _attempt: u32) -> Result<(), ProviderError> {
        self.move_payment(&payment.id, &["captured", "refunded"], "refunded")
            .await
    }

    async fn refund_part(&self, refund: &OwedRefund) -> Result<(), ProviderError> {
        let (payment, captured) = (&refund.payment.id, refund.payment.amount.amount);
        let back = self
            .ledger
            .sandbox_refund(payment, &refund.id, refund.amount, captured)
            .await;
        match back {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(ProviderError::Refused(
                "the refund is larger than the money that is left".to_owned(),
            )),
            Err(error) => Err(ProviderError::Later(error.to_string())),
        }
    }

    async fn read_back(&self, payment: &Payment) -> Result<ProviderPayment, ProviderError> {
        // The list of states to move from is empty. So this call changes no state and only returns
        // it.
        let state = self.ledger.sandbox_move(&payment.id, &[], "read").await;
        let state = state.map_err(|error| ProviderError::Later(error.to_string()))?;
        let state = PaymentState::parse(&state).unwrap_or(PaymentState::Created);
        let refunded = match state {
            PaymentState::Refunded => payment.amount.amount,
            PaymentState::Captured => {
                let parts = self.ledger.sandbox_refunded(&payment.id).await;
                parts.map_err(|error| ProviderError::Later(error.to_string()))?
            }
            _ => 0,
        };
        Ok(ProviderPayment {
            state,
            amount: payment.amount,
            refunded,
            returns: ProviderReturns::default(),
            card: None,
        })
    }

    async fn copy_of(&self, _reference: &str) -> Result<Option<OrderCopy>, ProviderError> {
        Ok(None)
    }

    async fn money_of(&self, _reference: &str) -> Result<Option<Money>, ProviderError> {
        Ok(None)
    }

    async fn events_after(
        &self,
        _after: Option<&str>,
        _since_ms: i64,
    ) -> Result<ProviderEventPage, ProviderError> {
        Ok(ProviderEventPage::default())
    }

    fn verify(&self, signature: Option<&str>, body: &[u8], now_s: i64) -> Option<String> {
        let (at, mac) = signature?.strip_prefix("t=")?.split_once(",v1=")?;
        let at_s: i64 = at.parse().ok()?;
        let mac = hex::decode(mac).ok()?;
        let genuine: bool = self
            .sandbox_event_mac(body, at_s)
            .as_slice()
            .ct_eq(&mac)
            .into();
        if !genuine || now_s.abs_diff(at_s) > TOLERANCE_S.unsigned_abs() {
            return None;
        }
        let event: ProviderEvent = serde_json::from_slice(body).ok()?;
        Some(event.event)
    }

    fn read(&self, body: &[u8]) -> ParsedProviderEvent {
        serde_json::from_slice(body)
            .map_or(ParsedProviderEvent::Unreadable, ParsedProviderEvent::Event)
    }
}

//! Takes payments at Stripe with PaymentIntents and manual capture. This code never guesses what
//! was done at Stripe. After an unknown outcome it repeats the same call under the same key, or
//! reads the intent.

mod api;
pub mod event;
mod events;
mod refund;
mod returns;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use fairgate_model::money::Money;
use fairgate_model::orders::order_copy::OrderCopy;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::payments::limits::PaymentSumError;
use fairgate_model::payments::returns::ProviderReturns;
use fairgate_model::payments::stripe_sums::to_stripe;
use fairgate_model::payments::{
    CreatedPayment, ParsedProviderEvent, Payment, PaymentState, ProviderError, ProviderPayment,
};
use serde_json::{Value, json};

use super::{PaymentProvider, ProviderEventPage};
use api::{StripeApiClient, StripeFault};

/// The address of Stripe's public API.
pub const PUBLIC_URL: &str = "https://api.stripe.com";

/// The origin of Stripe's public script.
const PUBLIC_SCRIPT_ORIGIN: &str = "https://js.stripe.com";

/// How many tries use one idempotency key. Stripe stores its answer with the key, even if the
/// answer is a 500, and repeats it for every further try with this key. After this many tries,
/// another key is used. Nothing is done twice, because each repeated try first reads from the
/// payment whether the call was carried out. A partial refund could still be made twice, so the
/// list of refunds is read before every try, even the first.
const TRIES_PER_KEY: u32 = 8;

/// How many tries to make an intent use one key. The number is smaller than [`TRIES_PER_KEY`],
/// because an intent cannot be read before its id is known. A second intent does no harm.
const MAKES_PER_KEY: u32 = 2;

/// The keys and the address of an account. `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct StripeSettings {
    /// The secret key, `sk_…`. A restricted key, `rk_…`, is better: it needs the rights to
    /// write PaymentIntents, to write refunds, and to read charges, disputes and events.
    pub secret_key: String,
    /// The secret that signs events, `whsec_…`.
    pub webhook_secret: String,
    /// The public key for the page, `pk_…`.
    pub publishable_key: String,
    /// The base address of the API.
    pub url: String,
    /// How long a payment may stay unchanged before its state is read from Stripe. A lost event
    /// delays its payment by this time.
    pub read_back_after: Duration,
}

impl fmt::Debug for StripeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StripeSettings({}, …)", self.url)
    }
}

impl StripeSettings {
    /// Returns whether the keys are test keys.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.secret_key.contains("_test_")
    }

    /// Returns the address of the script that shows the card form. Stripe requires that the script
    /// is loaded from Stripe's own host. An API at another address must provide its own script.
    #[must_use]
    pub fn script(&self) -> String {
        if self.is_public() {
            return format!("{PUBLIC_SCRIPT_ORIGIN}/v3/");
        }
        format!("{}/v3/", self.url.trim_end_matches('/'))
    }

    /// Returns the origins that the card form calls and from which it loads scripts and frames, as
    /// a content security policy lists them.
    #[must_use]
    pub fn form_origins(&self) -> Vec<String> {
        if !self.is_public() {
            let own = reqwest::Url::parse(&self.url).map(|url| url.origin().ascii_serialization());
            return own.into_iter().collect();
        }
        // The fields are loaded in frames from several hosts below the script's host, as Stripe's
        // security guide says.
        [
            PUBLIC_SCRIPT_ORIGIN,
            "https://*.js.stripe.com",
            "https://hooks.stripe.com",
            PUBLIC_URL,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn is_public(&self) -> bool {
        self.url.trim_end_matches('/') == PUBLIC_URL
    }
}

/// The payment provider Stripe.
#[derive(Clone)]
pub struct StripeProvider {
    api: StripeApiClient,
    settings: StripeSettings,
}

impl StripeProvider {
    /// Makes a provider for an account.
    ///
    /// # Errors
    /// Returns an error if the system provides no TLS.
    pub fn new(settings: StripeSettings) -> Result<Self, reqwest::Error> {
        Ok(Self {
            api: StripeApiClient::new(&settings.url, &settings.secret_key)?,
            settings,
        })
    }

    async fn intent(&self, payment: &Payment) -> Result<Value, StripeFault> {
        let path = path_of(payment)?;
        self.api
            .get(&format!("{path}?expand%5B%5D=latest_charge"))
            .await
    }

    /// Makes a call that succeeds once the intent is in the state `wanted`.
    async fn call_until_state(
        &self,
        payment: &Payment,
        attempt: u32,
        verb: &str,
        wanted: PaymentState,
    ) -> Result<(), ProviderError> {
        // An earlier try may have been carried out although its answer was lost.
        if attempt > 0 {
            let state = state_of(&self.intent(payment).await?);
            if state == wanted {
                return Ok(());
            }
            // Money that was captured in the meantime cannot be released. The call below might hide
            // the capture, because Stripe may repeat a stored error.
            if wanted == PaymentState::Voided && state.is_taken() {
                return Err(ProviderError::Refused("the money was taken".to_owned()));
            }
        }
        let path = format!("{}/{verb}", path_of(payment)?);
        match self
            .api
            .post(&path, &[], &idempotency_key(payment, verb, attempt))
            .await
        {
            Ok(intent) if state_of(&intent) == wanted => Ok(()),
            Ok(intent) => Err(ProviderError::Later(format!(
                "the intent is {}",
                intent["status"]
            ))),
            Err(StripeFault::State(why)) => {
                let state = state_of(&self.intent(payment).await?);
                if state == wanted {
                    Ok(())
                } else if state.may_become(wanted) && state == PaymentState::Authorised {
                    Err(ProviderError::Later(why))
                } else {
                    Err(ProviderError::Refused(why))
                }
            }
            // If Stripe does not understand the call, this program has a fault. That is no reason
            // to take a buyer's seats away.
            Err(StripeFault::Call(why)) => Err(ProviderError::Later(why)),
            Err(fault) => Err(fault.into()),
        }
    }
}

/// Returns the idempotency key: the payment, the kind of call, and the number of earlier keys.
/// After an attempt to pay that ended at the provider, the number of the next attempt comes first,
/// because that attempt is another intent.
fn idempotency_key(payment: &Payment, what: &str, attempt: u32) -> String {
    let what = match payment.attempt {
        0 => what.to_owned(),
        nth => format!("again_{nth}:{what}"),
    };
    match attempt / TRIES_PER_KEY {
        0 => format!("{}:{what}", payment.id),
        round => format!("{}:{what}:{round}", payment.id),
    }
}

/// Returns Stripe's id of the payment. Without an id there is nothing at Stripe that anybody could
/// have paid.
fn reference_of(payment: &Payment) -> Result<&str, StripeFault> {
    let reference = payment.reference.as_deref().unwrap_or("");
    if !is_plain_id(reference) {
        return Err(StripeFault::State(
            "the payment was never made at Stripe".to_owned(),
        ));
    }
    Ok(reference)
}

/// Returns whether a URL can contain this id without escapes.
fn is_plain_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !id.is_empty() && id.bytes().all(plain)
}

/// Returns metadata as fields of a call.
fn metadata_fields(metadata: Vec<(String, String)>) -> Vec<(String, String)> {
    let field = |(key, value)| (format!("metadata[{key}]"), value);
    metadata.into_iter().map(field).collect()
}

/// Returns the metadata of an object. An object without any has none.
fn metadata_of(object: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(object["metadata"].clone()).unwrap_or_default()
}

/// Returns the path of the intent.
fn path_of(payment: &Payment) -> Result<String, StripeFault> {
    Ok(format!("/v1/payment_intents/{}", reference_of(payment)?))
}

fn state_of(intent: &Value) -> PaymentState {
    match intent["status"].as_str().unwrap_or("") {
        "requires_capture" => PaymentState::Authorised,
        "canceled" => PaymentState::Voided,
        "succeeded" => PaymentState::Captured,
        _ if intent["last_payment_error"].is_object() => PaymentState::Declined,
        _ => PaymentState::Created,
    }
}

#[async_trait]
impl PaymentProvider for StripeProvider {
    fn name(&self) -> &'static str {
        "stripe"
    }

    fn is_test(&self) -> bool {
        self.settings.is_test()
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Stripe
    }

    fn signature_header(&self) -> &'static str {
        "stripe-signature"
    }

    fn read_back_after(&self) -> Duration {
        self.settings.read_back_after
    }

    async fn make(
        &self,
        payment: &Payment,
        copy: &OrderCopy,
        attempt: u32,
    ) -> Result<Option<CreatedPayment>, ProviderError> {
        let amount =
            to_stripe(payment.amount).map_err(|_| ProviderError::Sum(PaymentSumError::TooFine))?;
        let currency = payment.amount.currency.as_str().to_ascii_lowercase();
        let mut fields = vec![
            ("amount".to_owned(), amount.to_string()),
            ("currency".to_owned(), currency),
            ("capture_method".to_owned(), "manual".to_owned()),
            ("payment_method_types[]".to_owned(), "card".to_owned()),
        ];
        fields.extend(metadata_fields(copy.to_metadata()));
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        // If the answer was lost, nobody knows the secret of the first intent. A second intent
        // therefore does no harm.
        let tries = (attempt / MAKES_PER_KEY).saturating_mul(TRIES_PER_KEY);
        let intent = self
            .api
            .post(
                "/v1/payment_intents",
                &fields,
                &idempotency_key(payment, "create", tries),
            )
            .await?;
        match (intent["id"].as_str(), intent["client_secret"].as_str()) {
            (Some(reference), Some(client)) => Ok(Some(CreatedPayment {
                reference: reference.to_owned(),
                client: client.to_owned(),
            })),
            _ => Err(ProviderError::Later("an intent without an id".to_owned())),
        }
    }

    fn client(&self, payment: &Payment) -> Value {
        match &payment.client {
            Some(secret) => json!({
                "script": self.settings.script(),
                "publishable_key": self.settings.publishable_key,
                "client_secret": secret,
            }),
            None => Value::Null,
        }
    }

    async fn capture(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError> {
        self.call_until_state(payment, attempt, "capture", PaymentState::Captured)
            .await
    }

    async fn void(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError> {
        self.call_until_state(payment, attempt, "cancel", PaymentState::Voided)
            .await
    }

    async fn refund(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError> {
        self.refund_remaining(payment, attempt).await
    }

    async fn refund_part(&self, refund: &OwedRefund) -> Result<(), ProviderError> {
        self.give_part_back(refund).await
    }

    async fn read_back(&self, payment: &Payment) -> Result<ProviderPayment, ProviderError> {
        if payment.reference.is_none() {
            // Nobody got the intent's secret, so nobody can have paid it.
            return Ok(ProviderPayment {
                state: PaymentState::Created,
                amount: payment.amount,
                refunded: 0,
                returns: ProviderReturns::default(),
                card: None,
            });
        }
        let intent = self.intent(payment).await?;
        let unreadable = || ProviderError::Later("an intent without an amount".to_owned());
        let state = state_of(&intent);
        let field = match state {
            PaymentState::Captured => "amount_received",
            PaymentState::Authorised => "amount_capturable",
            _ => "amount",
        };
        let mut amount = event::money(&intent, field).ok_or_else(unreadable)?;
        // The charge counts pending refunds as done. Only the refunds themselves show which have
        // succeeded.
        let mut returns = self.read_returns(payment, &intent["latest_charge"]).await?;
        if state == PaymentState::Captured {
            amount = returns::with_uncaptured(&mut returns, payment, amount);
        }
        let refunded = returns.sum_gone(amount.amount);
        let is_fully_refunded =
            state == PaymentState::Captured && refunded > 0 && refunded == amount.amount;
        Ok(ProviderPayment {
            state: if is_fully_refunded {
                PaymentState::Refunded
            } else {
                state
            },
            amount,
            refunded,
            returns,
            card: event::fingerprint(&intent),
        })
    }

    async fn money_of(&self, reference: &str) -> Result<Option<Money>, ProviderError> {
        if !is_plain_id(reference) {
            return Ok(None);
        }
        let path = format!("/v1/payment_intents/{reference}?expand%5B%5D=latest_charge");
        let intent = self.api.get(&path).await?;
        let field = match state_of(&intent) {
            PaymentState::Captured => "amount_received",
            PaymentState::Authorised => "amount_capturable",
            _ => return Ok(None),
        };
        let Some(taken) = event::money(&intent, field) else {
            return Ok(None);
        };
        let charge = &intent["latest_charge"];
        let back = event::money(charge, "amount_refunded").map_or(0, |back| back.amount);
        let lost = self.lost_in_disputes(reference, charge).await?;
        // If only a part was captured, the rest counts as refunded.
        let whole = event::money(&intent, "amount").map_or(taken.amount, |whole| whole.amount);
        let left = (whole - back).min(taken.amount) - lost;
        Ok((left > 0).then(|| taken.currency.with_amount(left)))
    }

    async fn copy_of(&self, reference: &str) -> Result<Option<OrderCopy>, ProviderError> {
        if !is_plain_id(reference) {
            return Ok(None);
        }
        let path = format!("/v1/payment_intents/{reference}");
        let intent = self.api.get(&path).await?;
        Ok(OrderCopy::read(&metadata_of(&intent)))
    }

    async fn events_after(
        &self,
        after: Option<&str>,
        since_ms: i64,
    ) -> Result<ProviderEventPage, ProviderError> {
        self.list_events(after, since_ms).await
    }

    fn verify(&self, signature: Option<&str>, body: &[u8], now_s: i64) -> Option<String> {
        event::genuine(&self.settings.webhook_secret, signature?, body, now_s)
            .then(|| event::id(body))
            .flatten()
    }

    fn read(&self, body: &[u8]) -> ParsedProviderEvent {
        event::read(body)
    }
}

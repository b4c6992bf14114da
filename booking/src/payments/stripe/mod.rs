//! Stripe: PaymentIntents with manual capture. What was done at Stripe is never guessed: after an
//! unknown outcome the same call goes out again under the same key, or the intent is read.

mod api;
pub mod event;
mod refund;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::payments::limits::PaymentSumError;
use fairgate_model::payments::stripe_sums::to_stripe;
use fairgate_model::payments::{
    CreatedPayment, ParsedProviderEvent, Payment, PaymentState, ProviderError, ProviderPayment,
};
use serde_json::{Value, json};

use super::PaymentProvider;
use api::{StripeApiClient, StripeFault};

/// Where the public interface lives.
pub const PUBLIC_URL: &str = "https://api.stripe.com";

/// Where its public script comes from.
const PUBLIC_SCRIPT_ORIGIN: &str = "https://js.stripe.com";

/// Tries under one idempotency key. Stripe keeps an answer, even a 500, for as long as it keeps the
/// key; after so many tries, each with a reading that found the call not done, another key asks
/// anew.
const TRIES_PER_KEY: u32 = 8;

/// The same for making an intent, which cannot be read while its id is not known.
const MAKES_PER_KEY: u32 = 2;

/// How an account is reached. `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct StripeSettings {
    /// The secret key, `sk_…` or, better, a restricted one, `rk_…`, that may write PaymentIntents
    /// and refunds and read charges.
    pub secret_key: String,
    /// What events are signed with, `whsec_…`.
    pub webhook_secret: String,
    /// What the page needs, `pk_…`; public.
    pub publishable_key: String,
    /// The base address.
    pub url: String,
    /// A payment that nothing was told of for so long is read back: what an event that was lost
    /// costs.
    pub read_back_after: Duration,
}

impl fmt::Debug for StripeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StripeSettings({}, …)", self.url)
    }
}

impl StripeSettings {
    /// Whether the keys are test keys.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.secret_key.contains("_test_")
    }

    /// The address of the script that shows the card form. Stripe wants it loaded from its own
    /// host; an interface at another address is expected to bring its own.
    #[must_use]
    pub fn script(&self) -> String {
        if self.is_public() {
            return format!("{PUBLIC_SCRIPT_ORIGIN}/v3/");
        }
        format!("{}/v3/", self.url.trim_end_matches('/'))
    }

    /// The origins that the card form loads scripts and frames from and calls, as content policies
    /// want them named.
    #[must_use]
    pub fn form_origins(&self) -> Vec<String> {
        if !self.is_public() {
            let own = reqwest::Url::parse(&self.url).map(|url| url.origin().ascii_serialization());
            return own.into_iter().collect();
        }
        // Its fields come in frames from varying hosts below the script's, as Stripe's security
        // guide lists them.
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

/// The provider.
#[derive(Clone)]
pub struct StripeProvider {
    api: StripeApiClient,
    settings: StripeSettings,
}

impl StripeProvider {
    /// A client of the account.
    ///
    /// # Errors
    /// Where the system gives no TLS.
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

    /// Makes a call whose success is the intent's being in the state `wanted`.
    async fn bring(
        &self,
        payment: &Payment,
        attempt: u32,
        verb: &str,
        wanted: PaymentState,
    ) -> Result<(), ProviderError> {
        // The try before may have been done though nobody heard of it.
        if attempt > 0 {
            let state = state_of(&self.intent(payment).await?);
            if state == wanted {
                return Ok(());
            }
            // Nor can what was taken meanwhile be let go: a broken answer that is kept under the
            // key would hide that.
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
            // A call that Stripe does not understand is a fault of ours, and no reason to take a
            // buyer's seats away.
            Err(StripeFault::Call(why)) => Err(ProviderError::Later(why)),
            Err(fault) => Err(fault.into()),
        }
    }
}

/// The idempotency key: the payment, what is asked, and how many keys were used up.
fn idempotency_key(payment: &Payment, what: &str, attempt: u32) -> String {
    match attempt / TRIES_PER_KEY {
        0 => format!("{}:{what}", payment.id),
        round => format!("{}:{what}:{round}", payment.id),
    }
}

/// What Stripe calls the payment. Without a reference nothing was ever made that somebody could
/// have paid.
fn reference_of(payment: &Payment) -> Result<&str, StripeFault> {
    let reference = payment.reference.as_deref().unwrap_or("");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if reference.is_empty() || !reference.bytes().all(plain) {
        return Err(StripeFault::State(
            "the payment was never made at Stripe".to_owned(),
        ));
    }
    Ok(reference)
}

/// The intent's path.
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
        attempt: u32,
    ) -> Result<Option<CreatedPayment>, ProviderError> {
        let amount =
            to_stripe(payment.amount).map_err(|_| ProviderError::Sum(PaymentSumError::TooFine))?;
        let fields = [
            ("amount", amount.to_string()),
            (
                "currency",
                payment.amount.currency.as_str().to_ascii_lowercase(),
            ),
            ("capture_method", "manual".to_owned()),
            ("payment_method_types[]", "card".to_owned()),
            ("metadata[payment]", payment.id.to_string()),
            ("metadata[order]", payment.order.to_string()),
        ];
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        // An intent whose answer was lost is open and nobody has its secret: another key may make
        // another sooner.
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
        self.bring(payment, attempt, "capture", PaymentState::Captured)
            .await
    }

    async fn void(&self, payment: &Payment, attempt: u32) -> Result<(), ProviderError> {
        self.bring(payment, attempt, "cancel", PaymentState::Voided)
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
            // Its secret was never given to anybody, so nobody can have paid it.
            return Ok(ProviderPayment {
                state: PaymentState::Created,
                amount: payment.amount,
                refunded: 0,
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
        let amount = event::money(&intent, field).ok_or_else(unreadable)?;
        let charge = &intent["latest_charge"];
        // The charge counts what is on its way as gone; only the refunds themselves tell what has
        // arrived.
        let begun = event::money(charge, "amount_refunded").is_some_and(|money| money.amount > 0);
        let refunded = match begun {
            true => self.read_refund_totals(payment).await?.succeeded,
            false => 0,
        };
        let whole = state == PaymentState::Captured && refunded > 0 && refunded == amount.amount;
        Ok(ProviderPayment {
            state: if whole { PaymentState::Refunded } else { state },
            amount,
            refunded,
            card: event::fingerprint(&intent),
        })
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

//! Payments over HTTP: the providers' webhook, and the sandbox's approval.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use fairgate_base::http::{BodyBytes, JsonBytes, PathParams, Problem, ProblemCode, parse_json};
use fairgate_model::ids::PaymentId;
use serde::{Deserialize, Serialize};

use crate::http::answers::{IdempotencyAnswers, JsonAnswer, key_of};
use crate::payments::sandbox::{SandboxOutcome, SandboxProvider};
use crate::payments::webhook::{PaymentEventInbox, PaymentEventRefusal};

/// What the handlers of payments need.
#[derive(Clone)]
pub struct PaymentRoutes {
    /// The inbox for providers' events, or `None` if payments are not configured.
    pub inbox: Option<PaymentEventInbox>,
    /// The sandbox, if it is the provider.
    pub sandbox: Option<SandboxProvider>,
    /// Answers stored for repeated calls.
    pub answers: IdempotencyAnswers,
}

/// `POST /v1/sandbox/payments/{payment}`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SandboxAsk)]
pub struct SandboxRequest {
    outcome: SandboxOutcome,
}

/// What the sandbox recorded.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SandboxMade)]
pub struct SandboxPaymentView {
    #[schema(value_type = String)]
    payment: PaymentId,
    outcome: &'static str,
}

/// Accepts a provider's event.
#[utoipa::path(post, path = "/v1/payments/{provider}/webhook", tag = "payments", params(("provider" = String, Path)),
    responses((status = 200), (status = 400), (status = 404)))]
pub async fn webhook(
    State(routes): State<PaymentRoutes>,
    PathParams(provider): PathParams<String>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<StatusCode, Problem> {
    let inbox = routes
        .inbox
        .as_ref()
        .filter(|inbox| inbox.provider.name() == provider);
    let inbox = inbox.ok_or_else(|| Problem::not_found("payment provider", &provider))?;
    let signature = headers
        .get(inbox.provider.signature_header())
        .and_then(|value| value.to_str().ok());
    inbox
        .take_event(signature, &body)
        .await
        .map_err(not_taken)?;
    Ok(StatusCode::OK)
}

/// Approves or declines a payment in the sandbox.
#[utoipa::path(post, path = "/v1/sandbox/payments/{payment}", tag = "payments", params(("payment" = String, Path)),
    request_body = SandboxRequest, responses((status = 200, body = SandboxPaymentView), (status = 404), (status = 409)))]
pub async fn sandbox(
    State(routes): State<PaymentRoutes>,
    PathParams(payment): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let (Some(inbox), Some(sandbox)) = (&routes.inbox, &routes.sandbox) else {
        return Err(Problem::not_found("sandbox", "payments"));
    };
    let missing = || Problem::not_found("payment", &payment);
    let id: PaymentId = payment.parse().map_err(|_| missing())?;
    let key = key_of(&headers)?;
    let call = format!("POST /v1/sandbox/payments/{id}");
    let caller = id.to_string();
    let act = async {
        let SandboxRequest { outcome } = parse_json(&body)?;
        let known = inbox.ledger.payment(&id).await?.ok_or_else(missing)?;
        let now_s = inbox.clock.now_ms() / 1_000;
        // The sandbox knows only its own payments. The payment of an order that cost nothing is not
        // one of them, so it is reported as settled.
        let signed = if known.provider == inbox.provider.name() {
            sandbox.choose_outcome(&known, outcome, now_s).await?
        } else {
            None
        };
        let signed = signed.ok_or_else(settled)?;
        let taken = inbox
            .take_event(Some(&signed.signature), &signed.body)
            .await;
        taken.map_err(not_taken)?;
        let outcome = match outcome {
            SandboxOutcome::Approve => "approve",
            SandboxOutcome::Decline => "decline",
        };
        JsonAnswer::json(
            200,
            &SandboxPaymentView {
                payment: id,
                outcome,
            },
        )
    };
    let answers = &routes.answers;
    Ok(answers
        .answer_once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

fn settled() -> Problem {
    Problem::new(
        ProblemCode::PaymentSettled,
        "This payment was decided otherwise before, so nothing was changed. Read the order to see where it stands.",
    )
}

fn not_taken(why: PaymentEventRefusal) -> Problem {
    match why {
        PaymentEventRefusal::Signature => Problem::new(
            ProblemCode::SignatureInvalid,
            "The event was not signed with this installation's secret, was changed on its way, or is older than 300 s. It was not stored.",
        ),
        PaymentEventRefusal::Ledger(error) => error.into(),
    }
}

//! The calls with which a promoter sees money that somebody has to look at, and settles it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::http::keys::{KeyedRoutes, PromoterCaller, Role, RoleKeys};
use fairgate_base::http::{JsonBytes, PathParams, Problem, ProblemCode, parse_json};
use fairgate_model::ids::{OrderId, TicketId};
use fairgate_model::orders::OrderState;
use serde::{Deserialize, Serialize};

use crate::http::answers::{IdempotencyAnswers, JsonAnswer, key_of};
use crate::http::holds::MoneyView;
use crate::ledger::{Ledger, MoneyFinding, MoneyFindingKind, OrderSettlement, SettleRefused};
use crate::wake::LedgerNotifiers;

/// How many findings one answer has, at most. When the oldest are settled, the next ones follow.
const SHOWN_MAX: u32 = 1_000;

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 500;

/// The most tickets that one call may name.
const TICKETS_MAX: usize = 1_000;

/// What the handlers of money findings need.
#[derive(Clone)]
pub struct MoneyFindingRoutes {
    /// The ledger, which stores the findings.
    pub ledger: Ledger,
    /// The keys that callers of these routes need.
    pub keys: RoleKeys,
    /// Answers stored for repeated calls.
    pub answers: IdempotencyAnswers,
    /// The clock.
    pub clock: Clock,
    /// Wakes the workers that deliver the seat outbox.
    pub notifiers: LedgerNotifiers,
}

impl KeyedRoutes for MoneyFindingRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// Something that somebody has to look at.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AttentionView {
    /// Always false: what is settled is not listed.
    ok: bool,
    /// `refunded_in_part`, `unknown_money`, `refund_failed` or `disputed`.
    code: MoneyFindingKind,
    /// What happened.
    text: String,
    /// What to do.
    fix: String,
    /// The provider's id of the refund, of the dispute or of the payment. It names the finding.
    finding: String,
    /// The payment provider.
    provider: String,
    /// The payment that the provider names. The ledger may not have it.
    payment: String,
    /// The order whose seats the money pays for. Null if there is none.
    #[schema(value_type = Option<String>)]
    order: Option<OrderId>,
    /// The sum that went back, or that the provider has.
    amount: MoneyView,
    /// When it was seen first, RFC 3339.
    since: String,
}

/// `POST /v1/promoter/orders/{order}/settle`: the tickets that a refund at the provider was for, or
/// `goodwill`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SettleOrderAsk)]
pub struct SettleOrderRequest {
    /// The tickets. They become void, and their seats are free.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    tickets: Option<Vec<TicketId>>,
    /// `true`: the money was a present, and all tickets stay valid.
    #[serde(default)]
    goodwill: Option<bool>,
    /// Why, 1 to 500 characters. Needed with `goodwill`.
    #[serde(default)]
    reason: Option<String>,
}

/// The order after it was settled.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = OrderSettled)]
pub struct SettledOrderView {
    #[schema(value_type = String)]
    order: OrderId,
    state: OrderState,
    /// The seats that it still has.
    seats: Vec<String>,
}

/// `POST /v1/promoter/attention/{finding}/settle`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SettleMoneyAsk)]
pub struct SettleMoneyRequest {
    /// What was done with the money, 1 to 500 characters.
    reason: String,
}

/// A finding that was settled.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = MoneySettled)]
pub struct SettledMoneyView {
    finding: String,
}

/// Lists money that somebody has to look at, oldest first: refunds of a part that were made in the
/// provider's own pages, and money at the provider that the ledger does not know, until each is
/// settled; refunds that the provider could not make, until they are done; and disputed payments,
/// until the bank has decided.
#[utoipa::path(get, path = "/v1/promoter/attention", tag = "promoter",
    responses((status = 200, body = Vec<AttentionView>), (status = 401)))]
pub async fn attention(
    State(routes): State<MoneyFindingRoutes>,
    headers: HeaderMap,
) -> Result<JsonAnswer, Problem> {
    routes.keys.require_role(&headers, Role::Viewer)?;
    let open = routes.ledger.attention(SHOWN_MAX).await?;
    let shown: Vec<AttentionView> = open.into_iter().map(attention_view).collect();
    JsonAnswer::json(200, &shown)
}

/// Settles what a refund of a part, made in the provider's own pages, was for. Named tickets become
/// void, and their seats are free; with `goodwill` all tickets stay. No more money goes back.
#[utoipa::path(post, path = "/v1/promoter/orders/{order}/settle", tag = "promoter", params(("order" = String, Path)),
    request_body = SettleOrderRequest, responses((status = 200, body = SettledOrderView), (status = 404), (status = 409), (status = 422)))]
pub async fn settle_order(
    State(routes): State<MoneyFindingRoutes>,
    PathParams(order): PathParams<String>,
    _: PromoterCaller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let no_order = || Problem::not_found("order", &order);
    let id: OrderId = order.parse().map_err(|_| no_order())?;
    let key = key_of(&headers)?;
    let call = format!("POST /v1/promoter/orders/{id}/settle");
    let act = async {
        let settlement = settlement_of(parse_json(&body)?)?;
        let now_ms = routes.clock.now_ms();
        let settled = routes.ledger.settle_order(&id, settlement, now_ms).await;
        let settled = settled.map_err(settle_problem)?.ok_or_else(no_order)?;
        routes.notifiers.notify_all();
        let order = settled.order;
        JsonAnswer::json(
            200,
            &SettledOrderView {
                seats: order.items.into_iter().map(|item| item.label).collect(),
                state: order.state,
                order: order.id,
            },
        )
    };
    Ok(routes
        .answers
        .answer_once(b"promoter", &call, key, &body, act)
        .await)
}

/// Settles money at the provider that the ledger does not know: somebody has given it back, or has
/// found out whose it is. Nothing else changes.
#[utoipa::path(post, path = "/v1/promoter/attention/{finding}/settle", tag = "promoter", params(("finding" = String, Path)),
    request_body = SettleMoneyRequest, responses((status = 200, body = SettledMoneyView), (status = 404), (status = 422)))]
pub async fn settle_money(
    State(routes): State<MoneyFindingRoutes>,
    PathParams(finding): PathParams<String>,
    _: PromoterCaller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let key = key_of(&headers)?;
    let call = format!("POST /v1/promoter/attention/{finding}/settle");
    let act = async {
        let SettleMoneyRequest { reason } = parse_json(&body)?;
        let reason = checked_reason(Some(reason))?;
        let now_ms = routes.clock.now_ms();
        let settled = routes
            .ledger
            .settle_unknown_money(finding.clone(), reason, now_ms);
        if !settled.await? {
            return Err(Problem::not_found("open finding", &finding));
        }
        JsonAnswer::json(
            200,
            &SettledMoneyView {
                finding: finding.clone(),
            },
        )
    };
    Ok(routes
        .answers
        .answer_once(b"promoter", &call, key, &body, act)
        .await)
}

fn attention_view(finding: MoneyFinding) -> AttentionView {
    let (text, fix) = match finding.kind {
        MoneyFindingKind::RefundedInPart => (
            format!(
                "{} gave back a part of the money of an order, as {}, and nobody has said which tickets it was for. They stay as they are until then.",
                finding.provider, finding.id
            ),
            format!(
                "POST /v1/promoter/orders/{}/settle with the tickets that it was for, or with {{\"goodwill\": true, \"reason\": …}}.",
                finding.order.as_ref().map_or("", OrderId::as_str)
            ),
        ),
        MoneyFindingKind::UnknownMoney => (
            match &finding.order {
                Some(order) => format!(
                    "{} has {} for the order {order}, as {}, that does not pay for it: it was paid twice, or has ended and a bank gave the money back.",
                    finding.provider, finding.sum, finding.id
                ),
                None => format!(
                    "{} has money, as {}, for {}, that belongs to no payment of this ledger.",
                    finding.provider, finding.id, finding.payment
                ),
            },
            format!(
                "Look at {} in the pages of {}, and give the money back there or find out whose it is. Then POST /v1/promoter/attention/{}/settle with a reason.",
                finding.id, finding.provider, finding.id
            ),
        ),
        MoneyFindingKind::RefundFailed => (
            format!(
                "{} could not give {} of the order's money back. The buyer still waits for it, and it is tried again.",
                finding.provider, finding.sum
            ),
            format!(
                "Look at {} in the pages of {}. Repair what keeps the refund from being made, or give exactly {} back there by hand: it is then taken for this refund.",
                finding.payment, finding.provider, finding.sum
            ),
        ),
        MoneyFindingKind::Disputed => (
            format!(
                "The buyer's bank disputes {} of the order's money. The tickets are blocked until it has decided.",
                finding.sum
            ),
            format!(
                "Answer the dispute in the pages of {} before the bank's deadline. Nothing needs to be settled here.",
                finding.provider
            ),
        ),
    };
    AttentionView {
        ok: false,
        code: finding.kind,
        text,
        fix,
        finding: finding.id,
        provider: finding.provider,
        payment: finding.payment,
        order: finding.order,
        amount: MoneyView(finding.sum),
        since: rfc3339(finding.first_seen_ms),
    }
}

fn settlement_of(ask: SettleOrderRequest) -> Result<OrderSettlement, Problem> {
    match (ask.tickets, ask.goodwill) {
        (Some(tickets), None | Some(false)) if (1..=TICKETS_MAX).contains(&tickets.len()) => {
            Ok(OrderSettlement::Tickets { tickets })
        }
        (None, Some(true)) => Ok(OrderSettlement::Goodwill {
            reason: checked_reason(ask.reason)?,
        }),
        _ => Err(Problem::invalid_field(
            "tickets",
            "tickets: name 1 to 1,000 of the order's tickets, or say \"goodwill\": true with a reason instead. Nothing was changed.",
        )),
    }
}

fn checked_reason(reason: Option<String>) -> Result<String, Problem> {
    let reason = reason.unwrap_or_default();
    let reason = reason.trim();
    let chars = reason.chars().count();
    if (1..=REASON_CHARS_MAX).contains(&chars) && !reason.chars().any(char::is_control) {
        return Ok(reason.to_owned());
    }
    Err(Problem::invalid_field(
        "reason",
        "reason: 1 to 500 printable characters. Nothing was changed.",
    ))
}

fn settle_problem(why: SettleRefused) -> Problem {
    match why {
        SettleRefused::NothingToSettle => Problem::new(
            ProblemCode::NothingToSettle,
            "No refund of this order waits to be settled. Nothing was changed. GET /v1/promoter/attention lists what does.",
        ),
        SettleRefused::State(state) => Problem::new(
            ProblemCode::NotRefundable,
            format!(
                "The order is {}, and none of its tickets can become void. Nothing was changed.",
                state.as_str()
            ),
        )
        .with_member("state", state),
        SettleRefused::Unknown(ticket) => Problem::invalid_field(
            "tickets",
            format!("tickets: {ticket} is not a ticket of this order. Nothing was changed."),
        ),
        SettleRefused::Void(ticket) => Problem::invalid_field(
            "tickets",
            format!("tickets: {ticket} is void already. Nothing was changed; name valid ones."),
        ),
        SettleRefused::Scanned(seat) => Problem::new(
            ProblemCode::TicketScanned,
            format!(
                "The ticket for {seat} was scanned at a door and stays. Nothing was changed. Name other tickets, or say \"goodwill\"."
            ),
        )
        .with_member("seats", [seat]),
        SettleRefused::Ledger(error) => error.into(),
    }
}

//! Refunds over HTTP: the call that gives tickets back.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::clock::rfc3339;
use fairgate_base::http::{JsonBytes, PathParams, Problem, ProblemCode, parse_json};
use fairgate_model::ids::TicketId;
use fairgate_model::orders::refund::TicketSelection;
use fairgate_model::orders::refund::rules::RefundRuleError;
use serde::Deserialize;

use crate::http::answers::{JsonAnswer, key_of};
use crate::http::order_routes::OrderRoutes;
use crate::http::order_views::OrderView;
use crate::http::refusals::orders::{disputed_payment, exchange_open, exchange_unfinished};
use crate::ledger::RefundRefused;

/// The most tickets that one call may name.
const TICKETS_MAX: usize = 1_000;

/// `POST /v1/orders/{order}/refund`.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RefundAsk)]
pub struct RefundRequest {
    /// The tickets to give back. Without this field, all tickets of the order are given back.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    tickets: Option<Vec<TicketId>>,
}

/// Gives tickets back.
#[utoipa::path(post, path = "/v1/orders/{order}/refund", tag = "booking", params(("order" = String, Path)),
    request_body = RefundRequest, responses((status = 200, body = OrderView), (status = 409), (status = 422)))]
pub async fn refund(
    State(routes): State<OrderRoutes>,
    PathParams(order): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let record = routes.open_order(&order, &headers).await?;
    let key = key_of(&headers)?;
    let id = record.order.id;
    let call = format!("POST /v1/orders/{id}/refund");
    let act = async {
        let selection = ticket_selection(&body)?;
        let now_ms = routes.clock.now_ms();
        let applied = routes.desk.ledger.refund(&id, selection, now_ms).await;
        let applied = applied.map_err(refund_problem)?;
        routes.notifiers.notify_all();
        if applied.is_some_and(|applied| applied.changed) {
            metrics::counter!("fairgate_orders_refunded_total").increment(1);
        }
        let record = routes.desk.order_record(&id).await?;
        JsonAnswer::json(200, &routes.order_view(record).await?)
    };
    let caller = id.to_string();
    Ok(routes
        .answers
        .answer_once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

fn ticket_selection(body: &[u8]) -> Result<TicketSelection, Problem> {
    let ask: RefundRequest = match body {
        [] => RefundRequest::default(),
        body => parse_json(body)?,
    };
    match ask.tickets {
        None => Ok(TicketSelection::All),
        Some(named) if (1..=TICKETS_MAX).contains(&named.len()) => {
            Ok(TicketSelection::Named(named))
        }
        Some(_) => Err(Problem::invalid_field(
            "tickets",
            "tickets: name 1 to 1,000 of the order's tickets, or leave the field out to give all of them back. Nothing was changed.",
        )),
    }
}

fn refund_problem(why: RefundRefused) -> Problem {
    match why {
        RefundRefused::State(state) => {
            let detail = format!(
                "The order is {}; only a paid order's tickets can be given back. Nothing was changed.",
                state.as_str()
            );
            Problem::new(ProblemCode::NotRefundable, detail).with_member("state", state)
        }
        RefundRefused::Rule(rule) => {
            let (reason, detail) = match rule {
                RefundRuleError::None => (
                    "no_refunds",
                    "This show takes no tickets back. Nothing was changed; the tickets are good."
                        .to_owned(),
                ),
                RefundRuleError::CarriedOver => (
                    "carried_over",
                    "These tickets were got in exchange for others that could not be given back, and an exchange does not change that. Nothing was changed; the tickets are good."
                        .to_owned(),
                ),
                RefundRuleError::Over { until_ms } => (
                    "too_late",
                    format!(
                        "This show took tickets back until {}. Nothing was changed; the tickets are good.",
                        rfc3339(until_ms)
                    ),
                ),
            };
            let problem =
                Problem::new(ProblemCode::NotRefundable, detail).with_member("reason", reason);
            match rule {
                RefundRuleError::Over { until_ms } => {
                    problem.with_member("until", rfc3339(until_ms))
                }
                RefundRuleError::None | RefundRuleError::CarriedOver => problem,
            }
        }
        RefundRefused::Scanned(seats) => {
            let detail = format!(
                "The tickets for {} were scanned at a door and cannot be given back. Nothing was changed. To give other tickets back, name only those.",
                seats.join(", ")
            );
            Problem::new(ProblemCode::TicketScanned, detail).with_member("seats", seats)
        }
        RefundRefused::Disputed => disputed_payment(),
        RefundRefused::Exchanging(successor) => exchange_open(&successor),
        RefundRefused::ExchangeUnfinished => exchange_unfinished(),
        RefundRefused::Unknown(ticket) => Problem::invalid_field(
            "tickets",
            format!("tickets: {ticket} is not a ticket of this order. Nothing was changed."),
        ),
        RefundRefused::Ledger(error) => error.into(),
    }
}

//! Giving tickets back over HTTP, and what an order shows of it: the fee before, and what came of
//! it after.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::http::answers::{Answer, key_of};
use crate::http::holds::MoneyView;
use crate::http::orders::{OrderRoutes, OrderView};
use crate::http::refusals::orders::exchange_open;
use crate::ids::{RefundId, TicketId};
use crate::ledger::RefundRefused;
use crate::money::Currency;
use crate::orders::refund::rules::{NoRule, in_force};
use crate::orders::refund::{Refund, RefundState, Standing, Which, plan};
use crate::orders::terms::OrderTerms;
use crate::orders::{Order, Ticket};
use fairgate_base::http::{BodyBytes, Path, Problem, parse_json};

/// Tickets named in one call.
const TICKETS_MAX: usize = 1_000;

/// `POST /v1/orders/{order}/refund`.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefundAsk {
    /// The tickets to give back; all of them where none are named.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    tickets: Option<Vec<TicketId>>,
}

/// What may be given back now, and what that costs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RefundOffer {
    /// What would go back for all of it.
    amount: MoneyView,
    /// What would be kept.
    fee: MoneyView,
    /// Per cent of each ticket's price that is kept; a fraction of the smallest coin is the
    /// buyer's.
    fee_pct: u32,
    /// Until when, RFC 3339; null where that does not end.
    until: Option<String>,
    /// By which rule: `refund_by_buyer`, `show_cancelled`, `show_postponed`.
    reason: &'static str,
    /// Each ticket that may go back; empty while none is issued.
    tickets: Vec<TicketOffer>,
}

/// One ticket that may go back.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TicketOffer {
    #[schema(value_type = String)]
    ticket: TicketId,
    seat: String,
    amount: MoneyView,
    fee: MoneyView,
}

/// One refund of an order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RefundView {
    #[schema(value_type = String)]
    refund: RefundId,
    /// The seats that were given back.
    seats: Vec<String>,
    /// What goes back.
    amount: MoneyView,
    /// What is kept.
    fee: MoneyView,
    reason: &'static str,
    /// When the tickets were given back, RFC 3339.
    at: String,
    state: RefundState,
    /// When the money had gone back; null until then.
    done_at: Option<String>,
}

/// Gives tickets back.
#[utoipa::path(post, path = "/v1/orders/{order}/refund", tag = "booking", params(("order" = String, Path)),
    request_body = RefundAsk, responses((status = 200, body = OrderView), (status = 409), (status = 422)))]
pub async fn refund(
    State(routes): State<OrderRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Response, Problem> {
    let record = routes.open(&order, &headers).await?;
    let key = key_of(&headers)?;
    let id = record.order.id;
    let call = format!("POST /v1/orders/{id}/refund");
    let act = async {
        let which = which(&body)?;
        let now_ms = routes.clock.now_ms();
        let applied = routes.desk.ledger.refund(&id, which, now_ms).await;
        let applied = applied.map_err(refused)?;
        routes.bells.ring();
        if applied.is_some_and(|applied| applied.changed) {
            metrics::counter!("fairgate_orders_refunded_total").increment(1);
        }
        let record = routes.desk.record(&id).await?;
        Answer::json(200, &routes.view(record).await?)
    };
    let caller = id.to_string();
    Ok(routes
        .answers
        .once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

fn which(body: &[u8]) -> Result<Which, Problem> {
    let ask: RefundAsk = match body {
        [] => RefundAsk::default(),
        body => parse_json(body)?,
    };
    match ask.tickets {
        None => Ok(Which::All),
        Some(named) if (1..=TICKETS_MAX).contains(&named.len()) => Ok(Which::Named(named)),
        Some(_) => Err(Problem::field(
            "tickets",
            "tickets: name 1 to 1,000 of the order's tickets, or leave the field out to give all of them back. Nothing was changed.",
        )),
    }
}

fn refused(why: RefundRefused) -> Problem {
    match why {
        RefundRefused::State(state) => {
            let detail = format!(
                "The order is {}; only a paid order's tickets can be given back. Nothing was changed.",
                state.word()
            );
            Problem::new(
                409,
                "not_refundable",
                "The order cannot be refunded",
                detail,
            )
            .with("state", state)
        }
        RefundRefused::Rule(rule) => {
            let (reason, detail) = match rule {
                NoRule::None => (
                    "no_refunds",
                    "This show takes no tickets back. Nothing was changed; the tickets are good."
                        .to_owned(),
                ),
                NoRule::Over { until_ms } => (
                    "too_late",
                    format!(
                        "This show took tickets back until {}. Nothing was changed; the tickets are good.",
                        rfc3339(until_ms)
                    ),
                ),
            };
            let problem = Problem::new(
                409,
                "not_refundable",
                "The order cannot be refunded",
                detail,
            )
            .with("reason", reason);
            match rule {
                NoRule::Over { until_ms } => problem.with("until", rfc3339(until_ms)),
                NoRule::None => problem,
            }
        }
        RefundRefused::Scanned(seats) => {
            let detail = format!(
                "Somebody went in on the tickets for {}, and those cannot be given back. Nothing was changed. Name the others to give them back.",
                seats.join(", ")
            );
            Problem::new(409, "ticket_scanned", "A ticket was used", detail).with("seats", seats)
        }
        RefundRefused::Exchanging(successor) => exchange_open(&successor),
        RefundRefused::Unknown(ticket) => Problem::field(
            "tickets",
            format!("tickets: {ticket} is not a ticket of this order. Nothing was changed."),
        ),
        RefundRefused::Ledger(error) => error.into(),
    }
}

/// What of an order may be given back now; none where nothing may.
#[must_use]
pub fn offered(
    order: &Order,
    tickets: &[Ticket],
    terms: &OrderTerms,
    now_ms: i64,
) -> Option<RefundOffer> {
    let standing = Standing {
        order,
        tickets,
        terms,
    };
    let plan = plan(&standing, &Which::Unscanned, now_ms).ok()??;
    let rule = in_force(terms, terms.begins_ms(&order.items), now_ms).ok()?;
    let money = |amount| MoneyView(order.currency.of(amount));
    let ticket = |item: &crate::orders::OrderItem| {
        let id = TicketId::of_seat(&order.id, item.held.seat);
        let fee = rule.fee(item.amount);
        plan.tickets.contains(&id).then(|| TicketOffer {
            ticket: id,
            seat: item.label.clone(),
            amount: money(item.amount - fee),
            fee: money(fee),
        })
    };
    Some(RefundOffer {
        amount: money(plan.amount),
        fee: money(plan.fee),
        fee_pct: rule.fee_pct,
        until: rule.until_ms.map(rfc3339),
        reason: rule.reason.word(),
        tickets: plan.going.iter().filter_map(ticket).collect(),
    })
}

/// A refund as its owner sees it.
#[must_use]
pub fn view(refund: Refund, currency: Currency) -> RefundView {
    RefundView {
        refund: refund.id,
        seats: refund.items.into_iter().map(|item| item.label).collect(),
        amount: MoneyView(currency.of(refund.amount + refund.elsewhere)),
        fee: MoneyView(currency.of(refund.fee)),
        reason: refund.reason.word(),
        at: rfc3339(refund.made_at_ms),
        state: refund.state,
        done_at: refund
            .done_at_ms
            .filter(|_| refund.state == RefundState::Done)
            .map(rfc3339),
    }
}

//! Orders over HTTP.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::clock::rfc3339;
use fairgate_base::http::{JsonBytes, NoFields, PathParams, Problem, ProblemCode, parse_json};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::orders::transition::OrderEvent;
use fairgate_model::orders::{Buyer, Order, OrderState, Traveller};
use serde::{Deserialize, Serialize};

use crate::http::answers::{JsonAnswer, key_of};
use crate::http::holds::MoneyView;
use crate::http::order_routes::OrderRoutes;
use crate::http::order_views::{OrderView, PaymentView};

/// `POST /v1/holds/{hold}/order`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OrderAsk)]
pub struct OrderRequest {
    /// Who buys.
    buyer: Buyer,
    /// Rail: the travellers, one for each seat, in the order of the hold's seats.
    #[serde(default)]
    travellers: Option<Vec<Traveller>>,
}

/// A new order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = OrderMade)]
pub struct CreatedOrderView {
    #[schema(value_type = String)]
    order: OrderId,
    /// The key that opens the order on any device.
    order_key: String,
    state: OrderState,
    total: MoneyView,
    /// The time until which the buyer can pay, RFC 3339.
    pay_until: String,
    server_time: String,
    payment: PaymentView,
}

/// `POST /v1/orders/{order}/consent`.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ConsentAsk)]
pub struct ConsentRequest {
    /// Whether the buyer accepts the other seats. If not, the money goes back.
    accept: bool,
}

/// Makes an order from a hold.
#[utoipa::path(post, path = "/v1/holds/{hold}/order", tag = "booking", params(("hold" = String, Path)),
    request_body = OrderRequest, responses((status = 201, body = CreatedOrderView), (status = 410), (status = 422), (status = 503)))]
pub async fn make(
    State(routes): State<OrderRoutes>,
    PathParams(hold): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let id: HoldId = hold
        .parse()
        .map_err(|_| Problem::not_found("hold", &hold))?;
    let show = routes.desk.holds.catalogue.begun_show(&id.show()).await?;
    let show = show.ok_or(crate::holds::refusal::HoldRefusal::Expired)?;
    let pass = routes
        .door
        .require_pass(&headers, &show.id, routes.clock.now_ms() / 1_000)?;
    let visitor = pass.holder();
    let key = key_of(&headers)?;
    let call = format!("POST /v1/holds/{id}/order");
    let act = async {
        let ask: OrderRequest = parse_json(&body)?;
        let now_ms = routes.clock.now_ms();
        let made = routes
            .desk
            .checkout(&show, &id, visitor, (ask.buyer, ask.travellers), now_ms)
            .await;
        // An order that costs nothing, or that the provider refuses, changes its seats at once. The
        // workers are woken for such an order, but not for an order that waits for its payment.
        if !matches!(&made, Ok(order) if order.state == OrderState::Pending) {
            routes.notifiers.notify_all();
        }
        let order = made?;
        metrics::counter!("fairgate_orders_made_total").increment(1);
        let payment = routes.payment_view(&order, None).await?;
        JsonAnswer::json(
            201,
            &CreatedOrderView {
                order_key: routes.door.order_keys.for_order(&order.id),
                state: order.state,
                total: MoneyView(order.currency.with_amount(order.total)),
                pay_until: rfc3339(order.pay_until_ms),
                server_time: rfc3339(now_ms),
                payment,
                order: order.id,
            },
        )
    };
    Ok(routes
        .answers
        .answer_once(&visitor.0, &call, key, &body, act)
        .await)
}

/// Reads an order. If its payment was cancelled at the provider while the order still waits for the
/// money, a new payment is made there, so that the buyer can pay.
#[utoipa::path(get, path = "/v1/orders/{order}", tag = "booking", params(("order" = String, Path)),
    responses((status = 200, body = OrderView), (status = 403), (status = 404)))]
pub async fn read(
    State(routes): State<OrderRoutes>,
    PathParams(order): PathParams<String>,
    headers: HeaderMap,
) -> Result<JsonAnswer, Problem> {
    let record = routes.open_order(&order, &headers).await?;
    let pending = (record.order.state == OrderState::Pending).then(|| record.order.clone());
    let view = routes.order_view(record).await?;
    if let Some(order) = pending.filter(|_| view.payment.client.is_null()) {
        let now_ms = routes.clock.now_ms();
        routes.desk.renew_cancelled_payment(&order, now_ms).await;
        let record = routes.desk.order_record(&order.id).await?;
        return JsonAnswer::json(200, &routes.order_view(record).await?);
    }
    JsonAnswer::json(200, &view)
}

/// Gives up an order that waits for its payment or for consent.
#[utoipa::path(post, path = "/v1/orders/{order}/cancel", tag = "booking", params(("order" = String, Path)),
    responses((status = 200, body = OrderView), (status = 409)))]
pub async fn cancel(
    State(routes): State<OrderRoutes>,
    PathParams(order): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let record = routes.open_order(&order, &headers).await?;
    let key = key_of(&headers)?;
    let caller = record.order.id.to_string();
    let call = format!("POST /v1/orders/{}/cancel", record.order.id);
    let act = async {
        let NoFields {} = parse_json(&body)?;
        let id = record.order.id.clone();
        let applied = routes
            .desk
            .ledger
            .apply_event(&id, OrderEvent::GivenUp, routes.clock.now_ms())
            .await?;
        routes.notifiers.notify_all();
        let record = routes.desk.order_record(&id).await?;
        let cancelled = record.order.state == OrderState::Cancelled;
        if applied.is_some_and(|applied| applied.changed) || cancelled {
            JsonAnswer::json(200, &routes.order_view(record).await?)
        } else {
            let detail = format!(
                "The order is {}; only an order that waits for its payment or for consent can be given up. Nothing was changed.",
                record.order.state.as_str()
            );
            Err(Problem::new(ProblemCode::NotCancellable, detail)
                .with_member("state", record.order.state))
        }
    };
    Ok(routes
        .answers
        .answer_once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

/// Begins another try to pay an order whose payment was declined. Since the decline the order
/// waited one minute at most. From now on it waits as long as it would have waited without the
/// decline. While the try runs, a second call changes nothing.
#[utoipa::path(post, path = "/v1/orders/{order}/try-again", tag = "booking", params(("order" = String, Path)),
    responses((status = 200, body = OrderView), (status = 401), (status = 403), (status = 404), (status = 409)))]
pub async fn try_again(
    State(routes): State<OrderRoutes>,
    PathParams(order): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let id = routes.open_order(&order, &headers).await?.order.id;
    let key = key_of(&headers)?;
    let call = format!("POST /v1/orders/{id}/try-again");
    let act = async {
        let NoFields {} = parse_json(&body)?;
        let now_ms = routes.clock.now_ms();
        let may_pay = routes.desk.ledger.begin_next_try(&id, now_ms).await?;
        let record = routes.desk.order_record(&id).await?;
        if may_pay {
            JsonAnswer::json(200, &routes.order_view(record).await?)
        } else {
            Err(not_payable(&record.order))
        }
    };
    let caller = id.to_string();
    Ok(routes
        .answers
        .answer_once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

fn not_payable(order: &Order) -> Problem {
    let why = match order.state {
        OrderState::Pending => format!(
            "The time to pay this order ended at {}.",
            rfc3339(order.pay_until_ms)
        ),
        state => format!(
            "The order is {}; only an order that waits for its payment can be paid.",
            state.as_str()
        ),
    };
    let detail = format!(
        "{why} No other try to pay was begun, and nothing was changed. Read the order to see where it stands."
    );
    Problem::new(ProblemCode::NotPayable, detail).with_member("state", order.state)
}

/// Accepts or declines the other seats that are offered for late money.
#[utoipa::path(post, path = "/v1/orders/{order}/consent", tag = "booking", params(("order" = String, Path)),
    request_body = ConsentRequest, responses((status = 200, body = OrderView), (status = 409)))]
pub async fn consent(
    State(routes): State<OrderRoutes>,
    PathParams(order): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let record = routes.open_order(&order, &headers).await?;
    let key = key_of(&headers)?;
    let record_order = record.order;
    let id = record_order.id.clone();
    let call = format!("POST /v1/orders/{id}/consent");
    let act = async {
        let ConsentRequest { accept } = parse_json(&body)?;
        let begun = accept
            && routes
                .desk
                .has_sale_ended(&record_order, routes.clock.now_ms())
                .await?;
        let event = if begun {
            OrderEvent::ShowBegun
        } else if accept {
            OrderEvent::Consented
        } else {
            OrderEvent::ConsentDeclined
        };
        let now_ms = routes.clock.now_ms();
        let applied = routes.desk.ledger.apply_event(&id, event, now_ms).await?;
        routes.notifiers.notify_all();
        let record = routes.desk.order_record(&id).await?;
        let reason_code = if accept {
            "consent_given"
        } else {
            "consent_declined"
        };
        let repeated = record.history.iter().any(|step| step.reason == reason_code);
        if applied.is_some_and(|applied| applied.changed) || repeated {
            return JsonAnswer::json(200, &routes.order_view(record).await?);
        }
        let detail = format!(
            "The order is {} and waits for no consent. Nothing was changed. Read the order to see where it stands.",
            record.order.state.as_str()
        );
        Err(Problem::new(ProblemCode::NoConsentAwaited, detail)
            .with_member("state", record.order.state))
    };
    let caller = id.to_string();
    Ok(routes
        .answers
        .answer_once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

/// Refuses to look up orders by e-mail, because that needs a mail service.
#[utoipa::path(post, path = "/v1/orders/lookup", tag = "booking", responses((status = 422)))]
pub async fn lookup() -> Problem {
    Problem::not_available(
        "email",
        "Orders cannot be looked up by e-mail here: no mail service is configured. Nothing was sent. Use the order's key or the browser it was made in.",
    )
}

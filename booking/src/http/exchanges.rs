//! Exchanges over HTTP: the call that exchanges an order's seats for other seats.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{JsonBytes, PathParams, Problem, parse_json};
use fairgate_model::choosing::BestSeatsRequest;
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::orders::{Order, OrderRecord, Traveller};
use fairgate_model::shows::Show;
use fairgate_model::shows::coverage::EVERYDAY;
use jiff::Timestamp;
use serde::Deserialize;

use crate::holds::ask::{AreaRequest, HoldRequest};
use crate::holds::instead::NewSeatOwner;
use crate::http::answers::{JsonAnswer, key_of};
use crate::http::order_routes::OrderRoutes;
use crate::http::order_views::OrderView;
use crate::http::refusals::holds::not_yours;
use crate::http::visitor::not_sold;
use crate::orders::key::PREFIX;

/// `POST /v1/orders/{order}/exchange`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExchangeAsk)]
pub struct ExchangeRequest {
    /// The show of the new seats. It may be the show of the order.
    #[schema(value_type = String)]
    show: ShowId,
    /// Labels of seats.
    #[serde(default)]
    seats: Vec<String>,
    /// General admission by quantity.
    #[serde(default)]
    areas: Vec<AreaRequest>,
    /// Best available seats. They cannot be asked for together with `seats` or `areas`.
    #[schema(value_type = Option<Object>)]
    best: Option<BestSeatsRequest>,
    /// Rail: the code of the station where the journey begins.
    from: Option<String>,
    /// Rail: the code of the station where the journey ends.
    to: Option<String>,
    /// Rail: when the train leaves `from`, if it calls there more than once.
    #[schema(value_type = Option<String>)]
    departs: Option<Timestamp>,
    /// Rail: the travellers, if they are not the same people as before.
    travellers: Option<Vec<Traveller>>,
}

/// Exchanges a paid order's seats for other seats. The answer is the order for the new seats. If
/// there is nothing to pay, that order has its tickets. Otherwise it is pending and has the payment
/// of the difference. The old order then stays as it is until that payment is captured.
#[utoipa::path(post, path = "/v1/orders/{order}/exchange", tag = "booking", params(("order" = String, Path)),
    request_body = ExchangeRequest, responses((status = 200, body = OrderView), (status = 409), (status = 422)))]
pub async fn exchange(
    State(routes): State<OrderRoutes>,
    PathParams(order): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let (record, needs_pass) = routes.open_to_exchange(&order, &headers).await?;
    let key = key_of(&headers)?;
    let id = record.order.id.clone();
    let call = format!("POST /v1/orders/{id}/exchange");
    let act = async {
        let ask: ExchangeRequest = parse_json(&body)?;
        let catalogue = &routes.desk.holds.catalogue;
        let show = catalogue.newest_show(ask.show.as_str()).await?;
        let show = show.ok_or_else(|| Problem::not_found("show", ask.show.as_str()))?;
        let now_ms = routes.clock.now_ms();
        let old = &record.order;
        let owner = new_seat_owner(&routes, &headers, old, &show, needs_pass, now_ms).await?;
        let wish = HoldRequest {
            seats: ask.seats,
            areas: ask.areas,
            best: ask.best,
            from: ask.from,
            to: ask.to,
            departs: ask.departs,
            ..HoldRequest::default()
        };
        let asked = wish.resolve(&show, now_ms)?;
        let hold = match &key {
            Some(key) => {
                // An earlier version of this program may already have made this call's order, under
                // an id that it derived in another way.
                let before = OrderId::of_hold(&HoldId::of_exchange(&show.id, &id, key));
                if let Some(made) = routes.desk.successor(&id, &before, now_ms).await? {
                    let record = routes.desk.order_record(&made.id).await?;
                    return JsonAnswer::json(200, &routes.order_view(record).await?);
                }
                routes.desk.holds.ids.hold_of_exchange(&show.id, &id, key)
            }
            None => HoldId::random(&show.id, &mut rand::rng()),
        };
        let made = routes
            .desk
            .exchange(
                &record,
                &show,
                (&asked, ask.travellers),
                (&hold, &owner),
                &routes.clock,
            )
            .await?;
        routes.notifiers.notify_all();
        metrics::counter!("fairgate_orders_exchanged_total").increment(1);
        let record = routes.desk.order_record(&made.id).await?;
        JsonAnswer::json(200, &routes.order_view(record).await?)
    };
    Ok(routes
        .answers
        .answer_once(id.to_string().as_bytes(), &call, key.clone(), &body, act)
        .await)
}

/// The header that carries an order's key if the Bearer credential is a pass.
const ORDER_KEY: &str = "order-key";

impl OrderRoutes {
    /// Returns the order that is to be exchanged, if the caller is its visitor or sends its key. A
    /// caller that sends the key in `Order-Key` can send a pass of another room as the Bearer
    /// credential. Also returns whether the new seats need a pass. They need one if the key came in
    /// `Order-Key` and the Bearer credential is not an order key.
    async fn open_to_exchange(
        &self,
        order: &str,
        headers: &HeaderMap,
    ) -> Result<(OrderRecord, bool), Problem> {
        let Some(key) = headers.get(ORDER_KEY) else {
            return Ok((self.open_order(order, headers).await?, false));
        };
        let id: OrderId = order
            .parse()
            .map_err(|_| Problem::not_found("order", order))?;
        let opens = key
            .to_str()
            .is_ok_and(|key| self.door.order_keys.opens(&id, key));
        if !opens {
            return Err(not_yours("order"));
        }
        let by_key_alone = bearer(headers).is_some_and(|bearer| bearer.starts_with(PREFIX));
        Ok((self.desk.order_record(&id).await?, !by_key_alone))
    }
}

/// Returns the owner of the new seats. If `needs_pass` is false, and the show belongs to the
/// order's room or to `everyday`, this is the order's visitor. Otherwise the caller needs a live
/// pass of the show's room, because a buyer must wait in that room's line. Then the pass's visitor
/// owns the seats. Nobody gets seats of a show that is not sold now.
async fn new_seat_owner(
    routes: &OrderRoutes,
    headers: &HeaderMap,
    order: &Order,
    show: &Show,
    needs_pass: bool,
    now_ms: i64,
) -> Result<NewSeatOwner, Problem> {
    let catalogue = &routes.desk.holds.catalogue;
    let room = catalogue
        .current_seller_of(show)
        .await
        .map_err(|refused| not_sold(&show.id, refused))?;
    if !needs_pass && (room == order.room || room == EVERYDAY) {
        return Ok(NewSeatOwner {
            visitor: order.visitor,
            room,
        });
    }
    let pass = routes
        .door
        .require_live_pass(headers, &show.id, now_ms / 1_000)
        .await?;
    Ok(NewSeatOwner {
        visitor: pass.sub,
        room: pass.room.clone(),
    })
}

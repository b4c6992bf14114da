//! What a visitor has of a show: baskets, offers and orders. A device to which the visitor brought
//! the place finds there what another device began.

use axum::extract::State;
use axum::http::HeaderMap;
use fairgate_base::http::{PathParams, Problem};
use fairgate_model::holds::{HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, OrderId};
use serde::Serialize;

use crate::http::answers::JsonAnswer;
use crate::http::holds::{HoldRoutes, HoldView};

/// The visitor's holds and orders of a show.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = OwnOfShow)]
pub struct OwnThingsView {
    /// Baskets and offers that have no order yet, in the order in which their locks end.
    holds: Vec<HoldView>,
    /// The orders that have seats of the show, pending or paid.
    orders: Vec<OwnOrderView>,
}

/// An order of the visitor.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = OwnOrder)]
pub struct OwnOrderView {
    #[schema(value_type = String)]
    order: OrderId,
    /// The hold that the order was made from.
    #[schema(value_type = String)]
    hold: HoldId,
    /// The key that opens the order on any device.
    order_key: String,
}

/// Lists the caller's holds and orders of a show.
#[utoipa::path(get, path = "/v1/shows/{show}/holds", operation_id = "own_holds", tag = "booking", params(("show" = String, Path)),
    responses((status = 200, body = OwnThingsView), (status = 401), (status = 429)))]
pub async fn read(
    State(routes): State<HoldRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
) -> Result<JsonAnswer, Problem> {
    let show = routes.find_show_for_hold(&show).await?;
    let now_ms = routes.clock.now_ms();
    let pass = routes
        .door
        .require_pass(&headers, &show.id, now_ms / 1_000)?;
    let mut own = OwnThingsView {
        holds: Vec::new(),
        orders: Vec::new(),
    };
    // Nobody has ever held seats of such a show.
    if show.untouched {
        return JsonAnswer::json(200, &own);
    }
    let desk = &routes.desk;
    desk.seats.ensure_open(&show).await?;
    let holds = match desk.seats.store.holds_of(&show.id, pass.holder()).await {
        Ok(holds) => holds,
        Err(refused) => return Err(desk.explain(&show, refused, &[]).await.into()),
    };
    for hold in holds {
        let is_offered = [HoldPurpose::Basket, HoldPurpose::Offer].contains(&hold.purpose);
        if hold.stage == HoldStage::Basket && is_offered {
            let (terms, items) = desk.price(&show, &hold).await?;
            let view = HoldView::new(&show, hold, (&terms, &items), now_ms);
            own.holds.push(view);
        }
    }
    let orders = desk.ledger.orders_of(&show.id, pass.holder()).await?;
    own.orders = orders
        .into_iter()
        .map(|(order, hold)| OwnOrderView {
            order_key: routes.door.order_keys.for_order(&order),
            order,
            hold,
        })
        .collect();
    JsonAnswer::json(200, &own)
}

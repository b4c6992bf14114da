//! The calls for a room's lists of networks.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use fairgate_base::http::keys::{PromoterCaller, Role};
use fairgate_base::http::{JsonBody, NoFields, Problem, QueryParams};
use fairgate_rules::network_lists::{NetworkLists, NetworkListsInput};

use crate::promoter::PromoterControls;

/// Replace the networks that may not join, and those that pay nothing
#[utoipa::path(put, path = "/v1/promoter/rooms/{room}/networks", tag = "promoter", params(("room" = String, Path,)), request_body = NetworkListsInput,
    responses((status = 200, body = NetworkLists), (status = 422, description = "invalid_field, with all bad entries")))]
pub(crate) async fn put_networks(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    JsonBody(input): JsonBody<NetworkListsInput>,
) -> Result<Json<NetworkLists>, Problem> {
    Ok(Json(promoter.put_networks(&id, &input).await?))
}

/// The networks that may not join, and those that pay nothing
#[utoipa::path(get, path = "/v1/promoter/rooms/{room}/networks", tag = "promoter", params(("room" = String, Path,)),
    responses((status = 200, body = NetworkLists), (status = 404)))]
pub(crate) async fn get_networks(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<NetworkLists>, Problem> {
    promoter.keys.require_role(&headers, Role::Viewer)?;
    let room = promoter.rooms.get(&id)?;
    Ok(Json(room.row().facts.networks.clone()))
}

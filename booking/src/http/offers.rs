//! Accepting an offer of the waitlist over HTTP.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::http::{JsonBytes, NoFields, PathParams, Problem, parse_json};

use super::holds::{HoldRoutes, HoldView};
use crate::http::answers::key_of;

/// Accepts an offer of the waitlist within its 60 s. The offer becomes a basket, which is held for
/// the show's `hold_s` from then on, and the visitor no longer waits. A repeated call returns the
/// same basket with the same deadline. A pass that expired while the visitor waited is accepted.
#[utoipa::path(post, path = "/v1/holds/{hold}/accept", tag = "booking", params(("hold" = String, Path)),
    responses((status = 200, body = HoldView), (status = 403), (status = 409), (status = 410), (status = 422)))]
pub async fn accept(
    State(routes): State<HoldRoutes>,
    PathParams(hold): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let (show, id) = routes.show_of_hold(&hold).await?;
    let now_s = routes.clock.now_ms() / 1_000;
    let pass = routes
        .door
        .require_pass_not_stopped(&headers, &show.id, now_s)
        .await?;
    let visitor = pass.holder();
    let key = key_of(&headers)?;
    let call = format!("POST /v1/holds/{id}/accept");
    let act = async {
        let NoFields {} = parse_json(&body)?;
        let now_ms = routes.clock.now_ms();
        let basket = routes
            .desk
            .accept_offer(&show, visitor, &id, now_ms)
            .await?;
        routes.waitlist.record_accepted(&basket, now_ms).await;
        routes.hold_answer(200, &show, basket, now_ms).await
    };
    Ok(routes
        .answers
        .answer_once(&visitor.0, &call, key, &body, act)
        .await)
}

//! The calls that claim a pass and check a pass.

use std::collections::HashMap;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use fairgate_base::clock::rfc3339;
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{JsonBody, Problem, ProblemCode, QueryParams};
use fairgate_pass::{Jwks, LivePass, PassError, VerifiedPass};
use serde::{Deserialize, Serialize};

use super::required;
use crate::cookies::{self, CookieKind, PASS_STORED_S};
use crate::line::claim::{ClaimedPass, claim_pass};
use crate::line::{TollFor, TollPayer, WaitingLine};
use crate::room::RoomRegistry;
use crate::upstream::pass_ended;
use crate::web::peer_of;

/// A claimed pass.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PassAnswer {
    /// The JWT.
    pass: String,
    /// RFC 3339.
    expires_at: String,
}

/// The body of a claim, which may be empty.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassBody {
    /// The solution of the challenge, if one must be solved: ALTCHA's payload, the answer of the
    /// provider, or the ticket of a wait.
    challenge: Option<String>,
}

/// Claim the pass
#[utoipa::path(post, path = "/v1/rooms/{room}/pass", tag = "lobby", params(("room" = String, Path,)), request_body = PassBody,
    responses((status = 201, body = PassAnswer), (status = 401, description = "place_required, place_invalid"),
        (status = 403, description = "challenge_failed, network_denied, revoked"),
        (status = 409, description = "not_called, with the wait"), (status = 410, description = "room_closed, place_left")))]
pub(crate) async fn pass(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<PassBody>,
) -> Result<Response, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let payer = TollPayer {
        holder: place.holder,
        solution: body.challenge.as_deref(),
        network: waiting_line.web.network(&headers, peer_of(peer.as_deref())),
    };
    let toll = waiting_line.toll(&room, TollFor::Claim, payer, now).await?;
    let claimed = claim_pass(&waiting_line.rooms, &room, &place, toll, now).await?;
    let cookie = pass_cookie_header(&waiting_line, &claimed)?;
    let answer = PassAnswer {
        expires_at: rfc3339(claimed.claims.exp.saturating_mul(1000)),
        pass: claimed.pass,
    };
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((
        StatusCode::CREATED,
        [(header::SET_COOKIE, cookie), no_store],
        Json(answer),
    )
        .into_response())
}

/// Builds the `Set-Cookie` header of a pass.
///
/// # Errors
/// Returns the errors of [`cookies::of_pass`] and [`crate::web::WebRequestPolicy::set_cookie`].
pub fn pass_cookie_header(
    waiting_line: &WaitingLine,
    claimed: &ClaimedPass,
) -> Result<HeaderValue, Problem> {
    let value = cookies::of_pass(waiting_line.rooms.keyring(), &claimed.claims)?;
    let room = &claimed.claims.room;
    Ok(waiting_line
        .web
        .set_cookie(CookieKind::Pass, room, &value, PASS_STORED_S)?)
}

/// The query of the check: the room that the pass is for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyQuery {
    room: String,
}

/// Is this request's pass good? For a proxy's `auth_request`. `/v1/verify/{room}/…` answers the
/// same to any method. For `ext_authz`, `/v1/verify-200/{room}/…` answers 200 in place of 204
#[utoipa::path(get, path = "/v1/verify", tag = "lobby", params(("room" = String, Query,)),
    responses((status = 204, description = "With X-Fairgate-Room, X-Fairgate-Rank and X-Fairgate-Visitor"), (status = 401)))]
pub(crate) async fn verify(
    State(waiting_line): State<WaitingLine>,
    QueryParams(query): QueryParams<VerifyQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_pass(&waiting_line, &query.room, &headers)
}

/// Checks the pass as [`verify`] does, for proxies that send the original method and path along.
pub(crate) async fn verify_any(
    State(waiting_line): State<WaitingLine>,
    Path(path_parameters): Path<HashMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let room = path_parameters.get("room").map_or("", String::as_str);
    check_pass(&waiting_line, room, &headers)
}

/// Checks the pass as [`verify_any`] does, for proxies that take only 200 as a yes: Envoy, and the
/// gateways of Kubernetes' Gateway API that are built on Envoy.
pub(crate) async fn verify_with_200(
    State(waiting_line): State<WaitingLine>,
    Path(path_parameters): Path<HashMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let room = path_parameters.get("room").map_or("", String::as_str);
    let mut answer = check_pass(&waiting_line, room, &headers)?;
    *answer.status_mut() = StatusCode::OK;
    Ok(answer)
}

/// Answers 204 if the request shows a live pass of the room. No origin is checked, because the call
/// changes nothing and its sender is a proxy.
fn check_pass(
    waiting_line: &WaitingLine,
    room: &str,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let pass = live_pass(waiting_line, room, headers)?;
    let value = |text: String| HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    let headers = [
        (
            HeaderName::from_static("x-fairgate-room"),
            value(pass.room.clone()),
        ),
        (
            HeaderName::from_static("x-fairgate-rank"),
            value(pass.rank.to_string()),
        ),
        (
            HeaderName::from_static("x-fairgate-visitor"),
            value(pass.sub.to_string()),
        ),
    ];
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

/// The public keys of places, passes, freezes and tickets
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "lobby", responses((status = 200, description = "RFC 7517")))]
pub(crate) async fn jwks(State(waiting_line): State<WaitingLine>) -> (HeaderMap, Json<Jwks>) {
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=300"),
    );
    (headers, Json(waiting_line.rooms.keyring().jwks()))
}

/// Returns the live pass that a request shows for `room`, as Bearer or in the cookie. If the Bearer
/// is not a live pass of the room, the cookie is read, because a site behind a proxy may use the
/// header `Authorization` for something else.
///
/// # Errors 401: `pass_invalid` without a pass or with a pass that is not one of this room,
/// `pass_expired`, `pass_stopped` or `pass_ended`. If Bearer and cookie are both refused, the error
/// is the cookie's.
pub fn live_pass(
    waiting_line: &WaitingLine,
    room: &str,
    headers: &HeaderMap,
) -> Result<LivePass, Problem> {
    let (keyring, now_s) = (
        waiting_line.rooms.keyring(),
        waiting_line.rooms.now_ms().div_euclid(1000),
    );
    let presented_passes = [
        bearer(headers).map(|jwt| keyring.verify_pass(jwt, now_s)),
        cookies::value(headers, CookieKind::Pass, room)
            .map(|value| keyring.verify_pass_cookie(value, room, now_s)),
    ];
    let mut refusal = pass_problem(ProblemCode::PassInvalid, "no pass was shown");
    for verified in presented_passes.into_iter().flatten() {
        match check_live(&waiting_line.rooms, room, verified) {
            Ok(live) => return Ok(live),
            Err(refused) => refusal = refused,
        }
    }
    Err(refusal)
}

fn check_live(
    rooms: &RoomRegistry,
    room: &str,
    verified: Result<VerifiedPass, PassError>,
) -> Result<LivePass, Problem> {
    let presented =
        verified.map_err(|error| pass_problem(ProblemCode::PassInvalid, &error.to_string()))?;
    let live = presented
        .require_live()
        .map_err(|error| pass_problem(ProblemCode::PassExpired, &error.to_string()))?;
    if live.room != room {
        return Err(pass_problem(
            ProblemCode::PassInvalid,
            "the pass belongs to another room",
        ));
    }
    let now = rooms.now_ms();
    if let Ok(room) = rooms.get(room) {
        if room.pass_stopped(live.number, now).is_some() {
            return Err(pass_problem(
                ProblemCode::PassStopped,
                "its place was left or ended by the promoter, or the room was closed",
            ));
        }
        if let Some(cause) = room.stops().visit_end(live) {
            return Err(pass_ended(room.id(), cause));
        }
        room.activity().note(live.number, now.div_euclid(1000));
    }
    Ok(live.clone())
}

fn pass_problem(code: ProblemCode, why: &str) -> Problem {
    Problem::new(
        code,
        format!(
            "{why}. Nothing was changed. Claim a pass in the room's lobby and show it as the cookie or as Bearer."
        ),
    )
    .with_title("The pass does not open this")
}

//! The calls of the lobby: join, read a place, leave.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use fairgate_base::clock::rfc3339;
use fairgate_base::http::{JsonBody, Problem};
use fairgate_base::log_failed_try;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::wishes::SeatWish;
use serde::Serialize;

use super::passes::pass_cookie_header;
use super::{place_credential, required};
use crate::cookies::{self, CookieKind, PLACE_STORED_S};
use crate::line::claim::last_pass;
use crate::line::place_view::PlaceView;
use crate::line::{JoinBody, PlaceRefusal, WaitingLine, place_claims, sign_place};
use crate::room::{EVERYDAY_PLACE_S, Room};
use crate::store::Place;
use crate::upstream::pass_ended;
use crate::web::peer_of;

/// The answer to a join.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Joined)]
struct JoinAnswer {
    /// The place as a JWT.
    place: String,
    /// The join number.
    number: u64,
    /// The phase of the room.
    phase: RoomPhase,
    /// The secret as hex, if the server made it. It is shown only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Join, or get the place that the visitor already has
#[utoipa::path(post, path = "/v1/rooms/{room}/places", tag = "lobby", params(("room" = String, Path,)), request_body = JoinBody,
    responses((status = 201, body = JoinAnswer), (status = 200, body = JoinAnswer, description = "The place of before"),
        (status = 403, description = "code_invalid, code_used, challenge_failed, network_full, network_denied, revoked"), (status = 409, description = "not_open"),
        (status = 410, description = "room_closed"), (status = 429, description = "too_many_joins, too_many_attempts")))]
pub(crate) async fn join(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<JoinBody>,
) -> Result<Response, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let network = waiting_line.web.network(&headers, peer_of(peer.as_deref()));
    let joined = waiting_line
        .join(
            &room,
            place_credential(room.id(), &headers),
            &body,
            network,
            now,
        )
        .await?;
    let jwt = sign_place(&waiting_line.rooms, &room, &joined.place);
    let cookie = place_cookie_header(&waiting_line, &room, &joined.place)?;
    let status = if joined.place.fresh {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let answer = JoinAnswer {
        place: jwt,
        number: joined.place.number,
        phase: room.phase(now),
        secret: joined.secret.filter(|_| joined.place.fresh),
    };
    let mut response = (status, [no_store()], Json(answer)).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookie);
    if body.moved.is_some() {
        let cookie = moved_pass_cookie(&waiting_line, &room, &joined.place).await?;
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Builds the `Set-Cookie` header of the pass of a place that came from another device. The browser
/// may still have the pass of an earlier place. That pass must not book for the new place, so it is
/// removed if the new place has no pass. If the ledger does not answer, the lobby's page brings the
/// pass later.
async fn moved_pass_cookie(
    waiting_line: &WaitingLine,
    room: &Room,
    place: &Place,
) -> Result<HeaderValue, Problem> {
    match last_pass(&waiting_line.rooms, room, place).await {
        Ok(Some(pass)) => return pass_cookie_header(waiting_line, &pass),
        Ok(None) => {}
        Err(error) => log_failed_try!(error, room = room.id(), "a moved place has no pass yet"),
    }
    let web = &waiting_line.web;
    Ok(web.remove_cookie(CookieKind::Pass, room.id())?)
}

/// Where the visitor stands
#[utoipa::path(get, path = "/v1/rooms/{room}/place", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 200, body = PlaceView), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "revoked"), (status = 410, description = "place_left")))]
pub(crate) async fn place(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place: Place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let view = waiting_line.describe_with_wishes(&room, &place, now).await;
    Ok(([no_store()], Json(view)).into_response())
}

/// Say which seats the visitor would like
#[utoipa::path(put, path = "/v1/rooms/{room}/place/wishes", operation_id = "put_wishes", tag = "lobby", params(("room" = String, Path,)), request_body = Vec<SeatWish>,
    responses((status = 200, body = PlaceView), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "revoked"), (status = 409, description = "already_claimed"),
        (status = 410, description = "place_left, room_closed"), (status = 422, description = "invalid_field, not_available")))]
pub(crate) async fn put_wishes(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(wishes): JsonBody<Vec<SeatWish>>,
) -> Result<Response, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let view = waiting_line.wish(&room, &place, wishes, now).await?;
    Ok(([no_store()], Json(view)).into_response())
}

/// A code that brings the place to another device.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = PlaceMove)]
pub(crate) struct MoveAnswer {
    /// The code, for `move` in `POST …/places`. It counts once.
    code: String,
    /// When the code expires, RFC 3339.
    expires_at: String,
}

/// Make a code that brings the place to another device
#[utoipa::path(post, path = "/v1/rooms/{room}/place/move", operation_id = "move_place", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 200, body = MoveAnswer), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "revoked"), (status = 410, description = "place_left")))]
pub(crate) async fn move_place(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let issued = waiting_line.issue_move(&room, &place, now)?;
    let answer = MoveAnswer {
        code: issued.code,
        expires_at: rfc3339(issued.expires_at_ms),
    };
    Ok(([no_store()], Json(answer)).into_response())
}

/// Whether a code has brought the place to another device.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LastMove)]
pub(crate) struct LastMoveAnswer {
    /// When a code last brought the place to another device, RFC 3339. Null if none has.
    moved_at: Option<String>,
}

/// Has a code brought the place to another device?
#[utoipa::path(get, path = "/v1/rooms/{room}/place/move", operation_id = "last_move", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 200, body = LastMoveAnswer), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "revoked"), (status = 410, description = "place_left")))]
pub(crate) async fn last_move(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let moved_at = waiting_line.moved_at(&room, &place).await?;
    let answer = LastMoveAnswer {
        moved_at: moved_at.map(rfc3339),
    };
    Ok(([no_store()], Json(answer)).into_response())
}

/// Say that you fill in the checkout
///
/// A basket whose visitor is gone lapses after the room's `away_s`. After this call, the baskets
/// that you have made so far stay yours to their deadline, even if you close the page.
#[utoipa::path(post, path = "/v1/rooms/{room}/place/checkout", operation_id = "begin_checkout", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 204), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "origin_refused, revoked"), (status = 410, description = "place_left")))]
pub(crate) async fn begin_checkout(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let store = waiting_line.rooms.store();
    store.note_checkout(room.id(), place.number, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Say that somebody is still there
///
/// A pass ends if its holder does nothing for the room's `pass_idle_s`. A page makes this call when
/// somebody scrolls, types or moves the focus, at most once in 20 seconds.
#[utoipa::path(post, path = "/v1/rooms/{room}/place/here", operation_id = "say_here", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 204), (status = 401, description = "place_required, place_invalid; pass_ended with the cause"), (status = 403, description = "origin_refused, revoked"), (status = 410, description = "place_left")))]
pub(crate) async fn say_here(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    let place = required(&waiting_line.rooms, &room, &headers, now).await?;
    let ended = place
        .pass_exp
        .and_then(|exp| room.stops().last_visit_end(place.number, exp));
    if let Some(cause) = ended {
        return Err(pass_ended(room.id(), cause));
    }
    room.presence().note_visitor(place.number);
    room.activity().note(place.number, now.div_euclid(1_000));
    Ok(StatusCode::NO_CONTENT)
}

/// Leave the line for good
#[utoipa::path(delete, path = "/v1/rooms/{room}/place", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 204), (status = 401, description = "place_required, place_invalid")))]
pub(crate) async fn leave(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    waiting_line.web.check_origin(&headers)?;
    let room = waiting_line.rooms.get(&id)?;
    let now = waiting_line.rooms.now_ms();
    match required(&waiting_line.rooms, &room, &headers, now).await {
        Ok(place) => waiting_line.leave(&room, &place, now).await?,
        // Leaving a second time changes nothing, so it succeeds.
        Err(PlaceRefusal::Left) => {}
        Err(refusal) => return Err(refusal.into()),
    }
    let removed_cookie = waiting_line
        .web
        .remove_cookie(CookieKind::Place, room.id())?;
    Ok((
        StatusCode::NO_CONTENT,
        [(header::SET_COOKIE, removed_cookie)],
    )
        .into_response())
}

/// Builds the `Set-Cookie` header of a place.
///
/// # Errors
/// Returns the errors of [`cookies::of_place`] and [`crate::web::WebRequestPolicy::set_cookie`].
pub fn place_cookie_header(
    waiting_line: &WaitingLine,
    room: &Room,
    place: &Place,
) -> Result<HeaderValue, Problem> {
    let stored_s = if room.is_everyday() {
        EVERYDAY_PLACE_S
    } else {
        PLACE_STORED_S
    };
    let value = cookies::of_place(waiting_line.rooms.keyring(), &place_claims(room, place))?;
    let web = &waiting_line.web;
    Ok(web.set_cookie(CookieKind::Place, room.id(), &value, stored_s)?)
}

fn no_store() -> (header::HeaderName, HeaderValue) {
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

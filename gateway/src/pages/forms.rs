//! The lobby's forms, for browsers without scripts: the same steps as the calls, answered by going
//! back to the page.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::extract::rejection::FormRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form};
use fairgate_base::http::Problem;

use super::{Pages, lobby_page, render_problem};
use crate::line::claim::claim;
use crate::line::http::passes::PASS_COOKIE_S;
use crate::line::http::places::place_cookie_header;
use crate::line::http::{required, shown};
use crate::line::{JoinBody, sign};
use crate::room::Room;
use crate::web::{pass_cookie, peer_of, place_cookie};

type Cookie = Result<HeaderValue, Problem>;

pub(crate) async fn join(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    form: Result<Form<BTreeMap<String, String>>, FormRejection>,
) -> Response {
    let code = form
        .ok()
        .and_then(|Form(mut fields)| fields.remove("code"))
        .filter(|code| !code.trim().is_empty());
    let step = async |room: &Room| -> Cookie {
        let (lobby, now) = (&pages.lobby, pages.lobby.rooms.now());
        let network = lobby.web.network(&headers, peer_of(peer.as_deref()));
        let body = JoinBody {
            code,
            ..JoinBody::default()
        };
        let joined = lobby
            .join(room, shown(room.id(), &headers), &body, network, now)
            .await?;
        place_cookie_header(lobby, room, &sign(&lobby.rooms, room, &joined.place))
    };
    answer(&pages, &id, &headers, step).await
}

pub(crate) async fn pass(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let step = async |room: &Room| -> Cookie {
        let (lobby, now) = (&pages.lobby, pages.lobby.rooms.now());
        let place = required(&lobby.rooms, room, &headers, now).await?;
        let claimed = claim(&lobby.rooms, room, &place, now).await?;
        lobby
            .web
            .cookie(&pass_cookie(room.id()), &claimed.pass, PASS_COOKIE_S)
    };
    answer(&pages, &id, &headers, step).await
}

pub(crate) async fn leave(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let step = async |room: &Room| -> Cookie {
        let (lobby, now) = (&pages.lobby, pages.lobby.rooms.now());
        let place = required(&lobby.rooms, room, &headers, now).await?;
        lobby.leave(room, &place, now).await?;
        lobby.web.cookie(&place_cookie(room.id()), "", 0)
    };
    answer(&pages, &id, &headers, step).await
}

/// Takes the step and goes back to the lobby, with the cookie it gave, or shows the lobby with what
/// went wrong.
async fn answer(
    pages: &Pages,
    id: &str,
    headers: &HeaderMap,
    step: impl AsyncFnOnce(&Room) -> Cookie,
) -> Response {
    let room = match pages
        .lobby
        .web
        .check_origin(headers)
        .and_then(|()| Ok(pages.lobby.rooms.get(id)?))
    {
        Ok(room) => room,
        Err(problem) => return render_problem(pages, &problem),
    };
    match step(&room).await {
        Ok(cookie) => {
            // The id is one of a room's, so it is a slug and can stand in a header.
            let back =
                HeaderValue::try_from(format!("/r/{id}")).unwrap_or(HeaderValue::from_static("/"));
            (
                StatusCode::SEE_OTHER,
                [(header::LOCATION, back), (header::SET_COOKIE, cookie)],
            )
                .into_response()
        }
        Err(problem) => lobby_page(pages, &room, headers, Some(&problem)).await,
    }
}

//! The lobby's forms, for browsers without scripts. They do the same as the API calls, and then
//! redirect to the lobby.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::extract::rejection::FormRejection;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use fairgate_base::http::{Problem, ProblemCode};

use super::waits::{WAIT_FIELD, keep_ticket, wait_instead};
use super::{PageRoutes, WAY_BACK, address, lobby_page, lobby_path, render_problem, see_other};
use crate::cookies::{self, CookieKind};
use crate::line::claim::{PassClaimRefusal, claim_pass};
use crate::line::http::passes::pass_cookie_header;
use crate::line::http::places::place_cookie_header;
use crate::line::http::{place_credential, required};
use crate::line::{JoinBody, JoinRefusal, PlaceRefusal, TollFor, TollPayer};
use crate::room::Room;
use crate::web::peer_of;

type SetCookieResult = Result<HeaderValue, Problem>;

/// The parameter of a join that was sent again, after the browser got a cookie to show that it
/// keeps cookies.
const COOKIES_TRIED: &str = "cookies";

/// Joins the room. Only a cookie keeps a place, so a browser that keeps no cookies gets none: its
/// visitor could press the button again and again, and would take a new place each time.
pub(crate) async fn join(
    State(pages): State<PageRoutes>,
    Path(id): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    form: Result<Form<BTreeMap<String, String>>, FormRejection>,
) -> Response {
    let mut fields = form.map(|Form(fields)| fields).unwrap_or_default();
    let mut field = |name| fields.remove(name).filter(|text| !text.trim().is_empty());
    let (code, ticket) = (field("code"), field(WAIT_FIELD));
    let to = field(WAY_BACK).unwrap_or_default();
    let keeps_cookies = cookies::are_kept(&headers);
    if !keeps_cookies && !query.contains_key(COOKIES_TRIED) {
        return send_again(&pages, &id);
    }
    let step = async |room: &Room| -> SetCookieResult {
        if !keeps_cookies {
            return Err(cookies_blocked());
        }
        let (waiting_line, now) = (&pages.waiting_line, pages.waiting_line.rooms.now_ms());
        let network = waiting_line.web.network(&headers, peer_of(peer.as_deref()));
        let body = JoinBody {
            code,
            challenge: ticket.clone(),
            ..JoinBody::default()
        };
        let credential = place_credential(room.id(), &headers);
        let joined = match waiting_line
            .join(room, credential, &body, network, now)
            .await
        {
            Err(JoinRefusal::Network(refusal)) => {
                return Err(wait_instead(waiting_line, room, network, ticket, refusal, now).await);
            }
            joined => joined.map_err(|refusal| keep_ticket(refusal.into(), ticket.as_ref()))?,
        };
        place_cookie_header(waiting_line, room, &joined.place)
    };
    answer_form(&pages, &id, &headers, &to, step).await
}

/// Makes the browser send the form again, with a cookie if it keeps cookies.
fn send_again(pages: &PageRoutes, id: &str) -> Response {
    let cookie = match pages.waiting_line.web.test_cookie() {
        Ok(cookie) => cookie,
        Err(error) => return render_problem(pages, &error.into()),
    };
    let join = address::path(&["r", id, "join"]);
    let again = address::with_query(&join, &[(COOKIES_TRIED, "tried")]);
    let headers = [
        (header::SET_COOKIE, cookie),
        (header::CACHE_CONTROL, NO_STORE),
    ];
    (headers, Redirect::temporary(&again)).into_response()
}

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

fn cookies_blocked() -> Problem {
    Problem::new(
        ProblemCode::CookiesBlocked,
        "Your browser blocks cookies, and only a cookie keeps your place in the line: allow cookies for this site, and then join again.",
    )
}

pub(crate) async fn pass(
    State(pages): State<PageRoutes>,
    Path(id): Path<String>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    form: Result<Form<BTreeMap<String, String>>, FormRejection>,
) -> Response {
    let mut fields = form.map(|Form(fields)| fields).unwrap_or_default();
    let ticket = fields.remove(WAIT_FIELD);
    let to = fields.remove(WAY_BACK).unwrap_or_default();
    let step = async |room: &Room| -> SetCookieResult {
        let (waiting_line, now) = (&pages.waiting_line, pages.waiting_line.rooms.now_ms());
        let network = waiting_line.web.network(&headers, peer_of(peer.as_deref()));
        let place = required(&waiting_line.rooms, room, &headers, now).await?;
        let payer = TollPayer {
            holder: place.holder,
            solution: ticket.as_deref(),
            network,
        };
        let claimed = match waiting_line.toll(room, TollFor::Claim, payer, now).await {
            Ok(toll) => claim_pass(&waiting_line.rooms, room, &place, toll, now).await,
            Err(refusal) => Err(PassClaimRefusal::Network(refusal)),
        };
        let claimed = match claimed {
            Err(PassClaimRefusal::Network(refusal)) => {
                return Err(wait_instead(waiting_line, room, network, ticket, refusal, now).await);
            }
            claimed => claimed.map_err(|refusal| keep_ticket(refusal.into(), ticket.as_ref()))?,
        };
        pass_cookie_header(waiting_line, &claimed)
    };
    answer_form(&pages, &id, &headers, &to, step).await
}

pub(crate) async fn leave(
    State(pages): State<PageRoutes>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let step = async |room: &Room| -> SetCookieResult {
        let (waiting_line, now) = (&pages.waiting_line, pages.waiting_line.rooms.now_ms());
        match required(&waiting_line.rooms, room, &headers, now).await {
            Ok(place) => waiting_line.leave(room, &place, now).await?,
            // The form may be sent twice. The second time there is nothing to do.
            Err(PlaceRefusal::Left) => {}
            Err(refusal) => return Err(refusal.into()),
        }
        Ok(waiting_line
            .web
            .remove_cookie(CookieKind::Place, room.id())?)
    };
    answer_form(&pages, &id, &headers, "", step).await
}

/// Runs `step`. Then redirects to the lobby with the cookie that `step` returned, or shows the
/// lobby with the problem. `to` is the way back to a guarded shop. The lobby keeps it.
async fn answer_form(
    pages: &PageRoutes,
    id: &str,
    headers: &HeaderMap,
    to: &str,
    step: impl AsyncFnOnce(&Room) -> SetCookieResult,
) -> Response {
    let room = match pages
        .waiting_line
        .web
        .check_origin(headers)
        .and_then(|()| Ok(pages.waiting_line.rooms.get(id)?))
    {
        Ok(room) => room,
        Err(problem) => return render_problem(pages, &problem),
    };
    match step(&room).await {
        Ok(cookie) => see_other(&lobby_path(id, to), Some(cookie)),
        Err(problem) => lobby_page(pages, &room, headers, to, Some(&problem)).await,
    }
}

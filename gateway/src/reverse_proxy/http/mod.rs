//! Answers the requests of a guarded shop's visitors: forwards a request to the shop, or sends the
//! visitor to the waiting room.

mod headers;
mod web_socket;

use std::net::{IpAddr, SocketAddr};

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{Problem, ProblemCode, wrong_method};
use fairgate_pass::LivePass;

use super::{GuardStep, ShopGuard, decide};
use crate::cookies::{self, CookieKind};
use crate::http::wrapping::accepts_html;
use crate::line::http::passes::live_pass;
use crate::pages::{WAY_BACK, problem_page, with_query};
use crate::upstream::foreign_origin::OriginFailure;
use crate::web::peer_of;
use headers::{ShopRequest, shop_headers};

/// The `Retry-After` (seconds) of problems that end by themselves.
const BACK_S: u64 = 5;

/// Forwards a request with a live pass to the shop, and sends everybody else to the waiting room.
pub(crate) async fn guard(State(shop): State<ShopGuard>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    // A CONNECT tunnel would bypass the guard.
    if parts.method == Method::CONNECT {
        return explain(&parts.headers, wrong_method());
    }
    let pass = live_pass(&shop.waiting_line, &shop.room, &parts.headers).ok();
    // The line is not checked for a visitor with a pass, so that this visitor does not wait for the
    // check.
    let outage = match pass {
        Some(_) => None,
        None => shop.note_outage().await,
    };
    match decide(pass.is_some(), outage, shop.when_unverifiable) {
        GuardStep::Forward => {
            count(if pass.is_some() {
                "passed"
            } else {
                "let_through"
            });
            forward(&shop, &mut parts, pass, body).await
        }
        GuardStep::Wait => {
            count("waits");
            send_to_lobby(&shop, &parts).await
        }
        GuardStep::Refuse => {
            count("refused");
            let problem = Problem::new(
                ProblemCode::LineUnavailable,
                "The waiting room of this shop is not set up yet, so nobody is let in. Nothing was changed. Come back in a minute.",
            );
            explain(&parts.headers, problem.retry_after(60))
        }
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("fairgate_guard_requests_total", "outcome" => outcome).increment(1);
}

async fn forward(
    shop: &ShopGuard,
    parts: &mut Parts,
    pass: Option<LivePass>,
    body: Body,
) -> Response {
    let visitor_end = web_socket::take_visitor_end(parts);
    let has_body = parts.headers.contains_key(header::CONTENT_LENGTH)
        || parts.headers.contains_key(header::TRANSFER_ENCODING);
    let request = ShopRequest {
        client: client_address(shop, parts),
        scheme: &shop.scheme,
        forwarding_header: shop.waiting_line.web.forwarding_header(),
        pass: pass.as_ref(),
        is_bearer_ours: is_bearer_ours(shop, &parts.headers),
    };
    let headers = shop_headers(&parts.headers, &request);
    let sent = match visitor_end {
        Some(visitor) => web_socket::forward(shop, parts, headers, pass, visitor).await,
        None => {
            let body = has_body.then_some(body);
            shop.origin.send(parts, headers, body).await
        }
    };
    match sent {
        Ok(answer) => answer,
        Err(failure) => {
            count("shop_failed");
            // The warnings for operators say that the shop is away.
            tracing::debug!(%failure, path = parts.uri.path(), "the guarded shop gave no answer");
            explain(&parts.headers, failure.into())
        }
    }
}

/// Returns the address of the visitor, as this gateway knows it.
fn client_address(shop: &ShopGuard, parts: &Parts) -> IpAddr {
    let peer = peer_of(parts.extensions.get::<ConnectInfo<SocketAddr>>());
    shop.waiting_line.web.client_address(&parts.headers, peer)
}

/// Returns whether the Bearer token is a pass of this installation. The shop must not see such a
/// pass.
fn is_bearer_ours(shop: &ShopGuard, headers: &HeaderMap) -> bool {
    let rooms = &shop.waiting_line.rooms;
    let now_s = rooms.now_ms().div_euclid(1000);
    bearer(headers).is_some_and(|pass| rooms.keyring().verify_pass(pass, now_s).is_ok())
}

/// Sends a browser to the lobby, and tells a program when to come back.
async fn send_to_lobby(shop: &ShopGuard, parts: &Parts) -> Response {
    if accepts_html(&parts.headers) {
        let lobby_url = lobby_address(shop, parts);
        let location = HeaderValue::try_from(lobby_url).unwrap_or(HeaderValue::from_static("/"));
        let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        return (
            StatusCode::SEE_OTHER,
            [(header::LOCATION, location), no_store],
        )
            .into_response();
    }
    let place = cookies::value(&parts.headers, CookieKind::Place, &shop.room);
    let back_s = shop.come_back_times.back_in_s(&shop.room, place).await;
    let lobby_url = &shop.lobby_url;
    Problem::new(
        ProblemCode::WaitingRoom,
        format!("This shop is open to visitors with a pass from its waiting room. Nothing was changed. Go to {lobby_url}."),
    )
    .with_member("room", &shop.room)
    .with_member("room_url", lobby_url)
    .retry_after(back_s)
    .into_response()
}

/// Returns the address of the lobby. If a GET or HEAD request asks for a page, the address contains
/// the way back to that page. The shop's first page is the default, so it needs no way back. Other
/// methods get none, because a link cannot repeat them.
fn lobby_address(shop: &ShopGuard, parts: &Parts) -> String {
    let path_and_query = parts
        .uri
        .path_and_query()
        .map_or("", |path_and_query| path_and_query.as_str());
    let is_page = matches!(parts.method, Method::GET | Method::HEAD);
    let to = if is_page && path_and_query != "/" {
        path_and_query
    } else {
        ""
    };
    with_query(&shop.lobby_url, &[(WAY_BACK, to)])
}

fn explain(headers: &HeaderMap, problem: Problem) -> Response {
    if accepts_html(headers) {
        problem_page(false, &problem)
    } else {
        problem.into_response()
    }
}

impl From<OriginFailure> for Problem {
    fn from(failure: OriginFailure) -> Self {
        let problem = match failure {
            OriginFailure::Unreachable(_) => Self::new(
                ProblemCode::ShopUnreachable,
                "The shop behind this waiting room cannot be reached just now. Nothing was changed, and your pass is kept. Try again in a few seconds.",
            ),
            OriginFailure::Unanswered(_) => Self::new(
                ProblemCode::ShopUnanswered,
                "The request was sent to the shop behind this waiting room, and its answer was lost, so it may or may not have been carried out. Your pass is kept. Look at the shop's page before you send it again.",
            ),
        };
        problem.retry_after(BACK_S)
    }
}

//! Every route on one page: the calls, the pages, booking behind its door, and what wraps them all.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fairgate_base::http::{Problem, request_id, wrapped, wrong_method};
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::guard::Searches;
use crate::line::Lobby;
use crate::line::http::places::peer_of;
use crate::ops::Ops;
use crate::pages::{Pages, policy, problem_page};
use crate::promoter::Promoter;
use crate::push::http::Push;
use crate::room::Rooms;
use crate::web::Web;
use crate::{line, ops, pages, promoter, push, room, upstream};

/// Nothing the line takes is long; the longer bodies set their own limit.
const BODY_BYTES_MAX: usize = 64 << 10;

/// What the routes are served with.
#[derive(Clone)]
pub struct Handles {
    /// Joining, leaving, passes.
    pub lobby: Lobby,
    /// Live sockets.
    pub push: Push,
    /// Rooms by their promoters.
    pub promoter: Promoter,
    /// Health and figures.
    pub ops: Ops,
    /// Limits searches by network and by key.
    pub searches: Searches,
    /// Whether payments are the sandbox's.
    pub test: bool,
    /// Where the page that takes the money loads the payment form from.
    pub form_origins: Vec<String>,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Fairgate",
    description = "The line: rooms, places, passes, draws."
))]
struct Document;

/// Builds the whole router.
pub fn build(handles: &Handles) -> Router {
    let (core, core_document) = handles.lobby.rooms.core().router().split_for_parts();
    let (line, mut document) = OpenApiRouter::with_openapi(Document::openapi())
        .merge(room::http::router(handles.lobby.rooms.clone()))
        .merge(line::http::places::router(handles.lobby.clone()))
        .merge(line::http::passes::router(handles.lobby.clone()))
        .merge(push::http::router(handles.push.clone()))
        .merge(promoter::http::router(handles.promoter.clone()))
        .merge(ops::router(handles.ops.clone()))
        .split_for_parts();
    document.merge(core_document);
    let line = line
        .route("/openapi.json", get(async move || axum::Json(document)))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    let test = handles.test;
    let pages = Pages {
        lobby: handles.lobby.clone(),
        booking: core.clone(),
        test,
        paying: policy::paying(&handles.form_origins),
    };
    let all = Router::new()
        .merge(line)
        .merge(upstream::door::layer(
            core,
            &handles.lobby.rooms,
            &handles.lobby.web,
            &handles.lobby.load,
        ))
        .merge(pages::router(pages))
        .layer(middleware::from_fn_with_state(
            handles.lobby.rooms.clone(),
            rooms_of_other_nodes_are_found,
        ))
        .layer(middleware::from_fn_with_state(
            (handles.searches.clone(), handles.lobby.web.clone(), test),
            searches_have_quotas,
        ))
        .fallback(async move |uri: Uri| shown(test, &uri, Problem::not_found("page", uri.path())))
        .method_not_allowed_fallback(async move |uri: Uri| shown(test, &uri, wrong_method()))
        .layer(middleware::from_fn_with_state(
            test,
            bare_errors_explain_themselves,
        ));
    wrapped(all)
        .layer(middleware::from_fn(security_headers))
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn(request_id))
}

/// Whether a program asked, so that a program is answered.
fn is_call(uri: &Uri) -> bool {
    ["/v1/", "/.well-known/"]
        .iter()
        .any(|prefix| uri.path().starts_with(prefix))
}

fn shown(test: bool, uri: &Uri, problem: Problem) -> Response {
    if is_call(uri) {
        problem.into_response()
    } else {
        problem_page(test, &problem)
    }
}

/// A fan who follows the promoter's link at once may reach a node that has not heard of the room yet.
async fn rooms_of_other_nodes_are_found(
    State(rooms): State<Rooms>,
    named: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    if let Some((_, room)) = named.iter().find(|(name, _)| *name == "room") {
        rooms.look_for(room).await;
    }
    next.run(request).await
}

async fn searches_have_quotas(
    State((searches, web, test)): State<(Searches, Web, bool)>,
    request: Request,
    next: Next,
) -> Response {
    if Searches::is_search(request.method(), request.uri().path()) {
        let peer = peer_of(request.extensions().get::<ConnectInfo<SocketAddr>>());
        let network = web.network(request.headers(), peer);
        if let Err(refused) = searches.admit(request.headers(), network) {
            return shown(test, request.uri(), refused);
        }
    }
    next.run(request).await
}

/// Whatever refuses a request before a handler is reached says so in the one envelope, too.
async fn bare_errors_explain_themselves(
    State(test): State<bool>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri().clone();
    let response = next.run(request).await;
    let status = response.status();
    let explained = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| {
            [
                &b"application/problem+json"[..],
                b"text/html",
                b"application/json",
            ]
            .iter()
            .any(|known| kind.as_bytes().starts_with(known))
        });
    if explained || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let title = status
        .canonical_reason()
        .unwrap_or("The request was refused");
    let problem = Problem::new(
        status.as_u16(),
        if status.is_server_error() {
            "internal"
        } else {
            "bad_request"
        },
        title,
        "The request could not be read as it was sent. Nothing was changed. Compare it with /openapi.json.",
    );
    let mut told = shown(test, &uri, problem);
    if let Some(allow) = response.headers().get(header::ALLOW) {
        told.headers_mut().insert(header::ALLOW, allow.clone());
    }
    told
}

async fn security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        secure(response.headers_mut());
    }
    response
}

fn secure(headers: &mut HeaderMap) {
    policy::secure(headers);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    headers.insert(
        HeaderName::from_static("x-frame-options"),
        HeaderValue::from_static("DENY"),
    );
}

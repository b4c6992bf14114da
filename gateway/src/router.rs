//! Every route of the gateway in one file. Booking's routes are listed in `booking::router`. They
//! are merged here, and every call to them passes the door. If booking runs in other processes,
//! `upstream::remote` forwards the same routes.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Uri};
use axum::middleware::{from_fn, from_fn_with_state, map_request};
use axum::response::IntoResponse;
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use fairgate_base::http::tagged::{
    CompressedAnswers, api_document, compress_tagged_answers, is_compressed_each_time,
};
use fairgate_base::http::{BodyBytesMax, Problem, head_as_get, request_id, wrapped, wrong_method};
use fairgate_base::prepared::Prepared;
use fairgate_base::process::search_threads::SearchThreads;
use tower::Layer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::cookies::older::{self, OlderCookies};
use crate::guard::SearchQuotas;
use crate::http::cross_origin::{CrossOriginPolicy, listed_origins_may_call};
use crate::http::wrapping::{
    bare_errors_explain_themselves, errors_follow_accept, one_host, problem_response,
    rooms_of_other_nodes_are_found, searches_have_quotas, security_headers, wrong_keys_are_slowed,
};
use crate::line::WaitingLine;
use crate::line::http::{challenges, passes, places};
use crate::ops::{GatewayOpsRoutes, http as ops};
use crate::pages::policy::PagePolicy;
use crate::pages::{self, PageRoutes};
use crate::promoter::{self, PromoterControls};
use crate::push::{self, LiveSockets};
use crate::reverse_proxy::{self, ShopGuard};
use crate::room;
use crate::room::search::OnSales;
use crate::upstream::door::BookingDoor;
use crate::upstream::door::http as door;

/// The longest body (bytes) of a call of the line. Calls with longer bodies set their own limit.
const BODY_BYTES_MAX: usize = 64 << 10;

/// The largest on-sale file with its seating plans, in bytes.
const ONSALE_BYTES_MAX: usize = 64 << 20;
/// The longest list of codes (bytes), enough for a large members' sale.
const CODES_BYTES_MAX: usize = 64 << 20;

/// The parts that the routes are served with.
#[derive(Clone)]
pub struct GatewayHandles {
    /// Serves joins, leavings and passes.
    pub waiting_line: WaitingLine,
    /// Serves the live sockets.
    pub push: LiveSockets,
    /// Lets promoters change their rooms.
    pub promoter: PromoterControls,
    /// Serves health and metrics.
    pub ops: GatewayOpsRoutes,
    /// The prepared lists of on-sales.
    pub on_sales: OnSales,
    /// The door to booking.
    pub door: BookingDoor,
    /// Limits searches by network and by key.
    pub searches: SearchQuotas,
    /// Whether payments are the sandbox's.
    pub test: bool,
    /// The origins that the payment page loads the payment form from.
    pub form_origins: Vec<String>,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Fairgate",
    description = "The line: rooms, places, passes, draws."
))]
struct GatewayApiDocument;

/// Builds the whole router.
pub fn build(handles: &GatewayHandles) -> Router {
    let (booking, booking_document) = handles.door.core.router().split_for_parts();
    let (line, mut document) = OpenApiRouter::with_openapi(GatewayApiDocument::openapi())
        .merge(room_routes(handles.on_sales.clone()))
        .merge(line_routes(handles.waiting_line.clone()))
        .merge(live_routes(handles.push.clone()))
        .merge(promoter_routes(handles.promoter.clone()))
        .merge(operator_routes(handles.ops.clone()))
        .split_for_parts();
    document.merge(booking_document);
    let document = api_document(&document);
    let line = line
        .route(
            "/openapi.json",
            get(async move |headers: HeaderMap| document.respond(&headers)),
        )
        .layer(Extension(BodyBytesMax(BODY_BYTES_MAX)));
    let test = handles.test;
    let guarded = door::layer(booking.clone(), handles.door.clone());
    let pages = PageRoutes {
        waiting_line: handles.waiting_line.clone(),
        on_sales: handles.on_sales.clone(),
        offered: Prepared::default(),
        booking,
        door: guarded.clone(),
        writing: SearchThreads::default(),
        test,
    };
    let policy = PagePolicy::new(
        handles.waiting_line.web.public_url().map(str::to_owned),
        &handles.form_origins,
        handles.waiting_line.providers.clone(),
    );
    let origins = Arc::new(CrossOriginPolicy::new(handles.waiting_line.web.origins()));
    let older = OlderCookies {
        keyring: handles.door.keyring.clone(),
        web: handles.waiting_line.web.clone(),
        clock: handles.door.clock.clone(),
    };
    let waiting_line = Arc::new(handles.waiting_line.clone());
    // The outermost comes first. Each route is wrapped in these layers, because one of them reads
    // the route's parameters. Unknown paths need none of these layers.
    let route_layers = (
        from_fn_with_state(Arc::new(older), older::replaced),
        from_fn_with_state((Arc::clone(&waiting_line), test), wrong_keys_are_slowed),
        from_fn_with_state(
            (handles.searches.clone(), waiting_line, test),
            searches_have_quotas,
        ),
        from_fn_with_state(handles.ops.follower.clone(), rooms_of_other_nodes_are_found),
    );
    let all = Router::new()
        .merge(line)
        .merge(guarded)
        .merge(page_routes(pages))
        .layer(route_layers)
        .fallback(async move |uri: Uri| {
            problem_response(test, &uri, Problem::not_found("page", uri.path()))
        })
        .method_not_allowed_fallback(async move |uri: Uri| {
            problem_response(test, &uri, wrong_method())
        })
        .layer(from_fn_with_state(test, bare_errors_explain_themselves));
    // The outermost comes first.
    let layers = (
        from_fn(request_id),
        CompressionLayer::new().compress_when(SizeAbove::default().and(is_compressed_each_time)),
        from_fn_with_state(CompressedAnswers::default(), compress_tagged_answers),
        from_fn_with_state(policy, security_headers),
        from_fn(errors_follow_accept),
        from_fn_with_state(origins, listed_origins_may_call),
        from_fn_with_state(test, one_host),
        map_request(head_as_get),
    );
    Router::new().fallback_service(layers.layer(wrapped(all)))
}

/// Builds the router of a guarded shop's own port: every request passes the guard.
pub fn build_shop_guard(guard: ShopGuard) -> Router {
    let all = Router::new()
        .fallback(reverse_proxy::http::guard)
        .with_state(guard);
    let layers = (from_fn(request_id), from_fn_with_state(false, one_host));
    Router::new().fallback_service(layers.layer(wrapped(all)))
}

/// Builds the public routes of rooms and their draws.
fn room_routes(on_sales: OnSales) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(room::http::list))
        .routes(routes!(room::http::get_public_room))
        .routes(routes!(room::http::draw))
        .routes(routes!(room::http::proof))
        .routes(routes!(room::http::leaves))
        .with_state(on_sales)
}

/// Builds the routes of places and passes.
fn line_routes(waiting_line: WaitingLine) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(challenges::challenge))
        .routes(routes!(places::join))
        .routes(routes!(places::place, places::leave))
        .routes(routes!(places::move_place, places::last_move))
        .routes(routes!(places::begin_checkout))
        .routes(routes!(places::say_here))
        .routes(routes!(places::put_wishes))
        .routes(routes!(passes::pass))
        .routes(routes!(passes::verify))
        .route("/v1/verify/{room}", any(passes::verify_any))
        .route("/v1/verify/{room}/", any(passes::verify_any))
        .route("/v1/verify/{room}/{*path}", any(passes::verify_any))
        .route("/v1/verify-200/{room}", any(passes::verify_with_200))
        .route("/v1/verify-200/{room}/", any(passes::verify_with_200))
        .route(
            "/v1/verify-200/{room}/{*path}",
            any(passes::verify_with_200),
        )
        .routes(routes!(passes::jwks))
        .with_state(waiting_line)
}

/// Builds the route of the live socket.
fn live_routes(push: LiveSockets) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(push::http::live))
        .with_state(push)
}

/// Builds the promoters' routes.
fn promoter_routes(promoter: PromoterControls) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(
            promoter::http::put_room,
            promoter::http::patch_room,
            promoter::http::get_room
        ))
        .merge(
            OpenApiRouter::new()
                .routes(routes!(promoter::http::put_codes))
                .layer(Extension(BodyBytesMax(CODES_BYTES_MAX))),
        )
        .routes(routes!(
            promoter::http::networks::put_networks,
            promoter::http::networks::get_networks
        ))
        .merge(
            OpenApiRouter::new()
                .routes(routes!(promoter::onsale::http::apply))
                .layer(Extension(BodyBytesMax(ONSALE_BYTES_MAX))),
        )
        .routes(routes!(promoter::http::revoke))
        .routes(routes!(promoter::http::open))
        .routes(routes!(promoter::http::draw))
        .routes(routes!(promoter::http::close))
        .routes(routes!(promoter::http::get_report))
        .routes(routes!(promoter::http::get_audit))
        .with_state(promoter)
}

/// Builds the operators' routes on the public port.
fn operator_routes(ops: GatewayOpsRoutes) -> OpenApiRouter {
    let mut routes = OpenApiRouter::new()
        .routes(routes!(ops::healthz))
        .routes(routes!(ops::readyz));
    if !ops.has_own_port {
        routes = routes.routes(routes!(ops::metrics));
    }
    routes.with_state(ops)
}

/// Builds the routes of the operators' own port.
pub fn operators_port(ops: GatewayOpsRoutes) -> Router {
    let all = Router::new()
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::whole_readyz))
        .route("/metrics", get(ops::metrics))
        .with_state(ops)
        .fallback(async |uri: Uri| Problem::not_found("page", uri.path()).into_response());
    Router::new().fallback_service(from_fn(request_id).layer(wrapped(all)))
}

/// Builds the routes of the pages.
fn page_routes(pages: PageRoutes) -> Router {
    Router::new()
        .route("/", get(pages::home))
        .route("/r/{room}", get(pages::lobby))
        .route("/r/{room}/join", post(pages::forms::join))
        .route("/r/{room}/pass", post(pages::forms::pass))
        .route("/r/{room}/leave", post(pages::forms::leave))
        .route("/cinema", get(pages::cinema::cinema))
        .route("/rail", get(pages::rail::rail))
        .route("/s/{show}", get(pages::seats))
        .route("/s/{show}/hold", post(pages::purchase_forms::hold))
        .route(
            "/checkout/{hold}",
            get(pages::checkout).post(pages::purchase_forms::order),
        )
        .route("/o/{order}", get(pages::order))
        .route(
            "/checkout/{hold}/release",
            post(pages::purchase_forms::release),
        )
        .route("/o/{order}/consent", post(pages::purchase_forms::consent))
        .route("/o/{order}/pay", post(pages::purchase_forms::pay))
        .route("/t/{ticket}", get(pages::ticket))
        .route("/t/worker.js", get(pages::assets::ticket_worker))
        .route("/assets/{*path}", get(pages::assets::asset))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(pages)
}

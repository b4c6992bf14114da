//! Every route of booking on one page: the public routes, and the routes for gateways and
//! operators. Only a separate booking process serves the routes for gateways and operators.

use axum::http::{HeaderMap, Uri};
use axum::middleware::{from_fn, from_fn_with_state, map_request};
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use axum::{Extension, Router};
use fairgate_base::http::tagged::{CompressedAnswers, api_document, compress_tagged_answers};
use fairgate_base::http::{BodyBytesMax, Problem, head_as_get, request_id, wrapped, wrong_method};
use tower::Layer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::Booking;
use crate::http::catalogue::{self, CatalogueRoutes};
use crate::http::cinema::{self, CinemaRoutes};
use crate::http::dump::{self, DumpRoutes};
use crate::http::exchanges;
use crate::http::fates::{self, ShowFateRoutes};
use crate::http::free_seats;
use crate::http::handles::RouteHandles;
use crate::http::holds::{self, HoldRoutes};
use crate::http::internal::{self, InternalRoutes};
use crate::http::money_findings::{self, MoneyFindingRoutes};
use crate::http::offers;
use crate::http::ops::{self, BookingOpsRoutes};
use crate::http::order_routes::OrderRoutes;
use crate::http::orders;
use crate::http::own;
use crate::http::payments::{self, PaymentRoutes};
use crate::http::programmes;
use crate::http::promoter::{self, PromoterRoutes};
use crate::http::rail::{self, RailRoutes};
use crate::http::refunds;
use crate::http::reopening::{self, ReopenRoutes};
use crate::http::seat_states;
use crate::http::tickets::{self, TicketRoutes};
use crate::http::waitlist::{self, WaitlistRoutes};
use crate::internal::PREFIX;

/// The largest body of a public call, in bytes, except for venues, shows and programmes.
const BODY_MAX: usize = 64 * 1024;

/// The largest body of an internal call, in bytes. Such a body may list many shows and rooms.
const INTERNAL_BODY_MAX: usize = 16 << 20;

/// The largest body of a call that puts a venue, a show or a cinema programme, in bytes.
const PLAN_MAX: usize = 16 * 1024 * 1024;

impl Booking {
    /// Returns the public routes, with their part of the OpenAPI document.
    #[must_use]
    pub fn router(&self) -> OpenApiRouter {
        public(self.route_handles())
    }
}

fn public(handles: RouteHandles) -> OpenApiRouter {
    let promoter = promoter()
        .with_state(handles.promoter)
        .merge(programme().with_state(handles.cinema.clone()))
        .layer(Extension(BodyBytesMax(PLAN_MAX)));
    OpenApiRouter::new()
        .merge(catalogue().with_state(handles.catalogue))
        .merge(cinema().with_state(handles.cinema))
        .merge(holds().with_state(handles.holds))
        .merge(orders().with_state(handles.orders))
        .merge(dump().with_state(handles.dump))
        .merge(fates().with_state(handles.fates))
        .merge(money_findings().with_state(handles.money_findings))
        .merge(reopening().with_state(handles.reopening))
        .merge(payments().with_state(handles.payments))
        .merge(tickets().with_state(handles.tickets))
        .merge(waitlist().with_state(handles.waitlist))
        .merge(rail().with_state(handles.rail))
        .layer(Extension(BodyBytesMax(BODY_MAX)))
        .merge(promoter)
}

/// Returns the public routes' part of the OpenAPI document. A gateway uses it if booking runs in
/// another process.
#[must_use]
pub fn openapi_document() -> OpenApi {
    let mut document = catalogue().into_openapi();
    for part in [
        cinema().into_openapi(),
        holds().into_openapi(),
        orders().into_openapi(),
        fates().into_openapi(),
        money_findings().into_openapi(),
        reopening().into_openapi(),
        payments().into_openapi(),
        tickets().into_openapi(),
        waitlist().into_openapi(),
        rail().into_openapi(),
        promoter().into_openapi(),
        programme().into_openapi(),
        dump().into_openapi(),
    ] {
        document.merge(part);
    }
    document
}

fn catalogue() -> OpenApiRouter<CatalogueRoutes> {
    OpenApiRouter::new()
        .routes(routes!(catalogue::list))
        .routes(routes!(catalogue::read))
        .routes(routes!(catalogue::seatmap))
        .routes(routes!(seat_states::seats))
        .routes(routes!(free_seats::free))
}

fn cinema() -> OpenApiRouter<CinemaRoutes> {
    OpenApiRouter::new()
        .routes(routes!(cinema::cities))
        .routes(routes!(cinema::films))
        .routes(routes!(cinema::showings))
}

fn programme() -> OpenApiRouter<CinemaRoutes> {
    OpenApiRouter::new().routes(routes!(programmes::put))
}

fn holds() -> OpenApiRouter<HoldRoutes> {
    OpenApiRouter::new()
        .routes(routes!(holds::take, own::read))
        .routes(routes!(holds::read, holds::change, holds::release))
        .routes(routes!(holds::extend))
        .routes(routes!(offers::accept))
}

fn orders() -> OpenApiRouter<OrderRoutes> {
    OpenApiRouter::new()
        .routes(routes!(orders::make))
        .routes(routes!(orders::read))
        .routes(routes!(orders::cancel))
        .routes(routes!(orders::try_again))
        .routes(routes!(refunds::refund))
        .routes(routes!(exchanges::exchange))
        .routes(routes!(orders::consent))
        .routes(routes!(orders::lookup))
}

fn fates() -> OpenApiRouter<ShowFateRoutes> {
    OpenApiRouter::new()
        .routes(routes!(fates::cancel))
        .routes(routes!(fates::postpone))
        .routes(routes!(fates::refunds))
}

fn money_findings() -> OpenApiRouter<MoneyFindingRoutes> {
    OpenApiRouter::new()
        .routes(routes!(money_findings::attention))
        .routes(routes!(money_findings::settle_order))
        .routes(routes!(money_findings::settle_money))
}

fn reopening() -> OpenApiRouter<ReopenRoutes> {
    OpenApiRouter::new().routes(routes!(reopening::reopen))
}

fn payments() -> OpenApiRouter<PaymentRoutes> {
    OpenApiRouter::new()
        .routes(routes!(payments::webhook))
        .routes(routes!(payments::sandbox))
}

fn tickets() -> OpenApiRouter<TicketRoutes> {
    OpenApiRouter::new()
        .routes(routes!(tickets::read))
        .routes(routes!(tickets::scan))
}

fn waitlist() -> OpenApiRouter<WaitlistRoutes> {
    OpenApiRouter::new().routes(routes!(waitlist::join, waitlist::read, waitlist::leave))
}

fn rail() -> OpenApiRouter<RailRoutes> {
    OpenApiRouter::new()
        .routes(routes!(rail::timetable))
        .routes(routes!(rail::stations))
        .routes(routes!(rail::trips))
        .routes(routes!(rail::journeys))
}

fn promoter() -> OpenApiRouter<PromoterRoutes> {
    OpenApiRouter::new()
        .routes(routes!(promoter::put_venue))
        .routes(routes!(promoter::put_show))
}

fn dump() -> OpenApiRouter<DumpRoutes> {
    OpenApiRouter::new().routes(routes!(dump::dump))
}

/// Builds the router of a separate booking process: the routes for the public, for gateways and for
/// operators.
pub fn process_router(
    public: Router,
    gateways: InternalRoutes,
    operators: BookingOpsRoutes,
) -> Router {
    let routes = Router::new()
        .merge(public)
        .merge(for_gateways(gateways))
        .merge(for_operators(operators))
        .fallback(async |uri: Uri| Problem::not_found("page", uri.path()).into_response())
        .method_not_allowed_fallback(async || wrong_method().into_response());
    let layers = (
        from_fn(request_id),
        from_fn_with_state(CompressedAnswers::default(), compress_tagged_answers),
        map_request(head_as_get),
    );
    Router::new().fallback_service(layers.layer(wrapped(routes)))
}

/// Returns the routes for gateways.
fn for_gateways(routes: InternalRoutes) -> Router {
    let guard = from_fn_with_state(routes.key.clone(), internal::only_gateways);
    let internal_routes = Router::new()
        .route("/state", get(internal::state))
        .route("/shows", post(internal::shows))
        .route("/coverage", put(internal::cover))
        .route("/onsale", post(internal::apply_onsale))
        .route("/stopped-passes", post(internal::stop_passes))
        .route("/room-ends", post(internal::end_rooms))
        .route("/pulse", post(internal::pulse))
        .route("/shows/{show}/snapshot", get(internal::snapshot))
        .route("/shows/{show}/changes", get(internal::changes))
        .route("/signals", get(internal::signals))
        .route("/waiting", post(internal::waiting))
        .route("/left-baskets", post(internal::left_baskets))
        .route("/living-holds", post(internal::living_holds))
        .layer(Extension(BodyBytesMax(INTERNAL_BODY_MAX)))
        .layer(guard)
        .with_state(routes);
    Router::new().nest(PREFIX, internal_routes)
}

/// Returns the operators' routes that are on the public port.
fn for_operators(ops: BookingOpsRoutes) -> Router {
    let document = api_document(&openapi_document());
    let mut routes = Router::new()
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::readyz))
        .route(
            "/openapi.json",
            get(async move |headers: HeaderMap| document.respond(&headers)),
        );
    if !ops.has_own_port {
        routes = routes.route("/metrics", get(ops::metrics));
    }
    routes.with_state(ops)
}

/// Builds the router of the operators' separate port.
pub fn operators_port(ops: BookingOpsRoutes) -> Router {
    let routes = Router::new()
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::whole_readyz))
        .route("/metrics", get(ops::metrics))
        .with_state(ops)
        .fallback(async |uri: Uri| Problem::not_found("page", uri.path()).into_response());
    Router::new().fallback_service(from_fn(request_id).layer(wrapped(routes)))
}

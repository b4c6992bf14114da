//! Every route of booking, on one page.

use axum::extract::DefaultBodyLimit;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::http::catalogue::{self, CatalogueRoutes};
use crate::http::cinema::{self, CinemaRoutes};
use crate::http::exchanges;
use crate::http::fates::{self, FateRoutes};
use crate::http::holds::{self, HoldRoutes};
use crate::http::orders::{self, OrderRoutes};
use crate::http::payments::{self, PaymentRoutes};
use crate::http::promoter::{self, PromoterRoutes};
use crate::http::rail::{self, RailRoutes};
use crate::http::refunds;
use crate::http::tickets::{self, TicketRoutes};
use crate::http::waitlist::{self, WaitlistRoutes};

/// Bodies of visitors' calls, in bytes.
const BODY_MAX: usize = 64 * 1024;

/// Seating plans, in bytes.
const PLAN_MAX: usize = 16 * 1024 * 1024;

/// The handles that the routes work on.
pub struct Handles {
    /// Shows and seat maps.
    pub catalogue: CatalogueRoutes,
    /// Venues and shows, for promoters.
    pub promoter: PromoterRoutes,
    /// The cinema programme.
    pub cinema: CinemaRoutes,
    /// Holds.
    pub holds: HoldRoutes,
    /// Orders.
    pub orders: OrderRoutes,
    /// Cancelled and postponed shows, for promoters.
    pub fates: FateRoutes,
    /// Payments.
    pub payments: PaymentRoutes,
    /// Tickets.
    pub tickets: TicketRoutes,
    /// The waitlist.
    pub waitlist: WaitlistRoutes,
    /// Timetables.
    pub rail: RailRoutes,
}

/// All routes, with their part of the OpenAPI document.
#[must_use]
pub fn router(handles: Handles) -> OpenApiRouter {
    let promoter = promoter()
        .with_state(handles.promoter)
        .merge(programme().with_state(handles.cinema.clone()))
        .layer(DefaultBodyLimit::max(PLAN_MAX));
    OpenApiRouter::new()
        .merge(catalogue().with_state(handles.catalogue))
        .merge(cinema().with_state(handles.cinema))
        .merge(holds().with_state(handles.holds))
        .merge(orders().with_state(handles.orders))
        .merge(fates().with_state(handles.fates))
        .merge(payments().with_state(handles.payments))
        .merge(tickets().with_state(handles.tickets))
        .merge(waitlist().with_state(handles.waitlist))
        .merge(rail().with_state(handles.rail))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .merge(promoter)
}

/// The same routes' part of the OpenAPI document, for whoever stands in front of a booking that is elsewhere.
#[must_use]
pub fn document() -> OpenApi {
    let mut document = catalogue().into_openapi();
    for part in [
        cinema().into_openapi(),
        holds().into_openapi(),
        orders().into_openapi(),
        fates().into_openapi(),
        payments().into_openapi(),
        tickets().into_openapi(),
        waitlist().into_openapi(),
        rail().into_openapi(),
        promoter().into_openapi(),
        programme().into_openapi(),
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
        .routes(routes!(catalogue::seats))
}

fn cinema() -> OpenApiRouter<CinemaRoutes> {
    OpenApiRouter::new()
        .routes(routes!(cinema::cities))
        .routes(routes!(cinema::films))
        .routes(routes!(cinema::showings))
}

fn programme() -> OpenApiRouter<CinemaRoutes> {
    OpenApiRouter::new().routes(routes!(cinema::put))
}

fn holds() -> OpenApiRouter<HoldRoutes> {
    OpenApiRouter::new()
        .routes(routes!(holds::take))
        .routes(routes!(holds::read, holds::change, holds::release))
        .routes(routes!(holds::extend))
}

fn orders() -> OpenApiRouter<OrderRoutes> {
    OpenApiRouter::new()
        .routes(routes!(orders::make))
        .routes(routes!(orders::read))
        .routes(routes!(orders::cancel))
        .routes(routes!(refunds::refund))
        .routes(routes!(exchanges::exchange))
        .routes(routes!(orders::consent))
        .routes(routes!(orders::lookup))
}

fn fates() -> OpenApiRouter<FateRoutes> {
    OpenApiRouter::new()
        .routes(routes!(fates::cancel))
        .routes(routes!(fates::postpone))
        .routes(routes!(fates::refunds))
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

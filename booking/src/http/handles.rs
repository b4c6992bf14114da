//! The handles that the routes use. The app makes them from its parts.

use crate::http::catalogue::CatalogueRoutes;
use crate::http::cinema::CinemaRoutes;
use crate::http::dump::DumpRoutes;
use crate::http::fates::ShowFateRoutes;
use crate::http::holds::HoldRoutes;
use crate::http::money_findings::MoneyFindingRoutes;
use crate::http::order_routes::OrderRoutes;
use crate::http::payments::PaymentRoutes;
use crate::http::promoter::PromoterRoutes;
use crate::http::rail::RailRoutes;
use crate::http::reopening::ReopenRoutes;
use crate::http::tickets::TicketRoutes;
use crate::http::waitlist::WaitlistRoutes;

/// The handles of all public routes.
pub struct RouteHandles {
    /// Shows and seat maps.
    pub catalogue: CatalogueRoutes,
    /// Venues and shows, for promoters.
    pub promoter: PromoterRoutes,
    /// The dump of the ledger, for promoters.
    pub dump: DumpRoutes,
    /// The cinema programme.
    pub cinema: CinemaRoutes,
    /// Holds.
    pub holds: HoldRoutes,
    /// Orders.
    pub orders: OrderRoutes,
    /// Cancelled and postponed shows, for promoters.
    pub fates: ShowFateRoutes,
    /// Money that somebody has to look at, for promoters.
    pub money_findings: MoneyFindingRoutes,
    /// Shows that are reopened after the ledger had gone back, for promoters.
    pub reopening: ReopenRoutes,
    /// Payments.
    pub payments: PaymentRoutes,
    /// Tickets.
    pub tickets: TicketRoutes,
    /// The waitlist.
    pub waitlist: WaitlistRoutes,
    /// Timetables.
    pub rail: RailRoutes,
}

//! The handles that the routes work on, made of booking's parts.

use std::sync::Arc;

use crate::app::Booking;
use crate::holds::take::HoldDesk;
use crate::http::catalogue::CatalogueRoutes;
use crate::http::cinema::CinemaRoutes;
use crate::http::fates::ShowFateRoutes;
use crate::http::holds::HoldRoutes;
use crate::http::order_routes::OrderRoutes;
use crate::http::payments::PaymentRoutes;
use crate::http::promoter::PromoterRoutes;
use crate::http::rail::RailRoutes;
use crate::http::tickets::TicketRoutes;
use crate::http::visitor::CallerVerifier;
use crate::http::waitlist::WaitlistRoutes;
use crate::orders::checkout::OrderDesk;
use crate::tickets::TicketDesk;

/// The handles that the routes work on.
pub struct RouteHandles {
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
    pub fates: ShowFateRoutes,
    /// Payments.
    pub payments: PaymentRoutes,
    /// Tickets.
    pub tickets: TicketRoutes,
    /// The waitlist.
    pub waitlist: WaitlistRoutes,
    /// Timetables.
    pub rail: RailRoutes,
}

impl Booking {
    fn caller_verifier(&self) -> CallerVerifier {
        CallerVerifier {
            verifier: self.setup.keyring.verifier(),
            catalogue: self.catalogue.clone(),
            order_keys: self.order_keys.clone(),
        }
    }

    fn hold_desk(&self) -> HoldDesk {
        HoldDesk {
            catalogue: self.catalogue.clone(),
            seats: self.seats.clone(),
            ledger: Arc::clone(&self.ledger),
            ids: self.ids.clone(),
        }
    }

    /// The handles of all routes.
    #[must_use]
    pub fn route_handles(&self) -> RouteHandles {
        let clock = &self.setup.clock;
        let (door, holds) = (self.caller_verifier(), self.hold_desk());
        let provider = self.inbox.as_ref().map(|inbox| Arc::clone(&inbox.provider));
        let test = provider.as_ref().is_some_and(|provider| provider.is_test());
        RouteHandles {
            catalogue: CatalogueRoutes {
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
                clock: clock.clone(),
            },
            rail: RailRoutes {
                timetables: self.timetables.clone(),
                free: Arc::new(self.availability.clone()),
                clock: clock.clone(),
            },
            cinema: CinemaRoutes {
                cinemas: self.cinemas.clone(),
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
            },
            promoter: PromoterRoutes {
                catalogue: self.catalogue.clone(),
                seats: self.seats.clone(),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
            },
            orders: OrderRoutes {
                desk: OrderDesk {
                    holds: holds.clone(),
                    ledger: Arc::clone(&self.ledger),
                    provider,
                },
                door: door.clone(),
                answers: self.answers.clone(),
                clock: clock.clone(),
                bells: self.bells.clone(),
            },
            fates: ShowFateRoutes {
                catalogue: self.catalogue.clone(),
                ledger: Arc::clone(&self.ledger),
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
                mass: self.mass.bell.clone(),
            },
            holds: HoldRoutes {
                desk: holds,
                door: door.clone(),
                answers: self.answers.clone(),
                clock: clock.clone(),
            },
            payments: PaymentRoutes {
                inbox: self.inbox.clone(),
                sandbox: self.sandbox.clone(),
                answers: self.answers.clone(),
            },
            waitlist: WaitlistRoutes {
                waitlist: self.waitlist.clone(),
                door: door.clone(),
                answers: self.answers.clone(),
            },
            tickets: TicketRoutes {
                desk: TicketDesk {
                    ledger: Arc::clone(&self.ledger),
                    catalogue: self.catalogue.clone(),
                    keyring: self.setup.keyring.clone(),
                    test,
                },
                door,
                keys: self.setup.keys.clone(),
                clock: clock.clone(),
            },
        }
    }
}

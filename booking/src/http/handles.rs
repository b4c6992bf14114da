//! Builds the handles that the routes work on from booking's parts.

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
use crate::payments::PaymentProvider;
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

    fn payment_provider(&self) -> Option<Arc<dyn PaymentProvider>> {
        let inbox = self.inbox.as_ref();
        inbox.map(|inbox| Arc::clone(&inbox.provider))
    }

    fn catalogue_routes(&self) -> CatalogueRoutes {
        CatalogueRoutes {
            catalogue: self.catalogue.clone(),
            seats: self.seats.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    fn cinema_routes(&self) -> CinemaRoutes {
        CinemaRoutes {
            cinemas: self.cinemas.clone(),
            catalogue: self.catalogue.clone(),
            seats: self.seats.clone(),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    fn promoter_routes(&self) -> PromoterRoutes {
        PromoterRoutes {
            catalogue: self.catalogue.clone(),
            seats: self.seats.clone(),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    fn fate_routes(&self) -> ShowFateRoutes {
        ShowFateRoutes {
            catalogue: self.catalogue.clone(),
            ledger: Arc::clone(&self.ledger),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
            mass: self.mass.bell.clone(),
        }
    }

    fn hold_routes(&self) -> HoldRoutes {
        HoldRoutes {
            desk: self.hold_desk(),
            door: self.caller_verifier(),
            answers: self.answers.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    fn order_routes(&self) -> OrderRoutes {
        OrderRoutes {
            desk: OrderDesk {
                holds: self.hold_desk(),
                ledger: Arc::clone(&self.ledger),
                provider: self.payment_provider(),
            },
            door: self.caller_verifier(),
            answers: self.answers.clone(),
            clock: self.setup.clock.clone(),
            bells: self.bells.clone(),
        }
    }

    fn ticket_routes(&self) -> TicketRoutes {
        let provider = self.payment_provider();
        TicketRoutes {
            desk: TicketDesk {
                ledger: Arc::clone(&self.ledger),
                catalogue: self.catalogue.clone(),
                keyring: self.setup.keyring.clone(),
                test: provider.is_some_and(|provider| provider.is_test()),
            },
            door: self.caller_verifier(),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    /// Builds the handles of all routes.
    #[must_use]
    pub fn route_handles(&self) -> RouteHandles {
        RouteHandles {
            catalogue: self.catalogue_routes(),
            promoter: self.promoter_routes(),
            cinema: self.cinema_routes(),
            holds: self.hold_routes(),
            orders: self.order_routes(),
            fates: self.fate_routes(),
            payments: PaymentRoutes {
                inbox: self.inbox.clone(),
                sandbox: self.sandbox.clone(),
                answers: self.answers.clone(),
            },
            tickets: self.ticket_routes(),
            waitlist: WaitlistRoutes {
                waitlist: self.waitlist.clone(),
                door: self.caller_verifier(),
                answers: self.answers.clone(),
            },
            rail: RailRoutes {
                timetables: self.timetables.clone(),
                free: Arc::new(self.availability.clone()),
                clock: self.setup.clock.clone(),
            },
        }
    }
}

//! Makes the handles that the routes use.

use std::sync::Arc;

use fairgate_base::http::shared_bodies::SharedBodies;

use super::Booking;
use crate::http::catalogue::CatalogueRoutes;
use crate::http::cinema::CinemaRoutes;
use crate::http::dump::DumpRoutes;
use crate::http::fates::ShowFateRoutes;
use crate::http::handles::RouteHandles;
use crate::http::holds::HoldRoutes;
use crate::http::lists::ListDesk;
use crate::http::money_findings::MoneyFindingRoutes;
use crate::http::order_routes::OrderRoutes;
use crate::http::payments::PaymentRoutes;
use crate::http::promoter::PromoterRoutes;
use crate::http::rail::RailRoutes;
use crate::http::reopening::ReopenRoutes;
use crate::http::tickets::TicketRoutes;
use crate::http::visitor::CallerVerifier;
use crate::http::waitlist::WaitlistRoutes;
use crate::orders::checkout::OrderDesk;
use crate::payments::PaymentProvider;
use crate::set_back::reopen::ShowReopener;
use crate::tickets::TicketDesk;

/// The most bytes of seat states that are kept in memory as JSON. All clients that ask for the same
/// states get the same bytes.
const ENCODED_STATES_MAX: u64 = 16 << 20;

impl Booking {
    fn caller_verifier(&self) -> CallerVerifier {
        CallerVerifier {
            verifier: self.setup.keyring.verifier(),
            catalogue: self.shows.catalogue.clone(),
            order_keys: self.order_keys.clone(),
            stopped: self.stopped.clone(),
        }
    }

    fn payment_provider(&self) -> Option<Arc<dyn PaymentProvider>> {
        let inbox = self.money.inbox.as_ref();
        inbox.map(|inbox| Arc::clone(&inbox.provider))
    }

    fn catalogue_routes(&self) -> CatalogueRoutes {
        CatalogueRoutes {
            catalogue: self.shows.catalogue.clone(),
            seats: self.holds.seats.clone(),
            encoded_states: SharedBodies::up_to(ENCODED_STATES_MAX),
            lists: ListDesk::new(self.searches.clone()),
            clock: self.setup.clock.clone(),
        }
    }

    fn cinema_routes(&self) -> CinemaRoutes {
        CinemaRoutes {
            cinemas: self.shows.cinemas.clone(),
            catalogue: self.shows.catalogue.clone(),
            seats: self.holds.seats.clone(),
            keys: self.setup.keys.clone(),
            lists: ListDesk::new(self.searches.clone()),
            clock: self.setup.clock.clone(),
        }
    }

    fn promoter_routes(&self) -> PromoterRoutes {
        PromoterRoutes {
            catalogue: self.shows.catalogue.clone(),
            seats: self.holds.seats.clone(),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    fn fate_routes(&self) -> ShowFateRoutes {
        ShowFateRoutes {
            catalogue: self.shows.catalogue.clone(),
            ledger: self.ledger.clone(),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
            mass: self.money.mass.notifier.clone(),
        }
    }

    fn hold_routes(&self) -> HoldRoutes {
        HoldRoutes {
            desk: self.holds.clone(),
            waitlist: self.waitlist.clone(),
            door: self.caller_verifier(),
            answers: self.answers.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    fn order_routes(&self) -> OrderRoutes {
        OrderRoutes {
            desk: OrderDesk {
                holds: self.holds.clone(),
                ledger: self.ledger.clone(),
                provider: self.payment_provider(),
                ledger_id: self.gateways.ledger_id.as_str().into(),
            },
            door: self.caller_verifier(),
            answers: self.answers.clone(),
            clock: self.setup.clock.clone(),
            notifiers: self.money.notifiers.clone(),
        }
    }

    fn ticket_routes(&self) -> TicketRoutes {
        TicketRoutes {
            desk: TicketDesk {
                ledger: self.ledger.clone(),
                catalogue: self.shows.catalogue.clone(),
                keyring: self.setup.keyring.clone(),
                provider: self.payment_provider(),
            },
            door: self.caller_verifier(),
            keys: self.setup.keys.clone(),
            clock: self.setup.clock.clone(),
        }
    }

    /// Returns the handles of all routes.
    #[must_use]
    pub fn route_handles(&self) -> RouteHandles {
        RouteHandles {
            catalogue: self.catalogue_routes(),
            promoter: self.promoter_routes(),
            dump: DumpRoutes {
                ledger: self.ledger.clone(),
                keys: self.setup.keys.clone(),
                clock: self.setup.clock.clone(),
                reading: Arc::default(),
            },
            cinema: self.cinema_routes(),
            holds: self.hold_routes(),
            orders: self.order_routes(),
            fates: self.fate_routes(),
            money_findings: MoneyFindingRoutes {
                ledger: self.ledger.clone(),
                keys: self.setup.keys.clone(),
                answers: self.answers.clone(),
                clock: self.setup.clock.clone(),
                notifiers: self.money.notifiers.clone(),
            },
            reopening: ReopenRoutes {
                reopener: ShowReopener {
                    reconciler: self.reconciler(),
                    seats: self.holds.seats.clone(),
                },
                keys: self.setup.keys.clone(),
                clock: self.setup.clock.clone(),
            },
            payments: PaymentRoutes {
                inbox: self.money.inbox.clone(),
                sandbox: self.money.sandbox.clone(),
                answers: self.answers.clone(),
            },
            tickets: self.ticket_routes(),
            waitlist: WaitlistRoutes {
                waitlist: self.waitlist.clone(),
                door: self.caller_verifier(),
                answers: self.answers.clone(),
                searches: self.holds.searches.clone(),
            },
            rail: RailRoutes {
                timetables: self.shows.timetables.clone(),
                free: Arc::new(self.shows.availability.clone()),
                threads: self.searches.clone(),
                clock: self.setup.clock.clone(),
            },
        }
    }
}

//! The door in front of booking. This file has the parts that the door needs, and finds the show of
//! a path. `http` checks passes and measures booking's health.

pub mod http;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_base::clock::Clock;
use fairgate_pass::{Keyring, PassClaims, VisitEndCause};

use super::BookingCore;
use super::health::BookingHealth;
use crate::load::ProcessLoad;
use crate::web::WebRequestPolicy;

/// Says when a visitor without a pass should come back. The line implements it, and the door calls
/// it.
#[async_trait]
pub trait ComeBackTimes: Send + Sync + 'static {
    /// Returns after how many seconds, at least 1, a visitor of `room` should come back. `place` is
    /// the cookie of the visitor's place, or `None` if the request has none.
    async fn back_in_s(&self, room: &str, place: Option<&str>) -> u64;
}

/// Learns what visitors with passes do. The line implements it, and the door calls it.
#[async_trait]
pub trait VisitorsInside: Send + Sync + 'static {
    /// Returns why the visit with this pass of `room` ended early, if it did.
    fn visit_end(&self, room: &str, pass: &PassClaims) -> Option<VisitEndCause>;
    /// Notes that the visitor with this pass of `room` made a call.
    fn note_call(&self, room: &str, pass: &PassClaims);
    /// Notes that the visitor was told that there are no seats for it.
    async fn note_no_seats(&self, room: &str, pass: &PassClaims);
    /// Notes that the visitor has just taken seats. `hold` is the id of its basket. If the visit
    /// ended meanwhile, gives the seats back, and returns why it ended.
    async fn note_hold(&self, room: &str, pass: &PassClaims, hold: &str) -> Option<VisitEndCause>;
    /// Notes that the visitor has a basket or an open order until `until_s` (unix seconds).
    fn note_deadline(&self, room: &str, pass: &PassClaims, until_s: i64);
    /// Returns after how many seconds a basket of `room` lapses if its visitor is known to be gone.
    fn away_s(&self, room: &str) -> Option<u64>;
}

/// The parts that the door needs.
#[derive(Clone)]
pub struct BookingDoor {
    /// Booking, which knows the room of a show.
    pub core: Arc<dyn BookingCore>,
    /// Measures how booking answers.
    pub health: BookingHealth,
    /// Verifies passes.
    pub keyring: Keyring,
    /// Gives the time at which passes are verified.
    pub clock: Clock,
    /// Checks the origins of calls.
    pub web: WebRequestPolicy,
    /// Refuses new holds while this process is overloaded.
    pub load: ProcessLoad,
    /// Says when a visitor without a pass should come back.
    pub come_back_times: Arc<dyn ComeBackTimes>,
    /// Learns what visitors with passes do.
    pub visitors: Arc<dyn VisitorsInside>,
}

/// Returns the show of a path. This is the show that the path names, or the show whose slug is part
/// of the id in the path.
fn show_of(path: &str) -> Option<&str> {
    let mut parts = path.strip_prefix("/v1/")?.split('/');
    match (parts.next()?, parts.next()?) {
        ("shows", show) => Some(show),
        ("holds" | "orders" | "tickets", id) => id.split('_').nth(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_shows_holds_orders_and_tickets_have_a_show_and_other_paths_have_none() {
        for (path, show) in [
            ("/v1/shows/night-1/holds", Some("night-1")),
            ("/v1/holds/hold_night-1_00ff", Some("night-1")),
            ("/v1/orders/order_night-1_00ff/cancel", Some("night-1")),
            ("/v1/tickets/ticket_night-1_00ff.svg", Some("night-1")),
            ("/v1/orders/lookup", None),
            ("/v1/shows", None),
            ("/r/demo", None),
        ] {
            assert_eq!(show_of(path), show, "{path}");
        }
    }
}

//! The door between the line and booking: which calls need a pass, which calls measure booking's
//! health, and which show a call is about. `http` carries it out.

pub mod http;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_base::clock::Clock;
use fairgate_pass::Keyring;

use super::BookingCore;
use super::health::BookingHealth;
use crate::load::ProcessLoad;
use crate::web::WebRequestPolicy;

/// Says when a visitor without a pass should come back. The line implements it, and the door calls
/// it.
#[async_trait]
pub trait ComeBackTimes: Send + Sync + 'static {
    /// Returns the seconds, at least 1, until the visitor who shows this place (a JWT; `None` if no
    /// place was shown) is likely to be let in through `room`.
    async fn back_in_s(&self, room: &str, place: Option<&str>) -> u64;
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
    /// The clock that `now` comes from.
    pub clock: Clock,
    /// Reads cookies and checks origins.
    pub web: WebRequestPolicy,
    /// Sheds holds while this process is overloaded.
    pub load: ProcessLoad,
    /// Says when a visitor without a pass should come back.
    pub waits: Arc<dyn ComeBackTimes>,
}

/// Returns the show that a path of booking is about: the path names it, or the id in the path does.
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
    fn every_booking_path_tells_its_show() {
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

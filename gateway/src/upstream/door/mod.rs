//! The door between the line and booking: which calls need a pass, which ones booking's health is
//! measured by, and of which show they are. `http` carries it out.

pub mod http;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_base::clock::Clock;
use fairgate_pass::Keyring;

use super::BookingCore;
use super::health::BookingHealth;
use crate::load::ProcessLoad;
use crate::web::WebRequestPolicy;

/// Says when somebody without a pass should come back. The line knows; the door only asks.
#[async_trait]
pub trait ComeBackTimes: Send + Sync + 'static {
    /// Seconds until whoever shows this place (a JWT; `None` where none was shown) is likely to be
    /// let in through `room`; at least 1.
    async fn back_in_s(&self, room: &str, place: Option<&str>) -> u64;
}

/// The door's handle.
#[derive(Clone)]
pub struct BookingDoor {
    /// Booking, which knows the room of a show.
    pub core: Arc<dyn BookingCore>,
    /// Measures how booking answers.
    pub health: BookingHealth,
    /// Verifies passes.
    pub keyring: Keyring,
    /// Where `now` comes from.
    pub clock: Clock,
    /// Cookies and origins.
    pub web: WebRequestPolicy,
    /// Sheds holds while this process is overloaded.
    pub load: ProcessLoad,
    /// Says when to come back.
    pub waits: Arc<dyn ComeBackTimes>,
}

/// The show that a path of booking is about: named in it, or carried by the id in it.
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

//! Coming in, coming back, going away. A place is a signed thing that the visitor carries; a holder
//! hash is public and opens nothing.

pub mod claim;
pub mod come_back;
pub mod http;
mod join;
mod leave;
pub mod place_view;
mod rejoin;
pub mod release;

use fairgate_pass::PlaceClaims;

pub use join::{JoinBody, JoinOutcome, JoinRefusal};
pub use rejoin::{PlaceCredential, PlaceRefusal, recognise};

use crate::guard::JoinGuard;
use crate::load::ProcessLoad;
use crate::personal::PersonalEventHub;
use crate::room::{EVERYDAY_PLACE_S, Room, RoomRegistry};
use crate::store::Place;
use crate::web::WebRequestPolicy;

/// The life of the room store that gives the numbers. The embedded store has one life: its data
/// directory's.
const INCARNATION: u64 = 1;

/// The lobby's handle.
#[derive(Clone)]
pub struct WaitingLine {
    /// Every room.
    pub rooms: RoomRegistry,
    /// Cookies and origins.
    pub web: WebRequestPolicy,
    /// Limits joins by network.
    pub guard: JoinGuard,
    /// Sheds joins while this process is overloaded.
    pub load: ProcessLoad,
    /// Tells the sockets of whoever leaves.
    pub personal: PersonalEventHub,
}

/// The claims of a place: the same place always gives the same claims, and so the same text.
#[must_use]
pub fn place_claims(room: &Room, place: &Place) -> PlaceClaims {
    let iat = place.at.div_euclid(1000);
    PlaceClaims {
        room: room.id().to_owned(),
        incarnation: INCARNATION,
        number: place.number,
        sub: place.holder,
        code: place.code,
        commitment: room.commitment(),
        iat,
        exp: room
            .is_everyday()
            .then(|| iat.saturating_add(EVERYDAY_PLACE_S)),
    }
}

/// Signs a place.
#[must_use]
pub fn sign_place(rooms: &RoomRegistry, room: &Room, place: &Place) -> String {
    rooms.keyring().sign_place(&place_claims(room, place))
}

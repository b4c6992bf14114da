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
pub use rejoin::{PlaceRefusal, ShownPlace, recognise};

use crate::guard::JoinGuard;
use crate::load::Load;
use crate::personal::PersonalEvents;
use crate::room::{EVERYDAY_PLACE_S, Room, Rooms};
use crate::store::Place;
use crate::web::Web;

/// The life of the room store that gives the numbers. The embedded store has one life: its data
/// directory's.
const INCARNATION: u64 = 1;

/// The lobby's handle.
#[derive(Clone)]
pub struct WaitingLine {
    /// Every room.
    pub rooms: Rooms,
    /// Cookies and origins.
    pub web: Web,
    /// Limits joins by network.
    pub guard: JoinGuard,
    /// Sheds joins while this process is overloaded.
    pub load: Load,
    /// Tells the sockets of whoever leaves.
    pub personal: PersonalEvents,
}

/// The claims of a place: the same place always gives the same claims, and so the same text.
#[must_use]
pub fn claims(room: &Room, place: &Place) -> PlaceClaims {
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
pub fn sign(rooms: &Rooms, room: &Room, place: &Place) -> String {
    rooms.keyring().sign_place(&claims(room, place))
}

//! Recognising a visitor who comes back with a place: from the header, the cookie, or the socket's
//! subprotocol.

use fairgate_pass::PlaceError;

use crate::room::{Room, RoomRegistry};
use crate::store::{self, Place, PresentedPlaceStatus, StoreFailure};

/// Where a place was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceCredential<'h> {
    /// Deliberately, in a header or subprotocol.
    Bearer(&'h str),
    /// By the browser, unasked.
    Cookie(&'h str),
}

impl<'h> PlaceCredential<'h> {
    /// The JWT.
    #[must_use]
    pub fn jwt(self) -> &'h str {
        match self {
            Self::Bearer(jwt) | Self::Cookie(jwt) => jwt,
        }
    }
}

/// Why a place is not recognised.
#[derive(Debug, thiserror::Error)]
pub enum PlaceRefusal {
    /// The request shows none.
    #[error("no place in the room \"{room}\" was shown")]
    Required {
        /// The room's slug.
        room: String,
    },
    /// What was shown is not a place of this room, or no longer.
    #[error(transparent)]
    Invalid(PlaceError),
    /// It is signed, and nobody stands there.
    #[error("nobody stands at its number")]
    Unknown,
    /// Its visitor gave it up.
    #[error("the place was left")]
    Left,
    /// Nobody knows just now.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// The place behind a JWT, as the store knows it now.
///
/// # Errors
/// Where it is no place of this room, was left, or nobody knows just now.
pub async fn recognise(
    rooms: &RoomRegistry,
    room: &Room,
    jwt: &str,
    now: i64,
) -> Result<Place, PlaceRefusal> {
    let claims = rooms
        .keyring()
        .verify_place(jwt, room.id(), now.div_euclid(1000))
        .map_err(PlaceRefusal::Invalid)?;
    let shown = store::PresentedPlace {
        number: claims.number,
        holder: claims.sub,
        code: claims.code,
        at: claims.iat.saturating_mul(1000),
    };
    let standing = rooms.store().check_presented_place(room.id(), shown).await;
    match standing? {
        PresentedPlaceStatus::Here(place) => {
            room.presence().note_visitor(place.number);
            Ok(place)
        }
        PresentedPlaceStatus::Left => Err(PlaceRefusal::Left),
        PresentedPlaceStatus::Unknown => Err(PlaceRefusal::Unknown),
    }
}

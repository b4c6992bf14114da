//! Recognises a visitor who comes back with a place in the header, the cookie or the socket's
//! subprotocol.

use fairgate_pass::{Holder, LEEWAY_S, PlaceError};

use crate::room::{EVERYDAY_PLACE_S, Room, RoomRegistry};
use crate::store::{Place, PresentedPlace, PresentedPlaceStatus, StoreFailure};

/// A signed place, and where the request showed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceCredential<'h> {
    /// A JWT in a header or subprotocol, which the client sets on purpose.
    Bearer(&'h str),
    /// The value of a cookie, which the browser sends unasked.
    Cookie(&'h str),
}

/// Why a place is not recognised.
#[derive(Debug, thiserror::Error)]
pub enum PlaceRefusal {
    /// The request shows no place.
    #[error("no place in the room \"{room}\" was shown")]
    Required {
        /// The room's slug.
        room: String,
    },
    /// What was shown is not a valid place of this room, or has expired.
    #[error(transparent)]
    Invalid(PlaceError),
    /// The place is signed, but nobody has its number.
    #[error("nobody has the number of this place")]
    Unknown,
    /// The visitor left the place.
    #[error("the visitor left the place")]
    Left,
    /// The promoter ended this visitor's place.
    #[error("the promoter ended the place")]
    Revoked {
        /// What the promoter tells the visitor.
        note: String,
    },
    /// The promoter ended all places that the room had. The visitor may join again.
    #[error("the promoter ended all places")]
    Cleared {
        /// What the promoter tells the visitors.
        note: String,
    },
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// Verifies a signed place, notes that its visitor is present, and returns the place as the store
/// knows it now.
///
/// # Errors
/// Fails if it is not a place of this room, if the visitor left it or the promoter ended it, or if
/// the store cannot answer.
pub async fn recognise(
    rooms: &RoomRegistry,
    room: &Room,
    credential: PlaceCredential<'_>,
    now: i64,
) -> Result<Place, PlaceRefusal> {
    let presented = verify(rooms, room, credential, now).map_err(PlaceRefusal::Invalid)?;
    refuse_revoked(room, presented.holder)?;
    refuse_cleared(room, presented.number)?;
    let status = rooms
        .store()
        .check_presented_place(room.id(), presented)
        .await;
    match status? {
        PresentedPlaceStatus::Here(place) => {
            room.presence().note_visitor(place.number);
            Ok(place)
        }
        PresentedPlaceStatus::Left => Err(PlaceRefusal::Left),
        PresentedPlaceStatus::Unknown => Err(PlaceRefusal::Unknown),
    }
}

fn verify(
    rooms: &RoomRegistry,
    room: &Room,
    credential: PlaceCredential<'_>,
    now: i64,
) -> Result<PresentedPlace, PlaceError> {
    let now_s = now.div_euclid(1000);
    match credential {
        PlaceCredential::Bearer(jwt) => {
            let claims = rooms.keyring().verify_place(jwt, room.id(), now_s)?;
            Ok(PresentedPlace {
                number: claims.number,
                holder: claims.sub,
                code: claims.code,
                at: claims.iat.saturating_mul(1000),
            })
        }
        PlaceCredential::Cookie(value) => {
            let place = rooms.keyring().read_place_cookie(value, room.id())?;
            let age_s = now_s.saturating_sub(place.iat);
            if room.is_everyday() && age_s >= EVERYDAY_PLACE_S + LEEWAY_S {
                return Err(PlaceError::Expired);
            }
            Ok(PresentedPlace {
                number: place.number,
                holder: place.holder,
                code: place.code,
                at: place.iat.saturating_mul(1000),
            })
        }
    }
}

/// Refuses a visitor whose place the promoter ended.
///
/// # Errors
/// Fails with [`PlaceRefusal::Revoked`].
pub fn refuse_revoked(room: &Room, holder: Holder) -> Result<(), PlaceRefusal> {
    match room.stops().revocation(holder) {
        Some(note) => Err(PlaceRefusal::Revoked {
            note: note.as_ref().to_owned(),
        }),
        None => Ok(()),
    }
}

/// Refuses a place that the promoter ended together with all others of its room.
///
/// # Errors
/// Fails with [`PlaceRefusal::Cleared`].
pub fn refuse_cleared(room: &Room, number: u64) -> Result<(), PlaceRefusal> {
    if number < room.row().facts.cleared_below {
        return Err(cleared_place(room, number));
    }
    Ok(())
}

/// Returns the refusal of a place that ended together with all others of its room. Until this node
/// has read that the promoter ended them, the refusal has no note.
pub fn cleared_place(room: &Room, number: u64) -> PlaceRefusal {
    let row = room.row();
    let is_known = number < row.facts.cleared_below;
    let note = is_known.then(|| row.facts.cleared_note.clone());
    PlaceRefusal::Cleared {
        note: note.unwrap_or_default(),
    }
}

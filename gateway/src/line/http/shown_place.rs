//! The place that a request shows: in the header, or in the cookie.

use axum::http::HeaderMap;

use crate::line::rejoin::{PlaceRefusal, ShownPlace, recognise};
use crate::room::{Room, Rooms};
use crate::store::Place;
use crate::upstream::bearer;
use crate::web::{cookie, place_cookie};

/// The place a request shows for `room`, unread.
#[must_use]
pub fn shown<'h>(room: &str, headers: &'h HeaderMap) -> Option<ShownPlace<'h>> {
    bearer(headers)
        .map(ShownPlace::Bearer)
        .or_else(|| cookie(headers, &place_cookie(room)).map(ShownPlace::Cookie))
}

/// Reads the place of a request, which must show one.
///
/// # Errors
/// [`PlaceRefusal::Required`] where it shows none, and as [`recognise`].
pub async fn required(
    rooms: &Rooms,
    room: &Room,
    headers: &HeaderMap,
    now: i64,
) -> Result<Place, PlaceRefusal> {
    let shown = shown(room.id(), headers).ok_or_else(|| PlaceRefusal::Required {
        room: room.id().to_owned(),
    })?;
    recognise(rooms, room, shown.jwt(), now).await
}

//! Finds the place that a request shows, in its header or its cookie.

use axum::http::HeaderMap;
use fairgate_base::http::keys::bearer;

use crate::cookies::{self, CookieKind};
use crate::line::rejoin::{PlaceCredential, PlaceRefusal, recognise};
use crate::room::{Room, RoomRegistry};
use crate::store::Place;

/// Returns the place that a request shows for `room`, without verifying it.
#[must_use]
pub fn place_credential<'h>(room: &str, headers: &'h HeaderMap) -> Option<PlaceCredential<'h>> {
    bearer(headers)
        .map(PlaceCredential::Bearer)
        .or_else(|| cookies::value(headers, CookieKind::Place, room).map(PlaceCredential::Cookie))
}

/// Reads and verifies the place of a request, which must show one.
///
/// # Errors
/// [`PlaceRefusal::Required`] if the request shows no place, and the errors of [`recognise`].
pub async fn required(
    rooms: &RoomRegistry,
    room: &Room,
    headers: &HeaderMap,
    now: i64,
) -> Result<Place, PlaceRefusal> {
    let credential =
        place_credential(room.id(), headers).ok_or_else(|| PlaceRefusal::Required {
            room: room.id().to_owned(),
        })?;
    recognise(rooms, room, credential, now).await
}

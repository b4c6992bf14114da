//! Recognising a visitor who comes back with a place: from the header, the cookie, or the socket's subprotocol.

use axum::http::HeaderMap;
use booking::door::keys::bearer;
use fairgate_base::http::Problem;
use fairgate_pass::PlaceError;

use crate::room::{Room, Rooms};
use crate::store::{self, Place, Standing};
use crate::web::{cookie, place_cookie};

/// Where a place was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'h> {
    /// Deliberately, in a header or subprotocol.
    Bearer(&'h str),
    /// By the browser, unasked.
    Cookie(&'h str),
}

/// The place a request shows for `room`, unread.
#[must_use]
pub fn shown<'h>(room: &str, headers: &'h HeaderMap) -> Option<Shown<'h>> {
    bearer(headers)
        .map(Shown::Bearer)
        .or_else(|| cookie(headers, &place_cookie(room)).map(Shown::Cookie))
}

impl<'h> Shown<'h> {
    /// The JWT.
    #[must_use]
    pub fn jwt(self) -> &'h str {
        match self {
            Self::Bearer(jwt) | Self::Cookie(jwt) => jwt,
        }
    }
}

/// The place behind a JWT, as the store knows it now.
///
/// # Errors
/// 401 `place_invalid`, 410 `place_left`, 503 where nobody knows just now.
pub async fn recognise(rooms: &Rooms, room: &Room, jwt: &str, now: i64) -> Result<Place, Problem> {
    let claims = rooms
        .keyring()
        .verify_place(jwt, room.id(), now.div_euclid(1000))
        .map_err(|error| invalid(&error))?;
    let shown = store::Shown {
        number: claims.number,
        holder: claims.sub,
        code: claims.code,
        at: claims.iat.saturating_mul(1000),
    };
    let standing = rooms.store().standing(room.id(), shown).await;
    match standing.map_err(|error| error.problem())? {
        Standing::Here(place) => {
            room.presence().seen(place.number);
            Ok(place)
        }
        Standing::Left => Err(Problem::new(
            410,
            "place_left",
            "This place was given up",
            "You left the line with this place, so it cannot be used again. Nothing else was changed. You may join again; you will get a new number.",
        )),
        Standing::Unknown => Err(invalid(&"nobody stands at its number")),
    }
}

/// The place of a request, which must show one.
///
/// # Errors
/// 401 `place_required`, and as [`recognise`].
pub async fn required(
    rooms: &Rooms,
    room: &Room,
    headers: &HeaderMap,
    now: i64,
) -> Result<Place, Problem> {
    let shown = shown(room.id(), headers).ok_or_else(|| {
        Problem::new(
            401,
            "place_required",
            "You have no place in this line yet",
            "This call needs a place, as the cookie or as \"Authorization: Bearer …\". Nothing was changed. Join first.",
        )
        .with("join", format!("/v1/rooms/{}/places", room.id()))
    })?;
    recognise(rooms, room, shown.jwt(), now).await
}

fn invalid(error: &dyn std::fmt::Display) -> Problem {
    let ran_out = PlaceError::RanOut.to_string() == error.to_string();
    let what = if ran_out {
        "This place ran out after a day unused."
    } else {
        "What was shown is not a place in this room."
    };
    Problem::new(
        401,
        "place_invalid",
        "The place is not valid here",
        format!(
            "{what} Nothing was changed. Use the place exactly as this room gave it, or join again. ({error})"
        ),
    )
}

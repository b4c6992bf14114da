//! Brings a place to another device by a code that works once, within five minutes. Both devices
//! then have the same place, which gives one pass.

use fairgate_base::log_failed_try;
use fairgate_pass::PlaceError;
use rand::RngExt;

use super::rejoin::{PlaceRefusal, refuse_cleared, refuse_revoked};
use super::{WaitingLine, place_claims};
use crate::guard::{AttemptKind, GuardRefusal};
use crate::room::Room;
use crate::store::{Place, PresentedPlace, PresentedPlaceStatus, SingleUseId, StoreFailure};
use crate::web::ClientNetwork;

/// How long a code is valid, in seconds.
const MOVE_S: i64 = 300;
/// How long a used code is remembered after it expired, in milliseconds, because the clocks of two
/// nodes may differ.
const CLOCKS_DIFFER_MS: i64 = 60_000;

/// A code that brings a place to another device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedMove {
    /// The code, in letters, digits, `-` and `_`.
    pub code: String,
    /// When the code expires, milliseconds since the epoch.
    pub expires_at_ms: i64,
}

/// Why a code gave no place.
#[derive(Debug, thiserror::Error)]
pub enum MoveRefusal {
    /// The text is not a code of this room.
    #[error("this is not a code that brings a place of this room to another device")]
    Invalid,
    /// The code has run out.
    #[error("the code has run out")]
    Expired,
    /// The code was used before.
    #[error("the code was used before")]
    Used,
    /// The place of the code has ended.
    #[error(transparent)]
    Place(#[from] PlaceRefusal),
    /// The visitor's network sends too many wrong codes.
    #[error(transparent)]
    Guard(#[from] GuardRefusal),
}

impl From<StoreFailure> for MoveRefusal {
    fn from(failure: StoreFailure) -> Self {
        Self::Place(failure.into())
    }
}

impl WaitingLine {
    /// Makes a code for a place at `now` (ms).
    ///
    /// # Errors
    /// Fails if the time at which the place was signed, or the time at which the code would expire,
    /// is before 1970 or after 2106.
    pub fn issue_move(
        &self,
        room: &Room,
        place: &Place,
        now: i64,
    ) -> Result<IssuedMove, PlaceRefusal> {
        let exp = now.div_euclid(1000) + MOVE_S;
        let code =
            self.rooms
                .keyring()
                .move_code(&place_claims(room, place), rand::rng().random(), exp);
        Ok(IssuedMove {
            code: code.ok_or(PlaceRefusal::Invalid(PlaceError::Expired))?,
            expires_at_ms: exp * 1000,
        })
    }

    /// Returns the place that a code brings, and uses the code up. The code is not used up if its
    /// place has ended, if the store cannot look the place up, or if its place is `own_place`, the
    /// place that this device already has.
    ///
    /// # Errors
    /// Returns a [`MoveRefusal`] if the code gives no place.
    pub async fn redeem_move(
        &self,
        room: &Room,
        code: &str,
        own_place: Option<Place>,
        network: ClientNetwork,
        now: i64,
    ) -> Result<Place, MoveRefusal> {
        self.attempts.of(AttemptKind::Code).admit(network)?;
        let Ok(place_move) = self.rooms.keyring().read_move_code(code.trim(), room.id()) else {
            self.note_wrong_attempt(network, AttemptKind::Code);
            return Err(MoveRefusal::Invalid);
        };
        if place_move.exp * 1000 <= now {
            return Err(MoveRefusal::Expired);
        }
        let presented = PresentedPlace {
            number: place_move.place.number,
            holder: place_move.place.holder,
            code: place_move.place.code,
            at: place_move.place.iat.saturating_mul(1000),
        };
        refuse_revoked(room, presented.holder)?;
        refuse_cleared(room, presented.number)?;
        let store = self.rooms.store();
        let place = match store.check_presented_place(room.id(), presented).await? {
            PresentedPlaceStatus::Here(place) => place,
            PresentedPlaceStatus::Left => return Err(PlaceRefusal::Left.into()),
            PresentedPlaceStatus::Unknown => return Err(PlaceRefusal::Unknown.into()),
        };
        if own_place.is_some_and(|own_place| own_place.holder == place.holder) {
            return Ok(place);
        }
        let used = SingleUseId {
            id: place_move.id,
            // Another node's clock may be behind. That node accepts the code for a while longer.
            expires_at: place_move.exp * 1000 + CLOCKS_DIFFER_MS,
        };
        if !store.use_once(room.id(), used, now).await? {
            return Err(MoveRefusal::Used);
        }
        // The code is used up and brings the place. Without the note, only the other device's page
        // does not learn of it.
        if let Err(error) = store.note_moved(room.id(), place.number, now).await {
            log_failed_try!(error, room = room.id(), "a move is not noted");
        }
        Ok(place)
    }

    /// Returns when a code last brought this place to another device (ms), or `None` if none did.
    ///
    /// # Errors
    /// Fails if the store does not answer.
    pub async fn moved_at(&self, room: &Room, place: &Place) -> Result<Option<i64>, StoreFailure> {
        let store = self.rooms.store();
        store.moved_at(room.id(), place.number).await
    }
}

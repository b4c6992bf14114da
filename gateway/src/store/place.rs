//! What is said of one visitor's place, towards the store and back.

use fairgate_pass::{Digest, Holder};

use super::StoreFailure;

/// Somebody who wants a place.
#[derive(Debug, Clone, Copy)]
pub struct StoreJoinRequest {
    /// Who.
    pub holder: Holder,
    /// The code shown.
    pub code: Option<Digest>,
    /// Whether the room asks for a code.
    pub needs_code: bool,
    /// Milliseconds since the epoch.
    pub now: i64,
}

/// A place as the store knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The join number.
    pub number: u64,
    /// Whose.
    pub holder: Holder,
    /// When the number was given, ms.
    pub at: i64,
    /// The code that was used.
    pub code: Option<Digest>,
    /// Expiry of the last pass, unix seconds.
    pub pass_exp: Option<i64>,
    /// An order of this visitor was ticketed.
    pub done: bool,
    /// It was given by this very call.
    pub fresh: bool,
}

/// A place as its visitor shows it, signed: enough to write it back where a store has lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedPlace {
    /// The join number.
    pub number: u64,
    /// Whose.
    pub holder: Holder,
    /// The code that was used.
    pub code: Option<Digest>,
    /// When the number was given, ms.
    pub at: i64,
}

impl From<&Place> for PresentedPlace {
    fn from(place: &Place) -> Self {
        Self {
            number: place.number,
            holder: place.holder,
            code: place.code,
            at: place.at,
        }
    }
}

/// What stands behind a number that somebody shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresentedPlaceStatus {
    /// That holder stands there; or, where two numbers came to one holder, at this lower one.
    Here(Place),
    /// That holder stood there and left.
    Left,
    /// Nobody, or somebody else.
    Unknown,
}

/// Somebody who gives a place up.
#[derive(Debug, Clone, Copy)]
pub struct StoreLeaveRequest {
    /// Which.
    pub number: u64,
    /// Its rank, where it has one: nobody is waited for there any more.
    pub rank: Option<u64>,
    /// Milliseconds since the epoch.
    pub now: i64,
}

/// Why nobody got a place.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreJoinRefusal {
    /// The room asks for a code, and this is none of its codes.
    #[error("the code is not one of this room's codes")]
    CodeInvalid,
    /// Somebody has used it.
    #[error("the code was used before")]
    CodeUsed,
    /// No number was given; where one would have been, it is void.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

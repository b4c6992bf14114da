//! The gateway's requests to the store about one visitor's place, and the store's answers.

use fairgate_pass::{Digest, Holder};

use super::StoreFailure;

/// A request for a place.
#[derive(Debug, Clone, Copy)]
pub struct StoreJoinRequest {
    /// The holder that the place is for.
    pub holder: Holder,
    /// The code that the visitor showed.
    pub code: Option<Digest>,
    /// Whether the room asks for a code.
    pub needs_code: bool,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

/// A place as the store knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The join number.
    pub number: u64,
    /// The holder of the place.
    pub holder: Holder,
    /// When the number was given, ms.
    pub at: i64,
    /// The code that was used to join.
    pub code: Option<Digest>,
    /// Expiry of the place's last pass, unix seconds.
    pub pass_exp: Option<i64>,
    /// Whether an order of this visitor was ticketed.
    pub done: bool,
    /// Whether the place was given by the call that returned it.
    pub fresh: bool,
}

/// A signed place as its visitor shows it. A store that has lost the place can restore it from
/// this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedPlace {
    /// The join number.
    pub number: u64,
    /// The holder of the place.
    pub holder: Holder,
    /// The code that was used to join.
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

/// What the store knows of a place that a visitor shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresentedPlaceStatus {
    /// The holder has this place, which may have another number than the one shown. Of two numbers
    /// of a holder the store keeps one, usually the lower.
    Here(Place),
    /// The holder had the place and left it.
    Left,
    /// The number has no visitor or another visitor, or the store lost the place and must not
    /// restore it.
    Unknown,
}

/// A request to give a place up.
#[derive(Debug, Clone, Copy)]
pub struct StoreLeaveRequest {
    /// The join number.
    pub number: u64,
    /// The rank of the place, if it has one. With it, the store stops expecting the visitor to
    /// claim.
    pub rank: Option<u64>,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

/// Why a visitor got no place.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreJoinRefusal {
    /// The room asks for a code, and the visitor showed none of its codes.
    #[error("no valid code of this room was shown")]
    CodeInvalid,
    /// The code was used before.
    #[error("the code was used before")]
    CodeUsed,
    /// The store failed. With [`StoreFailure::Unreachable`] a number may have been given.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

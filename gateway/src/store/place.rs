//! The gateway's requests to the store about one visitor's place, and the store's answers.

use fairgate_pass::{Digest, Holder};
use fairgate_rules::network_limits::{NetworkBounds, NetworkPlaces};

use super::StoreFailure;
use super::visits::STOPPED_WITHIN_S;
use crate::ledger::{NetworkKey, NetworkKeys};

/// The id of something that counts only once: a solved challenge, or a code that moves a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingleUseId {
    /// The id.
    pub id: [u8; 16],
    /// When it expires, milliseconds since the epoch. Until then the store remembers the id.
    pub expires_at: i64,
}

/// A request to begin a wait. A visitor may wait instead of solving a challenge.
#[derive(Debug, Clone, Copy)]
pub struct WaitRequest {
    /// The network whose people wait one after the other.
    pub network: NetworkKey,
    /// How long the wait takes (ms). It begins when the network's last wait ends, or now if that
    /// wait has ended.
    pub takes_ms: i64,
    /// How long (ms) a visitor may wait at most, including the earlier waits of the network.
    pub longest_ms: i64,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

/// When a wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReservation {
    /// It ends at this time, milliseconds since the epoch.
    Until(i64),
    /// It would last too long, so no wait was begun. The visitor can ask again from this time on,
    /// milliseconds since the epoch.
    FullUntil(i64),
}

impl WaitRequest {
    /// Decides when the wait ends, or that it would last too long. `last_ends` is when the last
    /// wait of the network ends (ms).
    #[must_use]
    pub fn after(&self, last_ends: i64) -> WaitReservation {
        let ends = last_ends.max(self.now).saturating_add(self.takes_ms);
        let latest = self.now.saturating_add(self.longest_ms);
        if ends > latest {
            return WaitReservation::FullUntil(self.now.saturating_add(ends - latest));
        }
        WaitReservation::Until(ends)
    }
}

/// The networks of a visitor, and how many places they may have. A visitor pays for more places by
/// solving a challenge.
#[derive(Debug, Clone, Copy)]
pub struct NetworkToll {
    /// The networks. Empty for a visitor who is not counted.
    pub keys: NetworkKeys,
    /// The visitor is refused if a network has as many places as its bound or more.
    pub bounds: NetworkBounds,
    /// The challenge that the visitor solved.
    pub solved: Option<SingleUseId>,
}

impl NetworkToll {
    /// The toll of a visitor who is not counted.
    pub const NONE: Self = Self {
        keys: NetworkKeys::NONE,
        bounds: NetworkBounds::NONE,
        solved: None,
    };

    /// Returns each network whose places count for the whole epoch, with its bound. A network that
    /// has this many places gets no more.
    pub fn lasting_limits(&self) -> impl Iterator<Item = (NetworkKey, u64)> + use<'_> {
        let NetworkBounds { own, wider, .. } = self.bounds;
        let bounds = std::iter::once(own).chain(std::iter::repeat(wider));
        self.keys.lasting().iter().copied().zip(bounds)
    }

    /// Returns each network of which only the recent places count, with its bound.
    pub fn recent_limits(&self) -> impl Iterator<Item = (NetworkKey, u64)> + use<'_> {
        let bounds = [self.bounds.slash_40, self.bounds.slash_32];
        self.keys.recent().iter().copied().zip(bounds)
    }
}

/// Why a visitor's networks stopped a join or a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TollRefusal {
    /// The networks have as many places as the visitor paid for, or more. Nothing was used up.
    #[error("the visitor's network has {} places", .0.own)]
    TooManyPlaces(NetworkPlaces),
    /// The solution was used before.
    #[error("the solution of the challenge was used before")]
    SolutionUsed,
}

/// A code that a visitor shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownCode {
    /// The digest that is looked up.
    pub digest: Digest,
    /// Whether a wrong code uses up a try of the room's budget. It does not if the same code is
    /// looked up in another form next.
    pub is_counted: bool,
    /// How many tries of the budget are kept for others. With fewer, the code is not looked up.
    pub kept: i64,
}

/// A room looks at no code at the moment, because wrong ones used its budget up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodesPaused {
    /// In how many milliseconds it looks at a code, if no other is looked at before.
    pub wait_ms: i64,
    /// How many wrong codes it looked at in the last minute.
    pub recent: u64,
}

/// A request for a place.
#[derive(Debug, Clone, Copy)]
pub struct StoreJoinRequest {
    /// The holder that the place is for.
    pub holder: Holder,
    /// The code that the visitor showed.
    pub code: Option<ShownCode>,
    /// Whether the room asks for a code.
    pub needs_code: bool,
    /// The visitor's networks.
    pub toll: NetworkToll,
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
    /// Before this place is called again, all ranks below this are called: those who stood in line
    /// when its last pass ended. 0 if that visit does not count, because no seats that fitted were
    /// free. While the pass lives, it is what would be if the pass ended now. `None` if the place
    /// never had a pass.
    pub called_behind: Option<u64>,
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
    /// The holder has this place, which may have another number than the one shown. If a holder got
    /// two numbers, the store keeps one of them, usually the lower.
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
    /// The rank of the place, if it has one. The store then no longer expects the visitor of this
    /// rank to claim.
    pub rank: Option<u64>,
    /// The current time, milliseconds since the epoch.
    pub now: i64,
}

impl StoreLeaveRequest {
    /// Returns the time (unix seconds) from which on no node takes the pass of this number. Until
    /// then its visitor counts as inside.
    #[must_use]
    pub const fn stopped_s(&self) -> i64 {
        self.now.div_euclid(1000) + 1 + STOPPED_WITHIN_S
    }
}

/// Why a visitor got no place.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreJoinRefusal {
    /// The room asks for a code, and the visitor showed none of its codes.
    #[error("no valid code of this room was shown")]
    CodeInvalid {
        /// How many wrong codes the room looked at in the last minute.
        recent: u64,
    },
    /// The room looks at no code at the moment, so the visitor's was not looked at.
    #[error("the room looks at no code for {} ms", .0.wait_ms)]
    CodesPaused(CodesPaused),
    /// The code was used before.
    #[error("the code was used before")]
    CodeUsed,
    /// The visitor's networks stopped the join.
    #[error(transparent)]
    Toll(#[from] TollRefusal),
    /// The store failed. With [`StoreFailure::Unreachable`] a number may have been given.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

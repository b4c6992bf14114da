//! The wishes of a room's places, and how a node learns which wishes changed.

use std::sync::Arc;

use fairgate_rules::wishes::SeatWish;

/// The wishes of one visitor, in order of preference.
pub type WishList = Arc<[SeatWish]>;

/// One call returns at most this many changes.
pub const CHANGES_MAX: usize = 2_000;

/// How far a node has read the wishes of a room. The default is before the first change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WishCursor {
    /// The room's incarnation in the store when the wishes were read.
    pub incarnation: u64,
    /// The number of the last change that was read.
    pub version: u64,
}

/// Wishes that changed after a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WishChanges {
    /// The cursor for the next call.
    pub cursor: WishCursor,
    /// Whether the store has begun a new life since the cursor. The store has then forgotten all
    /// earlier wishes, and the caller must forget them, too.
    pub is_new_life: bool,
    /// The newest wishes of each number that changed, in the order of the changes. Has at most
    /// [`CHANGES_MAX`] entries. If it has that many, the next call may return more.
    pub changed: Vec<(u64, WishList)>,
}

//! The rows of passes that were stopped before they expired, and of rooms that end.

use fairgate_pass::VisitEndCause;
use serde::{Deserialize, Serialize};

/// A pass that is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassStop {
    /// The join number of the pass's visitor. No other visitor ever gets this number.
    pub number: u64,
    /// When the pass expires, unix seconds.
    pub expires_s: i64,
    /// The visit that ended. `None` if the visitor gets no other pass.
    pub visit: Option<EndedVisit>,
}

/// A visit that ended before its pass ran out. Its visitor may get another pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedVisit {
    /// When the pass was issued, unix seconds. Passes of the same number that were issued later go
    /// on.
    pub issued_s: i64,
    /// Why the visit ended.
    pub cause: VisitEndCause,
}

/// A pass that was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedPassRow {
    /// The slug of the pass's room.
    pub room: String,
    /// The pass. Until it expires it must be refused.
    pub pass: PassStop,
}

/// From when on a room is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomEnd {
    /// The slug of the room.
    pub room: String,
    /// The version of the room that has this end. An end of an older version changes nothing.
    pub version: u64,
    /// From when on the room's passes open nothing new, in milliseconds since the epoch. 0 if the
    /// room was closed by hand. `None` if the room has no end.
    pub over_from_ms: Option<i64>,
}

/// What was stopped after two cursors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewStops {
    /// The stopped passes.
    pub passes: Vec<StoppedPassRow>,
    /// The new cursor of the stopped passes.
    pub cursor: u64,
    /// The ends of rooms.
    pub ends: Vec<RoomEnd>,
    /// The new cursor of the ends.
    pub ends_cursor: u64,
}

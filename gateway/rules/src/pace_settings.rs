//! Holds the settings of a room that affect its pace.

use crate::faults::micros_per_s;
use crate::pace::VISITOR_U;
use crate::room_document::{LineMethod, PaceMode, RoomDocument};

/// The smallest trickle of a room, in millionths of a visitor a second.
pub const TRICKLE_MIN_U: u64 = VISITOR_U / 10;

/// The settings that the promoter chose for a room's pace.
#[derive(Debug, Clone, Copy)]
pub struct PaceSettings {
    /// Who decides how many may be inside.
    pub mode: PaceMode,
    /// Whether the room has a line. In a room without a line, everybody is called while fewer than
    /// `max_inside` are inside.
    pub line: bool,
    /// The pace in millionths of a visitor a second. In auto mode this is the highest pace.
    pub per_s_u: u64,
    /// The least trickle, in millionths of a visitor a second. The trickle is called even if no
    /// more visitors are wanted. If the pace is lower than this, the trickle is the whole pace.
    pub trickle_min_u: u64,
    /// The most visitors inside at once.
    pub max_inside: u64,
    /// The time within which booking should answer 99 of 100 calls, in milliseconds.
    pub p99_ms: u64,
    /// How long a pass is valid, in seconds.
    pub pass_s: u32,
}

impl From<&RoomDocument> for PaceSettings {
    fn from(document: &RoomDocument) -> Self {
        Self {
            mode: document.mode,
            line: document.method != LineMethod::Open,
            per_s_u: micros_per_s(document.per_s),
            trickle_min_u: TRICKLE_MIN_U,
            max_inside: document.max_inside,
            p99_ms: document.p99_ms,
            pass_s: u32::try_from(document.pass_s).unwrap_or(u32::MAX),
        }
    }
}
